"""Hugging Face Transformers: a `LogitsProcessor` for `generate`.

    processor = GrammarLogitsProcessor(compiled)
    model.generate(**inputs, logits_processor=[processor], max_new_tokens=200)

Greedy search, sampling, beam search, `num_return_sequences`, batches (pad on the left), one grammar for all requests or one for
each, encoder-decoder models, and one call of `generate` after another. The prompt is ignored: the grammar's text begins where
generation begins.

Logits beyond the vocabulary are padding of the model's output layer and are masked. Scores are changed in place only on request:
`generate` may return them.

Cost: some 50 us a step, and for each row of 150,000 float32 logits some 0.1 ms, most of it the copy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from psc.adapters.constraints import Constraint, Hypothesis, Requests
from psc.adapters.sequences import Growth, Sequences
from psc.adapters.transformers_drafts import propose_drafts
from psc.adapters.transformers_modes import (
    NO_BATCHES,
    has_beams,
    is_assisted,
    nothing_left,
    refuse_continuous_batching,
    samples_beams,
)
from psc.errors import BitmaskError, MatcherError, needs_extra
from psc.runtime.bitmask import allocate_token_bitmask, apply_token_bitmask_inplace

with needs_extra("transformers"):
    import torch
    from transformers import LogitsProcessor

if TYPE_CHECKING:
    from psc.runtime.forced_tokens import Encode
    from psc.runtime.mask_table import MaskLibrary
    from psc.vocabulary.tokenizer_info import TokenizerInfo

_GOES_ON = 8
"""Steps after the last row's end until a warning, where the rows may be beams: those of a few texts may go on for a little."""


