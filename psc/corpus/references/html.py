"""HTML and the stylesheets in it: the parser of the Nu HTML checker, and Lightning CSS for what stands in elements `style`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from psc.corpus.references.conversation import lightningcss, nu_html
from psc.corpus.references.reference import Refusal

_NO_STYLE = r"<!--.*?-->|<(?P<raw>script|title|textarea|iframe)\b.*?</(?P=raw)"
_STYLE = re.compile(rf"{_NO_STYLE}|<style\b(?:\"[^\"]*\"|'[^']*'|[^\"'>])*>(?P<text>.*?)</style", re.DOTALL | re.IGNORECASE)


class Html:
    """Both parsers. Scripts are text to the first, which parses JSON in them."""

    def __init__(self) -> None:
        self._markup, self._styles = nu_html(), lightningcss()

    @property
    def version(self) -> str:
        return f"{self._markup.version}, {self._styles.version}"

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._judge(text) for text in texts]

    def close(self) -> None:
        self._markup.close()
        self._styles.close()

    def _judge(self, text: str) -> Refusal | None:
        refused = self._markup.judge([text])[0]
        if refused is not None:
            return refused
        return next((Refusal(f"in a style: {v.message}") for v in self._styles.judge(list(_styles(text))) if v is not None), None)


def _styles(text: str) -> Iterator[str]:
    """The texts of elements `style` in a text that the parser takes."""
    return (m["text"] for m in _STYLE.finditer(text) if m["text"] is not None)
