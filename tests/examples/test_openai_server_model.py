"""The example server with a model of Transformers, from its folder."""

import asyncio
import functools
import importlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai_serving import TOOLS, USER, serving
from small_models import save_small_llama

import psc

pytest.importorskip("starlette")
pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("tokenizers")
openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function.arguments.days }}{% endfor %}\n{% endfor %}"
)


@pytest.fixture(scope="module", params=[None, TEMPLATE], ids=["plain", "template"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = save_small_llama(tmp_path_factory.mktemp("models") / "tiny", '{"name": "city"}' * 20, chat_template=request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
        server = importlib.import_module("openai_server")
        model = server.TransformersLanguageModel(str(folder), "qwen_3")
        with serving(server.Engine(model)) as address, openai.OpenAI(base_url=f"{address}/v1", api_key="none") as client:
            yield client


def test_a_schema(client: Any) -> None:
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 3, "maxItems": 3}
    answer = client.chat.completions.create(
        model="tiny",
        messages=USER,
        max_tokens=200,
        extra_body={"structured_outputs": {"json": schema, "disable_any_whitespace": True}},
    )
    assert len(json.loads(answer.choices[0].message.content)) == 3
    assert answer.usage.prompt_tokens > 5


def test_a_call(client: Any) -> None:
    """The markers are special tokens of this model."""
    call = {"id": "call_1", "type": "function", "function": {"name": "get_days", "arguments": '{"days": 3}'}}
    messages = [*USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "Rain."})
    tools: list[Any] = [{"type": "function", "function": {"name": "f", "parameters": {"enum": [{"a": True}, {"b": None}]}}}]
    choice = client.chat.completions.create(
        model="tiny", messages=messages, tools=tools, tool_choice="required", parallel_tool_calls=False, max_tokens=900
    ).choices[0]
    assert choice.message.tool_calls[0].function.name == "f"
    if choice.finish_reason == "tool_calls":
        assert json.loads(choice.message.tool_calls[0].function.arguments) in ({"a": True}, {"b": None})


def test_what_is_forced_is_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logits are those of tokens that are read one by one, also after another token than was expected."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    model = importlib.import_module("openai_api.models").TransformersLanguageModel(
        str(save_small_llama(tmp_path / "tiny", '{"name": "city", "unit": "abc"}' * 20)), "qwen_3"
    )
    schema = {"type": "object", "properties": {"name": {"enum": ["city", "unit"]}, "unit": {"type": "boolean"}}}
    schema |= {"required": ["name", "unit"], "additionalProperties": False}
    compiled = psc.GrammarCompiler(model.info).compile_json_schema(json.dumps(schema), any_whitespace=False)
    prompt = model.prompt("unit")
    alone, ahead, matcher = model.begin(prompt), model.begin(prompt), psc.GrammarMatcher(compiled)
    passes: list[int] = []
    ahead._model.register_forward_pre_hook(lambda _, __, named: passes.append(named["input_ids"].shape[1]), with_kwargs=True)
    rng = np.random.default_rng(0)
    while not matcher.is_terminated():
        token = int(rng.choice(matcher.allowed_tokens()))
        assert matcher.accept_token(token)
        alone.feed(token)
        ahead.feed(token, [] if matcher.is_terminated() else matcher.find_forced_tokens())
        assert np.allclose(alone.logits, ahead.logits, atol=1e-4)
    for token, expected in ((5, [6, 7, 8]), (6, []), (9, [10, 11]), (3, [4]), (4, [1])):
        alone.feed(token)
        ahead.feed(token, expected)
        assert np.allclose(alone.logits, ahead.logits, atol=1e-4)
    del passes[:]
    ahead.feed(1, [2, 3])
    ahead.feed(2)
    ahead.feed(3)
    assert passes == [3]


def test_64_at_once(client: Any) -> None:
    """Half of them streamed. All forward passes are of one thread."""
    threads: set[str] = set()

    async def answers() -> list[str]:
        async with openai.AsyncOpenAI(base_url=client.base_url, api_key="none", timeout=120) as together:
            return await asyncio.gather(*(text(together, i) for i in range(64)))

    async def text(together: Any, i: int) -> str:
        asked = {"model": "tiny", "prompt": "a", "extra_body": {"regex": f"{i}(-[0-9]{{3}}){{2}}"}}
        if i % 2:
            return (await together.completions.create(**asked)).choices[0].text
        return "".join([chunk.choices[0].text async for chunk in await together.completions.create(stream=True, **asked)])

    llama = importlib.import_module("transformers").LlamaForCausalLM
    forward = llama.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        threads.add(threading.current_thread().name)
        return forward(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llama, "forward", functools.wraps(forward)(counted))
        for i, written in enumerate(asyncio.run(answers())):
            assert re.fullmatch(f"{i}(-[0-9]{{3}}){{2}}", written)
    assert len(threads) == 1


def test_tools_without_a_place_in_the_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    folder = save_small_llama(tmp_path / "tiny", "name", chat_template=template)
    model = importlib.import_module("openai_api.models").TransformersLanguageModel(str(folder))
    listed = "\n".join(["You may call these tools:", *map(json.dumps, TOOLS)])
    for first, begin in ([], f"system: {listed}\n"), ([{"role": "system", "content": "Hi."}], f"system: Hi.\n\n{listed}\n"):
        prompt = b"".join(map(model.info.token_bytes, model.chat_prompt([*first, *USER], TOOLS)))
        assert prompt.decode() == f"{begin}user: {USER[0]['content']}\n"


def test_a_conversation_that_the_template_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    template = "{{ raise_exception('roles must alternate') }}"
    folder = save_small_llama(tmp_path / "tiny", "name", chat_template=template)
    model = importlib.import_module("openai_api.models").TransformersLanguageModel(str(folder))
    with pytest.raises(importlib.import_module("openai_api.errors").ApiError, match=r"messages: .*: roles must alternate"):
        model.chat_prompt(USER, [])


@pytest.mark.parametrize("path", ["completions", "chat", "responses"])
def test_longer_than_the_model(client: Any, path: str) -> None:
    """The model reads and writes 2,048 tokens."""

    def create(text: str) -> Any:
        asked: dict[str, Any] = {"model": "tiny", "extra_body": {"logit_bias": {"0": -100}}}
        if path == "completions":
            return client.completions.create(prompt=text, max_tokens=4096, **asked).usage
        if path == "chat":
            messages = [{"role": "user", "content": text}]
            return client.chat.completions.create(messages=messages, max_tokens=4096, **asked).usage
        return client.responses.create(input=text, max_output_tokens=4096, **asked).usage

    assert create("x" * 2000).total_tokens == 2048
    with pytest.raises(openai.BadRequestError, match="2048 in all") as caught:
        create("x" * 2048)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.param == {"completions": "prompt", "chat": "messages", "responses": "input"}[path]


def test_its_own_end(client: Any) -> None:
    """Free text ends with the model's end-of-sequence token, which is no part of it."""
    choice = client.completions.create(model="tiny", prompt="a", max_tokens=4, logit_bias={"0": 100}).choices[0]
    assert (choice.text, choice.finish_reason) == ("", "stop")
    assert client.chat.completions.create(model="tiny", messages=USER, tools=TOOLS, max_tokens=4).choices
