"""What type checkers and people see: names that are not there, wrong arguments, and how objects are shown."""

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from vocabularies import byte_tokenizer

import psc

ROOT = Path(__file__).parents[2]
SNIPPET = """\
import numpy as np
import psc
psc.nope  # wrong
psc.GrammarMatchr  # wrong
psc.GrammarMatcher("x")  # wrong
psc.runtime.bitmask.nope  # wrong
psc.allocate_token_bitmask(1, 2, library="nump")  # wrong
mask = psc.allocate_token_bitmask(1, 2, library="numpy")
mask.nope  # wrong
words: np.ndarray[tuple[int, ...], np.dtype[np.int32]] = mask
psc.allocate_token_bitmask(1, 2).fill_(3)
info: psc.TokenizerInfo = psc.load_tokenizer("qwen3")
compiled: psc.CompiledGrammar = psc.GrammarCompiler(info).compile_regex("a")
matcher: psc.GrammarMatcher = psc.GrammarMatcher(compiled, max_steps=3)
psc.bitmask_dtype
psc.testing, psc.hf, psc.kernels, psc.structural_tag, psc.contrib.hf
try:
    psc.Grammar.from_ebnf("x", source_name="y")
except psc.GrammarError as e:
    line: int | None = e.line
"""


def test_a_type_checker(tmp_path: Path) -> None:
    pytest.importorskip("mypy.api", exc_type=ImportError)
    snippet = tmp_path / "snippet.py"
    snippet.write_text(SNIPPET)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(snippet)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = {int(n) for n in re.findall(r"snippet\.py:(\d+): error", found.stdout)}
    assert lines == {n for n, line in enumerate(SNIPPET.splitlines(), 1) if "# wrong" in line}, found.stdout + found.stderr


def test_a_misspelt_name_has_a_suggestion() -> None:
    with pytest.raises(AttributeError) as missing:
        _ = psc.GrammarMatchr  # type: ignore[attr-defined]
    assert missing.value.name == "GrammarMatchr" and missing.value.obj is psc
    run = subprocess.run(
        [sys.executable, "-c", "import psc; psc.GrammarMatchr"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "Did you mean: 'GrammarMatcher'?" in run.stderr


def test_how_objects_are_shown() -> None:
    compiler = psc.GrammarCompiler(byte_tokenizer(), store=False)
    assert repr(compiler).startswith("GrammarCompiler(TokenizerInfo('bytes', vocab_size=")
    compiled = compiler.compile_grammar('root ::= "a"')
    matcher = psc.GrammarMatcher(compiled)
    assert repr(matcher) == f"GrammarMatcher({compiled!r}, 0 accepted)"
    matcher.accept_token(ord("a"))
    matcher.accept_token(compiler.tokenizer_info.stop_token_ids[0])
    assert repr(matcher) == f"GrammarMatcher({compiled!r}, 2 accepted, terminated)"
    grammar = psc.Grammar.from_ebnf('root ::= "a"')
    assert repr(grammar) == """Grammar(ebnf, '<string>', root='root', 'root ::= "a"')"""
    long = psc.Grammar.from_ebnf(f'root ::= "{"a" * 1000}"', source_name="long.ebnf")
    batch = psc.BatchGrammarMatcher(max_threads=2)
    assert repr(batch) == "BatchGrammarMatcher(max_threads=2)"
    assert [made.max_threads for made in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch))] == [2, 2, 2]
    cancellation = psc.Cancellation()
    assert repr(cancellation) == "Cancellation(not cancelled)"
    cancellation.cancel()
    assert repr(cancellation) == "Cancellation(cancelled)"
    assert repr(long).startswith("Grammar(ebnf, 'long.ebnf', root='root', 'root ::= ") and len(repr(long)) < 130


@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_matcher_says_how_it_is_copied(how: object) -> None:
    matcher = psc.GrammarMatcher(psc.GrammarCompiler(byte_tokenizer(), store=False).compile_regex("a"))
    with pytest.raises(TypeError, match=r"fork\(\) gives a second one"):
        how(matcher)  # type: ignore[operator]
