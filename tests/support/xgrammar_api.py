"""XGrammar's public names and signatures, and which of them psc has not, or has otherwise.

`xgrammar_names.json` holds the names, the parameters' names, and which of them have defaults and are keywords: facts of XGrammar's
interface, read out of its Python files without importing any.

    python tests/support/xgrammar_api.py write FOLDER   # the data again, FOLDER being an installed or unpacked `xgrammar`
    python tests/support/xgrammar_api.py page           # the list in docs/xgrammar.md again
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("xgrammar_names.json")
PAGE = Path(__file__).resolve().parents[2] / "docs/xgrammar.md"
STUB = Path(__file__).resolve().parents[2] / "psc/_core.pyi"
BEGIN, END = "<!-- what is not the same: tests/support/xgrammar_api.py writes this -->", "<!-- end -->"

LEFT_OUT = ("base", "load_binding", "tvm_ffi_binding", "contrib.mlxlm", "kernels.apply_token_bitmask_mlx")
"""Modules that are XGrammar's inside, or a program of its own."""

Parameters = dict[str, str]
"""Name -> "needed", "may be left out", "keyword", "keyword, may be left out", "rest"."""


def read(folder: Path) -> dict[str, Any]:
    """The public classes and functions that each module defines; of a class its public methods and fields."""
    modules: dict[str, Any] = {}
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix("__init__").rstrip(".")
        if name.startswith("_") or any(name == m or name.startswith(m + ".") for m in LEFT_OUT):
            continue
        found = _definitions(ast.parse(path.read_text(encoding="utf-8")), underscores=name == "testing")
        if found:
            modules[name] = found
    top = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    (names,) = (s.value for s in top.body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "__all__")
    return {"version": _version(folder), "__all__": sorted(ast.literal_eval(names)), "modules": modules}


