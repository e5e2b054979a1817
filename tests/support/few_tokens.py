"""A vocabulary of few tokens, matchers and masks over it, and random grammars of every language for them."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import strategies
from hypothesis import assume
from hypothesis import strategies as st
from vocabularies import tokenizer

import psc
from psc.vocabulary.tokenizer_info import TokenizerInfo

TOKENS = ["<s>", "a", "b", "ab", "abc", "c", "<special>", '"', "x", b"\xc3", b"\xa9", "é", "{", "}", "1"]
STOP = len(TOKENS)
A, B, AB, ABC, C, X, LEAD, TRAIL, E_ACUTE = 1, 2, 3, 4, 5, 8, 9, 10, 11
INFO = tokenizer(TOKENS)


def matcher_of(ebnf: str, info: TokenizerInfo = INFO, **options: Any) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(info).compile_grammar(ebnf), **options)


def bits(row: Any) -> list[int]:
    return np.flatnonzero(np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little")).tolist()


def allowed(matcher: psc.GrammarMatcher) -> list[int]:
    return matcher.allowed_tokens().tolist()


def numpy_mask(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


def torch_mask(*shape: int) -> Any:
    return pytest.importorskip("torch").zeros(shape, dtype=pytest.importorskip("torch").int32)


LIBRARIES = pytest.mark.parametrize("zeros", [numpy_mask, torch_mask])
LANGUAGES: dict[str, tuple[st.SearchStrategy[str], Callable[[psc.GrammarCompiler, str], psc.CompiledGrammar]]] = {
    "any": (strategies.cfg_texts(), lambda compiler, text: compiler.compile_grammar(text)),
    "basic": (strategies.grammars(), lambda compiler, text: compiler.compile_lark(text, lexer="basic")),
    "contextual": (strategies.contextual_grammars(), lambda compiler, text: compiler.compile_lark(text)),
    "keep all": (
        strategies.ambiguous_grammars(),
        lambda compiler, text: compiler.compile_lark(text, lexer="basic", keep_all_actions=True),
    ),
}


def compiled_from(language: str, data: st.DataObject, info: TokenizerInfo, **options: Any) -> psc.CompiledGrammar:
    texts, build = LANGUAGES[language]
    try:
        return build(psc.GrammarCompiler(info, **options), data.draw(texts, "grammar"))
    except psc.GrammarError as e:
        assume("can never finish" not in str(e) and "matches no text" not in str(e))  # what it needs is ignored
        raise


Tree = tuple[np.ndarray, np.ndarray, np.ndarray]


def tree_of(child: list[int], sibling: list[int], token: list[int]) -> Tree:
    return np.array(child, np.int64), np.array(sibling, np.int64), np.array(token, np.int64)


def random_tree(rng: random.Random, n_tokens: int) -> Tree:
    """Nodes in any order but for the root, each below an earlier one."""
    n = rng.randrange(1, 12)
    names = [0, *rng.sample(range(1, n), n - 1)]
    child, sibling = [-1] * n, [-1] * n
    for i in range(1, n):
        parent, node = names[rng.randrange(i)], names[i]
        sibling[node], child[parent] = child[parent], node
    return tree_of(child, sibling, [rng.randrange(-1, n_tokens + 1) for _ in range(n)])


UNTOUCHED = 0x2BADBAD


def by_hand(matcher: psc.GrammarMatcher, tree: Tree, words: int) -> np.ndarray:
    """What traverse_draft_tree writes, by accept_token, fill_next_token_bitmask and rollback."""
    child, sibling, token = (a.tolist() for a in tree)
    out = np.full((len(token), words), UNTOUCHED, np.int32)

    def ended() -> bool:
        probe = matcher.fork()
        try:
            probe.mask()
        except psc.MatcherError:
            return True
        return False

    def fill(node: int) -> None:
        if ended():
            out[node] = 0
            return
        matcher.fill_next_token_bitmask(out, node)
        down = child[node]
        while down >= 0:
            if matcher.accept_token(token[down]):
                fill(down)
                matcher.rollback(1)
            else:
                out[down] = 0
            down = sibling[down]

    fill(0)
    return out


def check_tree(matcher: psc.GrammarMatcher, tree: Tree, n_tokens: int) -> None:
    words = (n_tokens + 31) // 32
    before = matcher.n_steps
    out = np.full((len(tree[0]), words), UNTOUCHED, np.int32)
    assert matcher.traverse_draft_tree(*tree, out) is True
    assert matcher.n_steps == before
    np.testing.assert_array_equal(out, by_hand(matcher, tree, words))
