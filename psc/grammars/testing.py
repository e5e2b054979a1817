"""What XGrammar's callers look at grammars and bitmasks with: whether a grammar takes a text, and what a bitmask says.

For tests and for looking at things; the names, most with an underscore, and the meanings are XGrammar's. What belongs to the inside
of XGrammar (its automata, and its passes over grammars) is not here.

Cost: whatever makes a matcher compiles the grammar each time, without a cache.
"""

from __future__ import annotations

import sys
from typing import Any, Unpack

import numpy as np

from psc.errors import BitmaskError, GrammarError
from psc.grammars.grammar import Grammar
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.requests.json_schemas import Schema, SchemaOptions, parameters_as_ebnf, takes_schema_options
from psc.runtime.compiled import GrammarMatcher
from psc.runtime.mask_arguments import WORD_BITS
from psc.vocabulary.tokenizer_info import TokenizerInfo

__all__ = ["bitmask_to_bool_mask", "bool_mask_to_bitmask"]


@takes_schema_options
def _json_schema_to_ebnf(schema: Schema, *, json_format: str = "json", **options: Unpack[SchemaOptions]) -> str:
    """The grammar of a JSON schema as EBNF text, see ``Grammar.from_json_schema``.

    Args:
        schema: as there.
        options: as there.
        json_format: "json", or a style of parameters that models write; any white space is allowed in the latter.

    Raises:
        GrammarError: as there; or there is no such style.
    """
    if json_format != "json":
        return parameters_as_ebnf(schema, json_format, **options)
    return str(Grammar.from_json_schema(schema, **options))


def _regex_to_ebnf(regex: str, with_rule_name: bool = True) -> str:
    """A regular expression as EBNF text: the rule ``root`` and those that it needs, or the body of ``root`` alone.

    Raises:
        GrammarError: the pattern is malformed, or its body needs other rules.
    """
    text = str(Grammar.from_regex(regex))
    if with_rule_name:
        return text
    first, *others = text.splitlines()
    if others:
        raise GrammarError("with_rule_name=False: this pattern needs more rules than one")
    return first.removeprefix("root ::= ")


def _ebnf_to_grammar_no_normalization(ebnf_string: str, root_rule_name: str = "root") -> Grammar:
    """``Grammar.from_ebnf``: psc does not rewrite a grammar before it is compiled."""
    return Grammar.from_ebnf(ebnf_string, root_rule_name=root_rule_name)


def _get_matcher_from_grammar(grammar: Grammar | str, **kwargs: Any) -> GrammarMatcher:
    """A matcher of text, with no vocabulary, that terminates when the text is complete.

    Args:
        grammar: a grammar, or EBNF text.
        kwargs: what ``GrammarMatcher`` takes.
    """
    return _matcher(grammar, TokenizerInfo([]), **{"terminate_without_stop_token": True, **kwargs})


def _get_matcher_from_grammar_and_tokenizer_info(
    grammar: Grammar | str, tokenizer_info: TokenizerInfo | None = None, **kwargs: Any
) -> GrammarMatcher:
    """A matcher of a grammar, or EBNF text, for a vocabulary; None is one without tokens."""
    return _matcher(grammar, TokenizerInfo([]) if tokenizer_info is None else tokenizer_info, **kwargs)


def _matcher(grammar: Grammar | str, tokenizer_info: TokenizerInfo, **kwargs: Any) -> GrammarMatcher:
    compiler = GrammarCompiler(tokenizer_info, cache_enabled=False, store=False)
    return GrammarMatcher(compiler.compile_grammar(grammar), **kwargs)


def _is_grammar_accept_string(
    grammar: Grammar | str,
    input_str: str | bytes,
    *,
    debug_print: bool = False,
    print_time: bool = False,
    require_termination: bool = True,
) -> bool:
    """Whether a text is in a grammar's language.

    Args:
        grammar: a grammar, or EBNF text.
        input_str: the text.
        debug_print: accepted for compatibility.
        print_time: whether to print how long matching took.
        require_termination: False asks only whether the text is the beginning of one in the language.
    """
    import time

    matcher = _get_matcher_from_grammar(grammar)
    began = time.perf_counter()
    accepted = matcher.accept_string(input_str, debug_print=debug_print)
    if print_time:
        print(f"accept_string({input_str!r}) is {accepted}, after {(time.perf_counter() - began) * 1e6:.1f} us")
    return accepted and (not require_termination or matcher.is_terminated())


