"""LMDeploy's PyTorch engine with psc: :func:`install` replaces XGrammar's names by psc's.

    from psc.adapters import lmdeploy

    lmdeploy.install()  # before `pipeline` or the server makes its engine

The options are those of the environment (`psc.serving.ServiceOptions`). The server's check of a request's format goes through psc,
too: a refusal by psc is an error of the request. LMDeploy has no way to fail a request later on. So a grammar that is refused only
when it is compiled (a limit), and one that cannot go on, allow only the tokens that end the text, and the log says why.

TurboMind has XGrammar compiled into it, and is unchanged.
"""

from __future__ import annotations

import functools
import importlib
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psc.adapters.guarded_matcher import GuardedMatcher, row_of
from psc.adapters.seams import Seam, broken_seams, require_seams
from psc.errors import PscError, needs_extra
from psc.grammars.compiled_grammar import CompiledGrammar
from psc.serving import REFUSALS, GrammarService, Kind, ServiceOptions
from psc.serving.validation import check_request
from psc.support.cached_property import cached_property
from psc.vocabulary import tokenizer_info as vocabulary
from psc.vocabulary.token_table import VocabType

with needs_extra("lmdeploy"):
    import lmdeploy  # noqa: F401

_log = logging.getLogger("psc.adapters.lmdeploy")
_GUIDED: Final = "lmdeploy.pytorch.engine.guided_process"
_FORMATS: Final = "lmdeploy._guided_decoding"
SEAMS: Final = (Seam(f"{_GUIDED}:xgr"), Seam(f"{_GUIDED}:GuidedDecodingManager", ("tokenizer", "vocab_size")))
CHECK_SEAMS: Final = (
    Seam(f"{_FORMATS}:_check_response_format", ("serialized_format",)),
    Seam(f"{_FORMATS}:_grammar_source", ("response_format",)),
)
"""Of the check before a request reaches the engine; older releases have none."""
_KINDS: Final[dict[str, Kind]] = {"json_schema": "json", "regex_schema": "regex", "structural_tag": "structural_tag"}


@dataclass(frozen=True)
class RequestGrammar:
    """The start of a request's matchers: a grammar, or the reason for which there is none; and the tokens that end the text."""

    compiled: CompiledGrammar | str
    ends: NDArray[np.int32]


class Compiler:
    """Compiles for a model, with XGrammar's methods as LMDeploy calls them.

    Args:
        xgrammar: the module, for what psc refuses.
        tokenizer_info: the model's.
    """

    def __init__(self, xgrammar: ModuleType, tokenizer_info: vocabulary.TokenizerInfo) -> None:
        self.service: Final = GrammarService(tokenizer_info)
        self._xgrammar: Final = xgrammar
        self._ends: Final = row_of(tokenizer_info.stop_token_ids, tokenizer_info.vocab_size)

    def compile_json_schema(self, schema: str) -> Any:
        """A `RequestGrammar`, or XGrammar's result."""
        return self._compile("json", schema, "compile_json_schema")

    def compile_regex(self, regex: str) -> Any:
        """Likewise."""
        return self._compile("regex", regex, "compile_regex")

    def compile_structural_tag(self, structural_tag: str) -> Any:
        """Likewise."""
        return self._compile("structural_tag", structural_tag, "compile_structural_tag")

    def _compile(self, kind: Kind, text: str, method: str) -> Any:
        try:
            made = self.service.compile_or_fall_back(kind, text, lambda: getattr(self._engines_own, method)(text))
        except REFUSALS as e:
            _log.error("a request ends at once, since psc refuses its grammar of the kind %s: %s", kind, e)
            return RequestGrammar(str(e), self._ends)
        if not isinstance(made, CompiledGrammar):
            return made
        self.service.build_ahead(made)
        return RequestGrammar(made, self._ends)

    @cached_property
    def _engines_own(self) -> Any:
        info, xgr = self.service.tokenizer_info, self._xgrammar
        theirs = xgr.TokenizerInfo(
            info.decoded_vocab, xgr.VocabType.RAW, vocab_size=info.vocab_size, stop_token_ids=info.stop_token_ids
        )
        return xgr.GrammarCompiler(theirs)


class Names:
    """XGrammar's names that LMDeploy uses; those that are not here, such as the kernels, are XGrammar's own.

    Args:
        xgrammar: the module.
    """

    TokenizerInfo = vocabulary.TokenizerInfo
    VocabType = VocabType

    def __init__(self, xgrammar: ModuleType) -> None:
        self._xgrammar: Final = xgrammar

    def GrammarCompiler(self, tokenizer_info: vocabulary.TokenizerInfo) -> Compiler:
        """A compiler for a vocabulary."""
        return Compiler(self._xgrammar, tokenizer_info)

    def GrammarMatcher(self, compiled: Any) -> Any:
        """The matcher of a compiled grammar, psc's or XGrammar's."""
        if isinstance(compiled, RequestGrammar):
            return GuardedMatcher(compiled.compiled, compiled.ends)
        return self._xgrammar.GrammarMatcher(compiled)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._xgrammar, name)


def checked(original: Callable[[str], None], source_of: Callable[[dict[str, Any]], tuple[str, str]]) -> Callable[[str], None]:
    """The check of a response format by psc, and by the engine where psc refuses it and may fall back.

    Args:
        original: the engine's own.
        source_of: the engine's function from a format to a type and a text.
    """

    @functools.lru_cache(maxsize=1024)
    def check(serialized_format: str) -> None:
        form, text = source_of(json.loads(serialized_format))
        if form == "text":
            return
        options = ServiceOptions.of()
        try:
            check_request(_KINDS[form], text, options, None)
        except PscError:
            if options.fallback != "engine":
                raise
            original(serialized_format)

    return check


def install() -> None:
    """Replaces the engine's names in this process. Called again, nothing changes.

    Raises:
        BrokenSeamError: the engine's names are not those that psc needs. Nothing is replaced then.
    """
    require_seams(SEAMS)
    guided: Any = importlib.import_module(_GUIDED)
    if isinstance(guided.xgr, Names):
        return
    guided.xgr = Names(guided.xgr)
    if problems := broken_seams(CHECK_SEAMS):
        _log.warning("requests are not checked by psc before they reach the engine: %s", problems[0])
        return
    formats: Any = importlib.import_module(_FORMATS)
    formats._check_response_format = checked(formats._check_response_format, formats._grammar_source)
