"""llama.cpp, by llama-cpp-python: a logits processor for `Llama`, and the vocabulary of its model.

    llama = Llama("model.gguf")
    compiler = psc.GrammarCompiler(tokenizer_info(llama))
    processor = GrammarLogitsProcessor(compiler.compile_builtin_json_grammar())
    criteria = StoppingCriteriaList([processor.stop_on_error])
    llama(prompt, logits_processor=LogitsProcessorList([processor]), stopping_criteria=criteria)

llama-cpp-python calls processors from C, where an exception cannot pass: it is printed, and generation would go on without a
mask. So after an error only tokens that end the text are left allowed, and `stop_on_error`, given as a stopping criterion,
raises it again where it reaches the caller.

Draft models are refused: with `draft_model=` llama-cpp-python shows processors ids that it does not sample after. With
`logit_bias=` it calls no processor at all, which `stop_on_error` notices; a bias is a processor of its own, before this one.

Cost: some 20 us a step, and the mask of the logits, which are changed in place.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psc._core import apply_bitmask
from psc.adapters.constraints import Constraint, Requests
from psc.adapters.sequences import Growth, Sequences
from psc.errors import BitmaskError, MatcherError, TokenizerError, needs_extra
from psc.vocabulary.tokenizer_info import TokenizerInfo


class GrammarLogitsProcessor:
    """Holds the text of a `Llama` to a grammar.

    Args:
        grammar: a compiled grammar or a `DeferredGrammar`, of the model's vocabulary (`tokenizer_info`).
        prompt_length: tokens that are the prompt; what follows them is the beginning of the constrained text. By default all
            tokens of the first call are.

    Raises MatcherError for anything else.

    A processor follows one generation at a time. A next one may begin when the last has ended; call `reset` before a prompt that
    continues the last text, as a chat's next turn does.
    """

    def __init__(self, grammar: Constraint, *, prompt_length: int | None = None) -> None:
        self._requests = Requests(grammar)
        self._sequences = Sequences(self._requests, growth=Growth.ONLY_BY_ONE, prompt_length=prompt_length)
        self._bitmask = np.zeros((1, self._requests.n_words), dtype=np.int32)
        self._seen = -1
        self.error: Exception | None = None
        """The error of this generation."""

    def reset(self) -> None:
        """The next ids are a new generation's prompt, whatever they look like."""
        self._sequences.reset()
        self._seen = -1
        self.error = None

    def __call__(self, input_ids: NDArray[np.intc], scores: NDArray[np.single]) -> NDArray[np.single]:
        """The scores, changed in place: minus infinity for each token that the grammar does not allow.

        Args:
            input_ids: (length,), the prompt and what was generated.
            scores: (width,), float32.

        Raises:
            BitmaskError: the scores are of the wrong shape, width or dtype; they are as they were.
            MatcherError: a token of the ids is not allowed, or the ids do not fit the generation. Only tokens that end the text
                are left allowed in the scores.
        """
        try:
            self._check(input_ids, scores)
            self._seen = len(input_ids)
            hypotheses = self._sequences.step(1, len(input_ids), lambda columns: input_ids[None, columns].astype(np.int64))
            self.error = None
        except Exception as e:
            self.error = e
            if isinstance(e, MatcherError):  # the text ends here
                scores[:] = -np.inf
                scores[list(self._requests.stop_token_ids)] = 0
            raise
        if self._requests.fill(hypotheses, self._bitmask):
            apply_bitmask(scores[None], self._bitmask, len(scores))
        return scores

    def stop_on_error(self, input_ids: NDArray[np.intc], logits: NDArray[np.single]) -> bool:
        """A stopping criterion that never stops, and raises the error that llama-cpp-python has swallowed.

        Raises MatcherError, too, where a token was sampled without a mask.
        """
        error = self.error
        if error is None and self._seen != len(input_ids):
            error = MatcherError(
                "llama-cpp-python has sampled a token without calling this processor: name it in logits_processor=, and leave out "
                "logit_bias=, with which llama-cpp-python drops all processors (a processor before this one can add a bias)"
            )
        if error is not None:
            self.reset()
            raise error
        return False

    def _check(self, input_ids: Any, scores: Any) -> None:
        for array, name in ((input_ids, "input_ids"), (scores, "scores")):
            if not isinstance(array, np.ndarray) or array.ndim != 1:
                what = f"of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise BitmaskError(f"{name} must be a NumPy array of one dimension, not {what}")
        if input_ids.dtype.kind not in "iu":
            raise MatcherError(f"input_ids are {input_ids.dtype}; token ids are integers")
        if scores.dtype.kind != "f":
            raise BitmaskError(f"scores are {scores.dtype}; logits are floating point numbers")
        self._requests.check_width(scores.shape[0])


