"""`?layout=bounded`: of a Lark grammar's texts exactly those without comments and without long runs of blanks."""

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from masks_along_texts import check_mask
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.format import read_file
from psc.compiler.frontends.layout import BOUNDED, LayoutSettings
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.grammars import bundled_bounds_layout, bundled_names
from psc.errors import GrammarError
from psc.grammars.compile_file import compile_to_artifact
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.serving.kinds import request_of
from psc.serving.options import ServiceOptions

MOST = 3
GRAMMAR = r"""
start: item+
item: NAME "=" term (("/" | "*") term)* ";"
term: NAME | STRING
NAME: /[a-z]+/
STRING: /"[^"\n]*"/
BLANKS: /[ \n]+/
COMMENT: /\/\/[^\n]*|\/\*([^*]|\*+[^*\/])*\*+\//
%ignore BLANKS
%ignore COMMENT
"""
VOCABULARY = byte_tokenizer(
    "//", "/*", "*/", "  ", "    ", "\n\n\n\n", '"//"', " /", "/ ", "a //", "a/b", '"    "', ";\n", '" /', "*\n  \n"
)


def breaks(text: str, most: int) -> bool:
    """Whether a comment has begun outside of strings, or too long a run of blanks."""
    outside = re.sub(r'"[^"\n]*("|$)', '""', text)
    return "//" in outside or "/*" in outside or re.search(rf"[ \n]{{{most + 1}}}", outside) is not None


@cache
def whole() -> psc.CompiledGrammar:
    return compile_just_in_time(Grammar.parse(GrammarRequest.of("lark", GRAMMAR, lexer="basic")), VOCABULARY)


def viable(text: bytes) -> bool:
    """By the grammar without bounds. A slash at the end must be able to divide: it may have begun a comment only."""
    shown = text.decode("latin-1")
    return not breaks(shown, MOST) and any(
        psc.GrammarMatcher(whole()).accept_string(text + more) for more in ([b" a", b'"'] if text.endswith(b"/") else [b""])
    )


def just_in_time(folder: Path) -> psc.CompiledGrammar:
    request = GrammarRequest.of("lark", GRAMMAR, lexer="basic", settings=LayoutSettings(max_blanks=MOST))
    return compile_just_in_time(Grammar.parse(request), VOCABULARY)


def from_an_artifact(folder: Path) -> psc.CompiledGrammar:
    (folder / "small.lark").write_text(GRAMMAR)
    settings = LayoutSettings(max_blanks=MOST)
    compile_to_artifact(folder / "small.lark", VOCABULARY, folder / "small.psc", lexer="basic", settings=settings)
    return psc.CompiledGrammar.from_artifact(read_file(folder / "small.psc"), tokenizer_info=VOCABULARY)


@pytest.mark.parametrize("build", [just_in_time, from_an_artifact])
def test_whole_masks(build: Callable[[Path], psc.CompiledGrammar], tmp_path: Path) -> None:
    compiled = build(tmp_path)
    rng = random.Random(1)
    tokens = VOCABULARY.decoded_vocab
    likely = [
        i
        for i, t in enumerate(tokens)
        if t in (b" ", b"\n", b"/", b"*", b'"', b"=", b";", b"a", b"  ", b" /", b'"//"', b"/ ", b"a/b")
    ]
    for _ in range(12):
        matcher, text = psc.GrammarMatcher(compiled), b""
        for _ in range(14):
            allowed = set(matcher.allowed_tokens())
            stop = set(VOCABULARY.stop_token_ids)
            assert allowed - stop == {i for i, t in enumerate(tokens) if t and i not in stop and viable(text + t)}, text
            ended = psc.GrammarMatcher(whole())
            assert bool(allowed & stop) == (ended.accept_string(text) and ended.is_completed()), text
            choice = [i for i in likely if i in allowed] or sorted(allowed - stop)
            token = rng.choice(choice)
            assert matcher.accept_token(token)
            text += tokens[token]


