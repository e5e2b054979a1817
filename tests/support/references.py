"""What a language's own parser says of tables of texts."""

from collections.abc import Sequence

import pytest

from psc.compiler.grammars import bundled_path
from psc.corpus.references.reference import Reference
from psc.corpus.references.registry import open_reference
from psc.errors import ReferenceMissingError


def reference_or_skip(name: str, grammar: str) -> Reference:
    """A parser by its name, for a bundled grammar; the test is skipped where it is not installed. Close it if the test is long."""
    try:
        return open_reference(name, bundled_path(grammar))
    except ReferenceMissingError as e:
        pytest.skip(str(e))


def check_reference(reference: Reference, accepted: Sequence[str], refused: Sequence[str]) -> None:
    """Fails where the parser refuses a text that it should accept, or the reverse. An error of names alone refuses nothing."""
    assert [(t, v.message) for t, v in zip(accepted, reference.judge(accepted), strict=True) if v is not None] == []
    assert [t for t, v in zip(refused, reference.judge(refused), strict=True) if v is None or v.of_names] == []
