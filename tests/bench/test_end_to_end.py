"""`psc bench end-to-end`, with a stub in the place of vLLM: turns, what is kept, and what is said where something is not there."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import psc
from psc.bench.end_to_end.engine import Engine
from psc.bench.end_to_end.report import lines
from psc.bench.end_to_end.workloads import LANGUAGES, closed, works_of
from psc.bench.plots import picture
from psc.bench.reports import Report
from psc.cli import main

pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="other processes are not instrumented")
Run = Callable[..., Result]
BYTES = [bytes([byte]) for byte in range(256)]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """With an interpreter that is a stub, and a model's folder, `model`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STUB_MARK", str(tmp_path / "mark"))
    stub = tmp_path / "python"
    stub.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("stub_engine.py")} "$@"\n')
    stub.chmod(0o755)
    for name in ("model", "broken"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")

    def invoke(*arguments: str, python: str = "./python", models: str = "model") -> Result:
        options = ("--python", python, "--models", models, "--languages", "json", "--seconds-per-cell", "1", "--quiet")
        return CliRunner().invoke(main, ["bench", "end-to-end", *options, *arguments], catch_exceptions=False)

    return invoke


def test_backends_take_turns_with_the_requests_that_all_take(run: Run) -> None:
    done = run("--batches", "1,4", "--tokens", "free", "--json")
    assert done.exit_code == 0, done.output
    report = Report.from_document(json.loads(done.stdout))
    assert [cell["batch"] for cell in report.results.values()] == [1, 4]
    cell = report.results["model, json, free, batch 4"]
    assert (cell["works"], cell["taken"]) == (24, 22)
    assert cell["screened"]["guidance"]["refused"] == 1 and cell["screened"]["guidance"]["took"] == 23
    assert cell["screened"]["xgrammar"]["refused"] == 0 and cell["screened"]["xgrammar"]["took"] == 23
    assert cell["screened"]["psc"]["artifact_bytes"] == [1000] and "artifact_bytes" not in cell["screened"]["psc jit"]
    assert {len(figures["slices"]) for figures in cell["backends"].values()} == {3}
    assert set(cell["backends"]) == {"none", "psc", "psc jit", "guidance", "xgrammar"}
    speeds = lines(report.results)["model"]["json"]
    assert speeds["psc"] == {1: pytest.approx(100), 4: pytest.approx(400)}
    assert speeds["xgrammar"] == {1: pytest.approx(50), 4: pytest.approx(200)}
    row = next(row for row in report.tables[0].rows if row[3] == "4")
    assert dict(zip(report.tables[0].head, row, strict=True))["xgrammar, share"] == "0.50"
    assert any("guidance refuses 1 of 24: ValueError: not for me" in note for note in report.notes)
    assert report.about["engines"]["vllm"] == "9" and "256 tokens" in report.about["tokenizer"]


def test_an_engine_that_dies_is_named_and_comes_back_in_the_next_cell(run: Run) -> None:
    done = run("--batches", "2,4", "--tokens", "forced", "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert any("batch 2: psc jit: its process died (exit status 4): out of luck" in note for note in report["notes"])
    assert not report["results"]["model, json, forced, batch 2"]["backends"]["psc jit"]["slices"]
    assert len(report["results"]["model, json, forced, batch 4"]["backends"]["psc jit"]["slices"]) == 3


def test_a_run_goes_on_where_an_earlier_one_ended(run: Run, tmp_path: Path) -> None:
    keep = ("--tokens", "free", "--keep", "kept.json")
    assert run("--batches", "1", *keep).exit_code == 0
    kept = json.loads((tmp_path / "kept.json").read_text())
    kept["cells"]["model, json, free, batch 1"]["taken"] = 7
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    done = run("--batches", "1,4", *keep, "--json")
    assert done.exit_code == 0, done.output
    cells = json.loads(done.stdout)["results"]
    assert cells["model, json, free, batch 1"]["taken"] == 7 and cells["model, json, free, batch 4"]["taken"] == 22
    done = run("--batches", "1", *keep, "--seconds-per-cell", "2")
    assert done.exit_code == 1 and "name another file" in done.stderr


def test_a_backend_that_does_not_start_is_named(run: Run) -> None:
    done = run("--batches", "1", "--tokens", "free", models="broken")
    assert done.exit_code == 0 and "broken: xgrammar: RuntimeError: no such backend." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "python", "said"),
    [
        ((), sys.executable, "--python VENV/bin/python"),
        (("--models", "nothing"), "./python", "python: RuntimeError: there is no nothing"),
        (("--backends", "psc,outlines"), "./python", "outlines is none of"),
        (("--batches", "1,x"), "./python", "numbers from 1 to 1024"),
    ],
)
def test_errors(run: Run, arguments: tuple[str, ...], python: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if python == sys.executable:
        pytest.importorskip("psc")
        monkeypatch.setattr("psc.bench.end_to_end.process.Interpreter._says", lambda self, code: "False")
    done = run(*arguments, python=python)
    assert done.exit_code in (1, 2) and said in done.stderr


def test_the_picture_has_a_panel_for_each_language(run: Run) -> None:
    pytest.importorskip("matplotlib")
    cells = json.loads(run("--batches", "1,4", "--json").stdout)["results"]
    drawn = picture(Report("end-to-end", "?", "", [], cells))
    assert drawn is not None and drawn == picture(Report("end-to-end", "?", "", [], cells))
    assert picture(Report("end-to-end", "?", "", [], {})) is None


class FakeEngine:
    """Steps as vLLM's engine has them: a token for each request that runs, the end after `length` of them."""

    def __init__(self, length: int) -> None:
        self.length, self.running, self.given_up = length, {}, []

    def add_request(self, identity: str, prompt: object, params: object) -> None:
        self.running[identity] = 0

    def abort_request(self, identities: list[str]) -> None:
        self.given_up += identities
        self.running.clear()

    def has_unfinished_requests(self) -> bool:
        return bool(self.running)

    def step(self) -> list[object]:
        outputs = []
        for identity in list(self.running):
            self.running[identity] += 1
            ended = self.running[identity] == self.length
            if ended:
                del self.running[identity]
            text = type("Text", (), {"token_ids": [5], "text": "a", "finish_reason": "stop" if ended else None})()
            outputs.append(type("Output", (), {"request_id": identity, "outputs": [text], "finished": ended})())
        return outputs


def engine(length: int) -> Engine:
    """An engine over a fake one."""
    made = Engine.__new__(Engine)
    made.__dict__ |= {"_engine": FakeEngine(length), "_serial": 0, "_end": 0, "_forcing": type("Forcing", (), {"masked": 0})}
    made._sampling = lambda work, **named: type("Params", (), {"extra_args": None})()  # type: ignore[method-assign]
    return made


def test_a_slice_keeps_the_batch_full() -> None:
    made = engine(5)
    found = made.slice([{"prompt": [1], "forced": [2]}], batch=3, seconds=0.05, at=0, max_tokens=9, forced=True, seed=0)
    assert found["steps"] >= 4 and found["tokens"] == 3 * found["steps"]
    # In one step of five, requests begin: these are no part of the tokens that count.
    assert found["tokens"] == pytest.approx(found["all_tokens"] * 4 / 5, abs=12)
    assert len(found["first"]) + len(found["between"]) == found["all_tokens"]
    assert found["ended"] >= 3 and not made._engine.running


def test_texts_come_as_they_end() -> None:
    found = list(engine(4).texts([{"prompt": [1]}] * 5, batch=2, max_tokens=9, temperature=0.8, seed=0))
    assert sorted(each["n"] for each in found) == [0, 1, 2, 3, 4]
    assert {(each["text"], each["tokens"], each["end"]) for each in found} == {("aaaa", 4, "stop")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_works_are_the_same_for_the_same_seed(language: str) -> None:
    assert works_of(language, 5, "1") == works_of(language, 5, "1") != works_of(language, 5, "2")
    assert len(works_of(language, 5, "1")) == 5


def test_json_works_have_valid_texts() -> None:
    compiler = psc.GrammarCompiler(
        psc.TokenizerInfo([*BYTES, b"<eos>"], stop_token_ids=[256], special_token_ids=[256]), store=False
    )
    for work in works_of("json", 40, "0"):
        schema = work.constraints["psc"]["json"]
        assert closed(json.loads(schema)) == json.loads(schema)
        matcher = psc.GrammarMatcher(compiler.compile_json_schema(schema))
        assert matcher.accept_string(work.text) and matcher.is_completed()
