"""Which files a Lark grammar imports, and their digests, without loading it or importing Lark: that takes 25 ms.

The digests go into the input key, under which a serving host finds the artifact. Files are named relative to the grammar's folder,
those of Lark's own library ``<lark>/common.lark``, so that a grammar has the same key wherever it lies.

An import statement begins a line, so it can be found without parsing. Should a line inside a regular expression look like one, the
key is one under which nothing is found, and the grammar is built just in time: never another grammar's artifact.

Cost: reads the files imported; 0.1 ms where there are none.
"""

from __future__ import annotations

import hashlib
import os
import re
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from psc._core import stop_if_cancelled
from psc.compiler.frontends.front_end import Imports
from psc.compiler.grammars import importing_file, is_bundled
from psc.support.limits import limit
from psc.support.regular_file import FileOrigin, read_regular_text

_LIBRARY = "<lark>"

_PART = r"[A-Za-z_]\w*"
_IMPORT = re.compile(
    rf"^[ \t]*%import\b[ \t]*(?P<relative>\.?)[ \t]*(?P<path>{_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*(?P<names>\()?", re.MULTILINE
)


MAX_IMPORTED_BYTES = 4 * limit("lark_characters")


def may_import(origin: object) -> bool:
    """Whether text of an origin may import files beside it: those of a file that the program names, or of the package.

    Args:
        origin: a `FileOrigin`, a bundled grammar's name with its option, or a label; or what Lark calls a file of its own package.
    """
    return not isinstance(origin, str) or isinstance(origin, FileOrigin) or is_bundled(origin.partition("?")[0])


def import_name(path: object, origin: str) -> str:
    """What an imported file is called in artifacts and keys.

    Args:
        path: as Lark gives it: a file's path, or a resource of Lark's own package.
        origin: of the grammar.
    """
    resource = getattr(path, "path", None)
    if resource is not None:
        return f"{_LIBRARY}/{PurePosixPath(resource).name}"
    return Path(os.path.relpath(str(path), os.path.dirname(importing_file(origin)) or ".")).as_posix()


def find_imports(text: str, origin: str) -> Imports | None:
    """Every file that a grammar imports, directly or not, as (name, sha256 of its text), sorted.

    Args:
        text: the grammar.
        origin: its `FileOrigin`, a bundled grammar's name, or a label.

    Returns:
        The imports; None when Lark must tell them: a file is missing, or text that `may_import` nothing imports by a relative path.
    """
    found: dict[str, str] = {}
    todo = [(text, os.path.dirname(importing_file(origin)) if may_import(origin) else None, False)]
    while todo:
        text, folder, in_library = todo.pop()
        for statement in _IMPORT.finditer(text):
            stop_if_cancelled()
            parts = re.split(r"[ \t]*\.[ \t]*", statement["path"])
            if not statement["names"]:
                parts.pop()  # what is imported from the file
            if not parts:
                return None
            file = os.path.join(*parts) + ".lark"
            if in_library or not statement["relative"]:
                name = f"{_LIBRARY}/{PurePosixPath(file).name}"
                if name in found:
                    continue
                library = _read_library(file)
                if library is None:
                    return None
                found[name] = hashlib.sha256(library.encode()).hexdigest()
                todo.append((library, None, True))
                continue
            if folder is None:
                return None
            path = os.path.join(folder, file)
            name = import_name(path, origin)
            if name in found:
                continue
            try:
                imported = read_regular_text(path, MAX_IMPORTED_BYTES)
            except (OSError, UnicodeDecodeError):
                return None
            found[name] = hashlib.sha256(imported.encode()).hexdigest()
            todo.append((imported, os.path.dirname(path), False))
    return tuple(sorted(found.items()))


def _read_library(file: str) -> str | None:
    """A file of Lark's library; None when it has no such file. Lark itself is not imported."""
    spec = find_spec("lark")
    assert spec is not None and spec.origin is not None
    try:
        return (Path(spec.origin).parent / "grammars" / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
