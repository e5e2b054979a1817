"""Grammar text from strangers ends in psc's own errors, or compiles: no hang, no exhausted memory, no foreign exception.

Each text of `hostile_texts` is compiled in a process that lives for all texts of its language and is ended when one of them hangs.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import hostile_texts
import pytest

MAX_MEGABYTES = 3000 if "PSC_SANITIZED" in os.environ else 1000
"""Of the whole process, so far. AddressSanitizer pads every allocation, and keeps what was freed."""

CASES = [(language, name) for language, texts in hostile_texts.TEXTS.items() for name in texts]


@cache
def outcomes(language: str) -> dict[str, tuple[str, str, int]]:
    """Per text: the error's class, its message, and the process's peak memory in MB."""
    tests = str(Path(__file__).parents[2] / "support")
    program = f"import sys; sys.path.insert(0, {tests!r}); import hostile_texts; hostile_texts.compile_all({language!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    found = {name: (error, message, megabytes) for name, error, message, _, megabytes in map(json.loads, done.stdout.splitlines())}
    if done.returncode:
        ended_at = next((name for name in hostile_texts.TEXTS[language] if name not in found), "no text")
        found[ended_at] = ("the process ended", f"{done.returncode} {done.stderr[-500:]}", 0)
    return found


@pytest.mark.parametrize(("language", "name"), CASES)
def test_text_ends_in_an_error_of_ours(language: str, name: str) -> None:
    found = outcomes(language)
    if name not in found:
        pytest.skip("the process ended at an earlier text")
    error, message, megabytes = found[name]
    word = hostile_texts.TEXTS[language][name][1]
    if word is None:
        assert error == "", message
    else:
        assert error in ("GrammarError", "ResourceLimitError"), message
        assert word in message
        assert len(message) < 2000
    assert megabytes < MAX_MEGABYTES
