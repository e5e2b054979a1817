"""What users of llama.cpp do, with real `Llama` objects of random weights: vocabularies, schemas, calls, text after text."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from constrained_texts import LIST, closing_bias
from gguf_bytes import NORMAL
from gguf_models import byte_level_vocabulary, harmony_vocabulary, sentencepiece_vocabulary, write_model

llama_cpp = pytest.importorskip("llama_cpp")
pytest.importorskip("gguf")

import psc  # noqa: E402
from psc.adapters.llama_cpp import GrammarLogitsProcessor, tokenizer_info  # noqa: E402

KINDS = {
    "sentencepiece": (sentencepiece_vocabulary(), "</s>"),
    "byte-level": (byte_level_vocabulary(0), "<|im_end|>"),
    "padded": (byte_level_vocabulary(448), "<|im_end|>"),
    "harmony": (harmony_vocabulary(), "<|return|>"),
}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "windy": {"type": "boolean"}},
    "required": ["city", "windy"],
    "additionalProperties": False,
}


class Model(NamedTuple):
    """A loaded model, its file, and the compiler for its vocabulary."""

    llama: Any
    path: Path
    info: psc.TokenizerInfo
    compiler: psc.GrammarCompiler


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = tmp_path_factory.mktemp("gguf") / f"{request.param}.gguf"
    vocabulary, end = KINDS[request.param]
    write_model(path, vocabulary, end=end)
    llama = llama_cpp.Llama(str(path), n_ctx=512, n_threads=1, n_threads_batch=1, verbose=False, seed=5, chat_format="chatml")
    info = tokenizer_info(llama)
    yield Model(llama, path, info, psc.GrammarCompiler(info, store=False))
    llama.close()


def complete(model: Model, processor: GrammarLogitsProcessor, *before: Any, prompt: str = "a b", **options: Any) -> Any:
    return model.llama.create_completion(
        prompt,
        logits_processor=llama_cpp.LogitsProcessorList([*before, processor]),
        stopping_criteria=llama_cpp.StoppingCriteriaList([processor.stop_on_error]),
        **{"max_tokens": 300, "temperature": 1.0, **options},
    )


def text_of(answer: Any) -> str:
    [choice] = answer["choices"]
    assert choice["finish_reason"] == "stop", choice
    text: str = choice["text"]
    return text


def test_the_vocabulary_is_that_of_the_file(model: Model) -> None:
    read = psc.load_tokenizer(model.path)
    assert [read.token_bytes(i) for i in range(read.vocab_size)] == [
        model.info.token_bytes(i) for i in range(model.info.vocab_size)
    ]
    assert (read.stop_token_ids, read.special_tokens) == (model.info.stop_token_ids, model.info.special_tokens)
    assert read.tokens_fingerprint == model.info.tokens_fingerprint
    assert read.name == model.info.name == model.path.name


def test_the_vocabulary_without_weights(model: Model) -> None:
    llama = llama_cpp.Llama(str(model.path), vocab_only=True, verbose=False)
    assert tokenizer_info(llama).tokens_fingerprint == model.info.tokens_fingerprint
    llama.close()


def test_tokens_stand_for_what_llama_cpp_writes(model: Model) -> None:
    """Texts there and back, and tokens at random, behind one that is no space, which llama.cpp may take away."""
    first = next(i for i in range(model.info.vocab_size) if model.info.token_bytes(i) == b"o")
    for text in (" the class", 'o{"a": [1, 2.5, null]}\n', "o naïve 日本 😀", "o <tool_call>"):
        tokens = model.llama.tokenize(text.encode(), add_bos=False, special=False)
        assert b"".join(map(model.info.token_bytes, tokens)).lstrip() == text.encode().lstrip()
    text_ids = [i for i in range(model.info.vocab_size) if model.info.token_bytes(i)]
    rng = np.random.default_rng(1)
    for _ in range(50):
        tokens = [first, *map(int, rng.choice(text_ids, 20))]
        assert b"".join(map(model.info.token_bytes, tokens)) == model.llama.detokenize(tokens)


def test_what_ends_a_text(model: Model) -> None:
    vocab = llama_cpp.llama_model_get_vocab(model.llama.model)
    assert model.info.stop_token_ids == [i for i in range(model.info.vocab_size) if llama_cpp.llama_vocab_is_eog(vocab, i)]


def test_a_schema_a_call_and_a_bundled_grammar(model: Model) -> None:
    """Request after request, each with a processor of its own; the grammars are compiled once."""
    tools: list[Any] = [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]
    call = psc.get_model_structural_tag("qwen_3", tools, "required", reasoning="disabled", parallel_tool_calls=False)
    schema = model.compiler.compile_json_schema(SCHEMA, any_whitespace=False)
    tag = model.compiler.compile_structural_tag(call)
    csv = model.compiler.compile_structural_tag(
        psc.StructuralTag.model_validate(
            {"type": "structural_tag", "format": {"type": "sequence", "elements": [{"type": "grammar", "grammar": "csv"}]}}
        )
    )
    bias = closing_bias(model.info, model.info.vocab_size)

    def closing(input_ids: Any, scores: Any) -> Any:
        return scores + bias * (len(input_ids) / 5)

    for prompt in ("a b", "the", "a b"):
        answer = json.loads(text_of(complete(model, GrammarLogitsProcessor(schema), prompt=prompt)))
        assert answer["city"] in ("Oslo", "Rome") and isinstance(answer["windy"], bool)
        written = text_of(complete(model, GrammarLogitsProcessor(tag), closing, prompt=prompt))
        found = re.fullmatch(r"<tool_call>\n(.*)\n</tool_call>", written, re.DOTALL)
        assert found and json.loads(found[1])["arguments"].keys() == SCHEMA["properties"].keys()
        table = text_of(complete(model, GrammarLogitsProcessor(csv), closing, prompt=prompt))
        assert psc.GrammarMatcher(csv).accept_string(table)


def test_one_processor_for_text_after_text(model: Model) -> None:
    """Prompts of all lengths, the same one twice, and one that goes on where the last text stopped, after `reset`."""
    processor = GrammarLogitsProcessor(model.compiler.compile_grammar(LIST))
    prompt = "a"
    for again in ("a", "a longer prompt", "a", "the", "the"):
        processor.reset()
        assert re.fullmatch(r"\[[a-z]{1,8}(,[a-z]{1,8}){0,3}\]", text_of(complete(model, processor, prompt=again)))
    for _ in range(3):
        processor.reset()
        prompt += text_of(complete(model, processor, prompt=prompt))
    assert re.fullmatch(r"a(\[[a-z,]+\]){3}", prompt)


def test_a_stream(model: Model) -> None:
    processor = GrammarLogitsProcessor(model.compiler.compile_json_schema(SCHEMA))
    bias = closing_bias(model.info, model.info.vocab_size)
    pieces = list(complete(model, processor, lambda ids, scores: scores + bias, stream=True))
    text = "".join(piece["choices"][0]["text"] for piece in pieces)
    assert pieces[-1]["choices"][0]["finish_reason"] == "stop"
    assert json.loads(text).keys() == SCHEMA["properties"].keys()


def test_a_chat(model: Model) -> None:
    processor = GrammarLogitsProcessor(model.compiler.compile_regex("[0-9]{3}"))
    messages = [{"role": "user", "content": "hi"}]
    for _ in range(3):
        processor.reset()
        answer = model.llama.create_chat_completion(
            messages, logits_processor=llama_cpp.LogitsProcessorList([processor]), max_tokens=50
        )
        [choice] = answer["choices"]
        assert re.fullmatch("[0-9]{3}", choice["message"]["content"]) and choice["finish_reason"] == "stop"
        assert processor.error is None
        messages += [choice["message"], {"role": "user", "content": "again"}]


def test_tokens_that_are_none_are_never_written(model: Model) -> None:
    """However much the model likes them."""
    none = [i for i in range(model.info.vocab_size) if not model.info.token_bytes(i) and i not in model.info.stop_token_ids]

    def liking(input_ids: Any, scores: Any) -> Any:
        scores[none] += 100.0
        return scores

    processor = GrammarLogitsProcessor(model.compiler.compile_regex('"[^"]{20}"'))
    tokens = []
    for token in model.llama.generate(
        model.llama.tokenize(b"a"), logits_processor=llama_cpp.LogitsProcessorList([liking, processor]), temp=1.0
    ):
        if token in model.info.stop_token_ids:
            break
        tokens.append(token)
    assert re.fullmatch('"[^"]{20}"', b"".join(map(model.info.token_bytes, tokens)).decode())


def test_a_bias_that_drops_the_processors_is_noticed(model: Model) -> None:
    processor = GrammarLogitsProcessor(model.compiler.compile_grammar(LIST))
    try:
        answer = complete(model, processor, logit_bias={"5": 1.0})
    except psc.MatcherError as error:
        assert "without calling this processor" in str(error)
    else:  # a release that keeps them
        assert text_of(answer).startswith("[")
    processor.reset()
    assert text_of(complete(model, processor)).startswith("[")


def test_text_that_ends_a_text(tmp_path: Path) -> None:
    """llama.cpp ends a text at `</s>`, also where that is HTML. So it is no text in masks, and counts as text in artifacts."""
    vocabulary = [*byte_level_vocabulary(0), ("</s>", NORMAL)]
    end = len(vocabulary) - 1
    write_model(tmp_path / "m.gguf", vocabulary, end="<|im_end|>")
    llama = llama_cpp.Llama(str(tmp_path / "m.gguf"), vocab_only=True, verbose=False)
    info, read = tokenizer_info(llama), psc.load_tokenizer(tmp_path / "m.gguf")
    llama.close()
    assert read.token_bytes(end) == b"</s>" and end not in read.stop_token_ids
    if end not in info.stop_token_ids:
        pytest.skip("a release of llama.cpp that does not")
    assert info.token_bytes(end) == b""
    assert info.fingerprint == read.fingerprint


def test_what_is_no_model(model: Model) -> None:
    with pytest.raises(psc.TokenizerError, match=r"psc\.load_tokenizer"):
        tokenizer_info(str(model.path))
