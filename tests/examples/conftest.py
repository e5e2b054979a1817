"""The examples are programs beside the package: found by their folder."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai_serving import serving

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def examples_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    assert str(EXAMPLES) in sys.path


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of the example server with its random model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        server = importlib.import_module("openai_server")
        with serving(server.Engine(server.RandomLanguageModel("qwen3"))) as address:
            yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[Any]:
    """OpenAI's client of that server."""
    import openai

    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client
