"""``psc compile --verify``: a small grammar's classifier against the construction that the paper describes, done with OpenFst.

The proof is about what will be stored (`psc.compiler.paper.verification`); this puts the inputs and the result into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psc._core import LrTables
from psc.artifacts.scalars import is_closed, without_scalars
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import GrammarError, VerificationError, needs_extra
from psc.grammars.grammar import Grammar

if TYPE_CHECKING:
    from psc.compiler.cfg.grammar import LarkLexer
    from psc.compiler.frontends.front_end import Settings
    from psc.compiler.paper import Difference
    from psc.compiler.pipeline.build import Build
    from psc.compiler.pipeline.stages import Progress


def check_verifiable(
    grammar: str | Path,
    *,
    start: str | None = None,
    lexer: LarkLexer | None = None,
    keep_all_actions: bool = False,
    settings: Settings | str = "",
) -> None:
    """Refuses a grammar that is too large to be verified, before a vocabulary is loaded.

    Args:
        grammar: with the other arguments, as `compile_to_artifact` takes it.

    Raises:
        MissingExtraError: the ``openfst`` extra is not installed.
        GrammarError: the grammar has too many LR states, or cannot be compiled.

    Cost: that of parsing the grammar and of its LR table.
    """
    with needs_extra("openfst"):
        from psc.compiler.paper import check_size
    found = find_grammar(grammar)
    request = found.request(start=start, lexer=lexer, keep_all_actions=keep_all_actions, settings=settings)
    if request.names_tokens:  # what it is depends on the vocabulary
        return
    lr = Grammar.parse(request).artifact_tables().lr
    with _named(found.name):
        check_size(lr)


def verify_build(result: Build, progress: Progress | None = None) -> dict[str, int]:
    """Proves that a build's classifier allows the same tokens as the paper's construction, on every stack.

    Args:
        result: of `psc.compiler.pipeline.build`.
        progress: called as each lexer state begins.

    Returns:
        What was compared: the numbers of LR states, lexer states, terminal sequences, token classes and comparisons.

    Raises:
        VerificationError: they differ.
        GrammarError: there are too many LR states or terminal sequences, a table that reduces without end, or no closed classifier.
        MissingExtraError: the ``openfst`` extra is not installed.
    """
    with needs_extra("openfst"):
        from psc.compiler.paper import verify
    name = result.metadata["grammar"]["name"]
    if not is_closed(result.arrays):
        raise GrammarError(f"{name}: there is no closed classifier to verify: {'; '.join(result.warnings)}")
    arrays = without_scalars(result.arrays)
    with _named(name):
        found = verify(arrays, progress)
    if found.difference is not None:
        raise VerificationError(f"{name}: {_in_words(found.difference, arrays, result.metadata)}; please report this grammar")
    return {
        "lr_states": found.lr_states,
        "lexer_states": found.lexer_states,
        "terminal_sequences": found.sequences,
        "token_classes": found.token_classes,
        "comparisons": found.comparisons,
    }


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Says of which grammar a limit was exceeded."""
    try:
        yield
    except GrammarError as e:
        raise GrammarError(f"{name}: it cannot be verified: {e}") from e


def _in_words(difference: Difference, arrays: Mapping[str, Any], metadata: Mapping[str, Any]) -> str:
    from psc.compiler.paper import Names, class_bytes_of

    names, spelled = Names.of(metadata["grammar"]), class_bytes_of(arrays)
    accessing = LrTables.from_arrays(dict(arrays)).accessing
    stack = " ".join(f"{s}/{names.symbols[accessing[s]] if accessing[s] >= 0 else 'start'}" for s in difference.stack)
    c = difference.token_class
    token = f"a token such as {spelled[c]!r}" if c < len(spelled) else "the end of the text"
    one, other = ("the paper's construction", "the classifier")[:: 1 if difference.allowed_by_paper else -1]
    return f"in lexer state {difference.lexer_state}, on the stack {stack}, {token} is allowed by {one} and not by {other}"
