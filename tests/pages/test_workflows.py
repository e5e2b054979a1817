"""The workflows of .github run scripts of .ci that exist, and between them all that `.ci/run` runs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def scripts(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w/])\.ci/[\w.-]+[\w]", text))


def test_scripts_exist() -> None:
    assert len(WORKFLOWS) == 5
    for workflow in WORKFLOWS:
        for script in scripts(workflow.read_text()):
            assert (ROOT / script).exists(), f"{workflow.name}: {script}"


def test_nothing_of_ci_is_left_out() -> None:
    run = (ROOT / ".ci/run").read_text()
    tests = (ROOT / ".github/workflows/test.yml").read_text()
    assert scripts(run) <= scripts(tests)
    for command in ("ruff check .", "ruff format --check .", "mypy", "lint-imports", "clang-format --dry-run --Werror"):
        assert command in run and command in tests
