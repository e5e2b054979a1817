"""`psc.Grammar`: its constructors, its text, what combines with what, and JSON and back."""

import json
import pickle
import re

import pytest
from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import cfg_texts, contextual_grammars
from vocabularies import byte_tokenizer

import psc
from psc import Grammar, GrammarError
from psc.artifacts.input_key import input_key_of
from psc.compiler.pipeline.build import describe

EBNF = 'root ::= "a" | b\nb ::= [x-z]{2,3}  # two or three\n'
LARK = 'start: "a" B*\nB: /b+/\n%ignore " "\n'


def test_ebnf():
    grammar = Grammar.from_ebnf(EBNF)
    assert str(grammar) == 'root ::= "a" | b\nb ::= [x-z]{2,3}\n'
    compiled = grammar.to_cfg()
    assert (compiled.lexer, compiled.keep_all_actions, compiled.source) == ("any", True, EBNF)


def test_ebnf_with_another_root():
    grammar = Grammar.from_ebnf('x ::= "a" y\ny ::= "b"', root_rule_name="x")
    assert grammar.root == grammar.to_cfg().start == "x"
    assert str(grammar) == 'root ::= x\nx ::= "a" y\ny ::= "b"\n'  # from_ebnf's default root again


def test_regex(capsys):
    assert str(Grammar.from_regex("ab|c+")) == 'root ::= "ab" | "c"+\n'
    assert capsys.readouterr().out == ""
    Grammar.from_regex("ab|c+", print_converted_ebnf=True)
    assert 'root ::= "ab" | "c"+' in capsys.readouterr().out


def test_lark():
    grammar = Grammar.from_lark(LARK)
    assert str(grammar) == LARK
    compiled = grammar.to_cfg()
    assert (compiled.lexer, compiled.keep_all_actions, compiled.start) == ("contextual", False, "start")
    options = Grammar.from_lark('s: "a"', start="s", lexer="basic", keep_all_actions=True).to_cfg()
    assert (options.lexer, options.keep_all_actions, options.start) == ("basic", True, "s")


def test_the_first_line_of_a_lark_text_may_say_its_lexer(tmp_path):
    text = '// psc: lexer=basic\nstart: A "b"\nA: "ab" | "a"\n'
    path = tmp_path / "g.lark"
    path.write_text(text)
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False)
    for grammar in (Grammar.from_lark(text), compiler.compile_lark(text).grammar, compiler.compile_file(path).grammar):
        assert grammar.lexer == "basic"
    assert Grammar.from_lark(text, lexer="contextual").lexer == "contextual"
    assert Grammar.from_lark("\n" + text).lexer == "contextual"
    with pytest.raises(GrammarError, match="lexer='any': a Lark grammar is lexed by 'contextual' or 'basic'"):
        Grammar.from_lark(text.replace("basic", "any"))


@pytest.mark.parametrize("terminal", ['"{}"i', "/{}/i", "/[{}-{}]/i", "/{}(?=)/i"])
@pytest.mark.parametrize(("first", "flags"), [("", re.IGNORECASE), ("// psc: case=ascii\n", re.IGNORECASE | re.ASCII)])
def test_the_first_line_of_a_lark_text_may_restrict_case_to_ascii(terminal, first, flags):
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False)
    for letter in "aiksK":
        compiled = compiler.compile_lark(f"{first}start: {terminal.replace('{}', letter)}\n")
        for character in "aAiI\u0131\u0130kK\u212asS\u017fßẞ":
            takes = psc.GrammarMatcher(compiled).accept_string(character)
            assert takes == bool(re.fullmatch(letter, character, flags)), (letter, character)


def test_what_the_first_line_of_a_lark_text_cannot_say():
    for line, message in (
        ("// psc: case=any", "<string>:1:1: case='any' in the first line; there is only case=ascii"),
        ("// psc: lexer=basic, start=x", "<string>:1:1: the first line sets 'start'; a text may set lexer and case"),
    ):
        with pytest.raises(GrammarError, match=re.escape(message)):
            Grammar.from_lark(f'{line}\nstart: "a"\n').to_cfg()
    assert Grammar.from_lark('// psc: is the best\nstart: "a"\n').to_cfg().lexer == "contextual"


def test_builtin_json():
    text = str(Grammar.builtin_json_grammar())
    assert text.startswith("root ::= object | array\n")
    assert str(Grammar.from_ebnf(text)) == text


