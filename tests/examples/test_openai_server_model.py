"""The example server with a model of Transformers, from its folder."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai_serving import TOOLS, USER, serving
from small_models import save_small_llama

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


def test_its_own_end(client: Any) -> None:
    """Free text ends with the model's end-of-sequence token, which is no part of it."""
    choice = client.completions.create(model="tiny", prompt="a", max_tokens=4, logit_bias={"0": 100}).choices[0]
    assert (choice.text, choice.finish_reason) == ("", "stop")
    assert client.chat.completions.create(model="tiny", messages=USER, tools=TOOLS, max_tokens=4).choices
