"""Adapters import their engine when they are imported, and say which extra brings one that is not there."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import psc
from psc.adapters.seams import numbers_of
from psc.errors import MissingExtraError

ENGINES = {
    "transformers": ("torch", "transformers"),
    "mlx": ("mlx.core", "mlx"),
    "lmdeploy": ("lmdeploy", "lmdeploy"),
    "tensorrt_llm": ("tensorrt_llm", "tensorrt-llm"),
}


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, extra = ENGINES[name]
    monkeypatch.delitem(sys.modules, f"psc.adapters.{name}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package.partition('.')[0]}.*psc\[{extra}\]"):
        importlib.import_module(f"psc.adapters.{name}")


def test_the_vocabulary_of_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    from psc.adapters.llama_cpp import tokenizer_info

    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingExtraError, match=r"llama_cpp.*psc\[llama-cpp\]"):
        tokenizer_info(object())


def test_the_plugin_of_sglang_without_it(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from psc.adapters import sglang

    for name in [n for n in sys.modules if n.startswith("sglang.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sglang", None)
    assert not sglang.register()
    assert "psc is not at work in SGLang" in caplog.text


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_the_releases_that_are_called_tested_are_those_of_ci(engine: str) -> None:
    folder = Path(__file__).parents[2] / ".ci"
    listed = (folder / "engine-releases").read_text() + (folder / f"{engine}-packages").read_text()
    releases = sorted(numbers_of(r) for r in re.findall(rf"^{engine}==(.*)$", listed, re.MULTILINE))
    seams = importlib.import_module(f"psc.adapters.{engine}.seams")
    assert len(releases) > 1
    if engine == "vllm":
        assert releases[0] == seams.TESTED_FROM and releases[-1] < seams.TESTED_BEFORE <= (0, releases[-1][1] + 1, 0)
    else:
        assert (releases[0], releases[-1]) == (numbers_of(seams.TESTED_FROM), numbers_of(seams.TESTED_TO))


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_a_server_that_requires_psc_does_not_start_without_the_engines_names(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = importlib.import_module(f"psc.adapters.{engine}")
    for name in [n for n in sys.modules if n.startswith(f"{engine}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, engine, None)
    for value in ("require", "Required "):
        monkeypatch.setenv(adapter.SWITCH, value)
        with pytest.raises(SystemExit, match=f"{adapter.SWITCH}=require, and psc is not at work"):
            adapter.register()
    monkeypatch.setenv(adapter.SWITCH, "x" * 1000)
    with pytest.raises(SystemExit, match=f"{adapter.SWITCH}=x{{40}}: it must be 1"):
        adapter.register()


def test_no_engine_is_imported_unasked() -> None:
    program = (
        "import sys, psc.adapters, psc.adapters.sequences, psc.adapters.llama_cpp, psc.decoding\n"
        "import psc.adapters.sglang, psc.adapters.vllm\n"
        "engines = {'torch', 'transformers', 'llama_cpp', 'mlx', 'mlx.core', 'cupy', 'sglang', 'vllm', 'xgrammar'}\n"
        "assert not engines & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_the_plugin_of_vllm_without_vllm(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """An error from it would stop the process that loads it."""
    from psc.adapters.vllm import register

    monkeypatch.setitem(sys.modules, "vllm", None)
    for name in [n for n in sys.modules if n.startswith("vllm.")]:
        monkeypatch.delitem(sys.modules, name)
    assert not register()
    assert "psc is not at work" in caplog.text.replace(f" {psc.__version__}", "")
    caplog.clear()
    monkeypatch.setenv("PSC_VLLM", "0")
    assert not register() and not [r for r in caplog.records if r.levelname == "ERROR"]
