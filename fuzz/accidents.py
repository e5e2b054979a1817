"""Processes that end, are interrupted or fork while they compile: `python -m fuzz.accidents --seconds 30 --seed 1`.

* *end*: a process ends while daemon threads of it compile, finish, lex, warm up, ask a registry or fill masks. It must end within
  seconds, with the status that it gave, and without a word.
* *interrupt*: a handler of a signal raises at random moments of a compilation, once or again and again, or at a random line of
  psc's. What was interrupted must compile afterwards, on another thread, to a grammar with the same masks.
* *fork*: a process forks while threads of it compile. The child must compile the same, with the same masks.

Nothing is forked once more under a sanitizer, whose allocator is not made for it.

Cost: a case is 0.1 s, most of it the time until something happens.
"""

from __future__ import annotations

import ast
import faulthandler
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import psc
from fuzz.session import Case, main
from psc._core import obeys
from psc.errors import CompilationCancelledError, PscError, RegistryNotFoundError
from psc.serving.options import ServiceOptions
from psc.serving.service import GrammarService

_LIMIT_S = 30.0
"""What hangs takes longer, on a machine that is busy."""
_MOST_STDERR = 1500
_MEMBER = {"type": "string", "pattern": "^[a-z]{1,30}(x|y)*$"}
_SCHEMA = {"type": "object", "properties": {f"p{i}": _MEMBER for i in range(5)}, "required": ["p1"]}
_TAG = {"structures": [{"begin": "<a>", "schema": _SCHEMA, "end": "</a>"}], "triggers": ["<a"]}
_PSC = str(Path(psc.__file__).parent.resolve())


class Interrupted(BaseException):
    """What the handler of the signal raises."""


@cache
def _vocabulary() -> psc.TokenizerInfo:
    tokens = [bytes([b]) for b in range(32, 127)] + [f"{i:x}".encode() for i in range(256, 1200)]
    return psc.TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[len(tokens)])


class _Slow:
    """A registry that has nothing, and takes its time to say so."""

    urls = ("slow",)

    def pull(self, store: object, *, key: str) -> NoReturn:
        time.sleep(0.02)
        raise RegistryNotFoundError("nobody has it")

    def problems(self) -> list[str]:
        return []

    def listed(self, grammar: str, tokenizer: str) -> list[Any]:
        return []


def _compiler(folder: str, rng: random.Random) -> psc.GrammarCompiler:
    with_registry: Any = _Slow() if rng.random() < 0.3 else False
    store: Any = folder if rng.random() < 0.7 else False
    masks = rng.choice([0, 0, 4])
    return psc.GrammarCompiler(_vocabulary(), store=store, registry=with_registry, registry_patience_s=0.05, masks_ahead=masks)


Make = Callable[[psc.GrammarCompiler], psc.CompiledGrammar]


def _resolved(n: str) -> Make:
    def resolver(uri: str) -> str:
        time.sleep(0.002)
        return json.dumps(_SCHEMA)

    return lambda c: c.compile_json_schema({"$ref": f"http://x/{n}"}, resolver=resolver)


KINDS: dict[str, Callable[[str], Make]] = {
    "schema": lambda n: lambda c: c.compile_json_schema({**_SCHEMA, "title": n}),
    "resolver": _resolved,
    "ebnf": lambda n: lambda c: c.compile_grammar(f'root ::= "{n}" ("a" root)* | [a-z]{{1,30}}'),
    "regex": lambda n: lambda c: c.compile_regex(f"(a|b|{n}){{1,100}}[a-z]{{3,40}}"),
    "lark": lambda n: lambda c: c.compile_lark(f'start: "{n}" x*\nx: /[a-z]+/ | "(" x ")"\n%import common.WS\n%ignore WS\n'),
    "broken lark": lambda n: lambda c: _refused(c, f'start: "{n}" undefined\n'),
    "tag": lambda n: lambda c: c.compile_structural_tag({"type": "structural_tag", "format": _tag_format(n)}),
    "format": lambda n: lambda c: c.compile_json_schema({"type": "array", "items": {"format": "date-time"}, "title": n}),
}


