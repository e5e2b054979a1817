"""A text as it comes from a model, with a grammar or without one."""

from __future__ import annotations

import codecs
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psc.generation.fences import FenceEnds
from psc.generation.language_model import LanguageModel
from psc.generation.models import ModelError

if TYPE_CHECKING:
    from psc.grammars.compiled_grammar import CompiledGrammar
    from psc.vocabulary.tokenizer_info import TokenizerInfo


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen."""

    max_tokens: int
    """Fewer where the model reads no more."""
    temperature: float
    """0: always the likeliest."""
    seed: int


@dataclass(frozen=True)
class Written:
    """What was written, and how fast."""

    text: bytes
    n_tokens: int
    """With the one that ends the text."""
    n_passes: int
    """Forward passes of the model; fewer than tokens where drafts were right."""
    finished: bool
    """Whether the model ended the text; else `max_tokens` did."""
    first_s: float
    """Until the first token: the prompt is read, and the first mask made."""
    rest_s: float
    """From the first token to the last."""

    @property
    def tokens_per_second(self) -> float | None:
        """Of the tokens after the first; None where there are none."""
        return (self.n_tokens - 1) / self.rest_s if self.n_tokens > 1 and self.rest_s > 0 else None


class _Stream:
    """What `generate` calls a streamer: takes the prompt, then each token."""

    def __init__(self, info: TokenizerInfo, on_text: Callable[[str], None]) -> None:
        self._info, self._on_text = info, on_text
        self._stop = frozenset(info.stop_token_ids)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end inside a character
        self._prompt_came = False
        self.tokens: list[int] = []
        self.text = bytearray()
        self.times: list[float] = []
        self.n_passes = 0

    def put(self, value: Any) -> None:
        if not self._prompt_came:
            self._prompt_came = True
            return
        self.n_passes += 1
        for token in value.reshape(-1).tolist():
            self.tokens.append(token)
            self.times.append(time.perf_counter())
            if token not in self._stop and token < self._info.vocab_size:
                data = self._info.token_bytes(token)
                self.text += data
                self._say(self._decoder.decode(data))

    def end(self) -> None:
        self._say(self._decoder.decode(b"", final=True))

    def _say(self, text: str) -> None:
        if text:
            self._on_text(text)

    @property
    def finished(self) -> bool:
        return bool(self.tokens) and self.tokens[-1] in self._stop


def write(
    model: LanguageModel,
    info: TokenizerInfo,
    prompt: Sequence[int],
    *,
    compiled: CompiledGrammar | None,
    sampling: Sampling,
    fence_ends: bool = False,
    drafts: bool = True,
    on_text: Callable[[str], None],
) -> Written:
    """Lets a model write one text.

    Args:
        model: the model.
        info: its vocabulary.
        prompt: tokens that the text follows.
        compiled: a grammar that the text is held to; None: to none.
        sampling: how tokens are chosen.
        fence_ends: with a grammar, whether a fence is the end of the text, see `psc.generation.fences`.
        drafts: with a grammar, whether the model reads tokens that it forces in one forward pass; the text is the same.
        on_text: is called with each piece of the text as it comes, whole characters.

    Raises:
        ModelError: the prompt is as long as what the model reads.
        MatcherError: the grammar is of another vocabulary.
    """
    room = model.max_length - len(prompt)
    if room <= 0:
        raise ModelError(f"{model.name} reads {model.max_length} tokens, and the prompt has {len(prompt)}: shorten it")
    stop = list(info.stop_token_ids)
    options: dict[str, Any] = {"max_new_tokens": min(room, sampling.max_tokens), "eos_token_id": stop}
    options["pad_token_id"] = stop[0] if stop else 0
    if sampling.temperature > 0:
        options |= {"do_sample": True, "temperature": sampling.temperature, "top_k": 0, "top_p": 1.0}
    else:
        options |= {"do_sample": False, "temperature": None, "top_k": None, "top_p": None}
    if compiled is not None:
        from psc.adapters.transformers import GrammarLogitsProcessor

        drafts = drafts and model.can_go_back
        held = GrammarLogitsProcessor(
            compiled, tokenizer_info=info, eos_token_id=stop, drafts="forced" if drafts else None, encode=model.encode
        )
        if drafts:
            options["prompt_lookup_num_tokens"] = 1  # which makes it assisted generation
        options["logits_processor"] = [FenceEnds(info), held] if fence_ends else [held]
    stream = _Stream(info, on_text)
    began = time.perf_counter()
    model.generate(prompt, seed=sampling.seed, streamer=stream, **options)
    first, last = (stream.times[0], stream.times[-1]) if stream.times else (began, began)
    return Written(bytes(stream.text), len(stream.tokens), stream.n_passes, stream.finished, first - began, last - first)
