"""What a model reads before it writes: the mask only refuses, so the prompt says what is wanted.

A model that was tuned for conversations begins with `Here is a class …`, and where the grammar refuses that, continues from the
little of it that is allowed: `Here is` is a type and a name of Java. So its turn already begins with the fence of a code block. It
ends code with a fence, too, which no grammar allows; where the text may end, it counts as the end (`psc.generation.fences`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_SCHEMA: Final = "Answer with JSON only. It fits this JSON schema:\n{}"
_ONLY: Final = "Answer with {} only, without explanations."
_LONGEST: Final = 4000
"""Characters of a schema that is shown to the model."""
FENCE: Final = "```"


@dataclass(frozen=True)
class Instruction:
    """What stands around the user's prompt."""

    system: str | None = None
    opening: str = ""
    """The beginning of the model's own turn, which is not of the text."""


def schema_instruction(schema: str) -> Instruction:
    """For a JSON schema's text."""
    return Instruction(_SCHEMA.format(schema.strip()) if len(schema) <= _LONGEST else _ONLY.format("JSON"))


def language_instruction(name: str, description: str) -> Instruction:
    """For a bundled grammar, from what it is described as: "Java 25: compilation units" is Java. Markdown has fences of its own."""
    language = re.match(r"[\w-]+(?: values)?", description)
    system = _ONLY.format(language[0] if language else name)
    return Instruction(system, "" if name == "markdown" else f"{FENCE}{name}\n")