def _version(folder: Path) -> str:
    for node in ast.parse((folder / "_version.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise SystemExit("no version")


def _definitions(module: ast.Module, *, underscores: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (underscores or not node.name.startswith("_")):
            found[node.name] = _parameters(node.args) if isinstance(node, ast.FunctionDef) else _members(node)
    return found


def _members(node: ast.ClassDef) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and (part.name in ("__init__", "__str__") or not part.name.startswith("_")):
            decorators = {ast.unparse(d) for d in part.decorator_list}
            if "overload" in decorators:
                continue
            if "property" in decorators:
                members[part.name] = "attribute"
                continue
            parameters = _parameters(part.args)
            if "staticmethod" not in decorators:
                del parameters[next(iter(parameters))]
            members[part.name] = parameters
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            members[part.target.id] = "attribute"
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and not part.targets[0].id.startswith("model_"):
            members[part.targets[0].id] = "attribute"
    return members


def _parameters(args: ast.arguments) -> Parameters:
    plain = [*args.posonlyargs, *args.args]
    needed = len(plain) - len(args.defaults)
    found = {a.arg: "needed" if i < needed else "may be left out" for i, a in enumerate(plain)}
    if args.vararg:
        found["*" + args.vararg.arg] = "rest"
    for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        found[a.arg] = "keyword" if default is None else "keyword, may be left out"
    if args.kwarg:
        found["**" + args.kwarg.arg] = "rest"
    return found


_STUB = {node.name: _members(node) for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)}


def differences(data: dict[str, Any]) -> list[str]:
    """What psc has not, or with other parameters, a line each. More parameters, and more defaults, are no difference."""
    lines = []
    for name in data["__all__"]:
        if not _has(importlib.import_module("psc"), name):
            lines.append(f"`{name}`: not there")
    for module_name, definitions in data["modules"].items():
        full = f"psc.{module_name}".rstrip(".")
        try:
            module = importlib.import_module(full)
        except ImportError:
            lines.append(f"module `{module_name}`: not there")
            continue
        missing = [name for name in definitions if not _has(module, name)]
        if missing:
            lines.append(f"in module `{module_name}`: no {', '.join(f'`{name}`' for name in missing)}")
        for name, wanted in definitions.items():
            if name not in missing:
                lines += _compared(f"{module_name}.{name}", wanted, getattr(module, name))
    return sorted(set(lines))


def _has(module: object, name: str) -> bool:
    try:
        getattr(module, name)
    except AttributeError:
        return False
    return True


def _compared(place: str, wanted: dict[str, Any], found: Any) -> list[str]:
    if not inspect.isclass(found):
        return _of_parameters(place, wanted, _parameters_of(found))
    lines, fields = [], _fields(found)
    for member, parameters in wanted.items():
        if parameters == "attribute":
            if member not in fields and not _has(found, member):
                lines.append(f"`{place}.{member}`: not there")
        elif not _has(found, member):
            lines.append(f"`{place}.{member}`: not there")
        else:
            lines += _of_parameters(f"{place}.{member}", parameters, _parameters_of(getattr(found, member), found, member))
    return lines


def _fields(cls: type) -> set[str]:
    """Attributes that instances have without the class having them."""
    return {name for c in cls.__mro__ for name in inspect.get_annotations(c)} | set(_STUB.get(cls.__name__, {})) | _assigned(cls)


def _assigned(cls: type) -> set[str]:
    try:
        tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return set()
    targets = (t for node in ast.walk(tree) if isinstance(node, ast.Assign) for t in node.targets)
    return {t.attr for t in targets if isinstance(t, ast.Attribute) and ast.unparse(t.value) == "self"}


def _parameters_of(function: Any, cls: type | None = None, member: str = "") -> Parameters:
    if cls is not None and cls.__module__ == "psc._core":
        return dict(_STUB[cls.__name__][member])
    if cls is not None and member == "__str__":
        return {}
    kinds = inspect.Parameter
    found = {}
    for p in inspect.signature(function).parameters.values():
        left_out = p.default is not kinds.empty
        if p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
            found[("*" if p.kind is kinds.VAR_POSITIONAL else "**") + p.name] = "rest"
        elif p.kind is kinds.KEYWORD_ONLY:
            found[p.name] = "keyword, may be left out" if left_out else "keyword"
        else:
            found[p.name] = "may be left out" if left_out else "needed"
    if cls is not None and not isinstance(inspect.getattr_static(cls, member), staticmethod | classmethod):
        found.pop(next(iter(found), ""), None)
    return found


def _of_parameters(place: str, wanted: Parameters, found: Parameters) -> list[str]:
    lines = []
    plain = [p for p, kind in wanted.items() if kind in ("needed", "may be left out")]
    ours = [p for p, kind in found.items() if kind in ("needed", "may be left out")]
    if plain != ours[: len(plain)] and "*args" not in found:
        lines.append(f"`{place}`: takes ({', '.join(ours)}), not ({', '.join(plain)})")
    for name, kind in wanted.items():
        if kind == "rest":
            continue
        if name not in found and "**kwargs" not in found and "*args" not in found:
            lines.append(f"`{place}`: has no parameter `{name}`")
        elif "left out" in kind and found.get(name) in ("needed", "keyword"):
            lines.append(f"`{place}`: needs the parameter `{name}`")
    for name, kind in found.items():
        if kind in ("needed", "keyword") and name not in wanted and "*args" not in wanted:
            lines.append(f"`{place}`: needs the parameter `{name}`, which XGrammar's has not")
    return lines


def listed(data: dict[str, Any]) -> str:
    """The list for the page."""
    lines = differences(data) or ["nothing"]
    return "\n".join([BEGIN, *(f"* {line}" for line in lines), END])


def page_with(text: str, section: str) -> str:
    """The page with another list."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + section + after


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        DATA.write_text(json.dumps(read(Path(sys.argv[2])), indent=1) + "\n", encoding="utf-8")
    else:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(page_with(text, listed(json.loads(DATA.read_text(encoding="utf-8")))), encoding="utf-8")
