"""Threads that share one grammar: `python -m fuzz.threads --seconds 30 --seed 1`.

A grammar is compiled anew, so that first visits collide, and several threads do at once what servers do: masks, steps, forks,
rollbacks, draft trees, batches over native threads, rows' slots; one looks at the rows as they come, one may give up the caches,
one compiles and calls off, and the warming thread builds in advance. What each thread saw is asked of the same grammar again, in
one thread alone: the masks must be the same. Over a build with ThreadSanitizer (.ci/threads) its reports are findings, too.

Cost: a case is some hundred masks on four threads, and as many again.
"""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from collections.abc import Callable
from functools import cache

import numpy as np
from small_grammars import GRAMMARS

import psc
from fuzz.grammars_of_walks import MORE, TAGS, vocabulary
from fuzz.session import Case, main
from psc._core import MaskSlots, MatcherView
from psc.artifacts.format import Artifact, decode
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import CompilationCancelledError, PscError
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time
from psc.grammars.grammar import Grammar
from psc.grammars.grammar_compiler import GrammarCompiler
from psc.vocabulary.tokenizer_info import TokenizerInfo

_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "at": {"type": "string", "format": "date"},
        "n": {"type": "integer", "minimum": -5, "maximum": 120},
        "of": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["name"],
}
_BUNDLED = ("javascript", "java", "sql", "xml")
_SWITCH_S = 2e-5
_GIVEN_UP_S = 0.03
_LONGEST = 60  # steps
_STEPS = 25  # of each thread


@cache
def _many_tokens() -> TokenizerInfo:
    """So many that tokens are read for the first masks of a lexer state."""
    rng = random.Random(3)
    tokens = {bytes([b]) for b in range(256)}
    while len(tokens) < 4500:
        tokens.add("".join(rng.choice('abcdeXYZ0189 "{}[],:-.truefalsn\n<>/=') for _ in range(rng.randint(2, 7))).encode())
    return TokenizerInfo.from_tokens([*sorted(tokens), b"<stop>"], special_token_ids=[4500], stop_token_ids=[4500], name="many")


@cache
def _artifact(name: str) -> Artifact:
    return decode(artifact_bytes(GRAMMARS[name](), vocabulary(False)))


def _grammar(name: str) -> Grammar:
    if name in _BUNDLED:
        return Grammar.parse(find_grammar(name).request())
    if name == "schema":
        return Grammar.from_json_schema(_SCHEMA)
    return {**GRAMMARS, **MORE}[name]()


def _names() -> list[tuple[str, str]]:
    """(grammar, how it is built)."""
    own = [*GRAMMARS, *MORE]
    lazy = [(name, "just in time") for name in (*own, "schema", "schema", *_BUNDLED, "json", "json")]
    return [*lazy, *((name, "artifact") for name in GRAMMARS), *[("tags", "linked")] * 4]


def _compiled(name: str, how: str, info: TokenizerInfo, limit: int) -> CompiledGrammar:
    """One that nobody else has."""
    if how == "artifact":
        return CompiledGrammar.from_artifact(_artifact(name), tokenizer_info=vocabulary(False))
    if how == "linked":
        return GrammarCompiler(info, store=False, registry=False, cache_limit_bytes=limit).compile_structural_tag(TAGS)
    return compile_just_in_time(_grammar(name), info, cache_limit_bytes=limit)


