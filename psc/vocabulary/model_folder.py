"""A model's folder: which file in it is the tokenizer, and the facts in the files around it. (A GGUF model needs no others.)

* `generation_config.json`: `eos_token_id`, a number or a list; what engines stop at;
* `tokenizer_config.json`: `eos_token`, and `added_tokens_decoder`, where alone tiktoken-based models name
  their special tokens. What it calls a `mask_token` and so on, or lists as `additional_special_tokens`, is special in transformers
  whatever the tokenizer file says, and so it is here: an artifact compiled from the folder is the one for the loaded object;
* `config.json`: `vocab_size`, the width of the output layer (under `text_config` in multimodal models), and an
  `eos_token_id` that counts only when the others name none: it is often the base model's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from psc.errors import TokenizerError
from psc.vocabulary.file_format import FORMATS, read_bytes, read_json
from psc.vocabulary.reading import ModelConfiguration, check_id

# In order: the first is what engines load by default.
_TOKENIZER_FILES: Final = (
    "tokenizer.json",
    "tokenizer.json.zst",
    "tekken.json",
    "tekken*.json",
    "tokenizer.model",
    "tiktoken.model",
    "*.tiktoken",
    "tokenizer.model.v*",
    "spiece.model",
    "sentencepiece*.model",
    "*-00001-of-*.gguf",
    "*.gguf",
)
_SPECIAL_TOKENS: Final = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LISTS_OF_SPECIAL_TOKENS: Final = ("additional_special_tokens", "extra_special_tokens")
_LANGUAGE_MODEL_KEYS: Final = ("text_config", "llm_config", "language_config")


def find_tokenizer(folder: Path) -> Path:
    """The tokenizer file of a folder.

    Raises:
        TokenizerError: there is none, or several of the same format.
    """
    for pattern in _TOKENIZER_FILES:
        files = sorted(path for path in folder.glob(pattern) if path.is_file())
        if len(files) == 1:
            return files[0]
        if files:
            names = ", ".join(path.name for path in files)
            raise TokenizerError(f"{folder}: several tokenizers here ({names}); give one of these files")
    raise TokenizerError(f"{folder}: no tokenizer file here; psc reads {FORMATS}")


def read_configuration(folder: Path) -> ModelConfiguration:
    """The facts on the model in the files around the tokenizer; absent files give none.

    Raises:
        TokenizerError: one of them is damaged.
    """
    generation, tokenizer, model = (
        _read(folder / name) for name in ("generation_config.json", "tokenizer_config.json", "config.json")
    )
    language = next((model[key] for key in _LANGUAGE_MODEL_KEYS if isinstance(model.get(key), dict)), model)
    size = model.get("vocab_size", language.get("vocab_size"))
    eos_token = _content(tokenizer.get("eos_token"))
    own_eos = model.get("eos_token_id")
    return ModelConfiguration(
        stop_token_ids=_ids(generation.get("eos_token_id"), folder / "generation_config.json"),
        stop_token_names=(eos_token,) if eos_token is not None else (),
        special_names=_special_names(tokenizer),
        fallback_stop_token_ids=_ids(language.get("eos_token_id") if own_eos is None else own_eos, folder / "config.json"),
        vocab_size=None if size is None else check_id(size, f"{folder / 'config.json'}: vocab_size"),
        added=_added(tokenizer.get("added_tokens_decoder"), folder / "tokenizer_config.json"),
    )


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    document = read_json(read_bytes(path), str(path))
    if not isinstance(document, dict):
        raise TokenizerError(f"{path}: expected a JSON object; the file is damaged")
    return document


def _content(token: object) -> str | None:
    """The content of a token, which may be written as text or as an object."""
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def _special_names(tokenizer: Mapping[str, Any]) -> tuple[str, ...]:
    listed = [tokenizer.get(key) for key in _SPECIAL_TOKENS]
    for key in _LISTS_OF_SPECIAL_TOKENS:
        several = tokenizer.get(key)
        listed += several.values() if isinstance(several, dict) else several if isinstance(several, list) else []
    return tuple(dict.fromkeys(name for name in map(_content, listed) if name))


def _ids(value: object, path: Path) -> tuple[int, ...]:
    if value is None:
        return ()
    return tuple(check_id(each, f"{path}: eos_token_id") for each in (value if isinstance(value, list) else [value]))


def _added(entries: object, path: Path) -> dict[int, tuple[str, bool]]:
    if not isinstance(entries, dict):
        return {}
    added: dict[int, tuple[str, bool]] = {}
    for key, entry in entries.items():
        content = entry.get("content") if isinstance(entry, dict) else None
        if not key.isdecimal() or len(key) > 9 or not isinstance(content, str):
            raise TokenizerError(f"{path}: entry {key!r} of added_tokens_decoder is damaged; download the file again")
        added[check_id(int(key), str(path))] = content, bool(entry.get("special", False))
    return added
