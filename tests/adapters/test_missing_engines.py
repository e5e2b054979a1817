"""Adapters import their engine when they are imported, and say which extra brings one that is not there."""

import importlib
import subprocess
import sys

import pytest

from psc.errors import MissingExtraError

ENGINES = {"transformers": ("torch", "transformers"), "mlx": ("mlx.core", "mlx")}


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


def test_no_engine_is_imported_unasked() -> None:
    program = (
        "import sys, psc.adapters, psc.adapters.sequences, psc.adapters.llama_cpp, psc.decoding\n"
        "assert not {'torch', 'transformers', 'llama_cpp', 'mlx', 'mlx.core', 'cupy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
