"""A GGUF file becomes a folder in Transformers' layout, once: what every later start, and a server, loads in a second or two.

Transformers reads a GGUF file in Python, value by value, three times: for the tokenizer, the configuration and the weights. The
folder has what each of them needs: `model.safetensors` in bfloat16, dequantized, without a head that is the embeddings again;
`config.json` with `architectures` and without a quantization; the tokenizer with its chat template. vLLM and SGLang load it, too.

Folders are in the user's cache, one for each file, its size and its time. A folder is there whole or not at all: it is written
under another name, and renamed. Nothing is locked; two processes that convert the same file do the work twice.

Cost, in seconds of processor time on one thread: 7 s and 0.27 GB of disk for SmolLM2-135M, 24 s and 0.57 GB for Gemma 3 270M. A
folder that is there costs a few calls of the file system.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from psc.errors import MissingExtraError, needs_extra
from psc.generation.models import ModelError, ModelFiles, find_model
from psc.vocabulary import load_tokenizer

ENVIRONMENT: Final = "PSC_MODELS"
"""Names the folder of the cache; else it is one in the platform's cache folder."""
MAX_BYTES: Final = 1 << 30
"""Of a GGUF file that `prepared` converts: a larger one stays packed, or it would need four times its memory."""
MAX_KEPT: Final = 4
"""Models in the cache; those that were not used for longest go first."""
_IN_USE_S: Final = 3600.0
_LAYOUT: Final = "1"
"""Another one whenever the folders become other ones."""
_TEMPORARY: Final = ".tmp-"
_READ: Final = 1 << 24


def model_folder(spec: str | ModelFiles, *, cache: Path | None = None, progress: Callable[[str], None] = lambda step: None) -> Path:
    """A model as a folder in Transformers' layout, from which engines load it.

    Args:
        spec: what `find_model` takes, or what it found.
        cache: where folders of GGUF files are kept; None is the user's: the folder named by ``PSC_MODELS``, else ``models`` in the
            platform's cache folder for psc. It may be removed at any time, when no model is being loaded.
        progress: called with the name of each step as it begins; not called where the folder is there.

    Returns:
        The folder; that of a model which has no GGUF file is its own.

    Raises:
        MissingExtraError: Transformers, torch, gguf or accelerate is missing, for a file that was not converted yet.
        ModelError: there is no such model; Transformers cannot read it; or the cache cannot be written.
    """
    files = find_model(spec) if isinstance(spec, str) else spec
    if not files.is_gguf:
        return files.path
    cache = default_cache() if cache is None else cache
    folder = cache / _key(files)
    if not (folder / "config.json").is_file():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=cache))
        except OSError as e:
            raise _unwritable(cache, e) from e
        try:
            _convert(files, made, progress)
            made.chmod(0o755)
            with contextlib.suppress(OSError):  # another process was quicker; or the folder is broken, as the next line finds
                made.rename(folder)
            if not (folder / "config.json").is_file():
                raise ModelError(f"{folder}: not a model's folder, and in the way; remove it")
        except OSError as e:
            raise _unwritable(cache, e) from e
        finally:
            shutil.rmtree(made, ignore_errors=True)
        _forget(cache, folder)
    with contextlib.suppress(OSError):  # a cache that others wrote
        os.utime(folder)
    return folder