TEXTS = {
    "java": "class A { int x = 4 / 2; String s = \"// no\"; char c = '/'; }",
    "sql": "SELECT a / 2 FROM t WHERE b = '-- no' ;",
    "bigquery": "SELECT a / 2 FROM t WHERE b = '-- no';",
    "mysql": "SELECT a / 2 FROM t WHERE b = '-- no';",
    "postgresql": "SELECT a / 2 FROM t WHERE b = '-- no';",
    "sqlite": "SELECT a / 2 FROM t WHERE b = '-- no';",
    "graphql": '{ user(id: "# no") { name friends } }',
    "go": 'package a; func f() { x := 4 / 2; s := "// no"; return }',
    "proto": 'syntax = "proto3"; option a = "// no"; message B { string c = 1 [d = \'/* no\']; }',
    "dot": 'digraph { a -> b [ c = "// no" ] ; d = <e/*no*/> }',
    "sparql": "SELECT * { ?a :b '# no' ; <c#d> ?e }",
    "cypher": "MATCH (a)-[:B]->(c {d: '// no'}) RETURN a.b / 2, `/*no`",
    "latex_math": r"\sum_{i} \frac {a / 2} b ^ 2",
    "rust": 'fn f(a: &\'static str) { let x = 4 / 2; m!("// no", r#"/* no"#); }',
    "csharp": 'class A { int x = 4 / 2; string s = @"// no", t = $"/* {x} no */"; char c = \'/\'; }',
    "kotlin": "val x = 4 / 2; val s = \"// no ${a /b} /* $c */\"; val d = '/'; fun f() { g(x, s) }",
    "javascript": "let x = 4 / 2, s = '// no'; f(x, /[/*]/)",
    "typescript": "let x: number = 4 / 2, s = '// no'; f<T>(x, /[/*]/)",
    "jsx": "let x = 4 / 2, s = '// no', e = <a b='/* no'><c d /></a>",
    "tsx": "let x: number = 4 / 2, s = '// no', e = <a b='/* no'><c d /></a>",
    "python": "f(x, 4 / 2, s('# no'), [a, b])",
    "cpp": 'int main() { auto x = 4 / 2; std::vector<a<b>> s{"// no", R"x(/* no)x"}; return x; }',
    "c": 'int main(void) { int x = 4 / 2; char *s = "// no"; return x; }',
}
LINES_APART = ("c", "cpp", "go", "javascript", "kotlin", "typescript", "jsx", "tsx")
"""Of these, what is from a line end on is a lexeme of its own."""
COMMENTS = {"graphql": "# c\n", "latex_math": "% c\n", "python": "# c\n", "sparql": "# c\n"}
EMPTY_LINES = {"python": 8}


def test_which_can_be_bounded() -> None:
    of_rules = {"dockerfile", "hcl", "json", "markdown", "pddl", "toml", "xml", "yaml"}  # tests/compiler/grammars
    assert {name for name in bundled_names() if bundled_bounds_layout(name)} == {*TEXTS} | of_rules
    for name in sorted({*bundled_names()} - {*TEXTS} - of_rules):
        with pytest.raises(GrammarError, match=r"layout|no such option"):
            Grammar.parse(find_grammar(f"{name}?layout=bounded").request())


