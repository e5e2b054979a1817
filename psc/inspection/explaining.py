"""What may come after a text, and why a token may not: where lexer and parser are, in the words of the grammar.

Every answer comes from the native matcher and the machine below it, so an explanation cannot differ from the masks. For each index
of a lexer state and a parser stack (one, unless the text can be read in several ways): the terminals that the unfinished lexeme
can become, and the rules that the parser is in the middle of (the items of its LR states, ``lr_items``; where several
rules are possible, those by which the text ends soonest, ``completion``).

Cost: some 0.1 s for the grammar, once; then some milliseconds, and more if tens of thousands of tokens are allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from psc.errors import GrammarError, PscError
from psc.ids import LexerState, Symbol
from psc.inspection.checking import Checker, Stop, line_and_column
from psc.inspection.completion import Completer
from psc.inspection.configurations import Configuration, Stack, configurations, stacks_after
from psc.inspection.expected import Names, TokenCounts
from psc.inspection.lexemes import RESTART, START, Symbols
from psc.inspection.linked import NOT_KNOWN, TokenSearch, accept_tokens, next_bytes, next_words
from psc.inspection.next_bytes import ranges, shown
from psc.runtime.compiled import GrammarMatcher, LoadedGrammar
from psc.support.cached_property import cached_property
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo

_MAX_EXAMPLES = 20
_MAX_READINGS = 16


EveryWay = Callable[[], tuple[LoadedGrammar, str] | None]


@dataclass(frozen=True)
class Reading:
    """One way in which the text can be read: where the lexer is, and where the parser."""

    lexer_state: int
    lexeme_begun: bool
    """Whether the text ends within a lexeme, or after one that could go on."""
    can_become: tuple[str, ...]
    """The terminals that the lexeme is or can become, and the parser takes."""
    can_be_ignored: bool
    """Whether it is, or can become, text that the grammar ignores."""
    complete: bool
    """Whether it may end here."""
    symbols: tuple[str, ...]
    """The parser's stack: terminals and nonterminals read so far, the first read first."""
    rules: tuple[str, ...]
    """Rules that the parser is in the middle of, innermost first; a dot stands where it is."""


@dataclass(frozen=True)
class TokenGroup:
    """Allowed tokens whose first byte continues or begins a lexeme that can become the same terminals."""

    terminals: tuple[str, ...]
    """Empty for text that the grammar ignores."""
    tokens: int
    """How many."""
    example_ids: tuple[int, ...]
    """Those that spell a string terminal whole, where no lexeme is begun; then the smallest ids."""
    examples: tuple[str, ...]
    """Their texts, as `shown`."""


@dataclass(frozen=True)
class Verdict:
    """Whether a token is allowed after the text, and if not, why."""

    token: int
    text: str | None
    """Its bytes as `shown`, or its name if it is special; None if it is no token, or the vocabulary was not found."""
    allowed: bool
    reasons: tuple[str, ...]
    """In plain words; one for each way in which the text can be read."""
    fails_at: int | None = None
    """The byte of the token, from 0, that cannot be read."""
    expected: tuple[str, ...] = ()
    """Terminals that could stand there."""
    places: tuple[Reading, ...] = ()
    """The states of lexer and parser before that byte. (The JSON report calls readings places.)"""


@dataclass(frozen=True)
class Explanation:
    """What may come after a text; after the part of it that could be read, if ``stop`` is set."""

    grammar: str
    lexer: str
    bytes: int
    """Bytes read."""
    line: int
    column: int
    """Where they end, from 1."""
    read: str
    """The end of the text that was read."""
    stop: Stop | None
    reasons: tuple[str, ...]
    """Why it stops there."""
    places: tuple[Reading, ...]
    n_places: int
    """The number of ways in which the text can be read; ``places`` has at most 16."""
    may_end: bool
    expected: tuple[str, ...]
    """Terminals that may come next, after the unfinished lexeme if it is complete."""
    characters: str
    """The values of the next byte, as ranges of ASCII characters; "≥0x80" stands for parts of other characters."""
    allowed: int
    """Tokens that the mask allows, those that end the text included."""
    vocab_size: int
    groups: tuple[TokenGroup, ...]
    """The allowed tokens that are text, the largest group first; none if the vocabulary was not found."""
    forced: str
    """The common beginning of all continuations."""
    shortest_end: str | None
    """A short text that ends the sentence, as `shown`; None if none was found."""
    tokens: tuple[Verdict, ...]
    notes: tuple[str, ...]


