"""From what a user types to a `TokenizerInfo`: a short name, a file or folder, a Hugging Face id, tried in this order.

A short name wins over a file of the same name, so that `qwen3` means the same in every directory; write `./qwen3` for
the file. Nothing is downloaded.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from psc.errors import TokenizerError
from psc.support.readable import shortened
from psc.vocabulary.file_format import FORMATS, read_vocabulary
from psc.vocabulary.hub_cache import MODEL_ID, find_snapshot
from psc.vocabulary.model_folder import find_tokenizer, read_configuration
from psc.vocabulary.names import find_name, list_names, load_named
from psc.vocabulary.reading import finish
from psc.vocabulary.tokenizer_info import TokenizerInfo

_GENERIC_NAMES: Final = ("tokenizer.json", "tokenizer.json.zst", "tokenizer.model", "tekken.json", "tiktoken.model")


def load_tokenizer(
    spec: str | Path,
    *,
    vocab_size: int | None = None,
    stop_token_ids: Sequence[int] | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> TokenizerInfo:
    """Load a tokenizer.

    Args:
        spec: a short name (`list_names`), a file, a folder, or a Hugging Face id (`ORG/NAME`, `ORG/NAME@REVISION`) that
            is in the local cache. A `Path` is never a name or an id.
        vocab_size: width of the model's output layer; by default from the configuration around the file.
        stop_token_ids: the tokens that end the output; by default from the configuration around the file, else
            special tokens with a well-known name. May turn out empty.
        special_tokens: name -> id, for a tiktoken rank file without configuration.

    Raises:
        TokenizerError: nothing has that name, or the file cannot be read.

    Cost: reading and parsing the file; about 0.3 s for Llama 3's tokenizer.json.
    """
    if isinstance(spec, str):
        entry = find_name(spec)
        if entry is not None:
            if special_tokens:
                raise TokenizerError(f"tokenizer {spec!r}: a short name has its special tokens; omit special_tokens=")
            return load_named(entry, vocab_size=vocab_size, stop_token_ids=stop_token_ids)
    path = Path(spec).expanduser()
    if _is_there(path):
        name = file_label(path)
    else:
        path, name = _from_cache(spec), str(spec)
    return _load_file(path, name, vocab_size, stop_token_ids, special_tokens)


def load_recorded_tokenizer(
    name: str, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | None = None
) -> TokenizerInfo:
    """Loads a tokenizer by a name that somebody else wrote down, such as an artifact's author: never by a path.

    Args:
        name: a short name, or a Hugging Face id that is in the local cache, whether or not a file is called so.
        vocab_size: as of `load_tokenizer`, with the next.
        stop_token_ids: see there.

    Raises:
        TokenizerError: it is neither, or its file cannot be read.
    """
    entry = find_name(name)
    if entry is not None:
        return load_named(entry, vocab_size=vocab_size, stop_token_ids=stop_token_ids)
    if MODEL_ID.fullmatch(name) is None:
        raise TokenizerError(
            f"{shortened(name)!r} is neither a short name nor a Hugging Face id (ORG/NAME), and a recorded name is no path"
        )
    return _load_file(find_snapshot(name), name, vocab_size, stop_token_ids, None)


def _load_file(
    path: Path,
    name: str,
    vocab_size: int | None,
    stop_token_ids: Sequence[int] | None,
    special_tokens: Mapping[str, int] | None,
) -> TokenizerInfo:
    """The tokenizer in a file or a folder."""
    file = find_tokenizer(path) if path.is_dir() else path
    vocabulary, is_model = read_vocabulary(file, special_tokens)
    return finish(
        vocabulary,
        origin=str(file),
        name=name,
        configuration=None if is_model else read_configuration(file.parent),
        vocab_size=vocab_size,
        stop_token_ids=stop_token_ids,
    )


def file_label(path: Path) -> str:
    """The name of a tokenizer's file or folder, without the folder that it lies in, since the name ends up in artifacts."""
    path = path.absolute()
    return path.parent.name or path.name if path.name in _GENERIC_NAMES else path.name


def _from_cache(spec: str | Path) -> Path:
    """The folder of a Hugging Face id, when no file is called like that."""
    text = str(spec)
    if isinstance(spec, Path) or text.startswith((".", "/", "~")):
        raise TokenizerError(f"{shortened(text)}: no such file or folder")
    if MODEL_ID.fullmatch(text) and Path(text).suffix.lower() not in (".json", ".model", ".zst", ".tiktoken", ".gguf"):
        return find_snapshot(text)
    names = [entry.name for entry in list_names()]
    close = difflib.get_close_matches(text.lower(), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise TokenizerError(
        f"tokenizer {shortened(text)!r}: no such file or folder, nor a short name ({', '.join(names)}).{hint} "
        f"Give one of these names, a Hugging Face id (ORG/NAME), a folder, or a file: {FORMATS}"
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is longer than names of files are
        return False
