"""The check `.ci/native_rooms` finds what it is there for, and nothing in the core as it is."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def rooms() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("native_rooms", os.fspath(ROOT / ".ci/native_rooms"))
    spec = importlib.util.spec_from_loader("native_rooms", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


WRONG = [
    "    nb::gil_scoped_release release;",
    "    const nb::gil_scoped_release release;",
    '    m.def("f", &f, nb::call_guard<nb::gil_scoped_release>());',
    "    using Release = nb::call_guard<nb::gil_scoped_release>;",
    "    nb::gil_scoped_acquire acquire;",
    "    PyThreadState* const thread = PyEval_SaveThread();",
    "    PyEval_RestoreThread(thread);",
    "    Py_BEGIN_ALLOW_THREADS",
    "    const auto state = PyGILState_Ensure();",
    "        static const TextAutomaton whole = integers();",
    "    static const std::vector<int> everywhere = all();",
    "inline const std::string kName = make();",
    "static std::u32string text{};",
    "    static std::unordered_map<int, int> seen;",
]
RIGHT = [
    "    const WithoutInterpreterLock release;  // not nb::gil_scoped_release",
    "// nb::gil_scoped_release is refused.",
    "    using Release = nb::call_guard<WithoutInterpreterLock>;",
    "    if (PyGILState_Check()) return;",
    "    static const auto& whole = *new TextAutomaton(integers());",
    "static std::vector<int> words_of(const Rule& rule) {",
    "    static std::string text(Word number);",
    "    static constexpr std::array<int, 3> kThree{};",
]


@pytest.mark.parametrize("line", WRONG)
def test_a_line_that_is_refused(rooms: ModuleType, tmp_path: Path, line: str) -> None:
    for folder, name, found in [("python", "other.cpp", 1), ("text", "other.hpp", 1)]:
        file = tmp_path / "native" / folder / name
        file.parent.mkdir(parents=True)
        file.write_text(f"\n{line}\n")
        assert [w.partition(": ")[0] for w in rooms.wrong_lines(tmp_path / "native")] == [f"native/{folder}/{name}:2"] * found
        file.unlink()


@pytest.mark.parametrize("line", RIGHT)
def test_a_line_that_is_not(rooms: ModuleType, tmp_path: Path, line: str) -> None:
    (tmp_path / "native").mkdir()
    (tmp_path / "native" / "some.cpp").write_text(line)
    assert rooms.wrong_lines(tmp_path / "native") == []


def test_the_core_as_it_is(rooms: ModuleType) -> None:
    assert rooms.wrong_lines(ROOT / "native") == []
    assert rooms.wrong_includes(rooms.rooms()) == []