class Explainer:
    """Explains texts of one compiled grammar.

    Args:
        compiled: the grammar. Without its vocabulary tokens are counted, but cannot be shown, or explained byte by byte.
        every_way: gives the same grammar with every LR action kept, and in words what was dropped, where something was.
    """

    def __init__(self, compiled: LoadedGrammar, every_way: EveryWay | None = None) -> None:
        self.compiled = compiled
        self._find_every_way = every_way
        self._display = Names(compiled.metadata)
        self._names = self._display.of
        self._completer = Completer(compiled)
        self._lexemes = self._completer.lexemes
        self._counts = TokenCounts(compiled, self._display, self._lexemes)
        self._items = self._completer.items
        self._nonterminals = [str(name) for name in compiled.metadata["grammar"]["nonterminals"]]

    @cached_property
    def _vocabulary_or_note(self) -> TokenizerInfo | str:
        """The vocabulary, or a note that it was not found."""
        try:
            return self.compiled.tokenizer_info
        except (PscError, OSError) as e:
            return f"the tokenizer was not found, so tokens are not shown: {e}"

    @property
    def _vocabulary(self) -> TokenizerInfo | None:
        return None if isinstance(self._vocabulary_or_note, str) else self._vocabulary_or_note

    def explain(self, text: bytes, tokens: Sequence[int] = ()) -> Explanation:
        """Explains what may come after a text.

        Args:
            text: the text so far.
            tokens: ids of tokens to judge there.
        """
        matcher = GrammarMatcher(self.compiled)
        n = self._read(matcher, text)
        stop = Checker(self.compiled).stop(text, n, matcher) if n < len(text) else None
        line, column = line_and_column(text[:n], n)
        allowed = matcher.allowed_tokens()
        grammar = self.compiled.metadata["grammar"]
        groups = self._groups(matcher, allowed.tolist())
        verdicts = () if stop else tuple(self._judge(matcher, token, text) for token in tokens)
        return Explanation(
            grammar=self.compiled.grammar_name,
            lexer=str(grammar["lexer"]),
            bytes=n,
            line=line,
            column=column,
            read=_last_line(text[:n]),
            stop=stop,
            reasons=self._why(matcher, text, n) if stop else (),
            places=self._readings(matcher),
            n_places=0 if self.compiled.is_linked else len(configurations(matcher)),
            may_end=matcher.is_completed(),
            expected=self._expected(matcher),
            characters=self._characters(matcher),
            allowed=len(allowed),
            vocab_size=self.compiled.vocab_size,
            groups=groups,
            forced=matcher.find_jump_forward_string(),
            shortest_end=self._shortest_end(matcher),
            tokens=verdicts,
            notes=self._notes(),
        )

    def _read(self, matcher: GrammarMatcher, text: bytes) -> int:
        """How many bytes of a text are read. Where tokens are counted, the text is one of tokens."""
        if not self.compiled.is_linked:
            return matcher.accept_prefix(text)
        return accept_tokens(matcher, self.compiled.tokenizer_info.token_texts, self._segmenter.segment(text))

    @cached_property
    def _segmenter(self) -> Segmenter:
        return Segmenter(self.compiled.tokenizer_info)

    def _characters(self, matcher: GrammarMatcher) -> str:
        if self.compiled.is_linked:
            return next_bytes(matcher, self.compiled.tokenizer_info.token_texts)
        return ranges(b for b in range(256) if matcher.fork().accept_string(bytes([b])))

    def _notes(self) -> tuple[str, ...]:
        found = (self._vocabulary_or_note,) if isinstance(self._vocabulary_or_note, str) else ()
        return (*found, NOT_KNOWN) if self.compiled.is_linked else found

    # --- where lexer and parser are

    def _readings(self, matcher: GrammarMatcher) -> tuple[Reading, ...]:
        if self.compiled.is_linked:
            return ()
        return tuple(
            self._reading(matcher, i, configuration) for i, configuration in enumerate(configurations(matcher)[:_MAX_READINGS])
        )

    def _reading(self, matcher: GrammarMatcher, index: int, configuration: Configuration) -> Reading:
        state, stack, *_ = configuration
        finishes = self._lexemes.finishes(state)
        viable = [(symbols, n) for symbols, n in finishes if stacks_after(matcher, index, symbols)]
        sequences = {self._terminals(symbols) for symbols, _ in viable}
        begun = state != self._lexemes.start(stack[0])
        return Reading(
            lexer_state=state,
            lexeme_begun=begun,
            can_become=self._sorted_texts(" ".join(self._names[t] for t in s) for s in sequences if s),
            can_be_ignored=begun and () in sequences,
            complete=any(n == 0 for _, n in viable),
            symbols=tuple(self._symbol(self._items.accessing[s]) for s in reversed(stack[:-1])),
            rules=tuple(self._rules(stack)),
        )

    def _rules(self, stack: Stack) -> Iterator[str]:
        for depth, (production, read) in enumerate(self._completer.open_rules(stack)):
            dot = read - (depth > 0)  # the parser is within the symbol that the rule inside it will be reduced to
            symbols = [self._symbol(s) for s in self._items.right_sides[production]]
            lhs = self._nonterminals[self._items.production_lhs[production]]
            yield " ".join([lhs, ":", *symbols[:dot], "·", *symbols[dot:]])

    def _symbol(self, symbol: Symbol) -> str:
        n = self._items.n_terminals
        return self._names[symbol] if symbol < n else self._nonterminals[symbol - n]

    def _terminals(self, symbols: Symbols) -> tuple[int, ...]:
        """Without the conditions."""
        return tuple(s for s in symbols if s < self._items.n_terminals)

    def _expected(self, matcher: GrammarMatcher) -> tuple[str, ...]:
        if self.compiled.is_linked:
            return next_words(matcher, self.compiled.tokenizer_info.token_texts)
        return self._display.at(matcher, self._counts.of)

    def _sorted(self, terminals: Iterable[int]) -> tuple[str, ...]:
        return self._display.sorted({self._names[t] for t in terminals})

    def _sorted_texts(self, names: Iterable[str]) -> tuple[str, ...]:
        return self._display.sorted(names)

    def _shortest_end(self, matcher: GrammarMatcher) -> str | None:
        try:
            if not self.compiled.is_linked:
                return shown(self._completer.complete(matcher))
            info = self.compiled.tokenizer_info
            return shown(b"".join(info.token_texts[token] for token in TokenSearch(info).complete(matcher)))
        except GrammarError:
            return None

    # --- tokens

    def _groups(self, matcher: GrammarMatcher, allowed: list[int]) -> tuple[TokenGroup, ...]:
        vocabulary = self._vocabulary
        if vocabulary is None or self.compiled.is_linked:
            return ()
        by_byte: dict[int, list[tuple[int, bytes]]] = {}
        texts = vocabulary.token_texts
        for token in allowed:
            if texts[token]:
                by_byte.setdefault(texts[token][0], []).append((token, texts[token]))
        groups: dict[tuple[str, ...], list[tuple[int, bytes]]] = {}
        for byte, members in by_byte.items():
            ahead = matcher.fork()
            ahead.accept_string(bytes([byte]))
            groups.setdefault(self._being_read(ahead, matcher), []).extend(members)
        merged: dict[tuple[str, ...], tuple[set[str], list[tuple[int, bytes]]]] = {}
        for names, members in groups.items():
            # Words that a name could be too differ from letter to letter: the groups of one name are one.
            patterns = tuple(n for n in names if n not in self._display.texts)
            every, all_members = merged.setdefault(patterns or names, (set(), []))
            every.update(names)
            all_members.extend(members)
        fresh = all(() in self._lexemes.ends(at.lexer_state) for at in configurations(matcher))
        made = [self._group(self._sorted_texts(names), members, fresh) for names, members in merged.values()]
        return tuple(sorted(made, key=lambda g: (-g.tokens, g.terminals)))

    def _group(self, names: tuple[str, ...], members: list[tuple[int, bytes]], fresh: bool) -> TokenGroup:
        words = {self._display.texts[n].encode() for n in names if fresh and n in self._display.texts}
        members.sort(key=lambda m: (m[1] not in words, m[0]))
        ids, texts = zip(*members[:_MAX_EXAMPLES], strict=True)
        return TokenGroup(names, len(members), ids, tuple(shown(t) for t in texts))

    def _being_read(self, ahead: GrammarMatcher, before: GrammarMatcher) -> tuple[str, ...]:
        """The terminals that the byte just read belongs to; none if it is ignored."""
        stacks = {at.stack for at in configurations(before)}
        names: set[str] = set()
        for i, (state, stack, *_) in enumerate(configurations(ahead)):
            if state == self._lexemes.start(stack[0]):
                if stack not in stacks:  # a terminal that nothing can extend
                    names.add(self._symbol(self._items.accessing[stack[0]]))
                continue
            for symbols, _ in self._lexemes.finishes(state):
                terminals = self._terminals(symbols)
                if terminals and matcher_takes(ahead, i, symbols):
                    names.add(self._names[terminals[0]])
        return self._sorted_texts(names)

    def _judge(self, matcher: GrammarMatcher, token: int, text: bytes) -> Verdict:
        if not 0 <= token < self.compiled.vocab_size:
            last = self.compiled.vocab_size - 1
            return Verdict(token, None, False, (f"there is no such token: ids go from 0 to {last}",))
        allowed = matcher.is_allowed(token)
        if token in matcher.stop_token_ids:
            return self._judge_stop(matcher, token, text, allowed)
        if self._vocabulary is None:
            return Verdict(token, None, allowed, () if allowed else ("its text is not known, since the tokenizer was not found",))
        data = self._vocabulary.token_bytes(token)
        if not data:
            if token in self._vocabulary.special_token_ids:
                return Verdict(token, self._special_name(token), False, ("it is a special token, which is never text",))
            return Verdict(token, None, False, ("it is padding: the tokenizer has no token with this id",))
        if allowed:
            return Verdict(token, shown(data), True, ())
        reader = matcher.fork()
        n = accept_tokens(reader, self._vocabulary.token_texts, [token]) if self.compiled.is_linked else reader.accept_prefix(data)
        return Verdict(
            token,
            shown(data),
            False,
            self._why(reader, text + data, len(text) + n),
            fails_at=n,
            expected=self._expected(reader),
            places=self._readings(reader),
        )

    def _judge_stop(self, matcher: GrammarMatcher, token: int, text: bytes, allowed: bool) -> Verdict:
        name = self._special_name(token)
        if allowed:
            return Verdict(token, name, True, ())
        missing = self._shortest_end(matcher)
        reason = "it ends the text, which is not complete" + (f": {missing}, for example, is missing" if missing else "")
        return Verdict(
            token,
            name,
            False,
            (reason, *self._dropped(text, ends=True)),
            expected=self._expected(matcher),
            places=self._readings(matcher),
        )

    def _special_name(self, token: int) -> str | None:
        if self._vocabulary is None:
            return None
        name = self._vocabulary.decoded_vocab[token]
        return name.decode("utf-8", "replace") if name else None

    # --- why a byte cannot be read

    def _why(self, matcher: GrammarMatcher, text: bytes, n: int) -> tuple[str, ...]:
        """Why the first `n` bytes of a text, which were read, do not go on with the next one, or cannot end."""
        if n == len(text):
            return self._dropped(text, ends=True)
        return (*self._reasons(matcher, text[n]), *self._dropped(text[: n + 1]))

    def _dropped(self, text: bytes, *, ends: bool = False) -> tuple[str, ...]:
        """What is said of a text that is refused because the tables lack a reduction that Lark drops."""
        if self._every_way is None:
            return ()
        compiled, said = self._every_way
        reader = GrammarMatcher(compiled)
        if reader.accept_prefix(text) < len(text) or (ends and not reader.is_completed()):
            return ()
        return (f"the rules derive it, but {said}",)

    @cached_property
    def _every_way(self) -> tuple[LoadedGrammar, str] | None:
        return None if self._find_every_way is None else self._find_every_way()

    def _reasons(self, matcher: GrammarMatcher, byte: int) -> list[str]:
        """Why no way of reading the text continues with this byte; each reason once."""
        if self.compiled.is_linked:
            if matcher.fork().accept_prefix(bytes([byte])):
                return [f"a rule with max_tokens has none left for {_named(byte)}"]
            return [f"no text of the grammar continues with {_named(byte)} here"]
        reasons: dict[str, None] = {}
        for i, (state, stack, *_) in enumerate(configurations(matcher)):
            for reason in self._reasons_of(matcher, i, state, stack, byte):
                reasons.setdefault(reason)
        return list(reasons)

    def _reasons_of(self, matcher: GrammarMatcher, index: int, state: LexerState, stack: Stack, byte: int) -> Iterator[str]:
        what = _named(byte)
        at_start = state == self._lexemes.start(stack[0])
        steps = self._steps(state, byte)
        if not steps:
            yield self._no_step(matcher, index, state, at_start, what)
        for symbols, to in steps:
            refused = self._refused(matcher, index, symbols)
            if refused is not None:
                if refused >= 0:
                    name = self._names[symbols[refused]]
                    at_once = to == START and refused == len(symbols) - 1
                    yield (
                        f"{what} is read as {name}, which the parser cannot take here"
                        if at_once
                        else f"{what} ends the lexeme before it as {name}, which the parser cannot take there"
                    )
            elif to == RESTART:
                yield from self._restarted(matcher, index, symbols, byte, what)
            else:
                begins = bool(symbols) or () in self._lexemes.ends(state)
                yield self._begun(to, "begins" if begins else "continues as", what)

    def _restarted(self, matcher: GrammarMatcher, index: int, symbols: Symbols, byte: int, what: str) -> Iterator[str]:
        """The lexeme is complete, and another begins with the byte."""
        for stack in stacks_after(matcher, index, symbols):
            steps = self._steps(self._lexemes.start(stack[0]), byte)
            if not steps:
                where = next((f"after {self._names[t]}" for t in self._terminals(symbols)[-1:]), "here")
                yield f"no terminal that the parser can take {where} begins with {what}"
            for more, to in steps:
                refused = self._refused(matcher, index, (*symbols, *more))
                if refused is None:
                    yield self._begun(to, "begins", what)
                elif refused >= 0:
                    yield f"{what} is read as {self._names[(*symbols, *more)[refused]]}, which the parser cannot take here"

    def _begun(self, lexer_state: LexerState, how: str, what: str) -> str:
        names = self._sorted(set(self._lexemes.becomes(lexer_state)))
        return f"{what} {how} {_either(names) or 'nothing'}, which the parser cannot take here"

    def _no_step(self, matcher: GrammarMatcher, index: int, state: LexerState, at_start: bool, what: str) -> str:
        contextual = self.compiled.metadata["grammar"]["lexer"] in (
            "contextual",
            "flush-contextual",
            "modal",
            "flush-modal",
            "indented",
        )
        no_terminal = f"no terminal{' that the parser can take here' if contextual else ''} begins with {what}"
        if at_start:
            return no_terminal
        ends = [e for e in self._lexemes.ends(state) if matcher_takes(matcher, index, e)]
        if not ends:
            names = self._reading(matcher, index, configurations(matcher)[index]).can_become
            return f"the unfinished lexeme ({_either(names) or 'ignored text'}) is not complete, and cannot go on with {what}"
        names = self._sorted(t for e in ends for t in self._terminals(e)[-1:])
        return f"the unfinished lexeme ({_either(names) or 'ignored text'}) cannot go on with {what}, and {no_terminal}"

    def _steps(self, state: LexerState, byte: int) -> list[tuple[Symbols, LexerState]]:
        of_byte = self._lexemes.byte_class[byte]
        return [(symbols, to) for byte_class, symbols, to in self._lexemes.steps(state) if byte_class == of_byte]

    def _refused(self, matcher: GrammarMatcher, index: int, symbols: Symbols) -> int | None:
        """The first symbol that the parser refuses; -1 if that is a condition, so another step is taken; None if it takes all."""
        for k in range(len(symbols)):
            if not matcher_takes(matcher, index, symbols[: k + 1]):
                return k if symbols[k] < self._items.n_terminals else -1
        return None


def matcher_takes(matcher: GrammarMatcher, index: int, symbols: Symbols) -> bool:
    """Whether the parser can read these symbols on the stack of a configuration."""
    return bool(stacks_after(matcher, index, symbols))


def _either(names: Sequence[str], most: int = 6) -> str:
    """Names joined with "or"."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} or {len(names) - most + 1} others"
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _named(byte: int) -> str:
    return shown(bytes([byte])) if byte < 0x80 else f"byte 0x{byte:02x}"


def _last_line(data: bytes, most: int = 60) -> str:
    """The end of a text, for a line of output."""
    return data[-4 * most :].decode("utf-8", "replace").rsplit("\n", 1)[-1][-most:]
