"""C as people write it: what `c` takes of macros, `c?preprocessed` refuses; and broken code with macros is refused by both."""

from bundled_texts import takes
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.lookup import find_grammar, with_bounded_layout
from psc.compiler.grammars import bundled_specs

WITH_MACROS = [
    "void FAST_FUNC f(int argc UNUSED_PARAM, char **argv) { }",
    "API int f(void); static hidden int g(void); l_sinline node *h(void);",
    "static const char a[] ALIGN1 = { 1, 2 };",
    "GIT_INLINE(int) f(int a) { return a; }",
    "TEST_IMPL(a) { return 0; } static TEST(b, c) { }",
    "GIT_BEGIN_DECL\nint a;\nGIT_END_DECL\n",
    "struct s { TAILQ_ENTRY(s) e; HANDLE_FIELDS int b; PACKED_FIELDS };",
    "weak_alias(a, b); int c;",
    "void f(void) { TAILQ_FOREACH(a, b, c) { d(a); } list_for_each_entry(a, &b, c) { d(a); } }",
    "void f(void) { if (a) DEBUG(b) else c(); TAILQ_FOREACH(d, e, g) if (d) break; }",
    "void f(void) { a = cast(unsigned char, x); b = container_of(q, struct s, m); if (timercmp(a, b, <)) c(); }",
    'char *a = "b" STRINGIFY(c) "d", *e = EG "g";',
    "int f OF((int a, const char *b)); int ZEXPORT g OF((void));",
    "enum a { ERRNO_MAP(XX) B, C = 2 }; int d[] = { LIST(XX) 1, 2 };",
    "void f(void) { g(a, b IF_X(, c)); IF_Y(a = 1; b = 2;) }",
    "DEFINE_LIST_SORT(static, sort, struct s, next); int ngx_cdecl main(int argc) { }",
]
BROKEN = [
    "void FAST_FUNC f(int a UNUSED { }",
    "GIT_INLINE(int f(int a) { return a; }",
    "TEST_IMPL(a { return 0; }",
    "struct s { TAILQ_ENTRY(s e; };",
    "weak_alias(a, b) int c",
    "void f(void) { TAILQ_FOREACH(a, b, c) { d(a) } }",
    "void f(void) { a = cast(unsigned char, ); }",
    "void f(void) { a = b(c d); }",
    "void f(void) { g(a, ); }",
    "void f(void) { return MAX(a b c); }",
    "void f(void) { a b c; }",
    "void f(void) { foo(x) { } }",
    "enum { A B };",
    "int a MACRO",
]


def test_macros_are_of_c_alone() -> None:
    assert [text for text in WITH_MACROS if not (takes("c", text) and not takes("c?preprocessed", text))] == []


def test_broken_code_is_refused() -> None:
    assert [text for text in BROKEN if takes("c", text) or takes("c?preprocessed", text)] == []


def test_with_bounded_layout() -> None:
    texts = [text for text in WITH_MACROS if "\n" not in text]
    assert [
        text
        for text in texts
        if not (
            takes("c?layout=bounded", text)
            and not takes("c?preprocessed&layout=bounded", text)
            and not takes("c?layout=bounded", f"/* a */ {text}")
        )
    ] == []


def test_calls_within_calls_are_read_in_one_way() -> None:
    """Were each level read twice, 40 would be more steps than a matcher takes."""
    assert takes("c", f"int a = {'MAX(b, ' * 40}1{')' * 40};")
    assert takes("c", f"void f(void) {{ {'EACH(a) { ' * 20}{'} ' * 20}}}")


def test_runs_of_macros_take_few_steps() -> None:
    """A run is not read anew for each place in it where specifiers might begin: a byte took 30,000 steps so."""
    compiled = psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file("c")
    matcher = psc.GrammarMatcher(compiled, max_steps=3000)
    for byte in b"MAKE(int, a, (void *b, int c))\n" * 200:
        assert matcher.accept_token(byte)


def test_names_of_the_part() -> None:
    assert "c?preprocessed" in bundled_specs()
    assert find_grammar("c?preprocessed&layout=bounded").stem == "c-preprocessed-layout=bounded"
    assert find_grammar("c?preprocessed&layout=any").name == "c?preprocessed"
    assert with_bounded_layout("c?preprocessed") == "c?preprocessed&layout=bounded"
    assert with_bounded_layout("c?preprocessed&layout=any") == "c?preprocessed&layout=any"
