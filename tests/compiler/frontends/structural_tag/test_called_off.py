"""Long lists of a structural tag's tokens are read, and looked up, only until the compilation is called off."""

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.structural_tag.document import read_document
from psc.compiler.frontends.structural_tag.reader import read_format
from psc.compiler.frontends.structural_tag.tokens import DocumentTokens
from psc.errors import CompilationCancelledError, InvalidStructuralTagError
from psc.support.cancellation import Cancellation, obeying

DOCUMENT = read_document('{"type": "structural_tag", "format": {"type": "any_tokens", "exclude_tokens": [1, 2, 1]}}')


def test_reading() -> None:
    cancellation = Cancellation()
    with obeying(cancellation), pytest.raises(CompilationCancelledError):
        cancellation.cancel()
        read_format(DOCUMENT.value)


def test_looking_up() -> None:
    tokens = DocumentTokens(TokenNames(byte_tokenizer()), DOCUMENT)
    cancellation = Cancellation()
    with obeying(cancellation), pytest.raises(CompilationCancelledError):
        cancellation.cancel()
        tokens.ids_of([1], "")


def test_ids_come_once_and_errors_name_the_first_place() -> None:
    tokens = DocumentTokens(TokenNames(byte_tokenizer()), DOCUMENT)
    assert tokens.ids_of([3, 1, 3, "a"], "p") == tokens.ids_of([3, 1, "a", 1], "q")
    for _ in range(2):
        with pytest.raises(InvalidStructuralTagError, match=r"^p\[2\]: there is no token 99999"):
            tokens.ids_of([3, 1, 99999, 99999], "p")


def test_lists_that_are_too_long_together_are_refused() -> None:
    element = {"type": "any_tokens", "exclude_tokens": [1] * 20_000}
    document = {"type": "structural_tag", "format": {"type": "sequence", "elements": [element] * 26}}
    with pytest.raises(psc.PscError, match=r"format.elements\[24\].exclude_tokens: the limit of 500,000 values in all lists"):
        psc.Grammar.from_structural_tag(document)