def test_union_and_concat_keep_equal_names_apart():
    one, other = Grammar.from_ebnf('root ::= b\nb ::= "x"'), Grammar.from_ebnf('root ::= b\nb ::= "y"')
    for combine, between in ((Grammar.union, " | "), (Grammar.concat, " ")):
        lines = str(combine(one, other)).splitlines()
        assert lines[0].startswith("root ::= ")
        roots = lines[0].removeprefix("root ::= ").split(between)
        assert len(set(roots)) == 2
        rules = dict(line.split(" ::= ") for line in lines)
        assert [rules[rules[root]] for root in roots] == ['"x"', '"y"']


def test_combinations_of_combinations():
    a, b = Grammar.from_regex("a"), Grammar.from_regex("b")
    nested = Grammar.concat(Grammar.union(a, b), Grammar.union(b), a)
    assert str(Grammar.from_ebnf(str(nested))) == str(nested)
    assert nested.to_cfg().productions


def test_combining_nothing_or_something_else():
    for combine in (Grammar.union, Grammar.concat):
        with pytest.raises(GrammarError, match="at least one grammar"):
            combine()
        with pytest.raises(TypeError, match="takes grammars, not list"):
            combine([Grammar.from_regex("a")])


EQUAL = [
    lambda: Grammar.from_ebnf(EBNF),
    lambda: Grammar.from_ebnf(EBNF + "\n"),
    lambda: Grammar.from_ebnf(EBNF, root_rule_name="b"),
    lambda: Grammar.from_regex("a"),
    lambda: Grammar.from_regex('root ::= "a"'),
    lambda: Grammar.from_ebnf('root ::= "a"'),
    lambda: Grammar.from_lark(LARK),
    lambda: Grammar.from_lark(LARK, lexer="basic"),
    lambda: Grammar.from_lark(LARK, keep_all_actions=True),
    lambda: Grammar.from_lark(LARK + "x: B\n", start="x"),
    lambda: Grammar.union(Grammar.from_regex("a"), Grammar.from_regex("b")),
    lambda: Grammar.concat(Grammar.from_regex("a"), Grammar.from_regex("b")),
    lambda: Grammar.builtin_json_grammar(),
]


@pytest.mark.parametrize("number", range(len(EQUAL)))
def test_equal_if_text_and_options_are(number):
    grammar = EQUAL[number]()
    assert [grammar == make() for make in EQUAL] == [i == number for i in range(len(EQUAL))]
    assert hash(grammar) == hash(EQUAL[number]())


@pytest.mark.parametrize("make", EQUAL)
def test_round_trips(make):
    grammar = make()
    for again in (Grammar.deserialize_json(grammar.serialize_json()), pickle.loads(pickle.dumps(grammar))):
        assert again == grammar
        assert str(again) == str(grammar)
        assert again.to_cfg().productions == grammar.to_cfg().productions


DROPS_A_TERMINAL = 'root ::= ("a" | x)?\nx ::= "b" x\n'
"""The root may be empty, so the compiler adds a start rule of its own; ``x`` derives no text, so ``"b"`` is dropped."""


def check_description(grammar: Grammar) -> None:
    """An artifact's metadata describe the grammar as it was asked for: it is read back from them, and found by the same key."""
    tokenizer = byte_tokenizer()
    metadata = json.loads(json.dumps(describe(grammar.to_cfg(), tokenizer)))
    assert Grammar.from_metadata(metadata["grammar"]) == grammar
    assert input_key_of(metadata) == grammar.key.with_vocabulary(tokenizer.fingerprint)


@pytest.mark.parametrize("make", [*EQUAL, lambda: Grammar.from_ebnf(DROPS_A_TERMINAL)])
def test_description(make):
    check_description(make())


@examples(40)
@given(cfg_texts())
@bounded
def test_description_of_ebnf(text):
    check_description(Grammar.from_ebnf(text))


@examples(20)
@given(contextual_grammars())
@bounded
def test_description_of_lark(text):
    check_description(Grammar.from_lark(text))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), min_size=1, max_size=4))
def test_text_is_read_as_what_it_says(words):
    """Printed and read again, a grammar prints the same, whatever characters are in it."""
    escaped = ["".join(f"\\U{ord(c):08x}" for c in word) for word in words]
    grammar = Grammar.from_ebnf("root ::= " + " | ".join(f'"{word}"' for word in escaped))
    again = Grammar.from_ebnf(str(grammar))
    assert str(again) == str(grammar)
    literals = {t.text for t in again.to_cfg().terminals if t.text is not None}
    assert literals <= set(words)


def test_immutable():
    with pytest.raises(AttributeError):
        Grammar.from_regex("a").source = "b"


