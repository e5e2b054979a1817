"""The bundled C grammar, as a table of what it accepts and what it refuses; GCC, where it is installed, judges both alike."""

import random
import re
from functools import cache

import pytest
from bundled_texts import takes
from masks_along_texts import check_masks_along
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.lookup import find_grammar
from psc.corpus.references.gcc import Gcc
from psc.errors import ReferenceMissingError

ACCEPTED = [
    "",
    "int a, *b, c[3], (*d)(int, char **), *(*e[2])(void);",
    "typedef unsigned long long int a; static const a b = 1; a const volatile *restrict c;",
    "typedef int a; a b; void c(a d, a *e, a f(a), a) { a g = (a) d; a * h; (a) (d); sizeof(a) * 3; }",
    "struct a { int b : 3, : 0, c; union { int d; float e; }; struct a *next; } f = { .b = 1, .d = 2 }, g[] = { [0] = { 1 } };",
    "enum a { B, C = 1 << 2, } d; enum a e;",
    "int f(const char *a, ...), g(int b[static 3], int c[*], int [2], int (*)(void));",
    "int f(a, b) int a; char *b; { return a; }",
    "int f(int a) { if (a) if (!a) return 1; else return 2; while (a) a--; do a++; while (a < 3); return 0; }",
    "int f(int a) { for (int i = 0, j; i < a; i++, j--) continue; for (;;) break; for (a = 1; a;) ; return a; }",
    "int f(int a) { switch (a) { case 1: case 2 + 3: a = 1; break; default: ; } b: goto b; }",
    "int a, b; void f(void) { a = b ? a : b, a += -b - --a + +b++ * *&a; a = a || b && a | b ^ a & b == a < b << 1 + 2 * 3; }",
    "struct a { int b; struct a *c; } *d; void f(void) { d->c->b++; (*d).b = ((struct a) { 1, d }).b; f(); (*f)(); }",
    "int a = 0x1Fu, b = 017, c = 'a' + L'\\n' + '\\x1f' + '\\'', d = 1e5 + .5f + 1. + 0x1p-3L + 1ull;",
    'char *a = "b" "c\\n\\"d\\"" L"\\u00e9";',
    '_Static_assert(sizeof(int) == 4, "a"); _Noreturn void f(void); _Thread_local int b; _Alignas(16) int c; _Atomic(int) d;',
    "int a = _Generic(1, int: 2, default: 3), b = _Alignof(int);",
    "// a \\\n b\n/* c * d */ int e; /**/\n",
    "#include <a.h>\n#define b(c) \\\n  { c }\nint d;\n#if 0\nint g;\n#endif\n",
    "int f(void) { int a = ({ int b = 1; b; }); return a ?: 2; }",
    'extern int f(int a) __asm__("g") __attribute__((nonnull, aligned(8), format (printf, 1, 2)));',
    "struct __attribute__((packed)) a { } b = { }; int c[] = { [0 ... 3] = 1 }; __extension__ typedef int d;",
    'void f(int a) { asm volatile ("b %0" : "=r" (a) : [c] "r" (a), "i" (3) : "memory", "cc"); __asm__ ("nop"); }',
    "void f(void) { void *a = &&b; goto *a; b: ; switch (1) { case 1 ... 3: ; } __typeof__(a) c; typeof(int *) d; }",
    "void f(int a, ...) { __builtin_va_list b; int c = __builtin_va_arg(b, int) + __builtin_offsetof(struct { int d; }, d); }",
    "long a; int long unsigned b; long const int long c; short d; double long e; _Complex float f; signed char *g; char h;",
    "int long const long unsigned a; long double _Complex b; unsigned __int128 d; short int signed e; char signed f;",
    "int f(void) { int __label__x; { __label__ a, b; a: b: ; } return 0; }",
    "void f(int a) { b: int c; switch (a) { case 1: int d = 2; case 2: e: default: } g: { } h: i: ; while (a) j: k: a--; l: }",
    "unsigned int _Complex a; _Complex int b; _Complex unsigned char c; short _Complex d; __complex__ long e;",
    '_Pragma("a") int b; void f(void) { _Pragma("c") int d; _Pragma("e") f(); } struct s { _Pragma("g") int h; };',
    "[[nodiscard]] int f(void); [[noreturn, gnu::cold]] void g(int a [[maybe_unused]], [[maybe_unused]] int b) [[c]];",
    'struct [[deprecated("a")]] s { [[b]] int c; int d [[e]], f[2] [[g]]; }; enum [[h]] i { J [[k]] = 1, L [[m]] };',
    "void f(int a) { switch (a) { case 1: a++; [[fallthrough]]; default: ; } [[b]] int c; [[d]] e: a++; if (a) [[g]] { } }",
    "[[a]]; [[gnu::aligned(8)]] int b; [[]] int c; [[gnu::const, , d()]] int f(void) { return 1; } int g(void) [[h]] { return 2; }",
]
HEADERS = {
    "complex": "_Complex",
    "noreturn": "_Noreturn",
    "alignas": "_Alignas",
    "alignof": "_Alignof",
    "thread_local": "_Thread_local",
}
OF_HEADERS = [
    "double complex a = 1.0; complex float b; float complex *f(complex long double c);",
    "noreturn void f(void); static noreturn void g(void) { for (;;) ; }",
    "alignas(16) int a; alignas(double) char b[8]; int c = alignof(int); thread_local int d; static thread_local int *e;",
]
NOT_OF_HEADERS = ["complex void a;", "alignas int a;", "int a = alignof;", "thread_local;;a"]  # fmt: skip
REFUSED = [
    "int",
    "int int a;",
    "void int a;",
    "unsigned signed a;",
    "long int unsigned int a;",
    "void f(void void);",
    "char char a;",
    "short short a;",
    "long long long a;",
    "long short a;",
    "long char a;",
    "long long double a;",
    "unsigned float a;",
    "signed int unsigned a;",
    "float _Bool a;",
    'void f(void) { "a" b(); }',
    'int f(int a) { "b" a * a; }',
    "f(void);",
    "f(void) { }",
    "int a { }",
    "int f(int a; int b);",
    "int a",
    "int a b;",
    "int 1;",
    "a b c;",
    "int a = ;",
    "int a[;",
    "int a = {1 2};",
    "int f( { }",
    "int f(int a,) { }",
    "int f(void) { return }",
    "int f(void) { if 1 ; }",
    "int f(void) { else ; }",
    "int f(void) { do ; while (1) }",
    "int f(void) { for (;) ; }",
    "int f(void) { goto 1; }",
    "int f(int a) { if (a) b: }",
    "int f(int a) { if (a) b: int c; }",
    "int f(int a) { do b: while (a); }",
    "_Complex void a;",
    "_Complex _Bool a;",
    "_Pragma(a) int b;",
    "[[ int a;",
    "[a] int b;",
    "[[a b]] int c;",
    "[[a::]] int b;",
    "[[a::b::c]] int d;",
    "int (a) [[b]];",
    "int a = [[b]] 1;",
    "int [[a]] const b;",
    "int a[2][[1]];",
    "int f(void) { [[a]] }",
    "int f(void) { 1 2; }",
    "int f(int a) { a +; }",
    "struct { int b; } a; int f(void) { a.1; }",
    "struct { int b; } *a; int f(void) { a->; }",
    "int f(void) { (int; }",
    "int f(void) { sizeof; }",
    "int f(void) { return 1; ",
    "int f(void) { } }",
    "struct { int };;;a",
    "struct a { int b }",
    "enum { };",
    "enum a { B C };",
    "int a = 'bc;",
    'char *a = "b;',
    'char *a = "b\nc";',
    "int a = '';",
    "int a = 08;",
    "/* a",
    "a: int b;",
    "int class::a;",
    "return 1;",
    "unsigned long a b;",
    "int a = @;",
    "f(int) ) ;",
]


