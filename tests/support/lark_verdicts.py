"""What Lark says of a grammar while it builds tables, and of a text."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from lark import Lark, logger
from lark.exceptions import UnexpectedInput


@contextmanager
def lark_warnings() -> Iterator[list[str]]:
    """What Lark says while it builds its tables."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def lark_accepts(parser: Lark, text: str) -> bool:
    """Whether the parser takes the text."""
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    return True
