"""Do JSON schemas that people publish compile, how fast, and why are the others refused?

Schemas are the files of folders (`*.json`), each a schema, or the lines of files (`.jsonl`, `.jsonl.zst`) with a schema each under
`schema`. Each is compiled cold, exactly, and where psc refuses that, with `lenient=True`. References are resolved among the files
of the same folder, where a URI is of a site that several `$id` have. `--one-of` adds large `oneOf`, told apart in several ways or
not.

    python benchmarks/schemas.py SCHEMASTORE --any-order
    python benchmarks/schemas.py lines.jsonl.zst
    python benchmarks/schemas.py --one-of 400 1000

Times are processor time of one thread, from the text to rules that can be matched. Memory is not measured here.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

import psc

SLOW = 2.0
"""Seconds above which a schema is listed."""

ONE_OF: dict[str, Callable[[int], dict[str, Any]]] = {
    "strings": lambda i: {"const": f"v{i}"},
    "numbers": lambda i: {"const": i},
    "patterns": lambda i: {"type": "string", "pattern": f"^p{i}-"},
    "lengths": lambda i: {"type": "string", "minLength": 2 * i, "maxLength": 2 * i + 1},
    "ranges": lambda i: {"type": "integer", "minimum": 10 * i, "maximum": 10 * i + 9},
    "arrays by length": lambda i: {"type": "array", "minItems": i, "maxItems": i},
    "objects by a member": lambda i: _object(i, k={"const": f"v{i}"}),
    "objects by a member, the last two alike": lambda i: _object(i, k={"const": f"v{max(i, 1)}"}),
    "objects by a member of a member": lambda i: _object(i, k=_object(i, l={"const": i})),
    "objects by their names": lambda i: _object(i, **{f"k{i}": {}}),
    "objects by one of two members": lambda i: _object(i, **{"kl"[i % 2]: {"const": f"v{i}"}}),
    "objects by nothing": lambda i: {**_object(i, k={"const": f"v{i}"}), "required": []},
}  # fmt: skip
"""Branches of `oneOf` by number, by what tells them apart."""


def _object(i: int, **required: Any) -> dict[str, Any]:
    members = {**required, f"x{i}": {"type": "integer"}}
    return {"type": "object", "properties": members, "required": list(required), "additionalProperties": False}


@dataclass
class Outcomes:
    """What became of some schemas."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Of the exact compilation, refused or not, by name."""
    lenient: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Why, of those refused exactly."""

    def figures(self) -> dict[str, Any]:
        """Everything about them."""
        times = list(self.seconds.values())
        reasons = Counter(reason(why) for why in self.refused.values())
        by_time = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {
            "schemas": len(times),
            "exact": len(times) - len(self.refused),
            "lenient": len(times) - len(self.refused) + len(self.lenient),
            "seconds": dict(zip(("p50", "p99", "max"), map(float, np.percentile(times, (50, 99, 100))), strict=True))
            if times
            else {},
            "above": [name for name, seconds in by_time if seconds > SLOW],
            "slowest": dict(by_time[:10]),
            "refused": dict(reasons.most_common()),
            "examples": {reason(why): name for name, why in reversed(self.refused.items())},
        }


def reason(why: str) -> str:
    """An error's message without its place and what differs from schema to schema."""
    message = re.sub(r"^.*?#[^:]*?(, (\w+))?: ", lambda m: f"{m[2]}: " if m[2] else "", why)
    if "there is no schema" in message:
        return "$ref: there is no schema"
    return re.sub(r"\d[\d,]*", "N", re.sub(r"'[^']*'|`[^`]*`", "..", message))[:90]


def schemas_of(path: Path) -> Iterator[tuple[str, str, Callable[[str], Any]]]:
    """Names and texts of a folder's or file's schemas, and where their references lead."""
    if path.is_dir():
        files = {file.name: file for file in sorted(path.glob("*.json"))}
        contents = (json.loads(file.read_text("utf-8-sig")) for file in files.values())
        sites = Counter(str(c.get("$id") or c.get("id")).rpartition("/")[0] for c in contents if isinstance(c, dict))
        own = {site for site, n in sites.items() if site and n > 1}

        def resolve(uri: str) -> Any:
            site, _, name = uri.split("#")[0].rpartition("/")
            file = (files.get(name) or files.get(f"{name}.json")) if not site or site in own else None
            return json.loads(file.read_text("utf-8-sig")) if file else None

        for name, file in files.items():
            yield name, file.read_text("utf-8-sig"), resolve
        return
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().stream_reader(data).read()
    for i, line in enumerate(data.decode().splitlines()):
        entry = json.loads(line)
        yield entry.get("name") or f"{path.name}, line {i + 1}", json.dumps(entry["schema"]), lambda uri: None


def compile_all(schemas: Iterator[tuple[str, str, Callable[[str], Any]]], any_order: bool) -> Outcomes:
    """Compiles each, exactly, then lenient."""
    tokens = [bytes([byte]) for byte in range(256)]
    info = psc.TokenizerInfo.from_tokens([*tokens, b"</s>"], stop_token_ids=[256])
    out = Outcomes()
    for name, text, resolver in schemas:
        for lenient in (False, True):
            compiler = psc.GrammarCompiler(info, store=False, registry=False, cache_enabled=False)
            began = time.thread_time()
            why = ""
            try:
                grammar = psc.Grammar.from_json_schema(
                    text, strict_mode=False, any_order=any_order, assert_format=False, resolver=resolver, lenient=lenient
                )
                compiler.compile_grammar(grammar)
            except psc.PscError as error:
                why = str(error)
            if not lenient:
                out.seconds[name] = time.thread_time() - began
            if not why:
                out.lenient += [name] * lenient
                break
            if not lenient:
                out.refused[name] = why
    return out


def report(name: str, figures: dict[str, Any]) -> None:
    """Prints the figures of a corpus."""
    times = ", ".join(f"{key} {value:.3f}" for key, value in figures["seconds"].items())
    print(f"\n{name}: {figures['schemas']:,} schemas; exactly {figures['exact']:,}, with lenient {figures['lenient']:,}")
    print(f"seconds: {times}; above {SLOW:g}: {', '.join(figures['above']) or 'none'}")
    for why, n in figures["refused"].items():
        print(f"{n:6,} refused: {why} ({figures['examples'][why]})")
    print("slowest: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in figures["slowest"].items()))


def main() -> None:
    """Reads the command line, compiles, prints."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", type=Path, help="folders of schemas, or files with one a line")
    parser.add_argument("--one-of", nargs="*", type=int, default=[], metavar="N", help="compile `oneOf` of N branches of each kind")
    parser.add_argument("--any-order", action="store_true", help="members in any order")
    parser.add_argument("--json", type=Path, help="write all figures here")
    args = parser.parse_args()
    logging.getLogger("psc").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    results = {}
    for path in args.corpora:
        results[str(path)] = compile_all(schemas_of(path), args.any_order).figures()
        report(path.name, results[str(path)])
    for n in args.one_of:
        of_kinds = (
            (kind, json.dumps({"oneOf": [branch(i) for i in range(n)]}), lambda uri: None) for kind, branch in ONE_OF.items()
        )
        outcomes = compile_all(of_kinds, args.any_order)
        print(f"\noneOf of {n:,}, seconds")
        for kind, seconds in outcomes.seconds.items():
            print(f"{seconds:8.3f} {kind}{': ' + outcomes.refused[kind][:120] if kind in outcomes.refused else ''}")
        results[f"oneOf of {n}"] = {"seconds": outcomes.seconds, "refused": outcomes.refused}
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
