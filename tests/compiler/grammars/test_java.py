"""The bundled Java grammar, as a table of what it accepts and what it rejects.

The idea: each row is one construct of the JLS, or one of the places where LALR(1) is tight (casts, lambdas, type
arguments, shifts), written where it may stand: as an expression, a statement, a class member or a whole file.  Lark's
basic lexer judges.  A row that is Java is accepted by javac 25 as well; the rows under "stricter" and "looser"
are the exceptions that the grammar's header lists.
"""

import random
import re
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

GRAMMAR = Path(__file__).parents[3] / "compiler" / "grammars" / "java.lark"


@pytest.fixture(scope="module")
def java() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")


def accepts(parser: Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    return True


def statement(text: str) -> str:
    return f"class A {{ void f() {{ {text} }} }}"


def member(text: str) -> str:
    return f"class A {{ {text} }}"


def expression(text: str) -> str:
    return statement(f"x = {text};")


EXPRESSIONS = [
    # literals
    "0x1F + 0b10_1 + 017 + 1_000L + .5e-3f + 1. + 1e9 + 0x1.8p3 + 0x.8P-1d + 09.5 + 3d",
    r"""'a' + '\'' + '\n' + '\u00e9' + '\177' + "tab\t\"\u0041" + "" """,
    '"""\n  two "quoted" words and ""\\"""\n"""',
    "true || false || null == y",
    # names, accesses, calls
    "a.b.c",
    "this.a[i].b(c)[j]",
    "super.f(1, g(2))",
    "Outer.this.a + Outer.super.f()",
    "new int[] {1, 2, }[0] + new int[3].length",
    "a.<String>f(1) + this.<A, B>g() + super.<T>h()",
    "record.sealed(permits, non) + Thread.yield()",
    "Größe + $a + _b1",
    "f(Map<A, B>::new, A<B, C, D>::e, a.B<C, D.E>::f, A<B, C<D>>::g, A<B, C[]>::h)",
    "f(a < b, c) + f(a < b, c > d) + f(a < b, c, d < e, f >> g, (h < i), j < k)",
    "f(a < b, c.d() > e, a < b, -c, a < b, c -> d)",
    # creations
    "new A(1).b",
    "new A<>(b) { int c; }",
    "new A<B>.C<D>(e)",
    "a.new B() {}",
    "new int[2][n + 1][]",
    "new java.util.List<?>[3]",
    "new A[][] {{a}, {}, {,}}",
    "new @NonNull A()",
    # class literals and method references
    "int.class == void.class || int[].class == a.B[][].class",
    "A::new",
    'f(int[]::new, A[]::clone, this::g, super::h, a.b()::c, "s"::length)',
    "f(List<String>::new, Class<?>[]::new, A::<B>c)",
    "(List<String>::new)",
    # operators
    "-a + +b - ~c * !d",
    "a++ + ++b - c-- - --d",
    "(i)++ + (a.b)--",
    "a >> 1 >>> 2 << 3",
    "a < b >> 1 && c >= d >>> 2",
    "(a < b >>> 1)",
    "(a < b)",
    "(a & b) == 0",
    "(a & b.c & d[0]) | (a & b & c)",
    "f(a < b, c > d)",
    "a < b ? c : d < e ? f : g",
    "y = z += w >>>= 1",
    "a instanceof B",
    "!(a instanceof B b) && c instanceof final D<?>[] d && e",
    # casts
    "(int) -1 + (long) +a",
    "(a) + b",
    "(a) - b",
    "(A) b + (a.B) c.d() + (A) (b) + (A) !c",
    "(A[]) b + (int[][]) c",
    "(List<String>) a",
    "(Map<K, List<V>>) a",
    "((Map.Entry<K, V>[]) a)[0].b()",
    "(A<B>.C<D>) e",
    "(Comparator<T> & Serializable) (a, b) -> 0",
    "(Runnable & Serializable) () -> {}",
    "(A) b -> c",
    "(A) B::c",
    # lambdas
    "() -> {}",
    "a -> b -> a + b",
    "(a) -> { return a; }",
    "(a, b, c) -> a",
    "(int a, List<String> b, final int c, D... d) -> a",
    "(Map<K, V> a) -> a",
    "(a.B[] b) -> b",
    "(@NonNull A a) -> a",
    "c ? a -> b : () -> d",
    # switch
    "switch (a) { case 1, 2 -> b; case C -> { yield d; } default -> throw e; }",
    "switch (a) { case (byte) 'x': case -1: yield b; default: yield (c); }",
    "1 + switch (a) { default -> 2; }",
    "switch (a) { case (1 + 2) -> b; case A ? 1 : 2 -> c; case B ? C ? 3 : 4 : 5 -> d; }",
    # patterns
    "a instanceof R(int b, var c) && b > 0",
    "a instanceof R(S(int b, _), T<A, B>(var c, final int d), a.b.C(A<B>[] e)) || f",
    "a instanceof R() || a instanceof R<A>() || a instanceof String _ || a instanceof @X A<?>[] b || a instanceof @X A",
    "switch (a) { case String s -> b; case Integer i when i > 1 -> c; case null, default -> d; }",
    "switch (a) { case R(int b, var c) -> d; case S(R(var e, _), String f) -> g; case T(_, _), U() -> h; }",
    "switch (a) { case A _, B _ when c -> d; case List<A> e -> f; case Map<K, V> g -> h; case int[] i -> j; case int k -> l; }",
    "switch (a) { case List<A>(var b) -> c; case Map<K, V>(A d, B e) -> f; case A<B>.C<D>() -> g; case h -> i; }",
    "switch (a) { case R(A<B> b, C<D, E> c) -> d; case R(A<B, C> e) -> f; case R(S(T g), U h) -> i; case R() when j -> k; }",
    "switch (a) { case final A b -> c; case @X D d -> e; case A f when g ? h : i -> j; case A k when l.m(n -> o) -> p; }",
    "switch (a) { case A when -> b; case A when when when -> c; case when -> d; case null -> e; }",
    "switch (a) { case A b: case C c: yield d; case E e when f: yield g; default: yield h; }",
    # unnamed variables
    "_ -> a",
    "(_) -> a",
    "(_, b) -> a",
    "(int _, String _, final int b) -> a",
    # lambda parameters
    "(String... a) -> 1",
    "(int a[]) -> 1",
    "(final List<A>... a) -> 1",
    "(A a, @X int... b) -> 1",
    # parentheses around variables
    "((a)) + ((b.c))++ - --((d[0])) + (this.e)--",
    # intersections
    "(A & B & C) a",
    "(A & B<T> & C) a",
    "(A & B<T, U>) () -> {}",
    "(A<T> & B & C) a",
    "(a & b & c()) + (a & b < c) + (a & b < c >> d) | a & b & c < d | a & b[0] & c.d",
    # annotated types
    "(@X String) a + (@X int) -b + (@X A & @Y B) c + (java.lang.@X String) d",
    "new Outer.@X Inner() == new @X Outer<A>.@Y Inner<B>()",
    "new int @X [3] @Y [4] @Z [] == new int @X [] @Y [] {{}}",
    # type arguments of constructors
    "new <String> A() == new <T> @X A<B>()",
    "a.new <T> B() == a.b().new @X C<>()",
    "A<B>.C::d",
    # words that are keywords elsewhere
    "yield + a.yield[0] - module.open * (opens) / when",
    "(to, with) -> uses + provides.exports(requires, transitive)",
    r"\u0061b\u0030 + \u00e9",
]

STATEMENTS = [
    ";",
    "int a;",
    "int a = 1, b[] = {1, 2}, c[][];",
    "A a = Map<B, C>::new, b = c; boolean d = e < f, g = h > i, j = k < l, m[] = {n < o, p > q};",
    "return Map<A, List<B>>::new;",
    "final var a = b;",
    "@A(1) String[] a = {};",
    "List<String> a;",
    "Map<String, List<Map<A, B[]>>> a = b;",
    "A<B>.C<? extends D, ? super E, ?>[] f;",
    "List<@Nullable String> a; String @A [] b;",
    "a.b.C d;",
    "record = sealed + permits;",
    "a = b; a.b[c] += d; (a).b = c; (a) = b;",
    'a(); a.b().c(); this.a(); super.b(); new A().c(); (a).b(); "s".c(); int.class.d(); ((A) b).c();',
    "i++; --i; a[0]++;",
    "class A {} final class B {} abstract class C {} interface D {} enum E {} record F(int a) {}",
    "if (a) b(); else if (c) d(); else e();",
    "if (a) if (b) c(); else d();",
    "while (a) b();",
    "do a(); while (b);",
    "for (;;) {}",
    "for (int i = 0, j = 1; i < n >> 1; i++, j--) a();",
    "for (i = 0, j = 1; ; ) {}",
    "for (final List<String> a : b) {}",
    "for (int a : b) c();",
    "a: for (;;) { break a; } b: c();",
    "for (;;) continue;",
    "switch (a) { }",
    "switch (a) { case 1: case 2, 3: b(); break; default: }",
    "switch (a) { case B -> c(); default -> {} }",
    "try { } finally { }",
    "try { } catch (final A | b.C e) { } catch (D e) { } finally { }",
    "try (A a = b; final var c = d; e; this.f;) { }",
    "try (a) { } catch (E e) { }",
    "synchronized (a) { }",
    "throw new A();",
    "return;",
    "return a < b;",
    'assert a; assert a < b : "c";',
    "{ { } }",
    "// comment",
    "/**/ a(); /* * / ** */ b(); /***/",
    "(this.x)++; (a[0]) = 1; (a.b().c) += 2; ++(this.d); --(e[i]); ((f)) = 3; ((g.h)) = 4; ((i))[0].j = 5;",
    "int yield = 1;",
    "yield = 1; yield += 2; yield[0] = 3; yield.f(); yield++;",
    "var _ = a(); int b = 1, _ = c(); for (int _ : d) { } for (var _ = e(); ; ) { } for (final int f[] : g) { }",
    "try (var _ = a()) { } catch (E _) { }",
    "java.lang.@X String a; A.@X B<C>.@Y D[] b;",
    "switch (a) { case String s: case null: break; case R(var b) when c: d(); default: }",
    "module m; open = 1; to.with(uses, provides).exports++; when w = transitive; record = permits;",
    "final @X int a = 1; @X final class A {} sealed.permits(); non = b;",
]

MEMBERS = [
    ";",
    "{ } static { }",
    "int a; private static final int B = 1, C[] = {2};",
    "A() {} public A(int a) throws B, C { this(); } A(A a) { super(a); } A(B b) { b.super(); } A(C c) { c().super(); }",
    "<T> A(T a) {}",
    "void f() {} int g(); public abstract <T extends A & B<T>, U> T h(final T a, int[] b, C... d) throws E;",
    "native void yield(); synchronized int record(A this) { return 0; }",
    "default void f() {} private static void g() {}",
    '@Override @A.B(c = 1, d = {2, 3}, e = @F("g")) public void h() {}',
    "class B<T> extends C<T> implements D, E<F> {}",
    "interface B<T> extends C, D {}",
    "enum B { }",
    "enum B implements C { D, @E F(1), G { void h() {} }, ; int i; }",
    "enum B { C, D }",
    "record B() {}",
    "record B<T>(@C int a, T... b) implements D { public B { } static int e; int f() { return a; } }",
    "public @interface B { int a() default 1; String[] b() default {}; int C = 1; }",
    "@A @interface B {}",
    "sealed interface B permits C, D {} public sealed abstract class E permits F {} non-sealed class G extends H {}",
    "sealed public interface B permits C, a.D {}",
    "int a()[] { } int b()[][];",
    "A() { <String>this(1); } A(int a) { <B>super(2); } A(B b) { c.<D>super(3); } A(C c) { d().<D>super(4); }",
    "A(int a) { if (a < 0) throw new E(); int b = f(a); super(b); g(); }",
    "class B { B(A A.this) {} void f(@X B this, int a) {} class C { C(A.B A.B.this, int a) {} } }",
    "void f(String @X ... a) {} void g(int @X [] @Y ... a) {} void h(a.B<C>... a) {} void i(final int... a) {}",
    "class B extends @X C implements @Y D {} java.lang.@X String a;",
    "public <T> @X T f() { }",
    "int yield, module, open, opens, exports, requires, uses, provides, to, with, transitive, when;",
    "void module() { } void when() { } int with() { } class module { } enum to { with } record exports(int requires) { }",
    r"int \u0061, \uuu0042\u0031, a\u0024;",
    "protected abstract synchronized static @A final native strictfp int f(); final static private transient volatile int a;",
    "@A public @B static @C final @interface D {} @A abstract @interface E {}",
]

FILES = [
    "",
    "package a.b;",
    "@A package a;",
    "package a; import b.C; import b.d.*; import static e.F.g; import static e.F.*; ; class H {} ;",
    "import a.record.sealed.B;",
    "@A public final class B {}",
    "public @interface A {}",
    "import module java.base; import module.a.B; class A {}",
    'void main() { IO.println("hi"); }',
    "import a.B; static int a = 1; @X public <T> T f(T t) { return t; } record R() {} List<String> b = c; ;",
    "module a.b { }",
    "import a.b; @X open module c { requires d; requires transitive e.f; requires static transitive g; requires transitive; }",
    "module a { exports b; exports c to d, e.f; opens g; opens h to i; uses j.K; provides l.M with n.O, p.Q; requires static r; }",
    "module open.module.to { exports to to to; provides with with with; }",
]

NOT_EXPRESSIONS = [
    "",
    "a +",
    "+ * a",
    "(a + b) c",
    "(a + b) = c",
    "a() = b",
    "1++",
    "a b",
    "a..b",
    "(int a)",
    "(a, b)",
    "(a, 1) -> b",
    "(a.b) -> c",
    "a.b -> c",
    "(int) ",
    "int",
    "int[]",
    "new int",
    "new A",
    "new int[]",
    "new int[][3]",
    "a[]",
    "a ? b",
    "a instanceof 1",
    "1_ + 2",
    "0x",
    "08",
    "'ab'",
    "''",
    '"a',
    '"a\nb"',
    r'"\q"',
    '"""a"""',
    "List<String>",
    "A::1",
    "switch (a) { b(); }",
    "switch (a) { case 1 -> b; case 2: yield c; }",
    "a -> ",
    "if (a) b",
    "class",
    "_",
    "_ + 1",
    "f(a, b>::c)",
    "f(a < b)>::c",
    "a instanceof R(b, c)",
    "a instanceof (R b)",
    "a instanceof R(int b) c",
    "a instanceof final B",
    "a instanceof B _ _",
    "a instanceof B b when c",
    "switch (a) { case R(b) r -> c; }",
    "switch (a) { case R(int b, c) -> d; }",
    "switch (a) { case 1, default -> b; }",
    "switch (a) { case default -> b; }",
    "switch (a) { case A b, 1 -> c; }",
    "switch (a) { case 1 when b -> c; }",
    "switch (a) { case A b -> c; case A d: yield e; }",
    "(int... a, int b) -> c",
    "(String... a, b) -> c",
    "(a[]) -> b",
    "new <T> int[3]",
    "(@X) a",
    "(A & ) b",
    "new int[3] @X",
    r"\u0031a",
    r"a\u0020b",
]

NOT_STATEMENTS = [
    "a;",
    "a + b;",
    "a < b;",
    "1;",
    "int;",
    "int a b;",
    "final a;",
    "List<> a;",
    "(a);",
    "(A) b;",
    "a -> b;",
    "public int a;",
    "static class A {}",
    "sealed class A permits B {}",
    "if a b();",
    "if (a) int b;",
    "else a();",
    "for (int a) {}",
    "for (a < b; ; ) {}",
    "try { }",
    "try () { }",
    "catch (A a) { }",
    "return return;",
    "case 1: a();",
    "int f() { }",
    "{",
    "}",
    "a()",
    "import a.b;",
    "/* a",
    "int _;",
    "int _[] = {};",
    "final final int a;",
    "yield;",
    "(a + b)++;",
    "int a, _;",
    "case A b: c();",
]

NOT_MEMBERS = [
    "a();",
    "int",
    "int a() int b",
    "void a;",
    "f() ",
    "A { }",
    "public;",
    "return a;",
    "if (a) b();",
    "enum { }",
    "enum A { B C }",
    "record A { }",
    "class B extends C, D {}",
    "interface B implements C {}",
    "int a(b) {}",
    "int a(int b,) {}",
    "int _ = 1;",
    "void f(int _) {}",
    "void f(int... a, int b) {}",
    "void f(int a, B this) {}",
    "public public int a;",
    "public static public int a;",
    "static @A static int a;",
    "final abstract final class B {}",
    "public private int a;",
    "class B permits C {}",
    "class B extends C permits D {}",
    "non-sealed class B permits C {}",
    "sealed class B permits @X C {}",
    "sealed class B permits C<D> {}",
    "class record {}",
    "class B<yield> {}",
    "enum permits { }",
    "interface sealed { }",
    "class _ { }",
    "void f() = 1;",
    "int a() default 1, b();",
]

NOT_FILES = [
    "package a; package b;",
    "import a;",
    "import a.*.b;",
    "class A {} import b.c;",
    "public package a;",
    "class A",
    "class A {}}",
    "int a = 1",
    "Here is the class: class A {}",
    "package a; void main() {}",
    "void main() {} import a.b;",
    "A() {} void main() {}",
    "{ } void main() {}",
    "import a.b; ; import c.d;",
    "module a { } class B {}",
    "module a { int b; }",
    "module a { exports b to; }",
    "module a { requires static static b; }",
    "module a { provides b; }",
    "open class A {}",
    "open a { }",
    "import module a.*;",
]

STRICTER = [
    statement("a = A<B, C>::d;"),
    expression("(F) A<B, C>::d"),
    statement("f(A<B, C[][]>::new, A<B, C.D<E, F>>::new);"),
    r"class A \u007b }",
]

LOOSER = [
    member("B() { } default void f() { } static int goto, const;"),
    member("abstract abstract void f();"),
    member("interface B { int c; { } } record D() { int e; }"),
    "class var {}",
    expression("yield(a)"),
    r"class A { int \u0069f; }",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_accepts_expression(java: Lark, text: str) -> None:
    assert accepts(java, expression(text))


@pytest.mark.parametrize("text", STATEMENTS)
def test_accepts_statements(java: Lark, text: str) -> None:
    assert accepts(java, statement(text + "\n"))


@pytest.mark.parametrize("text", MEMBERS)
def test_accepts_members(java: Lark, text: str) -> None:
    assert accepts(java, member(text))


@pytest.mark.parametrize("text", FILES)
def test_accepts_file(java: Lark, text: str) -> None:
    assert accepts(java, text)


@pytest.mark.parametrize("text", NOT_EXPRESSIONS)
def test_rejects_expression(java: Lark, text: str) -> None:
    assert not accepts(java, expression(text))


@pytest.mark.parametrize("text", NOT_STATEMENTS)
def test_rejects_statement(java: Lark, text: str) -> None:
    assert not accepts(java, statement(text))


@pytest.mark.parametrize("text", NOT_MEMBERS)
def test_rejects_member(java: Lark, text: str) -> None:
    assert not accepts(java, member(text))


@pytest.mark.parametrize("text", NOT_FILES + STRICTER)
def test_rejects_file(java: Lark, text: str) -> None:
    assert not accepts(java, text)


@pytest.mark.parametrize("text", LOOSER)
def test_accepts_what_only_more_than_a_grammar_sees(java: Lark, text: str) -> None:
    assert accepts(java, text)


def test_shift_may_be_spaced(java: Lark) -> None:
    """`>>` is two tokens, so this javac error passes; the header of the grammar says so."""
    assert accepts(java, expression("a > > b"))


def test_keywords_are_identifiers_in_full(java: Lark) -> None:
    """Lark matches an identifier first and looks keywords up; maximal munch agrees only if no keyword stops short."""
    patterns = {terminal.name: terminal.pattern for terminal in java.terminals}
    identifier = re.compile(patterns["IDENTIFIER"].to_regexp())
    words = [p.value for p in patterns.values() if p.type == "str" and p.value.isalpha()]
    assert "class" in words
    assert all(identifier.fullmatch(word) for word in words)


@pytest.mark.parametrize(
    ("terminal", "alphabet"),
    [
        ("NUMBER", ["0", "1", "7", "9", "x", "b", "a", "f", "L", "e", "p", "_", ".", "-"]),
        ("STRING", ['"', '"', '"""', "\n", "\\", "u00e9", "a", " "]),
        ("INFIX", list("|&=!<>/%^")),
        ("COMPOUND_ASSIGNMENT", list("<<>>>+=")),
    ],
)
def test_first_match_is_longest(java: Lark, terminal: str, alphabet: list[str]) -> None:
    """Python's alternation takes the first alternative, psc the longest: on these terminals there is no difference."""
    pattern = next(t.pattern for t in java.terminals if t.name == terminal)
    compiled = re.compile(pattern.to_regexp())
    rng = random.Random(17)
    matched = 0
    for _ in range(4000):
        text = "".join(rng.choices(alphabet, k=rng.randrange(1, 9)))
        longest = max((n for n in range(len(text) + 1) if compiled.fullmatch(text, 0, n)), default=None)
        found = compiled.match(text)
        assert (found.end() if found else None) == longest
        matched += longest is not None
    assert matched > 100
