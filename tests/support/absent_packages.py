"""Stand-ins for packages that an engine imports and that its code on a CPU never uses.

Triton compiles kernels for GPUs, and takes a gigabyte; torchvision's wheels want CUDA. A module of a package that stands in has any
name: a class where the name is written like one, else something that can be called, subscripted and used as a decorator.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _Anything:
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        is_decorator = len(args) == 1 and callable(args[0]) and not kwargs
        return args[0] if is_decorator else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: object) -> Any:
        return self

    def __or__(self, other: object) -> Any:
        return self

    __ror__ = __or__


class _AnyObject:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


class _StandIn(ModuleType):
    __path__: Sequence[str] = ()
    __version__ = "0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_AnyObject,), {}) if name[0].isupper() else _Anything()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, packages: set[str]) -> None:
        self._packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in self._packages:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def standing_in(*packages: str) -> Iterator[None]:
    """While an engine is imported: stand-ins for those of the packages that are not installed.

    They are taken away afterwards, so that other libraries, which look for them when they need them, do not find them.
    """
    finder = _Finder({p for p in packages if p not in sys.modules and find_spec(p) is None})
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [n for n, module in sys.modules.items() if isinstance(module, _StandIn)]:
            del sys.modules[name]