def _tag_format(n: str) -> dict[str, Any]:
    return {
        "type": "triggered_tags",
        "triggers": ["<a"],
        "tags": [{"begin": f"<a{n}>", "content": {"type": "json_schema", "json_schema": _SCHEMA}, "end": "</a>"}],
    }


def _refused(compiler: psc.GrammarCompiler, text: str) -> psc.CompiledGrammar:
    with suppress(psc.GrammarError):
        compiler.compile_lark(text)
    return compiler.compile_grammar('root ::= "a"')


def _masks(compiled: psc.CompiledGrammar) -> list[bytes]:
    matcher = psc.GrammarMatcher(compiled)
    masks = [matcher.mask().tobytes()]
    for text in '{"1<a':
        if matcher.accept_string(text):
            masks.append(matcher.mask().tobytes())
    return masks


def _expected(make: Make) -> list[bytes]:
    return _masks(make(psc.GrammarCompiler(_vocabulary(), store=False, registry=False)))


def _work(compiler: psc.GrammarCompiler, seed: int) -> None:
    """What a thread does until the process ends."""
    rng = random.Random(seed)
    while True:
        kind, n = rng.choice(list(KINDS)), str(rng.randrange(40))
        try:
            compiled = KINDS[kind](n)(compiler)
            if rng.random() < 0.3:
                _masks(compiled)
            if rng.random() < 0.2 and compiler._lookup.store is not None:
                compiler.finish(compiled).result()
        except CompilationCancelledError:
            time.sleep(0.001)
        except PscError:
            pass


def _forked(stderr: Path) -> int:
    """Forks. The child, for which this is 0, writes its stderr to a file, and there where its threads are if a signal ends it."""
    child = os.fork()
    if not child:
        file = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(file, 2)
        os.close(file)
        faulthandler.enable(2)
    return child


def _check_end(child: int, stderr: Path) -> None:
    """Waits for a child. It must end in time, with the status 17."""
    end = time.monotonic() + _LIMIT_S
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGABRT)
            os.waitpid(child, 0)
            raise AssertionError(f"the process does not end{_tail(stderr)}")
        time.sleep(0.001)
    code = os.waitstatus_to_exitcode(status)
    assert code == 17, f"it ended with {code}{_tail(stderr)}"


def _tail(stderr: Path) -> str:
    """The end of what a child wrote."""
    return "\n" + stderr.read_text(errors="replace")[-_MOST_STDERR:] if stderr.exists() else ""


def end(case: Case, folder: str) -> None:
    rng = case.rng
    wait_s, seed, warm = rng.random() ** 2 * 0.15, rng.randrange(10**9), rng.random() < 0.3
    stderr = Path(folder) / "stderr"
    child = _forked(stderr)
    if child:
        _check_end(child, stderr)
        assert not stderr.stat().st_size, f"it wrote while it ended{_tail(stderr)}"
        return
    try:
        _begin(folder, random.Random(seed), warm)
        time.sleep(wait_s)
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    raise SystemExit(17)


def _begin(folder: str, rng: random.Random, warm: bool) -> None:
    compiler = _compiler(folder, rng)
    if warm:
        GrammarService(_vocabulary(), options=ServiceOptions.of({"warm": ["json", "sql"]}))
    for _ in range(rng.randint(1, 3)):
        threading.Thread(target=_work, args=(compiler, rng.randrange(10**9)), daemon=True).start()
    if rng.random() < 0.5 and compiler._lookup.store is not None:
        for i in range(5):
            compiler.finish(compiler.compile_grammar(f'root ::= "{i}" ("a" root)* | [a-z]{{1,9}}'))


