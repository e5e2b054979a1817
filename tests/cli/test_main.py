"""The command line as a process: ``python -m psc``, without the compiler's packages, and with progress."""

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import Result

from psc._version import __version__
from psc.cli import progress

Python = Callable[..., "CompletedProcess[str]"]
Run = Callable[..., Result]

# What a base install lacks. None in sys.modules makes an import fail as if there were no such package.
WITHOUT_EXTRAS = """
import sys
for name in ("pynini", "pywrapfst", "_pynini", "_pywrapfst", "ray", "tokenizers", "transformers", "torch"):
    sys.modules[name] = None
from psc.cli import main
main(sys.argv[1:], prog_name="psc")
"""


def test_python_m_psc(python: Python, tokenizer: Path, tmp_path: Path) -> None:
    assert python("-m", "psc", "--version").stdout == f"psc, version {__version__}\n"
    listed = python("-m", "psc", "--help").stdout
    assert all(f"\n  {name} " in listed for name in ("compile", "check", "explain", "sample", "inspect"))
    done = python("-m", "psc", "compile", "json", "-t", tokenizer, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.startswith("psc: note: servers read json as json?layout=bounded")
    (tmp_path / "bad.json").write_text("[1,\n 2,, 3]")
    done = python("-m", "psc", "check", "json.psc", "bad.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("bad.json:2:4: found ',', expected number, string, ws, ")
    done = python("-m", "psc", "check", "nothing.psc", "bad.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "psc: error: nothing.psc: cannot read the artifact: No such file or directory\n"


def test_base_install(python: Python, run: Run, assignments: Path, tmp_path: Path, tokenizer: Path) -> None:
    basic = tmp_path / "basic.psc"
    assert run("compile", assignments.with_suffix(".lark"), "-t", tokenizer, "--lexer", "basic", "-o", basic).exit_code == 0
    (tmp_path / "good").write_text("a = 1;")
    (tmp_path / "g.ebnf").write_text('root ::= "a = " [0-9]+ ";"\n')
    (tmp_path / "g.lark").write_text('start: "a = " /[0-9]+/ ";"\n')
    (tmp_path / "A.java").write_text("class A { int x = 1; }")
    for arguments in (
        ("check", assignments, tmp_path / "good"),
        ("check", tmp_path / "g.ebnf", "-t", tokenizer, tmp_path / "good"),
        ("explain", assignments, "--text", "a ="),
        ("sample", assignments),
        ("inspect", assignments),
        ("check", "java", "-t", tokenizer, tmp_path / "A.java"),  # its tables are known, and its text is not parsed
        ("compile", "java", "-t", tokenizer),
        ("compile", tmp_path / "g.lark", "-t", tokenizer),
        ("check", tmp_path / "g.lark", "-t", tokenizer, tmp_path / "good"),
    ):
        done = python("-c", WITHOUT_EXTRAS, *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    for arguments in (
        ("compile", tmp_path / "g.lark", "-t", tokenizer, "--verify"),
        ("inspect", basic, "--fst", "fst"),
    ):
        done = python("-c", WITHOUT_EXTRAS, *arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("psc: error: ")
        assert "which is not installed: pip install " in done.stderr
        assert "psc[openfst]" in done.stderr


def test_nothing_goes_into_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.01)
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress.Steps("cooking") as steps:
        for i in range(10):
            steps.step("boil", i, 10)
            time.sleep(0.01)
    assert stderr.getvalue() == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_work_on_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress.Steps("cooking") as steps:
        steps.step("[boil]", 1, 3)
        wait_for(lambda: "cooking: [boil]" in stderr.getvalue())


@pytest.mark.parametrize("quiet", [True, False])
def test_short_or_quiet_work_shows_nothing(monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.02 if quiet else 60)
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress.Steps("cooking", quiet=quiet) as steps:
        steps.step("peel", 0, 1)
        time.sleep(0.1)
    assert stderr.getvalue() == ""


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
