"""Packages that a file of tests needs: looked for when tests are collected, imported when one uses them.

Each process of a run collects every file, and runs some: JAX and OpenAI's client take three seconds each to import.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class _Later:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def needed(name: str) -> Any:
    """The module, which is imported when something of it is used. Where it is not installed, the tests of the file are skipped."""
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"could not import {name!r}", allow_module_level=True)
    return _Later(name)
