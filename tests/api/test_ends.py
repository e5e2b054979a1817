"""A program ends while daemon threads of it are below psc's calls: it has its own status, and writes nothing.

CPython 3.11 ends such a thread at the moment at which it asks for the interpreter's lock. Each program makes it ask while the
interpreter is going: modules are dropped then, and one of them takes half a second for that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

from psc.support import ending
from psc.support.warning import warn_caller

_PROGRAM = """
import sys, threading, time, types
import numpy as np
import psc
from psc.serving.options import ServiceOptions
from psc.serving.warm_up import WarmUp

begun = threading.Event()

def stop():
    if threading.current_thread() is thread:
        begun.set()
        time.sleep(0.3)

class Late:
    def __del__(self, sleep=time.sleep):
        sleep(0.8)

class Tokens:
    def __len__(self):
        return 1

    def __getitem__(self, i):
        stop()
        return 0

class Token:
    def __index__(self):
        stop()
        return 0

class Array:
    def __dlpack__(self, **options):
        stop()
        return np.zeros(1, np.int32).__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0

class Grammar:
    @property
    def _machine(self):
        stop()
        return compiled._machine

class Dropped:
    def __init__(self):
        self._machine = compiled._machine

    def __del__(self):
        stop()

def resolver(uri):
    stop()
    return '{"type": "integer"}'

def resolved(*arguments):
    compiler.compile_json_schema({"$ref": "http://x/a"}, resolver=resolver)

def unique():
    begun.set()
    while True:
        np.unique(np.arange(1_000_000, 0, -1))

info = psc.TokenizerInfo([b"a", b"b", b"</s>"], stop_token_ids=[2])
compiler = psc.GrammarCompiler(info, store=False, registry=False)
compiled = compiler.compile_grammar('root ::= "a"*')
matcher = psc.GrammarMatcher(compiled)

def work():
    {WORK}

thread = threading.Thread(target=work, daemon=True)
thread.start()
assert begun.wait(60)
time.sleep(0.05)
sys.modules["late"] = types.ModuleType("late")
sys.modules["late"].late = Late()
raise SystemExit(17)
"""


WORK = {
    "an index": "matcher.accept_token(Token())",
    "a sequence": "matcher.accept_tokens(Tokens())",
    "an array": "matcher.fill_next_token_bitmask(Array())",
    "an attribute": "psc.GrammarMatcher(Grammar())",
    "what is dropped": "psc.GrammarMatcher(Dropped())",
    "a resolver": "resolved()",
    "a warm-up": "WarmUp(['json'], ServiceOptions.of({}), resolved)._run()",
    "a library of C++": "unique()",
}


@pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="a sanitizer reports what such a thread still holds")
@pytest.mark.parametrize("what", WORK)
def test_a_program_ends_beside_a_thread(what: str) -> None:
    code = _PROGRAM.replace("{WORK}", WORK[what])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (ran.returncode, ran.stderr) == (17, "")


def test_nobody_is_warned_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warn_caller("before")
        monkeypatch.setattr(ending, "_has_begun", True)
        warn_caller("at the end")
    assert [str(warning.message) for warning in warned] == ["psc: before"]
