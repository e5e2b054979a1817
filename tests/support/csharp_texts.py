"""C# that the bundled grammar takes or refuses: expressions, statements, members, files; and where Roslyn's parser differs."""


def member(text: str) -> str:
    return f"class A {{ {text} }}"


def statement(text: str) -> str:
    return member(f"async void f() {{ {text} }}")


def expression(text: str) -> str:
    return statement(f"x = {text};")


EXPRESSIONS = [
    # literals
    "0 + 1_000u + 0xFF_FFul + 0b1_0L + 1.5e-3 + .5f + 1e3m + 2d + 1.ToString() + 1..2",
    r"""'a' + '\'' + '\n' + '\x41' + '\u0041' + '\U00000041' + "\"\\\0a" + "é" + "a"u8 + ' '""",
    "true ? false : null ?? default ?? default(int?)",
    '@"a ""b"" \\ {c}" + """a "b" ""c"" """ + """"a """ b"""" + """\n    a\n    """',
    # interpolation
    '$"" + $"a {b} {{c}} {d:N2} {e,10} {f,-3:yyyy-MM-dd} {(g ? h : i)} \\n"',
    '$"{a["b"]} {$"{c} d {e}"} {f(x => x + 1)} {new { g = 1 }.g} {h switch { 1 => 2, _ => 3 }}"',
    '$@"a ""b"" {c} \\ {{d}}" + @$"{e:a\\b}" + $"""a "{b}" c""" + $$"""{ "a": {{b}}, c } {{{d:N}}}""" + $$$"""{{{a}}} {{b}}"""',
    '$"{a\n}" + $"{await b} {c is D e} {f = g} {j ?? k}"',
    # names, generics and comparisons
    "a.b.c + global::d.e + @class + f<int>.g + h<i, j>.k<l[]>(m) + n<o<p>>()",
    "a < b && c > d >> e >>> f",
    "f(a < b, c > (d)) + (g<h>)i + j<k>(l)",
    "string.Empty + int.MaxValue + object.Equals(a, b) + decimal.Parse(c)",
    "async + await + from + where + select + var + get + record + nameof(a) + partial(b) + when.not.and",
    # casts
    '(a)b + (c) - d + (int)-e + (f.g<h>)(i) + (int?)null + (j[])k + (l)!m + (n)~o + (p)"q" + (object)(r) + (s)this',
    "(int*)&a + *b + c->d + *(long*)e->f(g)[0] + (void*)h",
    "(A)(() => b) + (B)delegate { }",
    # postfix
    "a!.b?.c?[d]!.e(f)?.g++ - --h + i-- + !j + ~k + ^l + m[^1] + n[..] + o[1..] + p[..2] + q[r..^s, t]",
    "a ? b : c ? d : e",
    "a ? [b] : c ?? throw new D()",
    "a?.b ?? c as D? ?? e is F",
    # objects, arrays, collections, tuples
    "new A() + new(b, c: d) { E = f } + new G { H = { i, j }, K = new() { }, [l] = m, [n] = { o } } "
    "+ new P<q> { { r, s }, { t, u } }",
    "new int[3] + new int[a, b][,][] + new[] { c, d, } + new int[,] { { 1, 2 }, { 3, 4 } } + new string[] { } "
    "+ new { a, b.c, d = e, f?.g }",
    "[] + [a, .. b, c ? d : e,] + [[f], [..g ?? h]] + stackalloc int[i] + stackalloc[] { 1, 2 } + stackalloc byte[] { 3 }",
    "(a, b: c) + ((d, e), (f, g: (h, i)))",
    "typeof(int) + typeof(void) + typeof(A<,>) + typeof(B.C<>.D) + sizeof(int*) + default(T) + checked(a + b) + unchecked((int)c)",
    "f(ref a, out b, out int c, out var d, in e, g: h, i: ref j, out _)",
    # lambdas
    "a => b + (() => { }) + ((c, d) => c) + ((int e, ref f g, params int[] h) => i) + (async j => await k) + (static (int "
    "l = 1) => l)",
    "async () => { await a; }",
    "[A] int? (ref B c) => ref c.d",
    "delegate (int a) { return a; } + delegate { } + async delegate { await b; }",
    "(_, _) => throw new A()",
    # patterns and switches
    "a is null || b is not C || d is E f || g is { H: 1, I.J: > 2 and < 3 or 4, K: { } l } "
    "|| m is (1, _, var n) or [1, .., var o, _]",
    "a is B<C> d && e is F[] or G.H or (I or not J) && k is [.. var l, [_]] && m is 'a' or 'b' or -1 or (int)N.O",
    "a switch { 1 => b, > 2 and <= 3 when c => d, E { F: var g } "
    "h => g, (int i, _) => j, string or null => k, _ => throw new L() }",
    "(a, b) switch { (1, 2) => c, (_, _) => d, } + e switch { }",
    "a is int ? b : c is D ? e : f as G ?? h",
    "a is var b and not null && c is D { } e && f is A.B(1, name: 2) { G: 3 } h",
    # with, queries, assignments
    "a with { b = c, D = e } with { }",
    "from a in b where c select d",
    "from A a in b join c in d on e equals f into g from h in g.i() let j = k orderby l descending, m group n by o into p "
    "select p.q",
    "a = b ??= c += d <<= e >>= f >>>= g",
    "(a, var b) = (c, d) = e",
]

