"""Compilations that are called off at random moments: `python -m fuzz.cancellations --seconds 30 --seed 1`.

Each case takes an input that takes long in one of the stages (Lark's reading, a schema's, tags, terminals, tables), compiles it on
a thread, and calls it off after a random time. The time from there until the thread raises is processor time of that thread, since
the clock of a busy machine says little. `--table SECONDS SEED [INPUTS]` prints the worst delay for each input, and for each function
that was at work when it was late.

Cost: a case is as long as the random moment, 0.5 s at most.
"""

# A table of inputs, one a line.
# ruff: noqa: B008, E501

from __future__ import annotations

import gc
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import psc
from fuzz.session import Case, main
from psc.errors import CompilationCancelledError, PscError

_LIMIT_S = 0.1
"""Twice what the documentation promises: the machine may be busy."""
_LONGER_S = {"lark: imports": 0.3}
"""What docs/serving/operating.md names: modules are imported in the first case that needs them."""
_LONGEST_S = 0.5
_PSC = str(Path(psc.__file__).parent.resolve())


@cache
def _vocabulary() -> psc.TokenizerInfo:
    tokens = [bytes([b]) for b in range(256)] + [f"{i:x}".encode() for i in range(256, 2000)]
    return psc.TokenizerInfo.from_tokens([*tokens, b"</s>"], stop_token_ids=[len(tokens)], special_token_ids=[len(tokens)])


def _lark(text: Callable[[random.Random], str]) -> Callable[[random.Random], Callable[..., Any]]:
    return lambda rng: lambda c, text=text(rng), **how: c.compile_lark(text, **how)


def _ebnf(text: Callable[[random.Random], str]) -> Callable[[random.Random], Callable[..., Any]]:
    return lambda rng: lambda c, text=text(rng), **how: c.compile_grammar(text, **how)


def _regex(text: Callable[[random.Random], str]) -> Callable[[random.Random], Callable[..., Any]]:
    return lambda rng: lambda c, text=text(rng), **how: c.compile_regex(text, **how)


def _schema(value: Callable[[random.Random], Any]) -> Callable[[random.Random], Callable[..., Any]]:
    def make(rng: random.Random) -> Callable[..., Any]:
        text = json.dumps(value(rng))
        return lambda c, **how: c.compile_json_schema(text, **how)

    return make


