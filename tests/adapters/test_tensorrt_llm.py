"""The adapter for TensorRT-LLM, against stand-ins with its classes' names and parameters: the package on PyPI is for CUDA alone."""

import importlib
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")

import psc  # noqa: E402
from psc.adapters.seams import BrokenSeamError  # noqa: E402
from psc.errors import GrammarError, ResourceLimitError  # noqa: E402

SPELLING = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
PIECES = [*sorted(SPELLING.alphabet()), '{"', "ab", "<|end|>"]
END = PIECES.index("<|end|>")
WIDTH = 320


class GuideType(Enum):
    JSON = 0
    JSON_SCHEMA = 1
    REGEX = 2
    EBNF_GRAMMAR = 3
    STRUCTURAL_TAG = 4
    OTHER = 5


class GrammarMatcher(ABC):
    @abstractmethod
    def accept_token(self, token_id: int) -> bool: ...

    @abstractmethod
    def rollback(self, num_tokens: int) -> None: ...

    @abstractmethod
    def fill_next_token_bitmask(self, next_token_bitmask: Any, index: int) -> None: ...

    @abstractmethod
    def is_terminated(self) -> bool: ...


class GrammarMatcherFactory(ABC):
    @abstractmethod
    def create(self, guided_decoding_params: Any) -> GrammarMatcher: ...


class XGrammarMatcherFactory(GrammarMatcherFactory):
    def __init__(self, guided_decoding_config: Any, vocab_size_padded: int, max_num_draft_tokens: int = 0) -> None:
        self.arguments = vocab_size_padded, max_num_draft_tokens

    def create(self, guided_decoding_params: Any) -> Any:
        return "XGrammar's", guided_decoding_params.guide, self.arguments


def tokenizer_json() -> str:
    made = tokenizers.Tokenizer(tokenizers.models.BPE({piece: i for i, piece in enumerate(PIECES[:END])}, []))
    made.pre_tokenizer, made.decoder = SPELLING, tokenizers.decoders.ByteLevel()
    made.add_special_tokens([PIECES[END]])
    return str(made.to_str())