@cache
def bundled(spec: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(VOCABULARY, store=False).compile_file(spec)


@pytest.mark.parametrize("name", TEXTS)
def test_bundled_grammars(name: str) -> None:
    """A text, and the same with a comment or with blanks wherever there is a blank."""
    text, bounded = TEXTS[name], bundled(f"{name}?layout=bounded")

    def stops(compiled: psc.CompiledGrammar, data: str) -> int | None:
        matcher = psc.GrammarMatcher(compiled)
        read = matcher.accept_prefix(data.encode())
        return read if read < len(data) else None if matcher.is_completed() else -1

    assert stops(bounded, text) is None
    outside = [m.start() for m in re.finditer(r"\"[^\"]*\"|'[^']*'|( )", text) if m[1]]
    assert len(outside) > 3
    for at in outside:
        comment = COMMENTS.get(name, "/* c */")
        begun = text[:at] + " " + comment + text[at:]
        assert stops(bundled(name), begun) is None
        assert stops(bounded, begun) in range(at + 1, at + 3), begun  # a slash or a minus alone may be an operator
        blanks = text[:at] + " " * (BOUNDED - 1) + text[at:]
        assert stops(bounded, blanks) is None
        assert stops(bounded, blanks[:at] + " " + blanks[at:]) == at + BOUNDED
        assert stops(bundled(name), blanks[:at] + " " + blanks[at:]) is None


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_begins_with_its_first_word(name: str) -> None:
    """No token with a blank before it is allowed, nor one that is nothing else; and the end of a text is bounded."""
    bounded = bundled(f"{name}?layout=bounded")
    first = [VOCABULARY.decoded_vocab[token] for token in psc.GrammarMatcher(bounded).allowed_tokens()]
    assert first and not [text for text in first if text[:1].isspace()]
    assert psc.GrammarMatcher(bundled(name)).accept_string(" \n" + TEXTS[name])
    matcher = psc.GrammarMatcher(bounded)
    ends = EMPTY_LINES[name] + 1 if name in EMPTY_LINES else BOUNDED
    assert matcher.accept_string(TEXTS[name] + "\n" * ends) and matcher.is_completed()
    assert not matcher.accept_string("\n")


def is_short(name: str, run: bytes) -> bool:
    """Whether blanks between two words are few enough."""
    if name in EMPTY_LINES:
        return max(map(len, run.split(b"\n"))) <= BOUNDED and run.count(b"\n") <= EMPTY_LINES[name] + 1
    line = run.partition(b"\n")[0]
    parts = [line, run[len(line) :]] if name in LINES_APART else [run]
    return all(len(part) <= BOUNDED for part in parts)


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_left_of_the_masks(name: str) -> None:
    """Along random texts without quotes and comments: of what the whole language allows, all but longer runs of blanks."""
    bounded, whole = (psc.GrammarMatcher(bundled(spec)) for spec in (f"{name}?layout=bounded", name))
    tokens, rng, text = VOCABULARY.decoded_vocab, random.Random(name), b""
    plain = {i for i, t in enumerate(tokens) if t and not set(t) & set(b"\"'`/#%-$*\r\f\v,\\") and t.isascii()}
    plain -= set(VOCABULARY.stop_token_ids)
    for _ in range(150):
        few, all_ = set(bounded.allowed_tokens()), set(whole.allowed_tokens())
        assert few <= all_, text
        runs = {i: re.findall(rb"[ \t\n]+", (re.search(rb"[ \t\n]*$", text) or [b""])[0] + tokens[i]) for i in plain}
        wanted = {i for i in plain & all_ if all(is_short(name, run) for run in runs[i]) and (text or not tokens[i][:1].isspace())}
        assert few & plain == wanted, (text, [tokens[i] for i in few & plain ^ wanted])
        if not wanted:
            break
        blank = [i for i in wanted if tokens[i].isspace()]
        token = rng.choice(sorted(blank if blank and rng.random() < 0.7 else wanted))
        assert bounded.accept_token(token) and whole.accept_token(token)
        text += tokens[token]


@pytest.mark.parametrize("name", TEXTS)
def test_a_model_that_loves_blanks(name: str) -> None:
    """It writes the token with the most blanks that is allowed, else any: all that it writes is in the whole language, too."""
    matcher, rng, text = psc.GrammarMatcher(bundled(f"{name}?layout=bounded")), random.Random(name), b""
    for _ in range(400):
        allowed = [t for t in matcher.allowed_tokens() if t not in VOCABULARY.stop_token_ids]
        if not allowed:
            break
        blanks = [sum(byte in b" \n\t" for byte in VOCABULARY.decoded_vocab[token]) for token in allowed]
        token = rng.choice([t for t, n in zip(allowed, blanks, strict=True) if n == max(blanks)])
        assert matcher.accept_token(token)
        text += VOCABULARY.decoded_vocab[token]
    runs = re.findall(rb"[ \n\t]+", re.sub(rb"\"[^\"]*(\"|$)|'[^']*('|$)|`[^`]*(`|$)", b"''", text))
    assert all(is_short(name, run) for run in runs) and len(runs) > 2
    assert psc.GrammarMatcher(bundled(name)).accept_string(text)


@pytest.mark.parametrize("name", ["java", "sql", "graphql"])
def test_masks_and_tokens_agree(name: str) -> None:
    matcher = psc.GrammarMatcher(bundled(f"{name}?layout=bounded"))
    for byte in TEXTS[name].encode():
        check_mask(matcher, VOCABULARY)
        assert matcher.accept_string(bytes([byte]))


GO = 'package a\n\nimport "b"\n\nfunc f() int {\n\tx := 4 / 2\n\tif x > 1 { return 1 }\n\treturn "// no"\n}\n'


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("", "", None),
        ("\n\n", "\n", None),
        ("\n\n", "\n" * BOUNDED, None),
        ("\n\n", "\n" * (BOUNDED + 1), 9 + BOUNDED),
        ("\n\n", " " * BOUNDED + "\n" * BOUNDED, None),
        ("\n\n", " " * (BOUNDED + 1) + "\n", 9 + BOUNDED),
        ("\n\n", "\n// c\n", 10),
        ("\n\n", " // c\n", 10),
        ("\n\n", "/* c\n */", 9),
        ("\n\n", "\n/* c */\n", 10),
        (":= 4", ":=\n\n\t4", None),
        ("package", "\npackage", 0),
        ("package", "\ufeffpackage", 0),
    ],
)
def test_lines_of_go(old: str, new: str, at: int | None) -> None:
    """A line end may be a semicolon, and is of a run that is bounded like blanks; the whole language has all of these texts."""
    text = GO.replace(old, new, 1).encode()
    for spec, wanted in (("go", None), ("go?layout=bounded", at)):
        matcher = psc.GrammarMatcher(bundled(spec))
        read = matcher.accept_prefix(text)
        assert (None if read == len(text) and matcher.is_completed() else read) == wanted, spec