_NOT_TEXT = (b"<|start|>", b"<|channel|>", b"<|message|>", b"<|constrain|>", b"<|end|>")
"""Control tokens of gpt-oss, which llama.cpp takes for text so that they are shown."""


def tokenizer_info(llama: Any, *, stop_token_ids: list[int] | None = None) -> TokenizerInfo:
    """The vocabulary of a loaded model, as llama.cpp spells its tokens.

    `psc.load_tokenizer` reads the same out of the model's file, where llama-cpp-python is not installed, say.

    Args:
        llama: a `llama_cpp.Llama`; `vocab_only=True` suffices.
        stop_token_ids: ids that end the text; by default those that llama.cpp takes for the end of a generation.

    Raises:
        MissingExtraError: llama-cpp-python is not installed.
        TokenizerError: it is no `Llama`, or the model has no vocabulary.

    Cost: some 0.3 s for 150,000 tokens.
    """
    with needs_extra("llama-cpp"):
        import llama_cpp
    if not isinstance(llama, llama_cpp.Llama):
        raise TokenizerError(f"a llama_cpp.Llama was expected, not {type(llama).__name__}; psc.load_tokenizer reads a model's file")
    name = Path(str(llama.model_path)).name  # without its folder, since it ends up in artifacts
    vocab = llama_cpp.llama_model_get_vocab(llama.model)
    n_tokens = llama_cpp.llama_vocab_n_tokens(vocab)
    if n_tokens <= 0 or llama_cpp.llama_vocab_type(vocab) == llama_cpp.LLAMA_VOCAB_TYPE_NONE:
        raise TokenizerError(f"{name}: the model has no vocabulary")
    control = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
    user_defined = llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
    text = llama_cpp.LLAMA_TOKEN_ATTR_NORMAL | user_defined
    tokens: list[bytes] = []
    special: list[int] = []
    stop: list[int] = []
    text_stop: list[int] = []
    buffer = ctypes.create_string_buffer(64)
    for token in range(n_tokens):
        # Nothing for tokens that fill a vocabulary up to the width of the model.
        size = llama_cpp.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        if size < 0:  # the size that it needs
            buffer = ctypes.create_string_buffer(-size)
            size = llama_cpp.llama_token_to_piece(vocab, token, buffer, len(buffer), 0, True)
        piece = buffer.raw[:size]
        tokens.append(piece)
        kind = llama_cpp.llama_vocab_get_attr(vocab, token)
        if kind & control or (kind & user_defined and piece in _NOT_TEXT):
            special.append(token)
        if llama_cpp.llama_vocab_is_eog(vocab, token):
            stop.append(token)
            if kind & text:  # and control: by its name, `</s>` of Qwen 3 for one, which is HTML
                text_stop.append(token)
    if stop_token_ids is not None:
        stop, text_stop = stop_token_ids, [*text_stop, *set(stop_token_ids).difference(special)]
    return TokenizerInfo.from_tokens(tokens, special_token_ids=special, stop_token_ids=stop, text_stop_ids=text_stop, name=name)
