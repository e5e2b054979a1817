"""The order of what is expected: names first, then by how many tokens begin so; a long list is cut behind what matters."""

import pytest
from vocabularies import byte_tokenizer, tokenizer

import psc
from psc.grammars.compiled_grammar import compile_just_in_time
from psc.inspection.checking import Checker
from psc.inspection.expected import Names
from psc.inspection.explaining import Explainer
from psc.vocabulary.segment import Segmenter

INFO = tokenizer([*(bytes([b]) for b in range(256)), "(a", "(b", "((", "+=", "none", "</s>"])
LARK = """
start: "(" | "+" | "@" | "exports" | "opens" | "-" | IDENTIFIER | NUMBER | STRING
IDENTIFIER: /[A-Za-z_]+/
NUMBER: /[0-9]+/
STRING: /"[^"]*"/
"""


def expected(compiled: psc.CompiledGrammar, text: bytes, *, tokens: bool) -> tuple[str, ...]:
    checker = Checker(compiled, Segmenter(compiled.tokenizer_info) if tokens else None)
    stop = checker.check(text).stop
    assert stop is not None
    return stop.expected


@pytest.mark.parametrize("tokens", [False, True])
def test_names_come_first(tokens: bool) -> None:
    compiled = psc.GrammarCompiler(INFO, store=False).compile_lark(LARK)
    found = expected(compiled, b";", tokens=tokens)
    assert found[:3] == ("IDENTIFIER", "NUMBER", "STRING")
    assert found[3:5] == ('"("', '"+"') and set(found[5:]) == {'"-"', '"@"', '"exports"', '"opens"'}
    explained = Explainer(compiled).explain(b"", [ord(";")])
    assert explained.expected == explained.tokens[0].expected == found


def test_what_has_an_inner_name_alone_is_shown_by_its_bytes() -> None:
    tag = {"begin": "<f>", "content": {"type": "any_text"}, "end": "</f>"}
    document = {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": ["<f"], "tags": [tag], "at_least_one": True},
    }
    compiled = compile_just_in_time(psc.Grammar.from_structural_tag(document), INFO)
    assert not compiled.is_linked
    assert expected(compiled, b"<f>x", tokens=True) == (r"one of '\x00'-'\x7f' ≥0x80",)
    assert not any("format" in word for word in Explainer(compiled).explain(b"<f>x").expected)


def test_regexes_come_before_texts() -> None:
    names = Names({"grammar": {"terminals": [{"name": "P", "text": "+", "flags": "", "pattern": "x"}]}})
    assert names.sorted(['"+"', "/x/", "A", "/y/"], {"/y/": 2, "/x/": 1, '"+"': 9}) == ("A", "/y/", "/x/", '"+"')


def test_tokens_of_the_vocabulary_are_shown_as_they_are_written() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer("<think>", "</think>"), store=False).compile_grammar(
        'root ::= <[256]> "a" <[257]>'
    )
    names = Names(compiled.metadata).of
    assert not any("(?#tokens" in name for name in names) and any("<[256]>" in name for name in names)


@pytest.mark.parametrize(
    ("text", "flags", "shown"),
    [('"name"', "", "'\"name\"'"), ("a", "", '"a"'), ("'", "", '"\'"'), ("\n", "", '"\\n"'), ("select", "i", '"select"i')],
)
def test_texts_in_quotes(text: str, flags: str, shown: str) -> None:
    terminal = {"name": "X", "text": text, "flags": flags, "pattern": text}
    names = Names({"grammar": {"terminals": [terminal, {"name": "A", "text": None, "flags": "", "pattern": "x"}]}})
    assert names.of == (shown, "A", "end of file") and names.sorted(names.of) == ("A", "end of file", shown)
