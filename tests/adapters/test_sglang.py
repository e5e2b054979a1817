"""The adapter for SGLang, with the engine's own grammar manager, batches, results and reasoning wrapper, on a CPU."""

import inspect
import json
import logging
import random
import re
import threading
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)
from sglang.srt import plugins  # noqa: E402
from sglang.srt.constrained import base_grammar_backend, xgrammar_backend  # noqa: E402
from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarRow  # noqa: E402
from sglang_engine import (  # noqa: E402
    GRAMMAR_BACKEND_CHOICES,
    VOCAB_SIZE,
    Engine,
    Unreadable,
    plugin,
    token_bytes,
    token_of,
    tokenizer,
    xgrammars_own,
)
from sglang_requests import EOS, OLDER_TAG, REFUSED_BY_PSC, SCHEMA, TAG, finish  # noqa: E402

import psc  # noqa: E402
from psc.adapters import sglang as adapter  # noqa: E402
from psc.adapters.seams import Seam  # noqa: E402
from psc.adapters.sglang import compilations, seams  # noqa: E402
from psc.adapters.sglang.backend import PscGrammarBackend  # noqa: E402
from psc.adapters.sglang.grammar import PscGrammar  # noqa: E402
from psc.adapters.sglang.tokenizer import tokenizer_info  # noqa: E402
from psc.errors import CompilationCancelledError, TokenizerError  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated")  # what the engine gives to XGrammar


@pytest.fixture(params=["psc", "xgrammar"])
def backend_name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways: by its own name, and in the place of XGrammar's."""
    with plugin():
        yield request.param


def is_json(text: bytes) -> bool:
    json.loads(text)
    return True


def fits_schema(text: bytes) -> bool:
    jsonschema.validate(json.loads(text), SCHEMA)
    return True


KINDS: dict[str, tuple[dict[str, str], Callable[[bytes], Any]]] = {
    "any JSON": ({"json_schema": "$$ANY$$"}, is_json),
    "json_object": ({"json_schema": '{"type": "object"}'}, lambda text: isinstance(json.loads(text), dict)),
    "schema": ({"json_schema": json.dumps(SCHEMA)}, fits_schema),
    "regex": ({"regex": r"(ab|ca)+[0-9]{2,4}"}, lambda text: re.fullmatch(rb"(ab|ca)+[0-9]{2,4}", text)),
    "ebnf": ({"ebnf": 'root ::= "(" root ")" | [0-9]+'}, lambda text: text.count(b"(") == text.count(b")")),
    "ebnf of the whole turn": ({"ebnf": 'root ::= "yes"', "ebnf_full_assistant": True}, lambda text: text == b"yes"),  # type: ignore[dict-item]
    "structural tag": (
        {"structural_tag": json.dumps(TAG)},
        lambda text: re.match(rb'<call>\{\s*"a"\s*:\s*-?[0-9.]+\s*\}</call>', text),
    ),
    "older structural tag": ({"structural_tag": json.dumps(OLDER_TAG)}, lambda text: re.search(rb"<tool>-?[0-9.]+</tool>", text)),
}


