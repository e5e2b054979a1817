"""The stages of a compilation, the clock that times them, and the callback as each begins.

Everything that names, orders or counts stages uses `Stage`: a compilation in one process (`psc.compiler.pipeline.build`), one
in pieces (`psc.compiler.pipeline.pieces`), and the workers of a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum

Progress = Callable[[str, int, int], None]
"""Called before each stage with its title, its number from 0, and the number of stages."""


class Stage(Enum):
    """A stage of a compilation, in the order in which they run; its value is its title."""

    TERMINALS = "terminals"
    LR_TABLES = "LR tables"
    LEXER = "lexer"
    TOKEN_CLASSES = "token classes"
    TERMINAL_SEQUENCES = "terminal sequences"
    STACK_CLASSIFIER = "stack classifier"
    ASSEMBLY = "assembly"

    @property
    def title(self) -> str:
        """As reports and records of compilations have it."""
        return self.value

    @property
    def number(self) -> int:
        """Its place in the order, from 0."""
        return list(Stage).index(self)


class StageClock:
    """Seconds per stage, by title, the stage that runs, and progress as each begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self.stage: Stage | None = None
        self._progress = progress
        self._since = 0.0

    def begin(self, stage: Stage) -> None:
        """Ends the stage before, and begins this one."""
        self.stop()
        self.stage = stage
        if self._progress:
            self._progress(stage.title, stage.number, len(Stage))

    def stop(self) -> None:
        """Ends the stage in hand."""
        now = time.perf_counter()
        if self.stage is not None:
            self.seconds[self.stage.title] = now - self._since
            self.stage = None
        self._since = now
