"""What serving engines do with matchers besides a mask and an accept, for each engine that has it, behind one interface.

The idea: the fastest way from Python, prepared beforehand: what a caller would keep from step to step (arrays, a pool of
threads, lists of matchers) is not part of the time. llguidance has no draft trees, and gets what its callers do: a walk with
accept, mask, rollback.

The cost: a compiled grammar and a loaded tokenizer an engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import psc
from psc.bench.engines import llguidance_matcher, llguidance_tokenizer, warm_up, xgrammar_compiled, xgrammar_compiler
from psc.bench.subjects import Subject

Bitmask = NDArray[np.int32]


@dataclass(frozen=True)
class DraftTree:
    """Draft tokens: node 0 is where the text stands."""

    next_token: NDArray[np.int64]
    next_sibling: NDArray[np.int64]
    tokens: NDArray[np.int64]


class Operations:
    """The interface, and what psc does; XGrammar's is the same but for its names of classes and its arrays."""

    def __init__(self, info: psc.TokenizerInfo) -> None:
        self.n_words = (info.vocab_size + 31) // 32
        self._pools: dict[int, Any] = {}
        self._compiler: Any = psc.GrammarCompiler(info, cache_enabled=False, store=False)
        warm_up(self._compiler)

    def compile(self, subject: Subject) -> None:
        """The grammar that matchers follow. Raises what the engine raises when it refuses the grammar."""
        self._compiled: Any = self._compiler.compile_grammar(subject.open())

    def new(self) -> Any:
        """A matcher at the beginning of a text."""
        return psc.GrammarMatcher(self._compiled)

    def accept(self, matcher: Any, token: int) -> bool:
        """Takes a token."""
        return bool(matcher.accept_token(token))

    def fill(self, matcher: Any, row: Bitmask) -> None:
        """The current mask into an array."""
        matcher.fill_next_token_bitmask(row)

    def fork(self, matcher: Any) -> Any:
        """A second matcher at the same place."""
        return matcher.fork()

    def rollback(self, matcher: Any, n: int) -> None:
        """Takes back n tokens."""
        matcher.rollback(n)

    def draft(self, matcher: Any, tree: DraftTree, bitmask: Bitmask) -> Callable[[], object]:
        """What fills the masks of a tree."""
        return lambda: matcher.traverse_draft_tree(tree.next_token, tree.next_sibling, tree.tokens, bitmask)

    def batch_fill(self, matchers: Sequence[Any], bitmask: Bitmask, threads: int) -> Callable[[], object]:
        """What fills a row for each matcher."""
        if threads not in self._pools:
            self._pools[threads] = psc.BatchGrammarMatcher(max_threads=threads)
        pool, listed = self._pools[threads], list(matchers)
        return lambda: pool.batch_fill_next_token_bitmask(listed, bitmask)

    def batch_accept(self, matchers: Sequence[Any], tokens: Sequence[int]) -> Callable[[], object]:
        """What has each matcher take its token."""
        listed, ids = list(matchers), list(tokens)
        return lambda: psc.BatchGrammarMatcher.batch_accept_token(listed, ids)


class XGrammarOperations(Operations):
    """XGrammar."""

    def __init__(self, info: psc.TokenizerInfo) -> None:
        self.n_words = (info.vocab_size + 31) // 32
        self._pools = {}
        self._xgrammar: Any = import_module("xgrammar")
        self._torch: Any = import_module("torch")
        self._compiler = xgrammar_compiler(info)

    def compile(self, subject: Subject) -> None:
        self._compiled = xgrammar_compiled(subject, self._compiler)[0]

    def new(self) -> Any:
        return self._xgrammar.GrammarMatcher(self._compiled)

    def fill(self, matcher: Any, row: Bitmask) -> None:
        matcher.fill_next_token_bitmask(row.reshape(1, -1))

    def draft(self, matcher: Any, tree: DraftTree, bitmask: Bitmask) -> Callable[[], object]:
        parts = [self._torch.from_numpy(a) for a in (tree.next_token, tree.next_sibling, tree.tokens, bitmask)]
        return lambda: matcher.traverse_draft_tree(*parts)

    def batch_fill(self, matchers: Sequence[Any], bitmask: Bitmask, threads: int) -> Callable[[], object]:
        if threads not in self._pools:
            self._pools[threads] = self._xgrammar.BatchGrammarMatcher(max_threads=threads)
        pool, listed = self._pools[threads], list(matchers)
        return lambda: pool.batch_fill_next_token_bitmask(listed, bitmask)

    def batch_accept(self, matchers: Sequence[Any], tokens: Sequence[int]) -> Callable[[], object]:
        listed, ids = list(matchers), list(tokens)
        return lambda: self._xgrammar.BatchGrammarMatcher.batch_accept_token(listed, ids)


class LlguidanceOperations(Operations):
    """llguidance."""

    def __init__(self, info: psc.TokenizerInfo) -> None:
        self.n_words = (info.vocab_size + 31) // 32
        self._pools = {}
        self._llguidance: Any = import_module("llguidance")
        self._tokenizer = llguidance_tokenizer(info, lambda data: [])

    def compile(self, subject: Subject) -> None:
        self._compiled = llguidance_matcher(subject, self._tokenizer)

    def new(self) -> Any:
        return self._compiled.deep_copy()

    def accept(self, matcher: Any, token: int) -> bool:
        return bool(matcher.consume_token(token))

    def fill(self, matcher: Any, row: Bitmask) -> None:
        matcher.unsafe_compute_mask_ptr(row.ctypes.data, row.nbytes)

    def fork(self, matcher: Any) -> Any:
        return matcher.deep_copy()

    def draft(self, matcher: Any, tree: DraftTree, bitmask: Bitmask) -> Callable[[], object]:
        children, siblings, tokens = tree.next_token.tolist(), tree.next_sibling.tolist(), tree.tokens.tolist()
        rows, size = [row.ctypes.data for row in bitmask], bitmask[0].nbytes

        def walk(node: int) -> None:
            matcher.unsafe_compute_mask_ptr(rows[node], size)
            child = children[node]
            while child >= 0:
                if matcher.try_consume_tokens([tokens[child]]):
                    walk(child)
                    matcher.rollback(1)
                child = siblings[child]

        return lambda: walk(0)

    def batch_fill(self, matchers: Sequence[Any], bitmask: Bitmask, threads: int) -> Callable[[], object]:
        if threads not in self._pools:
            self._pools[threads] = self._llguidance.LLExecutor(num_threads=threads)
        pool, listed = self._pools[threads], [(m, i) for i, m in enumerate(matchers)]
        address, size, n = bitmask.ctypes.data, bitmask[0].nbytes, len(bitmask)
        return lambda: pool.unsafe_compute_mask_ptr(listed, address, size, n)

    def batch_accept(self, matchers: Sequence[Any], tokens: Sequence[int]) -> Callable[[], object]:
        if 1 not in self._pools:
            self._pools[1] = self._llguidance.LLExecutor(num_threads=1)
        pool, listed = self._pools[1], list(zip(matchers, tokens, strict=True))
        return lambda: pool.consume_token_par(listed)


OPERATIONS: dict[str, type[Operations]] = {
    "psc": Operations,
    "llguidance": LlguidanceOperations,
    "xgrammar": XGrammarOperations,
}
"""Engine -> its operations; the names are those of distributions."""