STATEMENTS = [
    "int a = 1, b; var c = d; const int e = 1, f = 2; A<B>.C? g = h; int[,][] i = { { 1 } }; A* j; (int k, string) l = m; B? n;",
    "ref int a = ref b; ref readonly A c = ref d[0]; scoped Span<int> e = f; scoped ref int g = ref h; a = ref i; return ref a;",
    "a(); b.c++; --d; new E(); await f; g?.h(); i = j; k?.l.m<n>(o)[0]++; p!.q(); base.r(); this.s = t; u?.v++; ;",
    "if (a) b(); else if (c) { } else d(); while (e) { break; } do f(); while (g); lock (h) { } for (;;) continue;",
    "for (int a = 0, b = 1; a < b && c > d; a++, b--) { } for (a = 0, b(); ; ) { } foreach (var e in f) g(); "
    "foreach ((h, var i) in j) { }",
    "foreach (var (a, b) in c) { } foreach (KeyValuePair<int, string> d in e) { } await foreach (var f in g) { } "
    "foreach (ref var h in i) { }",
    "switch (a) { case 1: case 2 when b: c(); break; case D e: case F { G: 1 }: { return; } case > 3 or null: goto case 1; "
    "default: goto default; }",
    "switch (a, b) { case (1, _): break; case (var c, D): break; } switch (e) { }",
    "try { } catch { } try { } catch (A) when (b) { } catch (C.D e) { throw; } finally { } try { } finally { }",
    "using (a) { } using (var b = c) using (d) { } using var e = f; await using var g = h; await using (i) { } "
    "using A j = k, l = m;",
    "goto a; a: b(); checked { } unchecked { } unsafe { fixed (int* c = d, e = &f[0]) { } } yield return g; yield break;",
    "int a(int b) => b; async Task<int> c<T>(T d) where T : class, new() { return await e; } static void f() { } "
    "[A] unsafe int* g() => null;",
    "var a = b is { } c ? d : e; dynamic var = get; record = partial; where.select(into);",
    "a.b<c>(d); A<B> e = f; A<B>(c); int? g = h ? i : j; k[l] = m; n[] o; P.Q[] r = s;",
]

MEMBERS = [
    'public int a, b = 1; private static readonly A<B[]>? c = new(); const string d = "e"; volatile int* f; '
    "fixed byte g[16], h[2]; required A i;",
    "public A() : base(1) { } A(int b) : this() => c = b; static A() { } ~A() { } extern A(A b);",
    "int a { get; } int b { get; set; } = 1; public int C { get => d; private set { e = value; } } int F => g; "
    "required int H { get; init; }",
    "int B.C { get; } int B<D>.this[int e] { get => f; set { } } public int this[int a, params int[] b] => c; ref int G => ref h;",
    "event A b, c = d; event A e { add { } remove { } } event A<B> F.g { add => h(); remove => i(); }",
    "void a() { } abstract int b(); int c() => d; "
    "T e<T, U>(T f = default, params U[] g) where T : B, new() where U : struct; void B.h<T>() { }",
    "public static A operator +(A a, A b) => c; public static bool operator true(A a) { } "
    "static A operator checked -(A a) => b; static A B<A>.operator >>>(A a, int b) => c;",
    "public static implicit operator int(A a) => b; static explicit operator checked A<B>(C d) { } static A operator ++(A a) => b;",
    "class B<T, in U> : C, D<T> where T : notnull { } struct E; interface F { int G { get; } static abstract F H(); } "
    "enum I : byte { J, K = 1 << 2, } delegate T L<out T>(ref int a);",
    'record B(int C, string D = "") : E(C), F; readonly record struct G { } sealed record class H; ref struct I { } '
    "readonly ref partial struct J { }",
    "[A] [B(1, C = 2, d: 3), E<F>()] void g([H] int i, [J, K] ref int l) { } [return: M] [field: N] int O { [P] get; [Q] set; }",
    "async Task a() { } async void b() { } partial void c(); partial int d(); public new virtual unsafe int* e(); "
    "static extern int f(this A g, in B h, ref readonly int i, scoped C j);",
    "delegate*<int, void> a; delegate* unmanaged[Cdecl, SuppressGCTransition]<A*, ref int> b; delegate* managed<void> c; void** d;",
    "async async; partial partial; A get, set; B value; C<D> where(E from) => select; record record(record record) { }",
    "(int a, B<C> d)? e() => (1, f); Dictionary<string, (int, int[])>[] g; A.B.C<D?>.E h; global::A.B i;",
]

