"""Files that nobody may read because an artifact, a document or a request names them; and who watches that nobody does.

Secrets, pipes and devices lie where each kind of name would lead. A hook of the interpreter sees every file that is opened.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from grammar_tables import ahead_bytes
from not_closed import not_closed_bytes
from small_grammars import GRAMMARS
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.format import decode, encode
from psc.artifacts.store import Store
from psc.cli import main as psc_command
from psc.grammars.recorded_tokenizer import recorded_tokenizer
from psc.inspection.checking import Checker
from psc.inspection.explaining import Explainer
from psc.playground.looking import BYTES, Choices, Looker

SECRET = "hunter2"
_seen: list[str] | None = None
_EVENTS = {"open", "os.listdir", "os.scandir", "glob.glob"}


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _seen is not None and event in _EVENTS and isinstance(args[0], (str, bytes, os.PathLike)):
        _seen.append(os.fsdecode(args[0]))


sys.addaudithook(_hook)  # stays as long as the process does


@contextlib.contextmanager
def nothing_of(*folders: Path) -> Iterator[None]:
    """Fails where a file in one of the folders, a device or a description of a process is opened or looked for."""
    global _seen
    stat, seen = os.stat, []

    def watched(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if isinstance(path, (str, bytes, os.PathLike)):
            seen.append(os.fsdecode(path))
        return stat(path, *args, **options)

    _seen, os.stat = seen, watched
    try:
        yield
    finally:
        _seen, os.stat = None, stat
    roots = [*(f"{os.path.realpath(folder)}{os.sep}" for folder in folders), "/dev/", "/proc/self/environ"]
    for path in map(os.path.abspath, seen):
        assert not any(path.startswith(root) for root in roots) or path in ("/dev/null", "/dev/urandom"), path


def plant(folder: Path) -> None:
    """Puts something readable, or a pipe, wherever a name can lead from a folder, and from the home in it."""
    model = json.dumps({"model": {"type": "BPE", "vocab": {SECRET: 0}, "merges": []}, "added_tokens": []})
    models = ("secret", "tokenizer.json", "model.json", "org/name/tokenizer.json", "home/secret", "home/.cache/a/tokenizer.json")
    for name in models:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(model)
    for name in ("secret.lark", "part/secret.lark", "home/secret.lark", "org/secret.lark"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'SECRET: "{SECRET}"\n')
    for name in ("pipe", "pipe.lark", "C:\\secret", "..\\planted\\secret"):
        os.mkfifo(folder / name)
    (folder / "link").symlink_to(folder / "secret")
    (folder / "linked").symlink_to(folder / "org" / "name")


def names(folder: Path) -> list[str]:
    """One of each kind, most of which exist."""
    here, up = str(folder), f"../{folder.name}"
    out = "../" * 12
    return [
        *(f"{here}/{name}" for name in ("secret", "secret.lark", "pipe", "link", "linked", "org/name", "home", ".", "x.lark")),
        *("secret", "secret.lark", "tokenizer.json", "model.json", "pipe", "pipe.lark", "link", "linked", "home", "x.lark"),
        *("./secret", "./org/name", ".//secret", f"{up}/secret", f"{up}/org/name", "org/../secret", "org/name/tokenizer.json"),
        *("~/secret", "~/secret.lark", "~", "~root/x", "~/.cache/a", "$HOME/secret", "${HOME}/secret", "%HOME%\\secret"),
        *("file:secret", f"file:{here}/secret", f"file://{here}/secret", "file:///dev/zero", "http://127.0.0.1:9/secret"),
        *("org/name", "Org/Name", "org/name@main", "org/secret", "org/name@refs", f"org/name@{here}/org/name"),
        *("org/name@/dev/zero", f"org/name@{out}dev/zero", "org/name@../../..", "org/name@.", "org/name@./.", "org/name@a//b"),
        *("../planted", "../..", "..", "..\\planted\\secret", "C:\\secret", "C:secret", "C:/secret", "\\\\host\\share\\x"),
        *("\\\\?\\C:\\secret", "org\\name", "NUL", "CON", "a:b", "/dev/zero", "/dev/stdin", "/dev/fd/0", "/proc/self/environ"),
        *("/proc/self/fd/0", "//dev/zero", f"/{here}/secret", "", " ", ".", "/", "-", "@", "@/dev/zero", "a\0b"),
        *(f"{here}/secret\0", "secret\n", "\ud800", "x" * 5_000, "/" * 5_000),
    ]


IMPORTS = [
    "start: SECRET\n%import .secret.SECRET\n",
    "start: SECRET\n%import .secret (SECRET)\n",
    "start: S\n%import .secret.SECRET -> S\n",
    "start: SECRET\n%import secret.SECRET\n",
    "start: SECRET\n%import secret (SECRET)\n",
    "start: SECRET\n%import .part.secret.SECRET\n",
    "start: SECRET\n%import part.secret.SECRET\n",
    "start: SECRET\n%import .home.secret (SECRET)\n",
    "start: S\n%import .pipe.S\n",
    "start: S\n%import pipe.S\n",
]


def lark(text: str, **more: object) -> dict[str, object]:
    options = {"start": "start", "lexer": "contextual", "keep_all_actions": False, "settings": ""}
    return {"language": "lark", "text": text, **options, **more}


def hostile_requests(folder: Path) -> dict[str, dict[str, object]]:
    """Texts in which others are, that say where they are from."""
    origin = str(folder / "x.lark")
    inner = lark(IMPORTS[0], origin=origin, source_name=origin, file=origin, folder=str(folder))
    of_characters = {"start": "root", "lexer": "any", "keep_all_actions": True, "settings": ""}
    both = json.dumps({"combination": "union", "grammars": [inner, lark('start: "x"')], "origin": origin})
    twice = {"language": "combination", "text": both, **of_characters, "origin": origin}
    named = json.dumps({"grammars": {"a": {**inner, "shares_names": False}}}, sort_keys=True, separators=(",", ":"))
    tag = {"type": "structural_tag", "format": {"type": "grammar", "grammar": f"./{folder.name}/secret.lark"}}
    return {
        "combination": twice,
        "combination in another": {
            "language": "combination",
            "text": json.dumps({"combination": "concat", "grammars": [twice, inner]}),
            **of_characters,
        },
        "named grammars": {"language": "llguidance", "text": "start: @a", **of_characters, "start": "start", "settings": named},
        "structural tag": {"language": "structural_tag", "text": json.dumps(tag), **of_characters},
        "schema": {"language": "json_schema", "text": json.dumps({"$ref": f"file://{origin}"}), **of_characters},
        "schema with an id": {
            "language": "json_schema",
            "text": json.dumps({"$id": f"file://{folder}/", "$ref": "model.json"}),
            **of_characters,
        },
    }


@cache
def artifact(closed: bool) -> bytes:
    grammar = GRAMMARS["list"]() if "list" in GRAMMARS else next(iter(GRAMMARS.values()))()
    return ahead_bytes(grammar, byte_tokenizer()) if closed else not_closed_bytes(grammar, byte_tokenizer())


def with_names(grammar: str, tokenizer: str, closed: bool = True, **more: object) -> bytes:
    """An artifact with these names, and other entries of the description of its grammar."""
    artifact_ = decode(artifact(closed))
    metadata: dict[str, Any] = copy.deepcopy(dict(artifact_.metadata))
    metadata["grammar"].update(name=grammar, **more)
    metadata["tokenizer"]["name"] = tokenizer
    return encode(artifact_.arrays, metadata)


def uses(path: Path, info: psc.TokenizerInfo) -> list[Callable[[], object]]:
    """Everything that reads an artifact's description."""
    loaded = psc.load(path)
    here = psc.load(path, tokenizer_info=info)

    def of_command(*arguments: str) -> Callable[[], object]:
        return lambda: CliRunner().invoke(psc_command, [*arguments], input="", catch_exceptions=False)

    return [
        lambda: loaded.tokenizer_info,
        lambda: loaded.grammar,
        lambda: here.grammar,
        lambda: here.rule_record(),
        lambda: here.serialize_json(),
        lambda: psc.CompiledGrammar.deserialize_json(here.serialize_json(), info).grammar,
        lambda: pickle.loads(pickle.dumps(loaded)).grammar,
        lambda: pickle.loads(pickle.dumps(loaded)).tokenizer_info,
        lambda: repr(loaded),
        lambda: recorded_tokenizer(loaded.metadata, "artifact"),
        lambda: loaded.save(path.with_name("saved.psc")),
        lambda: psc.GrammarCompiler(info, store=path.parent / "store", registry=False).finish(here).result(timeout=30),
        lambda: psc.GrammarCompiler(info, store=False, registry=False).compile_grammar(here.grammar),
        lambda: Store(path.parent / "other").add(path.read_bytes()),
        lambda: psc.GrammarMatcher(here).find_jump_forward_string(),
        lambda: Checker(here).check(b"("),
        lambda: Explainer(here).explain(b"("),
        lambda: Looker(Choices(grammars=(str(path),))).look({"grammar": {"name": str(path)}, "tokenizer": BYTES, "text": "("}),
        *(of_command(command, str(path), *more) for command, *more in (("check", "-"), ("sample",), ("explain", "--text", ""))),
        *(of_command("inspect", str(path), *more) for more in ((), ("--json", "--terminals", "--rules"))),
    ]
