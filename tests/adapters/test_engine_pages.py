"""The programs of the pages that need an engine and a model, as they are written, with small random models under the names there.

`tests/pages` runs the others, where no engine is installed.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_blocks import blocks
from small_models import save_small_llama

import psc

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}
{% endfor %}{% for t in tools or [] %}{{ t | tojson }}{% endfor %}<|im_start|>assistant
"""
SCHEMA = {"type": "object", "properties": {"days": {"enum": [1, 2]}}, "required": ["days"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
CONVERSATION = [{"role": "user", "content": "What is the weather?"}]


def run(page: str, import_: str, **names: Any) -> dict[str, Any]:
    """Runs the one program of a page that has an import; the names that there are then."""
    path = ROOT / page
    [block] = [b for b in blocks(path) if b.language == "python" and import_ in b.text]
    names["psc"] = psc
    exec(compile("\n" * block.line + block.text, str(path), "exec"), names)  # the project's own page
    return names


def recorded(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """What a function returns from now on."""
    results: list[Any] = []
    function = getattr(owner, name)

    def record(*args: Any, **options: Any) -> Any:
        results.append(function(*args, **options))
        return results[-1]

    monkeypatch.setattr(owner, name, record)
    return results


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder, in which models are found by relative names; nothing is asked of a hub."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    yield tmp_path


def small_model(folder: Path) -> Path:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return save_small_llama(folder, '{"days": 1} <tool_call> get_weather arguments', chat_template=TEMPLATE)


def check(compiled: psc.CompiledGrammar, tokens: list[int]) -> None:
    """They are a text of the grammar, or its begin, and white space at most after the end."""
    matcher = psc.GrammarMatcher(compiled)
    for token in tokens:
        if matcher.is_terminated():
            return
        assert matcher.accept_token(token), (tokens, token)


@pytest.mark.filterwarnings("ignore")  # Transformers' own
def test_transformers(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_model(here / "model")
    transformers = importlib.import_module("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    answers = recorded(monkeypatch, model, "generate")
    names = run(
        "docs/serving/libraries.md",
        "apply_chat_template",
        model=model,
        tokenizer=transformers.AutoTokenizer.from_pretrained(folder, pad_token="<|end|>"),
        schema=SCHEMA,
        tools=TOOLS,
        conversation=CONVERSATION,
        other_conversation=[*CONVERSATION, {"role": "assistant", "content": "Rain."}, *CONVERSATION],
    )
    [answer] = answers
    n_prompt = names["prompts"]["input_ids"].shape[1]
    for compiled, row in zip((names["answer"], names["call"]), answer[:, n_prompt:].tolist(), strict=True):
        check(compiled, row)


@pytest.mark.filterwarnings("ignore")
def test_outlines(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("outlines", exc_type=ImportError)
    small_model(here / "Qwen/Qwen3-0.6B")
    names = run("docs/serving/other-engines.md", "import outlines")
    printed = capsys.readouterr().out.strip()
    assert printed.startswith("{") and psc.GrammarMatcher(names["compiled"]).accept_string(printed)


@pytest.mark.parametrize("page", ["docs/serving/libraries.md", "docs/decoding.md"])
def test_llama_cpp(page: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    from gguf_models import byte_level_vocabulary, write_model

    for name in ("model.gguf", "qwen3.gguf"):
        write_model(here / name, byte_level_vocabulary(448), end="<|im_end|>")
    answers = recorded(monkeypatch, llama_cpp.Llama, "create_completion")
    names = run(page, "from llama_cpp import", tools=TOOLS, prompt="What is the weather?")
    [answer] = answers
    names["llama"].close()
    assert names["processor"].error is None
    text = answer["choices"][0]["text"]
    assert text.startswith("<tool_call>") or page == "docs/decoding.md"


@pytest.mark.filterwarnings("ignore")
def test_mlx(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        importlib.import_module("mlx.core")
    except ImportError as e:  # mlx without a backend cannot be imported either
        pytest.skip(f"mlx: {e}")
    mlx_lm = pytest.importorskip("mlx_lm")
    small_model(here / "mlx-community/Qwen3-0.6B-4bit")
    answers = recorded(monkeypatch, mlx_lm, "generate")
    names = run("docs/serving/libraries.md", "mlx_lm.load", tools=TOOLS, prompt="What is the weather?")
    compiled = names["compiler"].compile_json_schema(SCHEMA, any_whitespace=False)
    more = {name: names[name] for name in ("mlx_lm", "model", "tokenizer", "prompt")}
    run("docs/decoding.md", "mlx_lm.generate(", compiled=compiled, **more)
    assert answers[0].startswith("<tool_call>")
    assert psc.GrammarMatcher(compiled).accept_string(answers[1])
