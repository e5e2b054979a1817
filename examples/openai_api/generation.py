"""The texts of a request, made token by token: under the grammar, as whole characters, up to where they end."""

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psc
from openai_api.deltas import CallBegin, Delta, Reader, TextReader
from openai_api.errors import ApiError, ClientGone
from openai_api.sampling import Drawn, Sampler
from openai_api.tasks import Engine, Task
from openai_api.tool_calls import tool_call_reader


@dataclass(frozen=True)
class Told:
    """A drawn token, spelled."""

    drawn: Drawn
    text: bytes
    likely: tuple[tuple[bytes, float], ...]


@dataclass(frozen=True)
class Piece:
    """More of a text, and the tokens that it is of, where the request asked for logprobs."""

    deltas: tuple[Delta, ...]
    tokens: tuple[Told, ...] = ()


class Choice:
    """One text of an answer.

    Args:
        index: of all texts of the answer; those of the first prompt come first.
        cancellation: ends the text, with ClientGone.
    """

    def __init__(self, engine: Engine, task: Task, index: int, cancellation: psc.Cancellation) -> None:
        self._engine, self._task, self.index, self._cancellation = engine, task, index, cancellation
        self.n_tokens = self.n_calls = 0
        self.finish_reason = "length"
        self._custom: str | None = None  # the tool whose text comes next
        # A constrained text has special tokens where its grammar names them: those are its markers.
        constrained = task.compiled is not None
        self._special = {token: text for text, token in engine.model.info.special_tokens.items()} if constrained else {}

    def pieces(self) -> Iterator[Piece]:
        """The text in pieces, up to the first of the request's stop texts."""
        task = self._task
        name = self._engine.model.format_name or ""
        tools = task.tools
        reader: Reader = tool_call_reader(name, tools.functions, tools.custom) if tools else TextReader()
        told: list[Told] = []
        for text in self._until_stop(told):
            if deltas := tuple(reader.feed(text)):
                self._count(deltas)
                yield Piece(deltas, tuple(told))
                told.clear()
        if deltas := tuple(reader.finish()):
            yield Piece(deltas)
        if self.n_calls and self.finish_reason == "stop":
            self.finish_reason = "tool_calls"
        self._engine.metrics.add("generated_tokens_total", self.n_tokens)

    def _count(self, deltas: tuple[Delta, ...]) -> None:
        begun = [delta.name for delta in deltas if isinstance(delta, CallBegin)]
        n_calls = len(begun)
        self.n_calls += n_calls
        if n_calls:
            self._custom = begun[-1] if self._task.tools and begun[-1] in self._task.tools.custom else None
            self._engine.metrics.add("tool_calls_total", n_calls)

    def _until_stop(self, told: list[Told]) -> Iterator[str]:
        stops = self._task.stop
        held = ""  # what a stop text may begin in
        for piece in self._decoded(told):
            held += piece
            if (end := min((at for s in stops if (at := held.find(s)) >= 0), default=-1)) >= 0:
                self.finish_reason = "stop"
                held = held[:end]
                break
            keep = max((n for s in stops for n in range(1, len(s)) if held.endswith(s[:n])), default=0)
            if ready := held[: len(held) - keep]:
                yield ready
            held = held[len(held) - keep :]
        if held:
            yield held

    def _decoded(self, told: list[Told]) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a token may end inside a character
        for drawn in self._tokens():
            spelled = self._spelled(drawn.token)
            if self._task.sampling.n_logprobs is not None:
                told.append(Told(drawn, spelled, tuple((self._spelled(t), logprob) for t, logprob in drawn.likely)))
            if piece := decoder.decode(spelled):
                yield piece
        if piece := decoder.decode(b"", final=True):
            yield piece

    def _spelled(self, token: int) -> bytes:
        return self._special.get(token) or self._engine.model.info.token_bytes(token)

    def _tokens(self) -> Iterator[Drawn]:
        """The tokens as they come, without the one that ends the text."""
        model, task = self._engine.model, self._task
        prompt, choice = divmod(self.index, task.n)
        sampler = Sampler(task.sampling, choice)
        matcher = None if task.compiled is None else psc.GrammarMatcher(task.compiled)
        generation = model.begin(task.prompts[prompt])
        ends = frozenset(model.info.stop_token_ids)
        expected: list[int] = []  # that the grammar forces
        for _ in range(task.max_tokens):
            if self._cancellation.cancelled:
                raise ClientGone
            if self._custom is not None:
                compiled = task.custom[self._custom]
                matcher = None if compiled is None else psc.GrammarMatcher(compiled)
                self._custom, expected = None, []
            with _limits():
                mask = None if matcher is None else matcher.mask()
            drawn = sampler.draw(generation.logits, mask)
            self.n_tokens += 1
            with _limits():
                if matcher is not None and not matcher.accept_token(drawn.token):
                    raise AssertionError(f"token {drawn.token} was drawn and is not allowed")
            if matcher.is_terminated() if matcher is not None else drawn.token in ends:
                self.finish_reason = "stop"
                return
            yield drawn
            expected = expected[1:] if expected[:1] == [drawn.token] else []
            if matcher is not None and not expected:
                with _limits():
                    expected = matcher.find_likely_tokens()
            generation.feed(drawn.token, expected)


@contextmanager
def _limits() -> Iterator[None]:
    """A grammar may be quick to compile, and its texts ambiguous beyond measure: that is the client's to change."""
    try:
        yield
    except psc.ResourceLimitError as error:
        raise ApiError(f"the grammar is too ambiguous for this text: {error}", code="grammar_too_large") from error