def test_names_and_settings() -> None:
    assert find_grammar("java?layout=any").request() == find_grammar("java").request()
    bounded = find_grammar("java?layout=bounded")
    assert bundled("java?layout=bounded").grammar_name == "java?layout=bounded" != bundled("java").grammar_name
    assert bounded.stem == "java-layout=bounded" and bounded.request().options.settings == LayoutSettings(max_blanks=BOUNDED)
    assert request_of("grammar", "java?layout=bounded", ServiceOptions()) == bounded.request()
    assert LayoutSettings.of_text(LayoutSettings(max_blanks=7).text) == LayoutSettings(max_blanks=7)
    for wrong in ("java?layout=none", "java?x", "csv?layout=none"):
        with pytest.raises(GrammarError, match=r"option"):
            find_grammar(wrong)
    for text in ("[]", '{"max_blanks": 0}', '{"max_blanks": true}', '{"other": 1}', "{"):
        with pytest.raises(GrammarError):
            LayoutSettings.of_text(text)


@pytest.mark.parametrize(
    ("grammar", "lexer", "said"),
    [
        ('start: "a"+\n%ignore / +/', "contextual", "its lexer"),
        ('start: "a"+\n%ignore /[ ]|b/', "basic", "no run of blanks"),
        ('start: "a"+', "basic", "no run of blanks"),
        ('start: "a"+\nC.2: "//"\nB: /[ ]+/\n%ignore B\n%ignore C', "modal", "would be a mode"),
    ],
)
def test_what_cannot_be_bounded(grammar: str, lexer: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said):
        Grammar.parse(GrammarRequest.of("lark", grammar, lexer=lexer, settings=LayoutSettings(max_blanks=2)))  # type: ignore[arg-type]
