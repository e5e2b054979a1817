"""Every command and program of the README and the docs runs as written, in a fresh folder, with what the page shows as its files.

Blocks run in the order of the page. `project/` has what a page takes for granted (a Java file, some grammars); a tokenizer file is
made. What a page cannot run here says so in a comment above the block, with the reason, and installing is looked at apart.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from markdown_blocks import Block, blocks, commands
from tokenizer_files import write_tokenizer
from vocabularies import WORDS

import psc

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = Path(__file__).parent / "project"
FROM_NOTHING = {
    "README.md",
    "docs/start.md",
    "docs/install.md",
    "docs/tutorials/grammar.md",
    "docs/tutorials/json.md",
    *(f"docs/from/{engine}.md" for engine in ("llama-cpp", "llguidance", "outlines", "xgrammar")),
}
"""Pages that need no file but those that they show: a stranger begins in an empty folder."""
INSTALLS = re.compile(r"pip install|pip wheel|python3 -m venv|docker |kubectl |ray start|ray job")

pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="commands of other processes are not instrumented")


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A project of a user's; nothing for the pages that a stranger reads first."""
    page = request.node.callspec.params.get("page") if hasattr(request.node, "callspec") else None
    if page is not None and str(page.relative_to(ROOT)) in FROM_NOTHING:
        return tmp_path
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    _write_model(tmp_path)
    return tmp_path


def _write_model(folder: Path) -> None:
    """The tokenizer that programs are given for those that they name (run_programs.py)."""
    (folder / "models/tiny").mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder / "models/tiny/tokenizer.json", [bytes([b]) for b in range(256)] + [w.encode() for w in WORDS])