def _disturbed(make: Make, compiler: psc.GrammarCompiler) -> None:
    """The only frame in which the handler raises."""
    make(compiler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code is _disturbed.__code__:
            raise Interrupted
        frame = frame.f_back


@contextmanager
def _alarms(first_s: float, again_s: float) -> Iterator[None]:
    signal.signal(signal.SIGALRM, _interrupt)  # and it stays: one may be on its way still, and the default ends the process
    signal.setitimer(signal.ITIMER_REAL, first_s, again_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@cache
def _blocks(file: str) -> tuple[dict[int, int], set[int]]:
    """The last line of each `with` of a file, by its first line, and the first line of each `try`."""
    nodes = list(ast.walk(ast.parse(Path(file).read_text())))
    withs = {node.lineno: node.end_lineno or 0 for node in nodes if isinstance(node, ast.With)}
    return withs, {node.lineno for node in nodes if isinstance(node, ast.Try)}


@contextmanager
def _at_line(number: int) -> Iterator[None]:
    """Raises at a line of psc's; not where a block is left, nor at a `try`, whose instruction CPython covers by no block around it:
    no signal interrupts there."""
    left = number
    before: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(_PSC):
            return None
        if event == "line":
            here, last = frame.f_lineno, before.get(frame, 0)
            before[frame] = here
            withs, tries = _blocks(frame.f_code.co_filename)
            if here in tries or here < last <= withs.get(here, 0):
                return trace
            left -= 1
            if left == 0:
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def interrupt(case: Case, folder: str) -> None:
    rng = case.rng
    kind = rng.choice(list(KINDS))
    make = KINDS[kind](str(rng.randrange(10**6)))
    compiler = _compiler(folder, rng)
    other = threading.Thread(target=lambda: make(compiler), daemon=True) if rng.random() < 0.3 else None
    if other is not None:
        other.start()
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.4:
            disturbed = _at_line(int(rng.random() ** 2 * 400) + 1)
        else:
            disturbed = _alarms(rng.random() ** 3 * 0.03 + 1e-6, rng.choice([0.0, 0.0, 1e-4, 1e-3]))
        try:
            with disturbed:
                _disturbed(make, compiler)
        except Interrupted:
            case.counts["interrupted"] += 1
    assert not obeys(), "the thread obeys a cancellation that is over"
    made: list[list[bytes]] = []
    thread = threading.Thread(target=lambda: made.append(_masks(make(compiler))), daemon=True)
    thread.start()
    thread.join(_LIMIT_S)
    assert not thread.is_alive(), f"{kind}: what was interrupted is waited for"
    assert made == [_expected(make)], f"{kind}: another grammar than without an interrupt"
    compiler.clear_cache()
    if other is not None:
        other.join(_LIMIT_S)
        assert not other.is_alive(), f"{kind}: the other thread waits"


def fork(case: Case, folder: str) -> None:
    rng, stderr = case.rng, Path(folder) / "stderr"
    compiler = _compiler(folder, rng)
    makes = [KINDS[kind](str(rng.randrange(10**6))) for kind in rng.sample(list(KINDS), 3)]
    expected = [_expected(make) for make in makes]

    def compile_all(first: int) -> None:
        for make in makes[first:] + makes[:first]:
            _masks(make(compiler))
            compiler.trim(rng.randrange(10**6))

    threads = [threading.Thread(target=compile_all, args=(i,), daemon=True) for i in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(rng.randint(1, 3)):
        time.sleep(rng.random() ** 2 * 0.02)
        child = _forked(stderr)
        if child:
            _check_end(child, stderr)
            case.counts["forks"] += 1
            continue
        try:
            equal = [_masks(make(compiler)) for make in makes] == expected
            compiler.clear_cache()
            os._exit(17 if equal else 1)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(2)
    for thread in threads:
        thread.join(_LIMIT_S)
        assert not thread.is_alive(), "a thread of the parent waits for ever"


ACCIDENTS = {"end": end, "interrupt": interrupt, "fork": fork}


def accident(name: str, case: Case) -> None:
    """Has one happen."""
    folder, process = tempfile.mkdtemp(prefix="psc-"), os.getpid()
    try:
        ACCIDENTS[name](case, folder)
    finally:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)
    case.counts[name] += 1


def run_case(case: Case) -> None:
    name = case.rng.choice(["interrupt"] if "PSC_SANITIZED" in os.environ else list(ACCIDENTS))
    case.attach("accident", name.encode())
    accident(name, case)


if __name__ == "__main__":
    main("accidents", __doc__.partition("\n")[0], run_case, case_limit_s=200.0)
