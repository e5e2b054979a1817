"""Results of ``psc check`` as other programs read them: GitHub's workflow commands, and SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from psc._version import __version__

if TYPE_CHECKING:
    from psc.cli.check import FileResult

_REFUSED, _UNREAD, _INTERNAL = "refused", "unreadable", "internal-error"
_RULES: Final = {
    _REFUSED: "The file is not a text of the grammar.",
    _UNREAD: "The file could not be read or checked.",
    _INTERNAL: "psc disagrees with itself. Please report it.",
}


def github_line(result: FileResult) -> str:
    """The workflow command that annotates a file which failed."""
    place = f"file={_escaped(result.name, of_property=True)}"
    stop = result.check.stop if result.check else None
    if stop:
        place += f",line={stop.line},col={stop.column}"
    return f"::error {place},title=psc check::{_escaped(result.message())}"


def _escaped(text: str, *, of_property: bool = False) -> str:
    for character in "%\r\n" + (":," if of_property else ""):
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def sarif(results: Iterable[FileResult]) -> dict[str, Any]:
    """The results of files that failed, as a SARIF document. Columns count characters."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "psc check", "version": __version__, "rules": rules}
    failed = [_sarif_result(result) for result in results if not result.passed]
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": failed}],
    }


def _sarif_result(result: FileResult) -> dict[str, Any]:
    check = result.check
    rule = _UNREAD if check is None else _INTERNAL if check.disagreement else _REFUSED
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(PurePath(result.name).as_posix())}}
    if check is not None and check.stop is not None:
        place["region"] = {"startLine": check.stop.line, "startColumn": check.stop.column, "byteOffset": check.stop.offset}
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": result.message()},
        "locations": [{"physicalLocation": place}],
    }