FILES = [
    "",
    "using System; using static System.Math; using A = B.C<D>; global using E; using F = (int, string); "
    "using unsafe G = int*; namespace H; class I { }",
    'extern alias a; using a::B; [assembly: C("d")] [module: E] namespace F.G { using H; namespace I { } enum J { } } class K { };',
    "using System; var a = 1; Console.WriteLine(a); int b(int c) => c; await d; return 0; record E(int F); class G { }",
    "namespace A; using B; class C { } interface D { } delegate void E();",
    "file class A(int b) : C(b) { } class D(int e); public partial struct F<T>(T g) where T : unmanaged;",
    "class A { /* b */ // c\n /// <d/>\n /** e */ }",
    "#nullable enable\n#pragma warning disable CS1591 // a\nclass A\n{\n#region B c\n    int d;\n#endregion\n}\n",
    '#if A\nthis is no C# {\n#elif !B\nclass C { }\n#else\nnor " this\n#endif\n',
    "class A {\n#if B && !(C || D)\n  }}} #x\n #if E\n  #else\n #endif\n#endif\n#if !B || C\nint f;\n#endif\n#if true\nint "
    "g;\n#else\n((\n#endif\n}",
    "class A\n{\n\tint b\n#if C\n\t\t= 1\n#else\n\t\t= 2\n#endif\n\t;\n}",
]

NOT_EXPRESSIONS = [
    "",
    "1_",
    "0x",
    "''",
    "'ab'",
    r'"\q"',
    '"a',
    '"""a""',
    "a +",
    "a b",
    "a ? b",
    "(a",
    "a[]",
    "a..b c",
    "f(a,)",
    "f(,)",
    "new",
    "new A",
    "new A<>()",
    "new[] 1",
    "int",
    "a.int",
    "a is",
    "a switch { 1 => }",
    "a switch { 1 }",
    "from a in b",
    "from a in b where c",
    "a => ",
    "(a, b) =>",
    "(a, b",
    "(,)",
    '$"{a"',
    '$"{}"',
    '$"}"',
    '$"{a ? b : c}"',
    '$"""{{a}}"""',
    "typeof(a",
    "sizeof()",
    "[a b]",
    "class",
    "a with",
    "ref",
]

NOT_STATEMENTS = [
    "int a",
    "int 1a;",
    "a + b;",
    "a < b;",
    "a;",
    "1;",
    "(a);",
    "a.b;",
    "a?.b;",
    "if a { }",
    "if (a)",
    "else { }",
    "for (;) { }",
    "foreach (a b) { }",
    "foreach (int a b in c) { }",
    "while () { }",
    "do { }",
    "switch (a) { b(); }",
    "try { }",
    "catch { }",
    "return return;",
    "goto;",
    "case 1: break;",
    "break a;",
    "public int a;",
    "int a = ;",
    "const int a;",
    "var a = 1 var b;",
    "{",
    "using;",
    "lock { }",
    "fixed () { }",
    "class B { }",
    "namespace B { }",
]

NOT_MEMBERS = [
    "int a",
    "int;",
    "void a",
    "a() { } }",
    "int a { get; } = ;",
    "int a { foo; }",
    "if (a) { }",
    "a = 1;",
    "return;",
    "operator +(A a) { }",
    "event a;",
    "class { }",
    "class B : { }",
    "class B where { }",
    "enum B { 1 }",
    "enum B { C D }",
    "void a(int) { }",
    "void a(int b,) { }",
    "void a<>() { }",
    "[A void b() { }",
    "int this { get; }",
    "namespace B { }",
    "using B;",
    "int a => b",
    "~A(int b) { }",
    "const a = 1;",
]

NOT_FILES = [
    "class A {",
    "class A } ",
    "class A { }}",
    "namespace { }",
    "using;",
    "using System",
    "class A { } using B;",
    "a(); namespace B; class C { }",
    "; namespace B;",
    "class A { } var b = 1;",
    "class A { /* }",
    "#foo\nclass A { }",
    "class A { #if B\n#endif\n}",
    "#if A\n",
]

STRICTER = [
    # what the compiler reports behind its parser
    member("int[3] a;"),
    "public namespace A { }",
    expression("throw b"),
    expression('$"{a:}"'),
    # bounds
    'class A { string b = $""""a""""; }',
    "#if (((A)))\nnothing\n#endif\nclass B { }",
    "#if A\n#if B\n#if C\n#if D\n#endif\n#endif\n#endif\n#endif\nclass E { }",
]

LOOSER = [
    expression('$$"""}}"""'),
    "#define A\n#if A\n}\n#endif\nclass B { }",
    "#endregion\nclass A { }",
    "class A { int b = c > > d; }",
]
