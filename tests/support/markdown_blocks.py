"""The code blocks of a Markdown page, in order, with what the page says of running them.

A block is fenced, or indented and begins with a prompt (``    $ psc …``, and below it what that prints). An HTML comment on the
line before a fence says more: ``<!-- file: my.lark -->`` names the file that the block is, ``<!-- not run: REASON -->`` excuses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\s*$")
_COMMENT = re.compile(r"^<!--\s*(file|not run|test-command|demo-command)(?::\s*(.*?))?\s*-->$")
_PROMPT = "    $ "


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block: its language ("sh", "python", "console", ...), its text, and the comment before it."""

    page: Path
    line: int
    language: str
    text: str
    remark: str = ""
    """"file", "not run", "test-command", "demo-command" or nothing."""
    said: str = ""
    """What the remark says: the file's name, or the reason."""

    @property
    def where(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        if fence := _FENCE.match(lines[i]):
            end = lines.index("```", i + 1)
            remark = _COMMENT.match(lines[i - 1]) if i else None
            yield Block(
                page=page,
                line=i + 1,
                language=fence[1],
                text="\n".join(lines[i + 1 : end]) + "\n",
                remark=remark[1] if remark else "",
                said=(remark[2] or "") if remark else "",
            )
            i = end + 1
        elif lines[i].startswith(_PROMPT):
            end = i
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(line[4:] for line in lines[i:end]).rstrip() + "\n"
            yield Block(page=page, line=i + 1, language="console", text=text)
            i = end
        else:
            i += 1


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Of a console block: each command, and what it prints."""
    for part in re.split(r"(?m)^\$ ", block.text)[1:]:
        command, _, output = part.partition("\n")
        yield command, output