class GrammarLogitsProcessor(LogitsProcessor):  # type: ignore[misc]  # the package is not typed
    """Holds the text of `generate` to a grammar, or each request's to its own.

    Args:
        grammars: a compiled grammar, a `DeferredGrammar`, or one for each request of the batch, None for a request without one.
            The rows of a request (beams, returned sequences) share its grammar.
        tokenizer_info: the model's vocabulary, to be checked against that of the grammars.
        prompt_length: columns of the ids that are the prompt; what follows them is the beginning of the constrained text, as
            when the reply's first words are given. By default all ids are the prompt.
        assisted: for `assistant_model=` or `prompt_lookup_num_tokens=`, which try tokens and go back; one sequence at a time.
            The processor finds out by itself when `generate` begins; True is for what else tries tokens.
        refused: "drop": a row with a token that is not allowed continues without the grammar; "raise": it is an error. By default
            rows are dropped in beam search with `do_sample=True`, which fills its beams with sequences of probability 0 when few
            tokens are allowed, and nowhere else.
        pad_token_id: the token that pads finished rows, where it is text.
        in_place: mask the given scores, which saves a copy; `generate(output_logits=True)` then returns masked logits.
        masks: `psc.runtime.cupy_masks`, to store the masks on the model's GPU and send numbers of rows; by default masks are made
            on the CPU and sent, vocab_size / 8 bytes for each row and step.
        drafts: with `prompt_lookup_num_tokens=`, whether the model reads several tokens in one forward pass: "forced", those that
            the grammar leaves, but for white space; "forced or prompt", where there are none those that prompt lookup finds.
        encode: for drafts, gives the tokens of a text as the model's tokenizer cuts it; by default `TokenizerInfo.encode`.
        eos_token_id: the model's end-of-sequence tokens, `model.generation_config.eos_token_id`: an id, several, or None. They end
            the grammar's text in place of the vocabulary's stop tokens. `generate` stops at these tokens and at no others.

    Raises MatcherError for grammars of different vocabularies, or another one than `tokenizer_info`, and for an end-of-sequence
    token that is not in the vocabulary.

    Without `eos_token_id` some of the vocabulary's stop tokens have to be end-of-sequence tokens of the model. Where none is,
    `generate` does not stop at the end of the text: the processor warns, and allows only stop tokens until `max_new_tokens`.
    A processor follows one generation at a time; a next one may begin when the last has ended, also when that was cut short. A copy
    has the grammars and begins anew, and so has one that was pickled.
    """

    def __init__(
        self,
        grammars: Constraint | Iterable[Constraint],
        *,
        tokenizer_info: TokenizerInfo | None = None,
        prompt_length: int | None = None,
        assisted: bool = False,
        refused: Literal["raise", "drop"] | None = None,
        pad_token_id: int | None = None,
        in_place: bool = False,
        masks: MaskLibrary | None = None,
        drafts: Literal["forced", "forced or prompt"] | None = None,
        encode: Encode | None = None,
        eos_token_id: int | Sequence[int] | torch.Tensor | None = None,
    ) -> None:
        if drafts not in ("forced", "forced or prompt", None):
            raise MatcherError(f"drafts={drafts!r}: it is 'forced', 'forced or prompt' or None")
        if refused not in ("raise", "drop", None):
            raise MatcherError(f"refused={refused!r}: it is 'raise', 'drop' or None")
        if not isinstance(grammars, Constraint):
            grammars = list(grammars)
        self._arguments = {
            "tokenizer_info": tokenizer_info,
            "prompt_length": prompt_length,
            "assisted": assisted,
            "refused": refused,
            "pad_token_id": pad_token_id,
            "in_place": in_place,
            "masks": masks,
            "drafts": drafts,
            "encode": encode,
            "eos_token_id": _ids(eos_token_id),
        }
        self._grammars = grammars
        self._requests = requests = Requests(grammars, stop_token_ids=_ids(eos_token_id))
        if tokenizer_info is not None:
            requests.check(tokenizer_info)

        def leaves_alone(token: int) -> bool:
            # `generate` ends rows for reasons of its own, such as a stop string, and pads them.
            drops = refused == "drop" or token == pad_token_id or not requests.is_text(token)
            return drops or (refused is None and (samples_beams() or (self._had_dead_beam and has_beams())))

        def growth() -> Growth:
            return Growth.BACK_AND_FORTH if assisted or is_assisted() else Growth.BY_ONE

        self._sequences = Sequences(
            requests,
            growth=growth,
            leaves_alone=leaves_alone,
            prompt_length=prompt_length,
        )
        self._n_after_the_end = 0
        self._had_dead_beam = False
        self._tokenizer_info = tokenizer_info
        self._in_place = in_place
        self._masks = masks
        self.drafts = drafts
        self._encode = encode
        self._table: Any = None
        self._room = 0
        self._device: Any = None
        self._bitmask = allocate_token_bitmask(0, self._requests.vocab_size, library="torch")
        self._rows = self._bitmask.numpy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), self._grammars, self._arguments)

    def __copy__(self) -> GrammarLogitsProcessor:
        return _made(type(self), self._grammars, self._arguments)

    def __deepcopy__(self, memo: object) -> GrammarLogitsProcessor:
        return self.__copy__()  # grammars do not change

    @property
    def supports_continuous_batching(self) -> bool:
        """Transformers asks this where a model gives the processor to continuous batching by itself. Raises MatcherError."""
        raise MatcherError(NO_BATCHES)

    def reset(self) -> None:
        """The next ids are a new generation's prompt, whatever they look like. Only needed where an error says so."""
        self._had_dead_beam = False
        self._sequences.reset()

    def likely_tokens(self, input_ids: torch.LongTensor) -> list[int]:
        """What probably follows the ids, see `GrammarMatcher.find_likely_tokens`; none after the grammar's end and without one.

        Args:
            input_ids: (1, length), integers.

        Raises:
            MatcherError: the ids do not fit the generation, or hold a token that is not allowed.
        """
        n_rows, length = input_ids.shape
        hypotheses = self._sequences.step(
            n_rows, length, lambda columns: input_ids[:, columns].cpu().numpy().astype(np.int64, copy=False)
        )
        matcher = hypotheses[0].constraining
        return [] if matcher is None else matcher.find_likely_tokens(self._encode)

    def __repr__(self) -> str:
        of = repr(self._grammars) if isinstance(self._grammars, Constraint) else f"{len(self._grammars)} grammars"
        return f"{type(self).__name__}({of})"

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Scores with minus infinity for each token that the grammar does not allow.

        Args:
            input_ids: (rows, length), integers.
            scores: (rows, width), of any float dtype, width at least the vocabulary's.

        Raises:
            BitmaskError: the scores are of the wrong shape, width or dtype.
            MatcherError: the ids do not fit the requests or the generation, or hold a token that is not allowed.
        """
        self._check(input_ids, scores)
        n_rows, length = input_ids.shape
        hypotheses = self._sequences.step(
            n_rows, length, lambda columns: input_ids[:, columns].cpu().numpy().astype(np.int64, copy=False)
        )
        if not self._sequences.goes_back:  # a draft is looked at beyond its end
            self._watch_for_the_end(hypotheses)
        if self._masks is not None:
            return self._masked_by_table(hypotheses, scores)
        if len(self._rows) < n_rows:
            self._bitmask = allocate_token_bitmask(n_rows, self._requests.vocab_size, library="torch")
            self._rows = self._bitmask.numpy()
        masked = self._requests.fill(hypotheses, self._rows)
        if not masked:
            return scores
        changed = scores if self._in_place else _copy(scores)
        bitmask = self._bitmask[:n_rows].to(changed.device)
        apply_token_bitmask_inplace(changed, bitmask, indices=None if len(masked) == n_rows else masked)
        first = [_first_bit(self._rows[row]) for row in masked]
        if _some_is_masked(changed[masked, first]):
            self._check_rows(hypotheses, changed)
        return changed

    def _watch_for_the_end(self, hypotheses: list[Hypothesis]) -> None:
        """Warns where `generate` asks for one more token although every row has ended."""
        if not all(h.has_ended for h in hypotheses):
            self._n_after_the_end = 0
            return
        self._n_after_the_end += 1
        if self._n_after_the_end != (1 if len(hypotheses) == len(self._requests.constraints) else _GOES_ON):
            return
        stop = " and ".join(map(str, self._requests.stop_token_ids))
        warnings.warn(
            f"psc: the grammar's text has ended, and generation continues. The text ends with token {stop}, and the model's "
            "end-of-sequence tokens seem to be others. Name them: GrammarLogitsProcessor(..., "
            "eos_token_id=model.generation_config.eos_token_id)",
            RuntimeWarning,
            stacklevel=3,
        )

    def _masked_by_table(self, hypotheses: list[Hypothesis], scores: Any) -> Any:
        masks = self._masks
        assert masks is not None
        on_gpu = scores.device.type == "cuda"
        if self._table is None or self._room < len(hypotheses) or self._device != scores.device:
            self._device, self._room = scores.device, max(1024, len(hypotheses))
            info = self._tokenizer_info or self._requests.tokenizer_info
            self._table = masks.MaskTable(info, max_batch=self._room, device=scores.device.index if on_gpu else None)
        stream = torch.cuda.current_stream(scores.device) if on_gpu else None
        step = self._table.step([h.constraining for h in hypotheses], stream=stream)
        ended = [row for row, h in enumerate(hypotheses) if h.has_ended]
        stop = np.ix_(ended, self._requests.stop_token_ids)
        stop_scores = scores[stop]
        changed = scores if self._in_place else _copy(scores)
        masks.apply_rows(changed, self._table.rows, step.ids, stream=stream)
        if ended:
            changed[ended] = -torch.inf
            changed[stop] = stop_scores
        self._check_rows(hypotheses, changed)
        return changed

    def _check_rows(self, hypotheses: list[Hypothesis], masked: torch.Tensor) -> None:
        """Raises MatcherError where a row has nothing left to choose. A beam may, while others of its request go on."""
        left = (~torch.isneginf(masked.amax(dim=1))).tolist()
        dead = [row for row, h in enumerate(hypotheses) if not left[row] and h.constraining is not None]
        if dead and has_beams():
            self._had_dead_beam = True  # what goes on from it has probability 0
            share = len(hypotheses) // len(self._requests.constraints)
            alive = {row // share for row, h in enumerate(hypotheses) if left[row] and not h.given_up}
            dead = [row for row in dead if row // share not in alive]
        if not dead:
            return
        self.reset()
        raise MatcherError(nothing_left(self._requests, hypotheses[dead[0]], dead[0]))

    def _check(self, input_ids: Any, scores: Any) -> None:
        for array, name in ((input_ids, "input_ids"), (scores, "scores")):
            if not isinstance(array, torch.Tensor) or array.ndim != 2:
                what = f"of shape {tuple(array.shape)}" if isinstance(array, torch.Tensor) else type(array).__name__
                raise BitmaskError(f"{name} must be a torch tensor of two dimensions, not {what}")
        if input_ids.is_floating_point():
            raise MatcherError(f"input_ids are {input_ids.dtype}; token ids are integers")
        if not scores.is_floating_point():
            raise BitmaskError(f"scores are {scores.dtype}; logits are floating point numbers")
        if input_ids.shape[0] != scores.shape[0]:
            raise BitmaskError(f"{scores.shape[0]} rows of scores for {input_ids.shape[0]} rows of input_ids")
        self._requests.check_width(scores.shape[1])


def _ids(eos_token_id: Any) -> int | list[int] | None:
    if isinstance(eos_token_id, torch.Tensor):
        eos_token_id = eos_token_id.reshape(-1).tolist()
    return eos_token_id if eos_token_id is None or isinstance(eos_token_id, int) else list(eos_token_id)


def _made(cls: type[GrammarLogitsProcessor], grammars: Any, arguments: dict[str, Any]) -> GrammarLogitsProcessor:
    return cls(grammars, **arguments)


def _first_bit(row: NDArray[np.int32]) -> int:
    """The first token that a mask allows; 0 where it allows none."""
    word = int((row != 0).argmax())
    bits = int(row[word])
    return 32 * word + max((bits & -bits).bit_length() - 1, 0)


def _some_is_masked(scores: torch.Tensor) -> bool:
    return bool(torch.isneginf(scores).any())


def _copy(scores: Any) -> Any:
    if scores.device.type != "cpu" or scores.dtype not in (torch.float32, torch.float64):
        return scores.clone()
    # On one thread: torch copies on all of its threads, and on a busy host waits for the last of them longer than it copies.
    return torch.from_numpy(scores.detach().numpy().copy())


refuse_continuous_batching(GrammarLogitsProcessor)
propose_drafts(GrammarLogitsProcessor)