def default_cache() -> Path:
    """The folder of this user's converted models."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("psc", appauthor=False) / "models"


def _key(files: ModelFiles) -> str:
    """A name for the folder: what is read, and how."""
    parts = [_LAYOUT, files.template or ""]
    for path in files.paths:
        try:
            found = path.stat()
        except OSError as e:
            raise ModelError(f"{path}: cannot read the model: {e.strerror or e}") from e
        parts += [str(path.resolve()), str(found.st_size), str(found.st_mtime_ns)]
    return f"{files.path.stem}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


def _convert(files: ModelFiles, folder: Path, progress: Callable[[str], None]) -> None:
    """Writes what engines load into an empty folder."""
    with needs_extra("generate"):
        import gguf  # noqa: F401
        import torch
        import transformers
        from safetensors.torch import save_file
    with contextlib.ExitStack() as stack:
        file = files.path
        if len(files.paths) > 1:
            progress("joining the file")
            file = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder))) / files.path.name
            _join(files.paths, file)
        stack.enter_context(read_once())
        source: dict[str, Any] = {
            "pretrained_model_name_or_path": str(file.parent),
            "gguf_file": file.name,
            "local_files_only": True,
        }
        dense = {"quantization_config": transformers.GgufConfig(dequantize=True)} if hasattr(transformers, "GgufConfig") else {}
        try:
            with needs_extra("generate"):
                progress("converting the tokenizer")
                stop = load_tokenizer(file).stop_token_ids
                tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
                progress("converting the weights")
                model = transformers.AutoModelForCausalLM.from_pretrained(**source, **dense, dtype=torch.bfloat16)
        except MissingExtraError:
            raise
        except Exception as e:  # the library of tokenizers raises nothing more special
            reason = str(e).strip().partition("\n")[0]
            raise ModelError(f"{files.name}: Transformers cannot read this model: {reason[:200]}") from e
    progress("writing the folder")
    weights = model.state_dict()
    if model.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)
    save_file({name: w.contiguous() for name, w in weights.items()}, folder / "model.safetensors", metadata={"format": "pt"})
    if tokenizer.chat_template is None:
        tokenizer.chat_template = files.template
    tokenizer.save_pretrained(folder)
    model.generation_config.eos_token_id = list(stop)  # those that psc finds in the file: more than one may end a turn
    model.generation_config.save_pretrained(folder)
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)


@contextlib.contextmanager
def read_once() -> Iterator[None]:
    """While it lasts, the package gguf reads each file once, and makes each table of tensors' names once.

    Transformers asks for the file three times, and for the table once for each module of the model. On SmolLM2 that is half of
    the time. Other threads that read models meanwhile gain the same.
    """
    library: Any = importlib.import_module("gguf")
    reader, names = library.GGUFReader, library.get_tensor_name_map
    library.GGUFReader, library.get_tensor_name_map = functools.lru_cache(reader), functools.lru_cache(names)
    try:
        yield
    finally:
        library.GGUFReader, library.get_tensor_name_map = reader, names


def _join(parts: tuple[Path, ...], whole: Path) -> None:
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, out, _READ)


def _forget(cache: Path, but: Path) -> None:
    """Removes the folders beyond `MAX_KEPT`, and what stopped processes left; nothing that was used within the hour."""
    aged: list[tuple[float, Path]] = []
    for path in cache.iterdir():
        with contextlib.suppress(OSError):
            aged.append((path.stat().st_mtime, path))
    kept = 1
    for used, path in sorted(aged, reverse=True):
        if path == but or (not path.name.startswith(_TEMPORARY) and not (path / "config.json").is_file()):
            continue
        kept += not path.name.startswith(_TEMPORARY)
        if used < time.time() - _IN_USE_S and (kept > MAX_KEPT or path.name.startswith(_TEMPORARY)):
            shutil.rmtree(path, ignore_errors=True)


def _unwritable(cache: Path, e: OSError) -> ModelError:
    return ModelError(f"{cache}: cannot write the converted model: {e.strerror or e}; name another folder with {ENVIRONMENT}")


@contextlib.contextmanager
def prepared(files: ModelFiles, *, keep: bool, progress: Callable[[str], None] = lambda step: None) -> Iterator[ModelFiles]:
    """The files that this process is to load: of a GGUF file of at most `MAX_BYTES`, or in parts, its folder.

    Args:
        files: a model.
        keep: whether the folder stays in the cache; else it is there only inside the `with`.
        progress: as in `model_folder`.

    Raises:
        MissingExtraError, ModelError: as `model_folder`.
    """
    if not files.is_gguf or (not files.parts and files.path.stat().st_size > MAX_BYTES):
        yield files
        return
    with contextlib.nullcontext() if keep else tempfile.TemporaryDirectory(prefix="psc-") as folder:
        cache = None if folder is None else Path(folder)
        yield replace(files, path=model_folder(files, cache=cache, progress=progress), parts=(), converted=True)
