"""The adapter for SGLang: what its releases differ in, psc's counters in its report, and `PSC_SGLANG=require`."""

import ast
import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)
from sglang.srt import plugins  # noqa: E402
from sglang.srt.constrained import base_grammar_backend  # noqa: E402
from sglang_engine import GRAMMAR_BACKEND_CHOICES, Engine, Unreadable, plugin, reporting  # noqa: E402

from psc.adapters import sglang as adapter  # noqa: E402
from psc.adapters.seams import NotAtWorkError, Seam  # noqa: E402
from psc.adapters.sglang import seams  # noqa: E402
from psc.adapters.sglang.backend import PscGrammarBackend  # noqa: E402

pytestmark = pytest.mark.every_release


@pytest.mark.parametrize("parser", [None, "qwen3"])
def test_the_server_tells_the_counters(parser: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    report = reporting(monkeypatch, {"theirs": 1})
    with plugin():
        requests = Engine(monkeypatch, "xgrammar", reasoning_parser=parser)
        for regex in ("a", "b", "(", "a"):
            requests.request(regex=regex)
        state = report(requests.manager)
        assert state["theirs"] == 1
        assert (state["psc"]["compilations.regex"], state["psc"]["refused.regex"]) == (2, 1)
        assert json.loads(json.dumps(state)) == state


def test_all_that_is_needed_is_there(caplog: pytest.LogCaptureFixture) -> None:
    """The release is one of those that psc was tested with, and nothing is missing."""
    assert seams.fits()
    assert not caplog.text


def test_the_scheduler_loads_plugins_before_it_takes_its_reporting_method() -> None:
    """Read and not run, as importing that module needs the kernels of a GPU."""
    spec = importlib.util.find_spec(seams.SCHEDULER)
    assert spec is not None and spec.origin is not None
    defined = {node.name: node for node in ast.parse(Path(spec.origin).read_text()).body if hasattr(node, "name")}
    calls = [
        n.func.id for n in ast.walk(defined["run_scheduler_process"]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    assert calls.index("load_plugins") < calls.index("configure_scheduler_process")
    scheduler = defined["Scheduler"]
    assert isinstance(scheduler, ast.ClassDef)
    (method,) = [n for n in scheduler.body if isinstance(n, ast.FunctionDef) and n.name == "get_internal_state"]
    assert [a.arg for a in method.args.args] == ["self", *seams.SCHEDULER_STATE_SEAM.parameters]


@pytest.mark.parametrize("switch", ["require", "Required"])
def test_required_it_is_at_work(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin(switch):
        for name in ("psc", "xgrammar"):
            assert type(Engine(monkeypatch, name).backend) is PscGrammarBackend
        wrapped = Engine(monkeypatch, "xgrammar", reasoning_parser="qwen3").backend
        assert type(wrapped.grammar_backend) is PscGrammarBackend


def test_required_the_engine_does_not_start_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base_grammar_backend, "get_context", lambda: SimpleNamespace(override=lambda *_, **__: None))
    with plugin("require"):
        with pytest.raises(
            NotAtWorkError, match="PSC_SGLANG=require, and the grammar backend of this server is NoneType and not psc"
        ):
            Engine(monkeypatch, "none")
        with pytest.raises(NotAtWorkError, match="a tokenizer that psc reads"):
            Engine(monkeypatch, "xgrammar", its_tokenizer=Unreadable())
        with pytest.raises(ValueError, match="--grammar-backend psc"):
            Engine(monkeypatch, "psc", its_tokenizer=Unreadable())
    monkeypatch.setattr(seams, "SEAMS", (*seams.SEAMS, Seam(f"{seams.BASE}:no_such_name")))
    with pytest.raises(SystemExit, match="PSC_SGLANG=require, and psc is not at work: the line before says why"), plugin("require"):
        pass
    monkeypatch.setattr(seams, "fits", lambda: 1 / 0)
    with pytest.raises(SystemExit, match="ZeroDivisionError"), plugin("require"):
        pass


def test_the_engines_loader_lets_the_refusal_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """It logs any other error of a plugin, and goes on."""

    def failing() -> None:
        raise RuntimeError

    monkeypatch.setattr(plugins, "_plugins_loaded", False)
    monkeypatch.setattr(plugins, "load_plugins_by_group", lambda *_, **__: {"psc": (failing, None)})
    plugins.load_plugins()
    monkeypatch.setattr(plugins, "_plugins_loaded", False)
    monkeypatch.setattr(plugins, "load_plugins_by_group", lambda *_, **__: {"psc": (adapter.register, None)})
    monkeypatch.setattr(seams, "fits", lambda: False)
    monkeypatch.setenv(adapter.SWITCH, "require")
    with pytest.raises(SystemExit):
        plugins.load_plugins()


def test_a_switch_that_says_nothing_stops_the_engine() -> None:
    with pytest.raises(SystemExit, match="PSC_SGLANG=requires: it must be 1, add, require or 0"), plugin("requires"):
        pass


def test_without_a_place_for_its_name_psc_replaces_xgrammar(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("psc.adapters.sglang.installation.CHOICE_SEAMS", (Seam("sglang.srt.no_module:name"),))
    with plugin():
        assert "--grammar-backend psc is not taken: none of sglang.srt.no_module:name" in caplog.text
        assert "psc" not in GRAMMAR_BACKEND_CHOICES
        assert type(Engine(monkeypatch, "xgrammar").backend) is PscGrammarBackend