def _get_masked_tokens_from_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> list[int]:
    """The ids that a row of a bitmask forbids, ascending.

    Args:
        bitmask: int32 on the CPU, of shape (rows, words) or (words,).
        vocab_size: how many ids are looked at.
        index: which row.

    Raises:
        BitmaskError: it is no such array, has no such row, or fewer bits.
    """
    allowed = _bits(_rows(bitmask), vocab_size)
    if not 0 <= index < len(allowed):
        raise BitmaskError(f"row {index} of a bitmask of {len(allowed)} rows")
    return [int(i) for i in np.flatnonzero(~allowed[index])]


def _is_single_token_bitmask(bitmask: Any, vocab_size: int, index: int = 0) -> tuple[bool, int]:
    """Whether a row of a bitmask allows one token only, and which; -1 where it does not. Raises BitmaskError as above."""
    allowed = sorted(set(range(vocab_size)) - set(_get_masked_tokens_from_bitmask(bitmask, vocab_size, index)))
    return (True, allowed[0]) if len(allowed) == 1 else (False, -1)


def bool_mask_to_bitmask(bool_mask: Any) -> Any:
    """The bitmask of a mask of booleans, of shape (rows, vocab_size) and in the same library; bits beyond the vocabulary are 1."""
    rows = _as_numpy(bool_mask).astype(bool, copy=False)
    if rows.ndim != 2:
        raise BitmaskError(f"the mask must have two dimensions, not {rows.ndim}")
    padding = -rows.shape[1] % WORD_BITS
    bits = np.pad(rows, ((0, 0), (0, padding)), constant_values=True)
    words = np.packbits(bits, axis=1, bitorder="little").view("<u4").astype(np.uint32).view(np.int32)
    return _like(bool_mask, words)


def bitmask_to_bool_mask(bit_mask: Any, vocab_size: int | None = None) -> Any:
    """The mask of booleans of a bitmask, of shape (rows, vocab_size) and in the same library.

    Args:
        bit_mask: int32 on the CPU, of shape (rows, words).
        vocab_size: how many ids; by default all that there are bits for.

    Raises:
        BitmaskError: it is no such array, or has fewer bits.
    """
    rows = _rows(bit_mask)
    return _like(bit_mask, _bits(rows, rows.shape[1] * WORD_BITS if vocab_size is None else vocab_size))


def _traverse_draft_tree(
    retrieve_next_token: Any,
    retrieve_next_sibling: Any,
    draft_tokens: Any,
    matcher: GrammarMatcher,
    allocate_token_bitmask: Any,
    time_threshold: float = -1.0,
) -> bool:
    """``matcher.traverse_draft_tree``, in the order of arguments that it had once."""
    return matcher.traverse_draft_tree(
        retrieve_next_token, retrieve_next_sibling, draft_tokens, allocate_token_bitmask, time_threshold
    )


def _rows(bitmask: Any) -> np.ndarray[Any, np.dtype[np.int32]]:
    words = _as_numpy(bitmask)
    if words.dtype != np.int32:
        raise BitmaskError(f"the bitmask is {words.dtype}; it must be int32")
    if words.ndim not in (1, 2):
        raise BitmaskError(f"the bitmask must have one or two dimensions, not {words.ndim}")
    return words.reshape(1, -1) if words.ndim == 1 else words


def _bits(words: np.ndarray[Any, np.dtype[np.int32]], vocab_size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if not 0 <= vocab_size <= words.shape[1] * WORD_BITS:
        raise BitmaskError(f"vocab_size={vocab_size}; the bitmask has {words.shape[1] * WORD_BITS} bits a row")
    ids = np.arange(vocab_size)
    bits: np.ndarray[Any, np.dtype[np.bool_]] = (words[:, ids // WORD_BITS] >> (ids % WORD_BITS)) & 1 == 1
    return bits


def _as_numpy(array: Any) -> np.ndarray[Any, Any]:
    if isinstance(array, np.ndarray):
        return array
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(array, torch.Tensor):
        raise BitmaskError(f"a mask must be a NumPy array or a torch tensor, not {type(array).__name__}")
    if array.device.type != "cpu":
        raise BitmaskError(f"the mask is on {array.device}; copy it to the CPU")
    return np.asarray(array.numpy())


def _like(given: Any, made: np.ndarray[Any, Any]) -> Any:
    return made if isinstance(given, np.ndarray) else sys.modules["torch"].from_numpy(made)
