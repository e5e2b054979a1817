"""A GGUF file becomes a folder that engines load: what is in it, and what becomes of it."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

import psc
from psc.generation import converted
from psc.generation.converted import model_folder, prepared
from psc.generation.models import ModelError, ModelFiles

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for name in ("gguf", "accelerate", "transformers"):
        pytest.importorskip(name)
    from gguf_models import write_model

    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    write_model(path)
    return path


@pytest.fixture(scope="module")
def made(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(ModelFiles("small", file, template=TEMPLATE), cache=tmp_path_factory.mktemp("made"))


def test_what_an_engine_reads(file: Path, made: Path) -> None:
    from safetensors import safe_open

    config = json.loads((made / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"] and config["dtype"] == "bfloat16"
    assert "quantization_config" not in config
    with safe_open(made / "model.safetensors", "pt") as weights:
        assert {str(weights.get_tensor(name).dtype) for name in weights.keys()} == {"torch.bfloat16"}  # noqa: SIM118
        assert "lm_head.weight" in weights.keys()  # noqa: SIM118
    assert sorted(path.name for path in made.iterdir()) == [
        *("chat_template.jinja", "config.json", "generation_config.json"),
        *("model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    ]
    ours, its = psc.load_tokenizer(made), psc.load_tokenizer(file)
    assert (ours.fingerprint, ours.stop_token_ids) == (its.fingerprint, its.stop_token_ids)


def test_the_model_is_that_of_the_file(file: Path, made: Path) -> None:
    import torch
    import transformers

    def logits(**source: Any) -> Any:
        model = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
        with torch.inference_mode():
            return model(torch.arange(3, 40)[None]).logits

    whole = logits(pretrained_model_name_or_path=file.parent, gguf_file=file.name)
    assert torch.allclose(logits(pretrained_model_name_or_path=made), whole, atol=0.05 * float(whole.abs().max()))
    tokenizer = transformers.AutoTokenizer.from_pretrained(made)
    assert tokenizer.apply_chat_template([{"role": "user", "content": "the"}], tokenize=False) == "the"


def test_a_tied_head_is_left_out(tmp_path: Path, file: Path) -> None:
    from gguf_models import write_model
    from safetensors import safe_open

    write_model(tmp_path / "tied.gguf", tied=True)
    folder = model_folder(str(tmp_path / "tied.gguf"), cache=tmp_path / "cache")
    with safe_open(folder / "model.safetensors", "pt") as weights:
        assert "lm_head.weight" not in weights.keys()  # noqa: SIM118
    assert json.loads((folder / "config.json").read_text())["tie_word_embeddings"]


def test_once(file: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    first = model_folder(str(file), cache=tmp_path / "cache", progress=steps.append)
    assert steps == ["converting the tokenizer", "converting the weights", "writing the folder"]
    assert model_folder(str(file), cache=tmp_path / "cache", progress=steps.append) == first and len(steps) == 3
    changed = tmp_path / "small.gguf"
    changed.write_bytes(file.read_bytes())
    other = model_folder(str(changed), cache=tmp_path / "cache")
    assert other != first and sorted((tmp_path / "cache").iterdir()) == sorted([first, other])
    os.utime(changed, (1, 1))
    assert model_folder(str(changed), cache=tmp_path / "cache") not in (first, other)


def test_a_file_in_parts(file: Path, made: Path, tmp_path: Path) -> None:
    data = file.read_bytes()
    parts = tuple(tmp_path / f"small.part{i}" for i in range(3))
    for i, part in enumerate(parts):
        part.write_bytes(data[i * 1000 : (i + 1) * 1000 if i < 2 else None])
    files = ModelFiles("small", parts[0], parts)
    assert files.is_gguf
    folder = model_folder(files, cache=tmp_path / "cache")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (folder / name).read_bytes() == (made / name).read_bytes()
    parts[2].write_bytes(parts[2].read_bytes()[:-100])
    with pytest.raises(ModelError, match="small: Transformers cannot read this model"):
        model_folder(files, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [folder]


def test_no_cache(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(converted.ENVIRONMENT, str(tmp_path / "cache"))
    with prepared(ModelFiles("small", file), keep=False) as files:
        assert (files.path / "config.json").is_file() and files.converted and not files.is_gguf
    assert not files.path.exists() and not (tmp_path / "cache").exists()
    with prepared(ModelFiles("small", file), keep=True) as files:
        pass
    assert files.path.parent == tmp_path / "cache" and (files.path / "config.json").is_file()
    monkeypatch.setattr(converted, "MAX_BYTES", file.stat().st_size - 1)
    with prepared(ModelFiles("small", file), keep=True) as files:
        assert files == ModelFiles("small", file)


def test_a_folder_is_its_own(made: Path, tmp_path: Path) -> None:
    assert model_folder(str(made), cache=tmp_path / "cache") == made
    with prepared(ModelFiles("folder", made), keep=True) as files:
        assert files == ModelFiles("folder", made)


def test_the_longest_unused_goes(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converted, "MAX_KEPT", 2)
    for name, age_h in (("oldest", 9), ("older", 8), ("used", 0.5), (".tmp-stopped", 5), (".tmp-running", 0.1), ("another's", 9)):
        folder = tmp_path / name
        folder.mkdir()
        if name in ("oldest", "older", "used"):
            (folder / "config.json").write_text("{}")
        os.utime(folder, (time.time() - 3600 * age_h,) * 2)
    made = model_folder(str(file), cache=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {made.name, "used", ".tmp-running", "another's"}


def test_a_cache_that_cannot_be_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match=r"cannot write the converted model: .*PSC_MODELS"):
        model_folder(str(file), cache=tmp_path / "file" / "cache")
