"""What matchers are put through in `matcher_operations.py`: texts as tokens, a long one, a deep one, draft trees.

The idea: drafts are what a small draft model proposes, here a bigram model of the texts: from each place the tokens that most
often follow, then those that follow these, the most probable first (the dynamic tree of EAGLE-2). Some are right, some the
grammar refuses.

The cost: tokenizing the texts.
"""

import heapq
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from operations import DraftTree

import psc
from psc.bench.sample_texts import java
from psc.bench.subjects import BUILTIN_JSON, Subject
from psc.bench.texts import Encode, json_documents, tokenize
from psc.corpus.texts import Text

GRAMMARS = ("java", BUILTIN_JSON)
"""Those that a long text and a deep one can be written in here."""


@dataclass(frozen=True)
class Workload:
    """Texts of one grammar, as token ids."""

    texts: list[list[int]]
    long: list[int]
    """Some 150 kB."""
    by_bytes: list[int]
    """The first 100 kB of it, a token a byte."""
    deep: list[int]
    """DEPTH brackets of which none is closed, a token a byte."""
    deep_from: int
    """Where they begin."""


DEPTH = 10_000
BYTES = 100_000


def workload(subject: Subject, documents: Sequence[Text], info: psc.TokenizerInfo, encode: Encode, seed: int) -> Workload:
    """Everything that the measurements of a grammar need. Exits when the grammar is not one of GRAMMARS."""
    if subject.name == BUILTIN_JSON:
        parts = [json.loads(d.data) for d in json_documents(60, seed)]
        long = json.dumps(parts, ensure_ascii=False).encode()
        before, bracket = b"", b"["
    elif subject.name == "java":
        long = java(random.Random(seed), methods=150).encode()
        before, bracket = b"class A { int x = ", b"("
    else:
        raise SystemExit(f"{subject.name}: only {' and '.join(GRAMMARS)} have a long text and a deep one")
    texts = [ids for ids in tokenize(documents, info, encode)[0].values() if len(ids) > 1]
    spelled = {bytes(info.token_bytes(int(i))): int(i) for i in reversed(info.text_token_ids)}

    def by_bytes(data: bytes) -> list[int]:
        return [spelled[data[i : i + 1]] for i in range(len(data))]

    assert len(long) > BYTES
    return Workload(texts, encode(long), by_bytes(long[:BYTES]), by_bytes(before + bracket * DEPTH), len(before))


class DraftModel:
    """Which tokens follow which, in some texts."""

    def __init__(self, texts: Sequence[Sequence[int]]) -> None:
        counts: Mapping[int, Counter[int]] = defaultdict(Counter)
        for ids in texts:
            for a, b in pairwise(ids):
                counts[a][b] += 1
        self._next = {a: [(b, n / c.total()) for b, n in c.most_common(16)] for a, c in counts.items()}

    def tree(self, last: int, nodes: int) -> DraftTree:
        """The most probable continuations of a text that ends with `last`; fewer nodes when nothing more is known."""
        tokens, parents, probability = [last], [-1], [1.0]
        queue: list[tuple[float, int, int]] = []  # (-probability, parent, token)

        def propose(node: int) -> None:
            for token, p in self._next.get(tokens[node], ()):
                heapq.heappush(queue, (-p * probability[node], node, token))

        propose(0)
        while queue and len(tokens) < nodes:
            p, parent, token = heapq.heappop(queue)
            tokens.append(token)
            parents.append(parent)
            probability.append(-p)
            propose(len(tokens) - 1)
        child = np.full(len(tokens), -1, np.int64)
        sibling = np.full(len(tokens), -1, np.int64)
        youngest: dict[int, int] = {}
        for node, parent in enumerate(parents):
            if node and parent in youngest:
                sibling[youngest[parent]] = node
            elif node:
                child[parent] = node
            youngest[parent] = node
        return DraftTree(child, sibling, np.array(tokens, np.int64))