@cache
def compiled() -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file("c")


def accepts(text: str) -> bool:
    matcher, data = psc.GrammarMatcher(compiled()), text.encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


def test_accepts() -> None:
    assert [text for text in ACCEPTED + OF_HEADERS if not (accepts(text) and takes("c?preprocessed", text))] == []


def test_refuses() -> None:
    assert [text for text in REFUSED + NOT_OF_HEADERS if accepts(text) or takes("c?preprocessed", text)] == []


def test_gcc_judges_alike() -> None:
    try:
        gcc = Gcc()
    except ReferenceMissingError as e:
        pytest.skip(str(e))
    assert [t for t, r in zip(ACCEPTED, gcc.judge(ACCEPTED), strict=True) if r is not None] == []
    assert [t for t, r in zip(REFUSED, gcc.judge(REFUSED), strict=True) if r is None] == []
    for texts, taken in ((OF_HEADERS, True), (NOT_OF_HEADERS, False)):
        defined = [re.sub("|".join(HEADERS), lambda word: HEADERS[word[0]], text) for text in texts]
        assert [(r is None) is taken for r in gcc.judge(defined)] == [True] * len(texts)


def test_directives_are_blank_with_their_comments() -> None:
    assert accepts("#if 0 /* a\n  b */ c\nint d; /* e */ # f\n  # /* g\n h */ i \\\n j\n")
    assert accepts(" #pragma a\n\n\n\t#pragma b")