@pytest.fixture
def environment(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """psc on the path, a home of its own; processes that a page leaves in the background end with the test."""
    programs = tmp_path_factory.mktemp("bin")
    for name, body in (("psc", "-m psc"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {body} "$@"\n')
        (programs / name).chmod(0o755)
    home = tmp_path_factory.mktemp("home")
    keep = {k: v for k, v in os.environ.items() if not k.startswith("PSC_")}
    yield {**keep, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_page_runs(page: Path, folder: Path, environment: dict[str, str]) -> None:
    background: list[int] = []
    ports: dict[str, str] = {}
    try:
        for block in blocks(page):
            if block.remark == "file":
                (folder / block.said).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.said).write_text(_with_ports(block.text, ports), encoding="utf-8")
            elif block.remark:
                continue
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "sh":
                _run_shell(block, folder, environment, ports, background)
            elif block.language == "console":
                _run_console(block, folder, environment)
        if any(b.language == "python" and not b.remark for b in blocks(page)):
            _run_programs(page, folder, environment)
    finally:
        for group in background:
            _end(group)


def _run_shell(block: Block, folder: Path, environment: dict[str, str], ports: dict[str, str], background: list[int]) -> None:
    lines = [line for line in block.text.splitlines() if not INSTALLS.search(line)]
    if not lines:
        return
    text = _with_ports("\n".join(lines), ports)
    if find_spec("ray") is None:
        text = text.replace(" --ray local", "")
    log = folder / "output.log"  # a file, since what stays in the background goes on writing
    with log.open("w+b") as output:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        if any(re.search(r"&\s*(#.*)?$", line) for line in lines):
            background.append(process.pid)
        code = process.wait(timeout=900)
    assert code == 0, f"{block.where}:\n{log.read_text(errors='replace')}"
    if process.pid in background:
        for port in ports.values():
            _wait_for(int(port))


def _run_console(block: Block, folder: Path, environment: dict[str, str]) -> None:
    for command, expected in commands(block):
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 1), f"{block.where}: {command}\n{done.stderr}"
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        for line in (line.rstrip() for line in expected.splitlines()):
            assert line in printed, f"{block.where}: {command}\nnot printed: {line!r}\nprinted:\n{done.stdout}{done.stderr}"


def _run_programs(page: Path, folder: Path, environment: dict[str, str]) -> None:
    _write_model(folder)
    runner = [sys.executable, str(Path(__file__).parent / "run_programs.py"), str(page)]
    done = subprocess.run(runner, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{page.name}:\n{done.stderr}"


def _with_ports(text: str, ports: dict[str, str]) -> str:
    """The text with ports that are free here in place of those that it names."""

    def free(match: re.Match[str]) -> str:
        if match[0] not in ports:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                ports[match[0]] = str(s.getsockname()[1])
        return ports[match[0]]

    text = re.sub(r"(?<=127\.0\.0\.1:)\d{4,5}", free, text)
    return re.sub(
        r"(psc registry serve (?!.*--port)\S+)", lambda m: f"{m[1]} --port {ports.get('8750') or _free('8750', ports)}", text
    )


def _free(port: str, ports: dict[str, str]) -> str:
    _with_ports(f"127.0.0.1:{port}", ports)
    return ports[port]


def _wait_for(port: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens on port {port}")


def _end(group: int) -> None:
    try:
        os.killpg(group, signal.SIGTERM)
    except ProcessLookupError:
        return


def test_extras_that_are_named_exist() -> None:
    """Every ``psc[extra]`` and ``.[extra]`` of a page, or of a message, is one of the project's."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = re.compile(r"""(?:psc|'\.|whl\)"?)\[([a-z0-9, -]+)\]""")
    for page in (*PAGES, ROOT / "examples/README.md", ROOT / "benchmarks/README.md"):
        for listed in named.findall(page.read_text()):
            for extra in listed.split(","):
                assert extra.strip() in extras, f"{page.name}: there is no extra {extra!r}"


def test_nobody_installs_the_name_from_an_index() -> None:
    """psc is on no package index, so what is there under its name is not this."""
    by_name = re.compile(r"""pip install(?: -\S+| --\S+)* ['"]?psc(?:\[[^\]]*\])?['"]?(?=[\s`]|$)""")
    texts = [*PAGES, *(ROOT / "psc").rglob("*.py"), *(ROOT / "examples").rglob("*.*")]
    for path in (*texts, ROOT / "CHANGELOG.md", ROOT / "benchmarks/README.md"):
        for line in path.read_text(errors="replace").splitlines():
            assert not by_name.search(line), f"{path.relative_to(ROOT)}: {line.strip()}"


def test_pages_that_need_nothing_are_there() -> None:
    assert {str(page.relative_to(ROOT)) for page in PAGES} >= FROM_NOTHING


def test_excuses_are_few() -> None:
    """What is not run says why."""
    excused = [b for page in PAGES for b in blocks(page) if b.remark == "not run"]
    assert all(b.said for b in excused)
    assert len(excused) <= 25, json.dumps([b.where for b in excused])


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    on_page = re.findall(r"^(?:::: psc\.|### `)(\w+)", page, re.MULTILINE)
    assert sorted(on_page) == sorted(set(psc.__all__) - {"__version__"})


@pytest.mark.parametrize(("package", "page"), [("decoding", "decoding"), ("serving", "adapters")])
def test_the_reference_has_what_a_package_exports(package: str, page: str) -> None:
    on_page = re.findall(rf"^::: psc\.{package}\.(\w+)$", (ROOT / f"docs/reference/{page}.md").read_text(), re.MULTILINE)
    assert sorted(on_page) == sorted(import_module(f"psc.{package}").__all__)


def test_links_lead_somewhere() -> None:
    for page in (*PAGES, ROOT / "examples/README.md", ROOT / "benchmarks/README.md"):
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_page_shows_the_example_schema_as_it_is() -> None:
    shown = next(block.text for block in blocks(ROOT / "docs/generate.md") if block.language == "json")
    assert shown == (ROOT / "examples/person.json").read_text()


def test_files_that_pages_name_exist() -> None:
    """CONTRIBUTING's walks and lists, the glossary and the explanations name files of the tree, some as `FOLDER/NAME.*`."""
    folders = "native|psc|compiler|artifacts|runtime|cluster|tests|fuzz|benchmarks|docs|examples"
    rooms = [ROOT / "tests/README.md", *ROOT.glob("native/*/README.md")]
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *rooms):
        for name in re.findall(rf"`((?:{folders})/[\w./*]+)`", page.read_text()):
            assert any(ROOT.glob(name.rstrip("/"))), f"{page.relative_to(ROOT)}: {name}"