@pytest.mark.every_release
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_served(kind: str, backend_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    constraint, check = KINDS[kind]
    requests = Engine(monkeypatch, backend_name)
    for seed in range(5):
        request = requests.request(**constraint)
        assert isinstance(request.grammar, PscGrammar), request.to_finish
        text = finish(requests, request, seed)
        assert check(text), text
        assert request.grammar.grammar_stats.is_cache_hit == (seed > 0)


BAD = {
    "a schema that is no JSON": {"json_schema": '{"type":'},
    "a schema with an unknown type": {"json_schema": '{"type": "objct"}'},
    "a regex": {"regex": "(a"},
    "EBNF": {"ebnf": "root ::= ("},
    "EBNF without its root": {"ebnf": 'other ::= "a"'},
    "EBNF with a NUL": {"ebnf": 'root ::= "a\0"'},
    "a structural tag that is no JSON": {"structural_tag": "{"},
    "a structural tag that is a list": {"structural_tag": "[1]"},
    "a structural tag without its form": {"structural_tag": "{}"},
    "an older tag without triggers": {"structural_tag": '{"structures": [{"begin": "<a>", "end": "</a>"}]}'},
    "an older tag of texts": {"structural_tag": '{"structures": ["<a>"], "triggers": ["<"]}'},
    "a deep schema": {"json_schema": '{"items":' * 5000 + "{}" + "}" * 5000},
    "half of a surrogate pair": {"ebnf": 'root ::= "\ud800"'},
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_request_fails_alone(case: str, backend_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = Engine(monkeypatch, backend_name)
    good = requests.request(regex="ab")
    for _ in range(2):  # the second time from the engine's cache
        request = requests.request(**BAD[case])
        assert request.grammar is None
        assert request.to_finish.message.startswith(f"Failed to compile {next(iter(BAD[case])).removesuffix('_schema')} grammar: ")
        assert not request.to_finish.message.endswith(": ")
    assert finish(requests, good) == b"ab"


@pytest.mark.every_release
def test_the_plugin_is_found_and_loaded_by_the_engine() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    ((name, value),) = pyproject["project"]["entry-points"][plugins.GENERAL_PLUGINS_GROUP].items()
    with plugin("0"), pytest.MonkeyPatch.context() as changes:
        changes.setattr(plugins, "entry_points", lambda group: [EntryPoint(name, value, group)] if "platforms" not in group else [])
        changes.setattr(plugins, "_plugins_loaded", False)
        changes.delenv(adapter.SWITCH)
        plugins.load_plugins()
        assert base_grammar_backend.GRAMMAR_BACKEND_REGISTRY.keys() == {"psc"}
        assert GRAMMAR_BACKEND_CHOICES.count("psc") == 1
        assert xgrammar_backend.XGrammarGrammarBackend is PscGrammarBackend


@pytest.mark.every_release
@pytest.mark.parametrize("switch", ["0", "off"])
def test_switched_off_the_engine_is_as_it_was(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = base_grammar_backend.create_grammar_backend, BaseGrammarObject.fill_vocab_mask_batched
    with plugin(switch):
        assert base_grammar_backend.GRAMMAR_BACKEND_REGISTRY == {}
        assert "psc" not in GRAMMAR_BACKEND_CHOICES
        assert xgrammar_backend.XGrammarGrammarBackend is xgrammars_own()
        assert before == (base_grammar_backend.create_grammar_backend, BaseGrammarObject.fill_vocab_mask_batched)
        assert type(Engine(monkeypatch, "xgrammar").backend) is xgrammars_own()


@pytest.mark.every_release
def test_added_alone_psc_leaves_xgrammar_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "psc.adapters.sglang")
    with plugin("add"):
        assert type(Engine(monkeypatch, "xgrammar").backend) is xgrammars_own()
        assert "serves structured outputs" not in caplog.text
        assert type(Engine(monkeypatch, "psc").backend) is PscGrammarBackend
        assert "serves structured outputs" in caplog.text


def test_another_release_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for version in ("0.5.18", "0.5.23", "9.9"):
        monkeypatch.setattr("psc.adapters.seams.version", lambda distribution, version=version: version)
        assert not caplog.text
        assert seams.fits()
    assert "tested with sglang 0.5.18 to 0.5.23, and this is 9.9" in caplog.text


@pytest.mark.parametrize(
    ("seam", "message"),
    [
        (Seam(f"{seams.BASE}:no_such_name"), "no_such_name is not there"),
        (Seam("sglang.srt.no_module:name"), "no_module:name is not there"),
        (Seam(f"{seams.BASE}:register_grammar_backend", ("name", "factory")), r"takes \(name, init_func\) and no factory"),
    ],
)
def test_where_a_name_is_missing_the_engine_is_left_alone(
    seam: Seam, message: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seams, "SEAMS", (*seams.SEAMS, seam))
    with plugin():
        assert xgrammar_backend.XGrammarGrammarBackend is xgrammars_own()
        assert base_grammar_backend.GRAMMAR_BACKEND_REGISTRY == {}
    assert re.search(message, caplog.text)


def test_the_model_says_which_tokens_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        requests = Engine(monkeypatch, "xgrammar")
        assert requests.backend.service.tokenizer_info.stop_token_ids == [EOS]
    stops = tokenizer_info(tokenizer(), VOCAB_SIZE, {3, EOS}).stop_token_ids
    assert stops == sorted({3, EOS})


@pytest.mark.every_release
def test_a_tokenizer_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    overridden = []
    with plugin():
        context = SimpleNamespace(override=lambda *args, **kwargs: overridden.append(kwargs))
        monkeypatch.setattr(base_grammar_backend, "get_context", lambda: context)
        assert Engine(monkeypatch, "xgrammar", its_tokenizer=Unreadable()).backend is None  # as the engine has it for XGrammar
        assert overridden == [{"grammar_backend": "none"}]
        with pytest.raises(ValueError, match=r"--grammar-backend psc: .*Unreadable"):
            Engine(monkeypatch, "psc", its_tokenizer=Unreadable())


def test_the_engines_tiktoken_tokenizer(tmp_path: Path) -> None:
    tiktoken_tokenizer = pytest.importorskip("sglang.srt.tokenizer.tiktoken_tokenizer")
    pytest.importorskip("tiktoken")
    pytest.importorskip("jinja2")
    texts = [bytes([i]) for i in range(256)] + [b"ab", b"\0a"]
    special = ["<|pad|>", "<|separator|>", "<|eos|>"]
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps(
            {
                "regular_tokens": [{"bytes": list(t), "token": i + 3} for i, t in enumerate(texts)],
                "special_tokens": [{"bytes": list(t.encode()), "token": i} for i, t in enumerate(special)],
                "word_split": "V1",
            }
        )
    )
    its = tiktoken_tokenizer.TiktokenTokenizer(str(path))
    info = tokenizer_info(its, 300, {2})
    assert (info.stop_token_ids, info.vocab_size) == ([2], 300)
    assert info.special_token_ids[:3] == [0, 1, 2]
    assert [info.token_bytes(i + 3) for i in range(len(texts))] == texts


def test_a_tokenizer_that_only_tells_xgrammar(monkeypatch: pytest.MonkeyPatch) -> None:
    from xgrammar import TokenizerInfo

    class Tekken:
        def init_xgrammar(self) -> tuple[Any, Any]:
            return TokenizerInfo(["</s>", b"a", b"b", "<|xg_special_token_nul3|>"], stop_token_ids=[0]), [0]

    info = tokenizer_info(Tekken(), 8)
    assert (info.vocab_size, info.stop_token_ids) == (8, [0])
    assert info.text_token_ids.tolist() == [1, 2]
    monkeypatch.setattr(Tekken, "init_xgrammar", lambda self: (None, None))
    with pytest.raises(TokenizerError, match="Tekken: neither psc nor init_xgrammar"):
        tokenizer_info(Tekken(), 8)


def test_ranks_have_equal_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        ranks = [Engine(monkeypatch, "xgrammar") for _ in range(2)]
        for constraint, _ in KINDS.values():
            rng = random.Random(1)
            requests = [rank.request(**constraint) for rank in ranks]
            for _ in range(12):
                rows = [rank.mask(r)[0] for rank, r in zip(ranks, requests, strict=True)]
                assert (rows[0] == rows[1]).all()
                token = rng.choice(np.flatnonzero(rows[0]).tolist())
                assert [rank.accept(r, token) for rank, r in zip(ranks, requests, strict=True)] == [[token]] * 2
                if requests[0].grammar.is_terminated():
                    break
        # A limit of time would depend on the rank.
        monkeypatch.setenv("PSC_COMPILE_TIMEOUT_S", "1")
        assert Engine(monkeypatch, "xgrammar").backend.service.options.compile_timeout_s == 0


def test_artifacts_of_a_store_serve_all_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tokenizer_info(tokenizer(), VOCAB_SIZE, {EOS})
    compiler = psc.GrammarCompiler(info, store=tmp_path)
    compiler.finish(compiler.compile_regex("(ab)+")).result()
    monkeypatch.setenv("PSC_STORE", str(tmp_path))
    with plugin():
        for _ in range(2):
            requests = Engine(monkeypatch, "xgrammar")
            assert not requests.request(regex="(ab)+").grammar.ctx.is_lazy
            assert requests.request(regex="ab").grammar.ctx.is_lazy
            assert requests.backend.service.counters.get("artifacts") == 1


@pytest.mark.every_release
def test_rollback_copy_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        request = Engine(monkeypatch, "psc").request(regex="ab")
        grammar = request.grammar
        assert grammar.current_token is None
        for token in (token_of("a"), token_of("b"), EOS):
            grammar.accept_token(token)
        assert grammar.is_terminated() and grammar.current_token == EOS
        grammar.accept_token(5)  # engines pad
        assert grammar.current_token == EOS
        grammar.rollback(2)
        assert not grammar.is_terminated()
        grammar.accept_token(token_of("b"))
        copied = grammar.copy()
        copied.accept_token(token_of("a"))
        assert copied.grammar_stats.is_cache_hit and not grammar.grammar_stats.is_cache_hit
        grammar.rollback(99)  # more than there were: said when the next token comes
        with pytest.raises(ValueError, match="99"):
            grammar.accept_token(EOS)
        assert bool(grammar) and "PscGrammar(" in repr(grammar)


@pytest.mark.every_release
def test_a_batch_of_all_classes_is_filled_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("PSC_FALLBACK", "engine")
    with plugin():
        requests = Engine(monkeypatch, "xgrammar", reasoning_parser="qwen3")
        thinking = requests.request(regex="ab", reasoning=True)
        grammars = [
            requests.request(regex="ab").grammar,
            thinking.grammar,
            requests.request(**REFUSED_BY_PSC).grammar,
            requests.request(json_schema='{"type": "object"}').grammar,
            requests.request(regex="c").grammar.grammar,  # without the wrapper
        ]
        shape = (8, -(-VOCAB_SIZE // 32))
        batch, single = torch.full(shape, -1, dtype=torch.int32), torch.full(shape, -1, dtype=torch.int32)
        entries = [GrammarRow(row=row, grammar=g) for row, g in zip((6, 1, 3, 0, 5), grammars, strict=True)]
        before = requests.backend.grammar_backend.service.counters.get("masks")
        grammars[0].fill_vocab_mask_batched(entries, batch)
        for entry in entries:
            entry.grammar.fill_vocab_mask(single, entry.row)
        assert torch.equal(batch, single)
        assert (batch[[2, 4, 7]] == -1).all() and (batch[0] != -1).any()
        assert engine.bits(batch)[1].sum() == VOCAB_SIZE - 2  # while it thinks, no stop token and no call
        assert requests.backend.grammar_backend.service.counters.get("masks") - before == 3


@pytest.mark.every_release
def test_masks_are_applied_by_the_engines_code(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    with plugin():
        grammar = Engine(monkeypatch, "psc").request(regex="ab").grammar
        mask = grammar.allocate_vocab_mask(vocab_size=VOCAB_SIZE, batch_size=2, device="cpu")
        grammar.fill_vocab_mask(mask, 1)
        logits = torch.zeros((2, VOCAB_SIZE))
        grammar.apply_vocab_mask(logits=logits, vocab_mask=grammar.move_vocab_mask(mask, "cpu"))
        assert (logits[0] == 0).all()
        allowed = [t for t, text in enumerate(token_bytes()) if text in (b"a", b"ab")]
        assert torch.nonzero(logits[1] == 0).flatten().tolist() == allowed


@pytest.mark.every_release
def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin():
        requests = Engine(monkeypatch, "xgrammar", reasoning_parser="qwen3")
        assert requests.backend.cache is requests.backend.grammar_backend.cache
        monkeypatch.setattr(compilations, "_MAX_ENTRIES", 5)
        for i in range(10):
            requests.request(regex=f"a{{{i + 1}}}")
            requests.request(regex="kept")
            requests.request(regex=f"({i}")  # a refusal
        assert len(requests.backend.cache) == 5
        assert ("regex", "kept") in requests.backend.cache
        cache = compilations.GrammarCache(max_bytes=1)
        for text, grammar in list(requests.backend.cache.items()):
            cache[text] = grammar
        assert list(cache) == [text]
        requests.manager.clear()
        assert not requests.backend.cache
        assert isinstance(requests.request(regex="kept").grammar.grammar, PscGrammar)


def test_cancelling_a_request_calls_its_compilation_off() -> None:
    executor = compilations.CompilingExecutor(max_workers=1)
    began = threading.Event()
    compiler = psc.GrammarCompiler(tokenizer_info(tokenizer(), VOCAB_SIZE), store=False)

    def compile_much() -> None:
        began.set()
        for i in range(10**6):
            compiler.compile_regex(f"x{i}")

    running: Future[None] = executor.submit(compile_much)
    waiting: Future[int] = executor.submit(int, "3")
    began.wait()
    assert waiting.cancel() and waiting.cancelled()
    running.cancel()
    with pytest.raises(CompilationCancelledError):
        running.result(timeout=60)
    assert executor.submit(int, "7").result(timeout=60) == 7
    executor.shutdown()


@pytest.mark.every_release
def test_white_space_is_as_the_server_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    if "max_whitespace_cnt" not in inspect.signature(xgrammars_own()).parameters:
        pytest.skip("this release has no such option")
    with plugin():
        for name in ("psc", "xgrammar"):
            requests = Engine(monkeypatch, name, constrained_json_max_whitespace_cnt=1)
            request = requests.request(json_schema='{"type": "object"}')
            assert requests.accept(request, token_of("{"))
            space = tokenizer().encode(" ")[0]
            assert requests.accept(request, space) == [space]
            assert not requests.mask(request)[0][space]


@pytest.mark.every_release
@pytest.mark.parametrize("name", ["psc", "xgrammar"])
def test_json_without_free_white_space_is_as_xgrammar_has_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with plugin("add"):
        requests = Engine(monkeypatch, name, constrained_json_disable_any_whitespace=True)
        for text, length in (('{"a": [1, 2]}', 13), ('{"a":[1]}', 5), ('{ "a"', 1)):
            request = requests.request(json_schema='{"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}')
            assert len(requests.accept(request, *tokenizer().encode(text))) == length