BAD = {
    "EBNF": (lambda: Grammar.from_ebnf('root ::= "a'), GrammarError),
    "undefined rule": (lambda: Grammar.from_ebnf("root ::= b"), GrammarError),
    "no root": (lambda: Grammar.from_ebnf('x ::= "a"'), GrammarError),
    "regex": (lambda: Grammar.from_regex("(a"), GrammarError),
    "backreference": (lambda: Grammar.from_regex(r"(a)\1"), GrammarError),
    "Lark": (lambda: Grammar.from_lark("start: b"), GrammarError),
    "no start": (lambda: Grammar.from_lark('s: "a"'), GrammarError),
    "lexer": (lambda: Grammar.from_lark(LARK, lexer="any"), GrammarError),
    "a named grammar that there is not": (lambda: Grammar.from_lark("start: @y", named_grammars={"x": LARK}), GrammarError),
    "named grammars of the wrong type": (lambda: Grammar.from_lark(LARK, named_grammars=[LARK]), TypeError),
    "EBNF as bytes": (lambda: Grammar.from_ebnf(b"root ::="), TypeError),
    "regex None": (lambda: Grammar.from_regex(None), TypeError),
    "Lark number": (lambda: Grammar.from_lark(3), TypeError),
}


@pytest.mark.parametrize(("make", "error"), BAD.values(), ids=BAD)
def test_bad_grammars(make, error):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value)
    assert error is TypeError or isinstance(caught.value, RuntimeError)  # what callers of XGrammar catch


def test_named_grammars_may_be_empty():
    assert Grammar.from_lark(LARK, named_grammars={}, tokenizer_info=None) == Grammar.from_lark(LARK)


DOCUMENT = json.loads(Grammar.from_ebnf(EBNF).serialize_json())
GONE = object()
BAD_DOCUMENTS = {
    "not JSON": ("{", psc.InvalidJSONError, "not JSON"),
    "a list": ("[]", psc.DeserializeFormatError, "expected a JSON object, not list"),
    "nothing": ("{}", psc.DeserializeVersionError, "no __VERSION__"),
    "XGrammar's": ({"__VERSION__": "v16"}, psc.DeserializeVersionError, "version 'v16'"),
    "another kind": ({"kind": "tokenizer"}, psc.DeserializeFormatError, "this is a serialized tokenizer"),
    "no text": ({"text": GONE}, psc.DeserializeFormatError, "'text' is missing"),
    "text is a number": ({"text": 3}, psc.DeserializeFormatError, "'text' is int"),
    "unknown language": ({"language": "abnf"}, psc.DeserializeFormatError, "there is no language 'abnf'"),
    "bad text": ({"text": "root ::= x"}, psc.DeserializeFormatError, "serialized grammar: "),
    "unknown lexer": ({"language": "lark", "text": LARK, "start": "start", "lexer": "x"}, psc.DeserializeFormatError, "lexer='x'"),
}


EARLIER = {
    "ebnf": (
        {"language": "ebnf", "source": 'x ::= "a"', "root": "x", "lexer": "any", "keep_all_actions": True},  # without settings
        Grammar.from_ebnf('x ::= "a"', root_rule_name="x"),
    ),
    "json_schema": (
        {
            "language": "json_schema",
            "source": '{"type":"object"}',
            "root": "root",
            "lexer": "any",
            "keep_all_actions": True,
            "settings": '{"any_whitespace":false,"strict_mode":false}',
        },
        Grammar.from_json_schema({"type": "object"}, any_whitespace=False, strict_mode=False),
    ),
}


@pytest.mark.parametrize(("document", "grammar"), EARLIER.values(), ids=EARLIER)
def test_documents_with_the_earlier_names_are_read(document, grammar):
    """`text` was called `source`, and `start` was `root`."""
    written = json.dumps({"__VERSION__": "psc-1", "kind": "grammar", **document})
    assert Grammar.deserialize_json(written) == grammar
    assert Grammar.deserialize_json(grammar.serialize_json()) == grammar


def test_a_combination_with_the_earlier_names_is_read():
    part = {"language": "lark", "source": LARK, "root": "start", "lexer": "contextual", "keep_all_actions": False, "settings": ""}
    text = json.dumps({"combination": "union", "grammars": [part]})
    options = {"root": "root", "lexer": "any", "keep_all_actions": True, "settings": ""}
    document = {"__VERSION__": "psc-1", "kind": "grammar", "language": "combination", "source": text, **options}
    again = Grammar.deserialize_json(json.dumps(document))
    assert again.language == "combination" and again.source == text and again.parsed.linked_rules is not None


@pytest.mark.parametrize(("changes", "error", "message"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_bad_documents(changes, error, message):
    if isinstance(changes, dict):
        changes = json.dumps({key: value for key, value in (DOCUMENT | changes).items() if value is not GONE})
    with pytest.raises(error, match=message):
        Grammar.deserialize_json(changes)