def _tags(n: int) -> dict[str, Any]:
    tags = [
        {"begin": f"<t{i}>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}, "end": "</t>"}
        for i in range(n)
    ]
    return {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": [f"<t{i}>" for i in range(n)], "tags": tags}}


def _structural(tag: Callable[[random.Random], Any]) -> Callable[[random.Random], Callable[..., Any]]:
    return lambda rng: lambda c, tag=tag(rng), **how: c.compile_structural_tag(tag, **how)


def _chain(n: int) -> str:
    return "start: r0\n" + "".join(f'r{i}: "x{i}" r{i + 1}\n' for i in range(n)) + f'r{n}: "y"\n'


def _doubling(n: int) -> str:
    return (
        f"start: t{n}{{A}}\n"
        + "".join(f"t{i}{{x}}: t{i - 1}{{x}} t{i - 1}{{x}}\n" for i in range(1, n + 1))
        + 't0{x}: x "b"\nA: "a"\n'
    )


def _templates(n: int) -> str:
    lines = "".join(f"t{i}{{x}}: x t{i + 1}{{A{i % 9}}} | t{i + 1}{{x}}\n" for i in range(n))
    return f"start: t0{{A0}}\n{lines}t{n}{{x}}: x\n" + "".join(f'A{i}: "{i}"\n' for i in range(9))


def _terminals(n: int) -> str:
    return f"start: ({'|'.join(f'T{i}' for i in range(n))})*\n" + "".join(f'T{i}: /{i}[a-z]+/ | "k{i}"i\n' for i in range(n))


def _texts(n: int, rng: random.Random) -> str:
    letters = "".join(rng.choices("abcdefghij", k=4))
    return f"start: ({'|'.join(f'T{i}' for i in range(n))})*\n" + "".join(f'T{i}: "{letters}{i}"\n' for i in range(n))


def _substrings(rng: random.Random, n: int) -> str:
    how, text = rng.choice([("words", " ".join(_words(rng, n, 5))), ("chars", _words(rng, 1, 6 * n)[0])])
    return f'%llguidance {{}}\nstart: S\nS: %regex {{"substring_{how}": "{text}"}}\n'


def _dialect(n: int) -> str:
    rules = "".join(f'r{i}: /[a-z]{{1,{i % 40 + 1}}}/ "{i}"\n' for i in range(n))
    return f"%llguidance {{}}\nstart: {' '.join(f'r{i}' for i in range(n))}\n{rules}"


def _ebnf_chain(n: int) -> str:
    return "root ::= r0\n" + "".join(f'r{i} ::= "x{i}" r{i + 1} | "y"\n' for i in range(n)) + f'r{n} ::= "y"\n'


def _words(rng: random.Random, n: int, size: int) -> list[str]:
    return ["".join(rng.choices("abcdefghij", k=size)) for _ in range(n)]


def _many_members(n: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"member{i}": {"type": "integer"} for i in range(n)}}


INPUTS: dict[str, Callable[[random.Random], Callable[..., Any]]] = {
    "lark: imports": _lark(lambda r: "start: N0\n" + "".join(f"%import common.INT -> N{i}\n" for i in range(r.randint(1000, 6000)))),
    "lark: a chain of rules": _lark(lambda r: _chain(r.randint(500, 5000))),
    "lark: brackets": _lark(lambda r: "start: " + (n := r.randint(1000, 100_000)) * "(" + '"a"' + n * ")" + "\n"),
    "lark: brackets beside": _lark(lambda r: "start: " + '("a" | "b")? ' * r.randint(1000, 30_000) + "\n"),
    "lark: any case": _lark(lambda r: "start: A\nA: /" + "".join(_words(r, 1, r.randint(1000, 80_000))) + "/i\n"),
    "lark: any case in text": _lark(lambda r: 'start: A\nA: /(?i)"' + "".join(_words(r, 1, r.randint(1000, 80_000))) + "/\n"),
    "lark: templates that double": _lark(lambda r: _doubling(r.randint(8, 18))),
    "lark: templates": _lark(lambda r: _templates(r.randint(100, 2000))),
    "lark: alternatives": _lark(lambda r: "start: " + " | ".join(f'"{w}"' for w in _words(r, r.randint(1000, 20_000), 6)) + "\n"),
    "lark: terminals": _lark(lambda r: _terminals(r.randint(100, 2000))),
    "lark: texts that follow each other": _lark(lambda r: _texts(r.randint(1000, 5000), r)),
    "lark: priorities": _lark(lambda r: "start: T0\n" + "".join(f"T{i}.{i}: T{i + 1} /a{i}/\n" for i in range(800)) + 'T800: "z"\n'),
    "lark: dialect": _lark(lambda r: _dialect(r.randint(100, 3000))),
    "lark: substrings": _lark(lambda r: _substrings(r, r.randint(1000, 20_000))),
    "lark: malformed": _lark(lambda r: "start: " + '"a" ' * r.randint(1000, 50_000) + ")\n"),
    "lark: comments": _lark(lambda r: 'start: "a"\n' + "// nothing\n" * r.randint(10_000, 200_000)),
    "ebnf: a chain of rules": _ebnf(lambda r: _ebnf_chain(r.randint(1000, 20_000))),
    "ebnf: brackets": _ebnf(lambda r: "root ::= " + (n := r.randint(100, 20_000)) * "(" + '"a"' + n * ")"),
    "ebnf: alternatives": _ebnf(lambda r: "root ::= " + " | ".join(f'"{w}"' for w in _words(r, r.randint(1000, 50_000), 8))),
    "ebnf: substrings": _ebnf(lambda r: f"root ::= Substring({json.dumps(_words(r, r.randint(1000, 30_000), 8))[1:-1]})"),
    "ebnf: classes": _ebnf(lambda r: "root ::= " + "|".join(f"[\\u{a:04x}-\\u{a + 255:04x}]+" for a in range(0x100, 0xD700, 14))),
    "ebnf: repeats": _ebnf(lambda r: "root ::= " + " ".join(f"[a-{c}]{{1,{r.randint(50, 400)}}}" for c in "bcdefgh")),
    "ebnf: ambiguous": _ebnf(lambda r: "root ::= " + " | ".join(f"a{i} a{j}" for i in range(40) for j in range(40)) + "\n"
        + "".join(f'a{i} ::= "{i}" a{(i * 7) % 40}? | a{(i + 1) % 40} "x"\n' for i in range(40))),
    "regex: counted": _regex(lambda r: f"([a-z]{{1,{r.randint(10, 300)}}}[0-9]?){{1,60}}"),
    "regex: any of many": _regex(lambda r: "|".join(_words(r, r.randint(1000, 40_000), 9))),
    "regex: classes": _regex(lambda r: r"(\w+\s*\d?[^\x00-\x7f]?){1,50}"),
    "schema: long texts": _schema(lambda r: {"enum": ["x" * 2_000_000, "y" * 2_000_000]}),
    "schema: a pattern of classes": _schema(lambda r: {"type": "string", "pattern": rf"^[\p{{L}}\p{{N}}]{{1,{r.randint(100, 1000)}}}$"}),
    "schema: looks": _schema(lambda r: {"type": "string", "pattern": "^" + "".join(f"(?!.*{w})" for w in _words(r, 6, 5)) + ".*$"}),
    "schema: integers": _schema(lambda r: {"enum": list(range(r.randint(1000, 200_000)))}),
    "schema: texts": _schema(lambda r: {"enum": _words(r, r.randint(1000, 200_000), 8)}),
    "schema: objects": _schema(lambda r: {"enum": [{"a": i, "b": str(i)} for i in range(r.randint(1000, 50_000))]}),
    "schema: members": _schema(lambda r: _many_members(r.randint(1000, 30_000))),
    "schema: one of": _schema(lambda r: {"oneOf": [_many_members(3) | {"required": [f"member{i}"]} for i in range(r.randint(50, 400))]}),
    "schema: all of": _schema(lambda r: {"allOf": [_many_members(r.randint(10, 200)) for _ in range(40)]}),
    "schema: nested": _schema(lambda r: _nested(r.randint(50, 400))),
    "schema: any order": lambda r: (lambda c, t=json.dumps(_many_members(r.randint(5, 14))), **how: c.compile_json_schema(t, any_order=True, **how)),
    "schema: multiples": _schema(lambda r: {"type": "number", "multipleOf": r.choice([0.0000001, 12345.678, 99991])}),
    "schema: bounds": _schema(lambda r: {"type": "integer", "minimum": -(10 ** r.randint(5, 300)), "maximum": 10 ** r.randint(5, 300)}),
    "schema: conditions": _schema(lambda r: {"allOf": [
        {"if": {"properties": {"k": {"const": i}}}, "then": {"required": [f"m{i}"]}} for i in range(r.randint(5, 40))
    ], **_many_members(10)}),
    "schema: references": _schema(lambda r: {"$ref": "#/$defs/d0", "$defs": {
        f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(r.randint(100, 5000))
    } | {"d5000": {}}} | {}),
    "tag: triggers": _structural(lambda r: _tags(r.randint(50, 1200))),
    "tag: schemas": _structural(lambda r: {"type": "structural_tag", "format": {"type": "tags_with_separator", "separator": "\n", "tags": [
        {"begin": f"<f{i}>", "content": {"type": "json_schema", "json_schema": _many_members(30)}, "end": "</f>"} for i in range(r.randint(10, 300))
    ]}}),
    "tag: excludes": _structural(lambda r: {"type": "structural_tag", "format": {"type": "any_text", "excludes": _words(r, r.randint(10, 2000), 8)}}),
    "file: a bundled grammar": lambda r: (lambda c, name=r.choice(["java", "javascript", "sql", "xml", "python"]), **how: c.compile_file(name, **how)),
    "ahead of time": lambda r: (lambda c, n=r.randint(2, 60), cancellation=None: psc.compile_ahead_of_time(
        psc.Grammar.from_ebnf(f'root ::= "{{" (root ("," root)*)? "}}" | [a-z]{{1,{n}}} | [0-9]+'), _vocabulary(), cancellation=cancellation)),
}  # fmt: skip


def _nested(n: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for i in range(n):
        schema = {"type": "object", "properties": {f"p{i}": schema}}
    return schema


def _at_work(thread: threading.Thread) -> str:
    """The function of psc's, or that a function of psc's has called, that a thread is in."""
    gc.disable()  # CPython 3.11 takes frames of threads that go on while it collects
    try:
        return _innermost(sys._current_frames().get(thread.ident or 0))
    finally:
        gc.enable()


def _innermost(frame: FrameType | None) -> str:
    inner = ""
    while frame is not None:
        code = frame.f_code
        name = f"{Path(code.co_filename).name}:{code.co_name}"
        if code.co_filename.startswith(_PSC):
            return f"{name} > {inner}" if inner else name
        inner = name
        frame = frame.f_back
    return inner


def called_off(make: Callable[..., Any], after_s: float) -> tuple[float, str] | None:
    """The delay, and what was at work; None where it was over before."""
    compiler, cancellation = psc.GrammarCompiler(_vocabulary(), store=False, registry=False), psc.Cancellation()
    ended: list[tuple[float, BaseException | None]] = []

    def work() -> None:
        error: BaseException | None = None
        try:
            make(compiler, cancellation=cancellation)
        except BaseException as e:
            error = e
        ended.append((time.thread_time(), error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(after_s)
    if not thread.is_alive() or thread.ident is None:
        return None
    try:
        clock = time.pthread_getcpuclockid(thread.ident)
        begun = time.clock_gettime(clock)
    except OSError:
        return None
    cancellation.cancel()
    thread.join(_LIMIT_S / 2)
    at_work = _at_work(thread)  # what is late, if anything is
    thread.join()
    at, error = ended[0]
    if error is not None and not isinstance(error, PscError):
        raise error
    # Whether it was called off, refused or ready: nobody waits longer.
    return at - begun, at_work + ("" if isinstance(error, CompilationCancelledError) else " (not called off)")


def run_case(case: Case) -> None:
    name = case.rng.choice(list(INPUTS))
    make = INPUTS[name](case.rng)
    after_s = case.rng.random() ** 2 * _LONGEST_S
    case.attach("input", name.encode())
    delay = called_off(make, after_s)
    if delay is None:
        case.counts["over before"] += 1
        return
    case.counts["called off"] += 1
    case.counts["milliseconds"] += round(delay[0] * 1000)
    limit_s = _LONGER_S.get(name, 2 * _LIMIT_S if name.startswith("schema: ") else _LIMIT_S)
    if delay[0] > limit_s and (again := called_off(make, after_s)) is not None and again[0] > limit_s:
        raise AssertionError(f"{name}: {min(delay, again)[0]:.3f} s after it was called off, in {delay[1]}")


def table(seconds: float, seed: int, some: str) -> None:
    """Prints the worst delays."""
    rng, worst, until = random.Random(seed), {}, time.monotonic() + seconds
    names = [name for name in INPUTS if name.startswith(some)]
    while time.monotonic() < until:
        for name in names:
            found = called_off(INPUTS[name](rng), rng.random() ** 2 * _LONGEST_S)
            if found is not None:
                key = name, found[1]
                worst[key] = max(worst.get(key, 0.0), found[0])
    for (name, at_work), delay in sorted(worst.items(), key=lambda item: -item[1])[:60]:
        print(f"{delay * 1000:8.1f} ms  {name}  {at_work}")


if __name__ == "__main__":
    if "--table" in sys.argv:
        table(float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "")
    else:
        main("cancellations", __doc__.partition("\n")[0], run_case, case_limit_s=120.0)
