"""What the page shows of a text: its tokens, the mask after each, where lexer and parser are, and how the mask is found.

A request and its answer are what JSON has. A grammar in it is a name from a list that was fixed when the playground began, or text:
no request names a file.

Cost: the first look loads the vocabulary (0.5 s for 150,000 tokens) and builds the grammar just in time; then a mask a token, and
some milliseconds for the explanation.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from psc.artifacts.format import read_file
from psc.compiler.frontends.lookup import find_grammar, is_grammar
from psc.compiler.frontends.registry import FRONT_ENDS, front_end
from psc.compiler.frontends.request import GrammarRequest
from psc.compiler.grammars import bundled_names
from psc.errors import PscError
from psc.grammars.compiled_grammar import CompiledGrammar, compile_just_in_time, keeping_all_actions
from psc.grammars.grammar import Grammar
from psc.inspection.configurations import configurations
from psc.inspection.explaining import Explainer
from psc.inspection.next_bytes import shown
from psc.inspection.stack_reading import StackReader
from psc.runtime.compiled import GrammarMatcher
from psc.support.cached_property import cached_property
from psc.support.limits import limit
from psc.vocabulary import load_tokenizer
from psc.vocabulary.names import list_names
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo

BYTES = "bytes"
"""The vocabulary that is always there: a token for each byte, and one that ends the text."""
MAX_GRAMMAR_CHARACTERS = limit("playground_characters")
MAX_TEXT_BYTES = limit("playground_text_bytes")
_KEPT_GRAMMARS = 8
_MAX_FOUND = 40
_MAX_WALKS = 4
_MAX_STRING = 400
_MAX_ITEMS = 200


class BadRequestError(PscError, ValueError):
    """A request that is not one of the page's."""


@dataclass(frozen=True)
class Choices:
    """What can be chosen by name, besides the bundled grammars and the tokenizers of installed packages."""

    grammars: tuple[str, ...] = ()
    """Files that were named when the playground was started: grammars or artifacts."""
    tokenizers: tuple[str, ...] = ()
    """Files and names of tokenizers that were named then."""

    @cached_property
    def grammar_names(self) -> tuple[str, ...]:
        """Those that were given first."""
        return tuple(dict.fromkeys((*self.grammars, *bundled_names())))

    @cached_property
    def tokenizer_names(self) -> dict[str, str]:
        """Each with what it is."""
        installed = {n.name: n.description for n in list_names() if n.available}
        given = {name: installed.get(name, name) for name in self.tokenizers}
        return {**given, **installed} | {BYTES: "a token for each byte"}

    def as_json(self) -> dict[str, Any]:
        """What the page offers."""
        return {
            "grammars": list(self.grammar_names),
            "languages": [{"language": f.language, "title": f.title} for f in FRONT_ENDS.values()],
            "tokenizers": [{"name": name, "description": said} for name, said in self.tokenizer_names.items()],
            "grammar": self.grammars[0] if self.grammars else "json",
            "tokenizer": next(iter(self.tokenizer_names)),
            "max_text_bytes": MAX_TEXT_BYTES,
            "max_grammar_characters": MAX_GRAMMAR_CHARACTERS,
        }


@dataclass(frozen=True)
class _Opened:
    """A grammar for a tokenizer, and what looks at it."""

    compiled: CompiledGrammar
    seconds: float
    """Building it took."""

    @cached_property
    def explainer(self) -> Explainer:
        return Explainer(self.compiled, lambda: keeping_all_actions(self.compiled))

    @cached_property
    def reader(self) -> StackReader:
        return StackReader(self.compiled)