def test_what_only_a_header_makes_a_word_is_a_name() -> None:
    assert accepts("struct complex { int complex; } complex; complex a; complex *f(int noreturn) __attribute__((noreturn));")


def test_with_bounded_layout() -> None:
    assert [text for text in ACCEPTED[-7:] + OF_HEADERS if not takes("c?layout=bounded", text)] == []


def test_a_name_among_strings_is_a_macro() -> None:
    assert accepts('void f(void) { char *a = "b" C "d" E; f("%" F "u" G, 1, "h"); asm("i" J : : "k" (1)); }')
    assert accepts('char *f(int a) { return a ? "l" M : "n"; }')


def test_a_directive_begins_a_line() -> None:
    assert not accepts("int a; # 1\n")
    assert not accepts("int # 1\na;\n")
    assert accepts("int \n# 1\na;\n")
    assert accepts('#ifdef __cplusplus\nextern "C" {\n#endif\nint a;\n#ifdef __cplusplus\n}\n#endif\n')


def test_every_way_to_read_names_is_followed() -> None:
    """Its tables keep all actions, whoever asks for it by its name."""
    assert find_grammar("c").request().options.keep_all_actions
    assert not find_grammar("java").request().options.keep_all_actions


def test_masks_allow_what_is_accepted() -> None:
    check_masks_along(compiled(), byte_tokenizer(), b"a * b; c d(e f) { g * h; i(j)(k); (l) (m); return (n) { o }; }")


_NAME = re.compile(r"(?<![\w.'\"\\\\#])[a-zA-Z]\w*\b(?!['\"])")
_LIKE_MACROS = ["EACH", "A", "for_each_x", "list_for_each", "foo_unused", "hidden", "FILE", "_x_", "XINLINE", "local"]


@pytest.mark.parametrize("seed", range(20))
def test_names_of_any_kind_may_be_names(seed: int) -> None:
    """A text without macros stays C where one of its names is changed to one that looks like a macro."""
    rng = random.Random(seed)
    for text in ACCEPTED:
        name, other = rng.choice(_NAME.findall(text) or ["a"]), rng.choice(_LIKE_MACROS)
        changed = re.sub(rf"(?<![\w.'\"\\\\#]){name}\b(?!['\"])", other, text)
        assert takes("c", changed) or not takes("c?preprocessed", changed), changed
