"""The bundled Java grammar, as a table of what it accepts and what it rejects.

The idea: each row is one construct of the JLS, or one of the places where LALR(1) is tight (casts, lambdas, type
arguments, shifts), written where it may stand: as an expression, a statement, a class member or a whole file.  Lark's
basic lexer judges.  A row that is Java is accepted by javac 17 as well; the rows under "stricter" are the exceptions
that the grammar's header lists.
"""

import random
import re
from pathlib import Path

import pytest
from lark import Lark
from lark.exceptions import UnexpectedInput

GRAMMAR = Path(__file__).resolve().parents[2] / "compiler" / "grammars" / "java.lark"


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
]

STATEMENTS = [
    ";",
    "int a;",
    "int a = 1, b[] = {1, 2}, c[][];",
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
    "sealed public interface B permits C {}",
]

FILES = [
    "",
    "package a.b;",
    "@A package a;",
    "package a; import b.C; import b.d.*; import static e.F.g; import static e.F.*; ; class H {} ;",
    "import a.record.sealed.B;",
    "@A public final class B {}",
    "public @interface A {}",
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
]

STRICTER = [
    "module a { }",
    member("int f()[] { }"),
    statement("f(A<B, C>::d);"),
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


def test_shift_may_be_spaced(java: Lark) -> None:
    """`>>` is two tokens, so this javac error passes; the header of the grammar says so."""
    assert accepts(java, expression("a > > b"))


def test_keywords_are_identifiers_in_full(java: Lark) -> None:
    """Lark matches an identifier first and looks keywords up; maximal munch agrees only if no keyword stops short."""
    patterns = {terminal.name: terminal.pattern for terminal in java.terminals}
    identifier = re.compile(patterns["IDENTIFIER"].to_regexp())
    words = [p.value for p in patterns.values() if p.type == "str" and p.value[0].isalpha()]
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