class Looker:
    """Answers the page's requests. Keeps the grammars and tokenizers that were used last.

    Args:
        choices: what can be chosen by name.
    """

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._grammars: OrderedDict[tuple[str, str, str], _Opened] = OrderedDict()
        self._tokenizer = lru_cache(2)(self._load_tokenizer)
        self._segmenter = lru_cache(2)(lambda name: Segmenter(self._tokenizer(name)))

    def look(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What is there to see of a text.

        Args:
            request: ``grammar``, an object with ``name``, or with ``language`` and ``text``; ``tokenizer``, a name; ``text``;
                ``at``, how many of its tokens are read (all, if it is missing or null); ``find``, the text or the id of tokens
                that are looked for.

        Raises:
            PscError: the grammar or the tokenizer cannot be read, or the request is malformed.
        """
        text, at, find = request.get("text"), request.get("at"), request.get("find", "")
        if not isinstance(text, str) or not isinstance(find, str) or not (at is None or isinstance(at, int)):
            raise BadRequestError("a request has text and find, which are strings, and at, a number")
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > MAX_TEXT_BYTES:
            raise BadRequestError(
                f"the text has {len(data):,} bytes, and the playground takes {MAX_TEXT_BYTES:,}; try the end of it"
            )
        tokenizer = request.get("tokenizer")
        if not isinstance(tokenizer, str) or tokenizer not in self._choices.tokenizer_names:
            raise BadRequestError(f"there is no tokenizer {_shortened(tokenizer)!r} here; --tokenizer adds one to a playground")
        opened = self._open(request.get("grammar"), tokenizer)
        ids = self._segmenter(tokenizer).segment(data)
        tokens, n_read = self._tokens(opened.compiled, ids)
        at = len(ids) if at is None else max(0, min(at, len(ids)))
        at = min(at, n_read + 1)  # the explanation is also of the token that is refused
        matcher = GrammarMatcher(opened.compiled)
        for token in ids[: min(at, n_read)]:
            matcher.accept_token(token)
        explained, found = self._explained(opened, ids, at, n_read, find)
        return {
            "tokens": tokens,
            "n_read": n_read,
            "at": at,
            "mask": _mask(matcher),
            "explanation": explained,
            "walks": _walks(opened, matcher),
            "found": found,
            "grammar": _described(opened),
        }

    def _tokens(self, compiled: CompiledGrammar, ids: Sequence[int]) -> tuple[list[dict[str, Any]], int]:
        """Each token with the mask before it; and how many are read. Behind a token that is refused there are no masks."""
        matcher = GrammarMatcher(compiled)
        texts = compiled.tokenizer_info.token_texts
        tokens, n_read = [], len(ids)
        for i, token in enumerate(ids):
            allowed = None
            if n_read == len(ids):
                allowed = len(matcher.allowed_tokens())
                if not matcher.accept_token(token):
                    n_read = i
            tokens.append({"id": token, "text": shown(texts[token]), "allowed": allowed})
        return tokens, n_read

    def _explained(self, opened: _Opened, ids: Sequence[int], at: int, n_read: int, find: str) -> tuple[Any, Any]:
        """What may come after the first tokens; and whether the tokens that are looked for may, after the last that is read."""
        texts = opened.compiled.tokenizer_info.token_texts
        wanted = self._meant(opened.compiled.tokenizer_info, find) if find else []
        explanation = opened.explainer.explain(b"".join(texts[token] for token in ids[:at]), wanted if at <= n_read else ())
        verdicts = explanation.tokens
        if wanted and at > n_read:
            verdicts = opened.explainer.explain(b"".join(texts[token] for token in ids[:n_read]), wanted).tokens
        explained = asdict(explanation)
        del explained["tokens"]
        return _shortened(explained), _shortened([asdict(verdict) for verdict in verdicts])

    @staticmethod
    def _meant(info: TokenizerInfo, find: str) -> list[int]:
        """Ids that a user may mean: a token's id, or its text, or what it begins with, or has in it."""
        data = find.encode("utf-8", "surrogatepass")
        ids = [int(find)] if find.isascii() and find.isdigit() and len(find) < 9 else []
        for fits in (data.__eq__, lambda text: text.startswith(data), lambda text: data in text):
            ids += [token for token, text in enumerate(info.token_texts) if text and fits(text)][:_MAX_FOUND]
            if len(ids) > _MAX_FOUND:
                break
        return list(dict.fromkeys(ids))[:_MAX_FOUND]

    # --- grammars and tokenizers

    def _open(self, asked: object, tokenizer: str) -> _Opened:
        if not isinstance(asked, Mapping):
            raise BadRequestError("a request has a grammar, an object")
        name, language, text = asked.get("name"), asked.get("language"), asked.get("text")
        if name is not None and name not in self._choices.grammar_names:
            raise BadRequestError(f"there is no grammar {_shortened(name)!r} here; start the playground with it, or give its text")
        if name is None and not (isinstance(language, str) and isinstance(text, str)):
            raise BadRequestError("a grammar has a name, or a language and text")
        if name is None and len(str(text)) > MAX_GRAMMAR_CHARACTERS:
            raise BadRequestError(
                f"the grammar has {len(str(text)):,} characters, and the playground takes {MAX_GRAMMAR_CHARACTERS:,}"
            )
        key = (f"name {name}", "", tokenizer) if name is not None else (str(language), str(text), tokenizer)
        found = self._grammars.get(key)
        if found is None:
            began = time.perf_counter()
            info = self._tokenizer(tokenizer)
            compiled = _named(str(name), info) if name is not None else _just_in_time(_request(str(language), str(text)), info)
            found = self._grammars[key] = _Opened(compiled, time.perf_counter() - began)
            if len(self._grammars) > _KEPT_GRAMMARS:
                self._grammars.popitem(last=False)
        self._grammars.move_to_end(key)
        return found

    def _load_tokenizer(self, name: str) -> TokenizerInfo:
        if name == BYTES:
            vocabulary = [*(bytes([byte]) for byte in range(256)), b"<end of text>"]
            return TokenizerInfo.from_tokens(vocabulary, special_token_ids=[256], stop_token_ids=[256], name=BYTES)
        return load_tokenizer(name)


def _request(language: str, text: str) -> GrammarRequest:
    # Text that only a dialect has is read as that.
    return GrammarRequest.of(front_end(front_end(language).language_of(text)).language, text, origin="grammar")


def _named(name: str, info: TokenizerInfo) -> CompiledGrammar:
    if is_grammar(name):
        return _just_in_time(find_grammar(name).request(), info)
    return CompiledGrammar.from_artifact(read_file(Path(name)), tokenizer_info=info, place=name)


def _just_in_time(request: GrammarRequest, info: TokenizerInfo) -> CompiledGrammar:
    return compile_just_in_time(Grammar.parse(request, names=request.names_of(info)), info)


def _mask(matcher: GrammarMatcher) -> dict[str, Any]:
    began = time.perf_counter()
    row = matcher.mask_row()
    seconds = time.perf_counter() - began
    return {"allowed": len(matcher.allowed_tokens()), "row": row, "seconds": seconds, "stops": matcher.is_completed()}


def _walks(opened: _Opened, matcher: GrammarMatcher) -> list[Any]:
    """How the stacks are read; a grammar that is linked of parts has no one classifier that does."""
    if opened.compiled.is_linked:
        return []
    return [_shortened(asdict(opened.reader.read(matcher, i))) for i in range(min(len(configurations(matcher)), _MAX_WALKS))]


def _described(opened: _Opened) -> dict[str, Any]:
    compiled = opened.compiled
    grammar = compiled.metadata["grammar"]
    return {
        "name": _shortened(compiled.grammar_name),
        "language": grammar.get("language"),
        "lexer": grammar["lexer"],
        "terminals": len(grammar["terminals"]),
        "nonterminals": len(grammar["nonterminals"]),
        "rows": compiled.n_rows,
        "bytes": compiled.memory_size_bytes,
        "seconds": opened.seconds,
        "just_in_time": compiled.is_lazy,
        "vocab_size": compiled.vocab_size,
        "warnings": _shortened(list(compiled.metadata.get("warnings", ()))),
    }


def _shortened(value: Any) -> Any:
    """The same with long strings and lists cut: names, and how much there is of everything, are up to who wrote the grammar."""
    if isinstance(value, str):
        return value if len(value) <= _MAX_STRING else value[:_MAX_STRING] + "…"
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value[:_MAX_ITEMS]]
    return value
