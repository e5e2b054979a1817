"""Shift/reduce conflicts of grammars in Lark's language: whoever compiles one hears of it, with both readings and the way out."""

import logging
import warnings

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.compiler.frontends.lookup import find_grammar
from psc.grammars.build_grammar import build_artifact
from psc.grammars.compiled_grammar import keeping_all_actions
from psc.inspection.explaining import Explainer

NARROWED = 'start: x "a" "b"\nx: "c" | "c" "a"\n'
"""It derives cab, which is refused."""

CASES = {
    "the note": (NARROWED, 1, ['after "c", before "a", reading x: "c" · "a" wins over ending x: "c"']),
    "several terminals": (
        'start: e\ne: e "+" e | e "*" e | "1"\n',
        4,
        ['after e, before "+", reading e: e · "+" e wins over ending e: e "+" e', "and 1 more"],
    ),
    "else": ('start: s\ns: "if" s | "if" s "else" s | "x"\n', 1, ['before "else", reading s: "if" s · "else" s wins']),
    "a repetition": ('start: l "," "x"\nl: "a" ("," "a")*\n', 2, ['reading (repetition in l): · "," "a" wins over ending l: "a"']),
    "an empty rule": (
        'start: n "a" n "b"\nn: | "a"\n',
        1,
        ['at the beginning, before "a", reading n: · "a" wins over leaving n out'],
    ),
    "a named terminal": ("start: x A B\nx: C | C A\nA: /a/\nB: /b/\nC: /c/\n", 1, ["after C, before A, reading x: C · A wins"]),
    "a regex": ('start: x /[a]/ "b"\nx: "c" | "c" /[a]/\n', 1, ['before /[a]/, reading x: "c" · /[a]/ wins']),
    "escapes": ('start: x "\\n" "b"\nx: "c" | "c" "\\n"\n', 1, [r'before "\n", reading x: "c" · "\n" wins']),
    "a long rule": (f'start: x "a" "b"\nx: "c" | "c" "a" "{"d" * 300}"\n', 1, ["ddd… wins over ending x"]),
}
NONE = {
    "no conflict": 'start: "a"+ "b"\n',
    "priorities of reductions": 'start: a | b\na.2: "x"\nb: "x"\n',
}


def conflicts(text: str, **options: object) -> str | None:
    return psc.Grammar.from_lark(text, **options).tables().conflicts


@pytest.mark.parametrize("case", CASES)
def test_the_words(case: str) -> None:
    text, n, parts = CASES[case]
    said = conflicts(text)
    assert said is not None and said.startswith(f"{n} shift/reduce conflict"), said
    for part in [*parts, "decided for the shift, as Lark does", "may be refused", "--keep-all-actions", "keep_all_actions=True"]:
        assert part in said, said
    assert len(said) < 1500 and "\n" not in said
    assert conflicts(text, keep_all_actions=True) is None
    with pytest.raises(psc.GrammarError, match="shift/reduce") as refused:
        psc.Grammar.from_lark(text, refuse_conflicts=True)
    assert said in str(refused.value) and refused.value.path == "<string>"


@pytest.mark.parametrize("case", NONE)
def test_none(case: str) -> None:
    assert conflicts(NONE[case]) is None
    psc.Grammar.from_lark(NONE[case], refuse_conflicts=True)


def test_bundled_grammars_have_theirs_on_purpose() -> None:
    grammar = psc.Grammar.parse(find_grammar("go").request())
    assert grammar.tables().lr.shift_reduce_resolved and grammar.tables().conflicts is None
    grammar.require_no_conflicts()
    changed = psc.Grammar.from_lark(grammar.source + "\n// mine\n", lexer="basic")
    assert changed.tables().conflicts is not None


def test_a_large_grammar_is_told_of_in_a_few_lines() -> None:
    rules = "".join(f'x{i}: "c" | "c" "{i}"\n' for i in range(500))
    text = "start: " + " | ".join(f'"{i}!" x{i} "{i}" "b"' for i in range(500)) + "\n" + rules
    said = conflicts(text)
    assert said is not None and said.startswith("500 shift/reduce conflicts") and "and 497 more" in said and len(said) < 1000


def compilers() -> list[psc.GrammarCompiler]:
    return [psc.GrammarCompiler(byte_tokenizer(), store=False) for _ in range(3)]


def test_the_log_and_warnings(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, linked, quiet = compilers()
    with caplog.at_level(logging.WARNING, "psc.compiler"):
        mine.compile_lark(NARROWED, source_name="my.lark")
    assert [r.name for r in caplog.records] == ["psc.compiler"]
    assert "my.lark: 1 shift/reduce conflict" in caplog.text
    caplog.clear()
    linked.compile_grammar(psc.Grammar.union(psc.Grammar.from_lark(NARROWED), psc.Grammar.from_ebnf('root ::= "b"')))
    assert "1 shift/reduce conflict" in caplog.text
    caplog.clear()
    quiet.compile_lark(NARROWED, keep_all_actions=True)
    quiet.compile_file("go")
    quiet.compile_grammar('root ::= x "a" "b"\nx ::= "c" | "c" "a"')
    with pytest.raises(psc.GrammarError, match="shift/reduce"):
        quiet.compile_lark(NARROWED, refuse_conflicts=True)
    assert not caplog.records


def test_a_script_that_reads_no_log_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("psc")
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "handlers", [])  # which a command line of another test may have set
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compilers()[0].compile_lark(NARROWED)
    (warning,) = caught
    assert warning.category is RuntimeWarning and "psc: <string>: 1 shift/reduce" in str(warning.message)
    assert warning.filename == __file__
    compilers()[0].compile_lark(NARROWED)  # as an error it stops nothing


def test_an_artifact_says_it() -> None:
    built = build_artifact(psc.Grammar.from_lark(NARROWED), byte_tokenizer()).build
    assert any("shift/reduce" in warning for warning in built.warnings)
    assert any("shift/reduce" in warning for warning in built.metadata["warnings"])


@pytest.mark.parametrize(("text", "next"), [(b"ca", b"b"), (b"cab", None), (b"c", b"b"), (b"c", b"a")])
def test_explain(text: bytes, next: bytes | None) -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark(NARROWED)
    explained = Explainer(compiled, lambda: keeping_all_actions(compiled)).explain(text, [next[0]] if next else [])
    reasons = explained.reasons if next is None else explained.tokens[0].reasons
    told = any(reason.startswith("the rules derive it, but 1 shift/reduce") for reason in reasons)
    assert told == ((text, next) in [(b"ca", b"b"), (b"cab", None)])


def test_explain_an_end() -> None:
    compiled = psc.GrammarCompiler(byte_tokenizer(), store=False).compile_lark('start: x "a"\nx: "c" | "c" "a"\n')
    explainer = Explainer(compiled, lambda: keeping_all_actions(compiled))
    verdict = explainer.explain(b"ca", [compiled.tokenizer_info.stop_token_ids[0]]).tokens[0]
    assert not verdict.allowed and "the rules derive it" in verdict.reasons[-1]