CONFIG = SimpleNamespace(encoded_vocab=PIECES, tokenizer_str=tokenizer_json(), stop_token_ids=[END])


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module in which the engine makes its factory."""
    modules = {}
    for name in ("", "._torch", "._torch.pyexecutor", "._torch.pyexecutor.grammar_matcher", "._torch.pyexecutor.guided_decoder"):
        modules[name] = ModuleType(f"tensorrt_llm{name}")
        modules[name].__path__ = []
        monkeypatch.setitem(sys.modules, f"tensorrt_llm{name}", modules[name])
        parent, _, child = name.rpartition(".")
        if name:
            setattr(modules[parent], child, modules[name])
    matchers, guided = modules["._torch.pyexecutor.grammar_matcher"], modules["._torch.pyexecutor.guided_decoder"]
    matchers.__dict__.update(GrammarMatcher=GrammarMatcher, GrammarMatcherFactory=GrammarMatcherFactory)
    guided.__dict__.update(XGrammarMatcherFactory=XGrammarMatcherFactory)
    monkeypatch.delitem(sys.modules, "psc.adapters.tensorrt_llm", raising=False)
    yield guided
    sys.modules.pop("psc.adapters.tensorrt_llm", None)


def installed(decoder: Any, config: Any = CONFIG) -> Any:
    adapter = importlib.import_module("psc.adapters.tensorrt_llm")
    adapter.install()
    adapter.install()
    assert adapter.PscMatcherFactory.original is XGrammarMatcherFactory
    return decoder.XGrammarMatcherFactory(config, WIDTH, max_num_draft_tokens=3)


def params(kind: str, guide: str | None = None) -> Any:
    return SimpleNamespace(guide_type=GuideType[kind], guide=guide)


def ids(text: str) -> list[int]:
    return [PIECES.index(SPELLING.pre_tokenize_str(c)[0][0]) for c in text]


def allowed(matcher: Any) -> list[int]:
    mask = torch.full((2, WIDTH // 32), -1, dtype=torch.int32)
    matcher.fill_next_token_bitmask(mask, 1)
    assert (mask[0] == -1).all()
    return [int(i) for i in np.flatnonzero(np.unpackbits(mask[1].numpy().view(np.uint8), bitorder="little"))]


@pytest.mark.parametrize(
    ("kind", "guide", "text"),
    [
        ("JSON", None, "[1]"),
        ("JSON_SCHEMA", '{"const": "ab"}', '"ab"'),
        ("REGEX", "(ab)+", "abab"),
        ("EBNF_GRAMMAR", 'root ::= "a" "b"', "ab"),
        ("STRUCTURAL_TAG", json.dumps({"type": "structural_tag", "format": {"type": "const_string", "value": "ab"}}), "ab"),
    ],
)
def test_every_type_of_guide_is_served(kind: str, guide: str | None, text: str, decoder: Any) -> None:
    matcher = installed(decoder).create(params(kind, guide))
    assert isinstance(matcher, GrammarMatcher)
    for token in ids(text):
        assert token in allowed(matcher)
        assert matcher.accept_token(token)
    matcher.rollback(2)
    for token in ids(text)[-2:]:
        assert matcher.accept_token(token)
    assert END in allowed(matcher)
    assert matcher.accept_token(END) and matcher.is_terminated()
    matcher.rollback(1)
    assert not matcher.is_terminated()


BYTES = [*(bytes([i]) for i in range(256)), b"ab", b"<|end|>"]


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        SimpleNamespace(encoded_vocab=PIECES, tokenizer_str=tokenizer_json(), stop_token_ids=None),
        SimpleNamespace(encoded_vocab=BYTES, tokenizer_str=None, stop_token_ids=[257]),
    ],
)
def test_the_vocabulary(config: Any, decoder: Any) -> None:
    info = installed(decoder, config).service.tokenizer_info
    assert info.vocab_size == WIDTH
    assert b"ab" in info.token_texts and b"\n" in info.token_texts
    assert config.stop_token_ids is None or info.stop_token_ids == config.stop_token_ids


BAD = [("REGEX", "(a"), ("EBNF_GRAMMAR", "root ::= ("), ("JSON_SCHEMA", '{"type": "objct"}'), ("OTHER", "")]


@pytest.mark.parametrize(("kind", "guide"), BAD)
def test_a_bad_guide_is_an_error_of_the_request(kind: str, guide: str, decoder: Any) -> None:
    factory = installed(decoder)
    with pytest.raises(ValueError, match=r"\S"):
        factory.create(params(kind, guide))
    assert allowed(factory.create(params("REGEX", "b"))) == ids("b")


def test_what_psc_refuses_can_go_to_the_engines_own(decoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GrammarError, match="matches no text"):
        installed(decoder).create(params("REGEX", "a$b"))
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    assert installed(decoder).create(params("REGEX", "a$b")) == ("XGrammar's", "a$b", (WIDTH, 3))


def test_a_matcher_that_cannot_go_on_refuses_what_comes(decoder: Any, caplog: pytest.LogCaptureFixture) -> None:
    matcher = installed(decoder).create(params("REGEX", "ab"))

    class Failing:
        def fill_next_token_bitmask(self, *args: object) -> None:
            raise ResourceLimitError("too many configurations")

        def is_terminated(self) -> bool:
            return False

    matcher._matcher = Failing()
    row = allowed(matcher)
    assert len(row) == END and END not in row  # all text, and not the end: something is sampled, and refused
    assert not any(map(matcher.accept_token, (*ids("ab"), END)))
    assert caplog.text.count("too many configurations") == 1


def test_another_release_is_refused_by_name(decoder: Any) -> None:
    del decoder.XGrammarMatcherFactory
    adapter = importlib.import_module("psc.adapters.tensorrt_llm")
    with pytest.raises(BrokenSeamError, match="XGrammarMatcherFactory is not there"):
        adapter.install()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "psc.adapters.tensorrt_llm", raising=False)
    monkeypatch.setitem(sys.modules, "tensorrt_llm", None)
    with pytest.raises(psc.MissingExtraError, match="tensorrt_llm"):
        importlib.import_module("psc.adapters.tensorrt_llm")