class Thread:
    """One thread's matchers, what they read, and the masks that it saw."""

    def __init__(self, of: Threads, seed: int) -> None:
        self.of, self.rng = of, random.Random(seed)
        self.compiled = of.compiled
        self.matchers: list[tuple[psc.GrammarMatcher, list[int]]] = []
        self.begin()
        # Of a matcher that other threads fork, too.
        self.matchers.append((of.shared.fork(), of.read[:]))
        self.seen: list[tuple[tuple[int, ...], bytes]] = []

    def begin(self) -> None:
        self.matchers.append((psc.GrammarMatcher(self.compiled), []))

    def go(self) -> None:
        calls: tuple[tuple[int, Callable[[psc.GrammarMatcher, list[int]], None]], ...] = (
            (20, self.step),
            (4, self.rollback),
            (3, self.fork),
            (3, self.batch),
            (2, self.draft),
            (2, self.slots),
            (2, self.look),
        )
        functions = random.Random(self.rng.random()).choices([f for _, f in calls], [w for w, _ in calls], k=_STEPS)
        for function in functions:
            at = self.rng.randrange(len(self.matchers))
            matcher, read = self.matchers[at]
            if matcher.is_terminated() or len(read) >= _LONGEST:
                matcher.reset()
                read.clear()
            function(matcher, read)
            if len(self.matchers) > 4:
                del self.matchers[at]

    def step(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        for _ in range(self.rng.randint(1, 6)):
            if len(read) >= _LONGEST or matcher.is_terminated():
                return
            mask = matcher.mask()
            self.seen.append((tuple(read), mask.tobytes()))
            allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
            if not allowed.size:
                return
            token = int(self.rng.choice(allowed))
            assert matcher.accept_token(token), f"token {token} is allowed and refused"
            read.append(token)

    def rollback(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        back = self.rng.randint(0, len(read))
        matcher.rollback(back)
        del read[len(read) - back :]

    def fork(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        self.matchers.append((matcher.fork(), read[:]))

    def batch(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        forks = [matcher.fork() for _ in range(self.rng.choice((2, 20, 40)))]
        ways = []
        allowed = matcher.allowed_tokens()
        for fork in forks:
            token = int(self.rng.choice(allowed)) if allowed.size else -1
            ways.append((*read, token) if fork.accept_token(token) and not fork.is_terminated() else None)
        some = [(fork, way) for fork, way in zip(forks, ways, strict=True) if way is not None]
        if not some:
            return
        words = np.zeros((len(some), matcher.mask().size), np.int32)
        self.of.batches.batch_fill_next_token_bitmask([fork for fork, _ in some], words)
        self.seen.extend((way, words[i].tobytes()) for i, (_, way) in enumerate(some))

    def draft(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        """A path of three tokens: its rows are those of the texts."""
        ahead, path = matcher.fork(), list[int]()
        while len(path) < 3 and not ahead.is_terminated() and (allowed := ahead.allowed_tokens()).size:
            path.append(int(self.rng.choice(allowed)))
            ahead.accept_token(path[-1])
        n = len(path) + 1
        child = np.array([*range(1, n), -1], np.int64)
        rows = np.zeros((n, matcher.mask().size), np.int32)
        matcher.traverse_draft_tree(child, np.full(n, -1, np.int64), np.array([0, *path], np.int64), rows)
        for i in range(n - ahead.is_terminated()):
            self.seen.append(((*read, *path[:i]), rows[i].tobytes()))

    def slots(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        slots = MaskSlots(32, self.compiled.vocab_size, self.compiled._machine.vocabulary_tag)
        out = np.zeros(3, np.int32)
        slots.step([matcher.fork(), None, matcher.fork()], None, out)

    def look(self, matcher: psc.GrammarMatcher, read: list[int]) -> None:
        with contextlib.suppress(ValueError):  # linked of parts
            view = MatcherView(matcher)
            for i in range(len(view.configurations())):
                view.classifier_walk(i)
            view.continuations()
        matcher.expected_terminals()
        matcher.find_jump_forward_string()
        _ = self.compiled.memory_size_bytes
        if self.compiled.is_lazy and self.of.how != "linked":
            self.compiled._machine.counts()


class Threads:
    """One grammar, and what is done to it."""

    def __init__(self, case: Case) -> None:
        rng = case.rng
        self.name, self.how = rng.choice(_names())
        large = self.name in _BUNDLED
        self.tokens = _many_tokens() if self.how != "artifact" and not large and rng.random() < 0.4 else vocabulary(False)
        # Caches that are given up all the time are built all the time, which a large grammar is too slow for.
        limit = rng.choice((-1, -1, 1 << 24) if large else (-1, -1, 1 << 20, 1 << 15))
        self.compiled = _compiled(self.name, self.how, self.tokens, limit)
        if self.how == "artifact" and limit > 0:
            self.compiled._machine.set_limit(limit)
        self.shared = psc.GrammarMatcher(self.compiled)
        self.read: list[int] = []
        for _ in range(rng.randrange(8)):
            allowed = [t for t in self.shared.allowed_tokens().tolist() if t not in self.shared.stop_token_ids]
            if allowed:
                self.read.append(rng.choice(allowed))
                self.shared.accept_token(self.read[-1])
        if rng.random() < 0.5:  # nothing is there yet but the stacks
            self.compiled._machine.clear()
        self.batches = psc.BatchGrammarMatcher(3)
        self.place = f"{self.name}, {self.how}, {self.tokens.name}, limit {limit}"
        self.over = threading.Event()
        self.errors: list[BaseException] = []
        self.threads = [Thread(self, rng.getrandbits(32)) for _ in range(4)]
        self.gives_up = not large and rng.random() < 0.4
        self.seed = rng.getrandbits(32)

    def go(self) -> None:
        begun = threading.Barrier(len(self.threads))

        def at_once(f: Callable[[], None]) -> Callable[[], None]:
            def body() -> None:
                try:
                    begun.wait()
                    f()
                except BaseException as e:
                    self.errors.append(e)

            return body

        walks = [threading.Thread(target=at_once(t.go)) for t in self.threads]
        others = [threading.Thread(target=self.compile_and_cancel), threading.Thread(target=self.look_at_rows)]
        if self.gives_up:
            others.append(threading.Thread(target=self.give_up_caches))
        for t in (*walks, *others):
            t.start()
        for t in walks:
            t.join()
        self.over.set()
        for t in others:
            t.join()
        if self.errors:
            raise self.errors[0]

    def look_at_rows(self) -> None:
        """The newest first, which some thread is adding."""
        while not self.over.is_set():
            with contextlib.suppress(IndexError):  # the cache was given up meanwhile
                self.compiled.row(self.compiled.n_rows - 1)

    def give_up_caches(self) -> None:
        while not self.over.wait(_GIVEN_UP_S):
            self.compiled._machine.clear()

    def compile_and_cancel(self) -> None:
        """Compilations over the same vocabulary, some called off, their masks built in advance by the warming thread."""
        rng = random.Random(self.seed)
        compiler = GrammarCompiler(self.tokens, store=False, registry=False, masks_ahead=3)
        while not self.over.is_set():
            cancellation = psc.Cancellation()
            timer = threading.Timer(rng.random() * 0.02, cancellation.cancel)
            timer.start()
            schema = {**_SCHEMA, "title": str(rng.random()), "maxProperties": rng.randint(1, 6)}
            try:
                made = compiler.compile_json_schema(schema, cancellation=cancellation)
                psc.GrammarMatcher(made).mask_row()
            except (CompilationCancelledError, PscError):
                pass
            except BaseException as e:
                self.errors.append(e)
                return
            finally:
                timer.cancel()
                timer.join()

    def check(self) -> int:
        """Whether the masks are those that one thread sees. Returns how many."""
        alone = _compiled(self.name, self.how, self.tokens, -1)
        expected: dict[tuple[int, ...], bytes] = {}
        n = 0
        for thread in self.threads:
            for read, mask in thread.seen:
                if read not in expected:
                    matcher = psc.GrammarMatcher(alone)
                    for token in read:
                        assert matcher.accept_token(token), f"{token} of {read} was allowed"
                    expected[read] = matcher.mask().tobytes()
                assert mask == expected[read], f"the mask after {read} is not what one thread sees"
                n += 1
        return n


def run_case(case: Case) -> None:
    threads = Threads(case)
    case.attach("grammar", threads.place.encode())
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        threads.go()
        case.counts["masks"] += threads.check()
    except BaseException as e:
        e.add_note(f"grammar: {threads.place}")
        raise
    finally:
        sys.setswitchinterval(before)
    case.counts[threads.how] += 1


if __name__ == "__main__":
    main("threads", __doc__.partition("\n")[0], run_case)
