"""Artifacts that are close to the one that was searched for: what a message names when there is none.

A reference names its grammar, its tokenizer and the fingerprint of the tokenizer's text. The key of our grammar with *their*
fingerprint and compiler is a function of facts that are all here, so it shows without a download whether an artifact is of exactly
our grammar, for another vocabulary or by another compiler. For example ``java`` for ``gemma3``, where one side takes ``<mask>`` for
text and the other for a special token: the keys differ, and the near miss says that token 4 is what differs.

Cost: a file or a request for the names, and one for a registry's index; nothing is asked unless an artifact was missed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from psc.artifacts.format import VERSION, Artifact
from psc.artifacts.references import Reference, short_name
from psc.compiler.frontends.front_end import UNNAMED
from psc.compiler.frontends.lookup import without_option
from psc.compiler.revision import COMPILER_REVISION
from psc.runtime.compiled import serves
from psc.vocabulary.tokenizer_info import TokenizerInfo

if TYPE_CHECKING:
    from psc.compiler.frontends.request import GrammarKey

_TOKENS_SHOWN = 8
_UNNAMED = short_name(UNNAMED)


@dataclass(frozen=True)
class Wanted:
    """An artifact that is looked for."""

    key: str
    """Of its inputs."""
    grammar: str
    """The name of the grammar in a store or a registry."""
    whole: str
    """The name of the grammar with all layout, where the one wanted is a bundled one with bounded layout; else `grammar`."""
    origin: str
    """What the grammar is called."""
    tokenizer_name: str
    """The name of the tokenizer there."""
    tokenizer_info: TokenizerInfo
    fingerprint: str
    """What the grammar's artifacts depend on of the vocabulary, see ``GrammarKey.fingerprint_of``."""
    key_as: Callable[[Reference], str]
    """The key that our grammar has with a reference's vocabulary, compiler and format."""

    @classmethod
    def of(cls, origin: str, key: GrammarKey, tokenizer_info: TokenizerInfo) -> Self:
        """The artifact of a grammar for a vocabulary.

        Args:
            origin: of the grammar.
            key: of the grammar.
            tokenizer_info: the vocabulary.
        """
        return cls(
            key=key.for_tokenizer(tokenizer_info),
            grammar=short_name(origin),
            whole=short_name(without_option(origin)),
            origin=origin,
            tokenizer_name=short_name(tokenizer_info.name),
            tokenizer_info=tokenizer_info,
            fingerprint=key.fingerprint_of(tokenizer_info),
            key_as=lambda r: key.with_vocabulary(
                r.fingerprint, compiler_revision=r.compiler_revision, format_version=r.format_version
            ),
        )

    @property
    def label(self) -> str:
        name = "a grammar given as text" if self.grammar == _UNNAMED else self.grammar
        return f"{name} for {self.tokenizer_name}"


def near(wanted: Wanted, references: Iterable[Reference]) -> list[Reference]:
    """Those that are of the grammar wanted, or have its name and the tokenizer's; the likest first, each artifact once."""
    found = {r.digest: r for r in sorted(references, reverse=True) if _likeness(wanted, r)}
    return sorted(found.values(), key=lambda r: (-_likeness(wanted, r), r.grammar, r.tokenizer))


def is_of_this_grammar(wanted: Wanted, reference: Reference) -> bool:
    """Whether an artifact was made of exactly the grammar wanted, whatever vocabulary and compiler it was made for and by."""
    return wanted.key_as(reference) == reference.input_key


def _likeness(wanted: Wanted, r: Reference) -> int:
    same_names = r.grammar in (wanted.grammar, wanted.whole) and r.tokenizer == wanted.tokenizer_name
    same_text = r.fingerprint == wanted.fingerprint
    if is_of_this_grammar(wanted, r):
        return 4 if same_text else 3 if same_names else 1
    return 2 if same_names else 0


def difference(wanted: Wanted, reference: Reference, artifact: Artifact | None = None) -> str:
    """How a near artifact differs from the one wanted, in words.

    Args:
        wanted: what was looked for.
        reference: to what is there instead.
        artifact: the near one, if it was read: then the tokens that differ are named.
    """
    there = f"{reference.grammar} for {reference.tokenizer}"
    if not is_of_this_grammar(wanted, reference):
        if reference.grammar == wanted.whole != wanted.grammar:
            return (
                f"{there}, which is of the whole language; compile '{wanted.origin}', or have servers read "
                f"{without_option(wanted.origin)} so with PSC_BOUNDED_LAYOUT=0"
            )
        return f"{there} is of another grammar text, start rule, lexer or option"
    if (reference.compiler_revision, reference.format_version) != (COMPILER_REVISION, VERSION):
        return (
            f"{there} is by compiler revision {reference.compiler_revision}, format {reference.format_version}; this psc has "
            f"revision {COMPILER_REVISION}, format {VERSION}"
        )
    if wanted.fingerprint != wanted.tokenizer_info.fingerprint:
        return f"{there} is for other text, special or stop tokens or another vocabulary size, and the grammar names tokens"
    if artifact is None:
        return f"{there} is for other text tokens"
    return f"{there} is for other text tokens: {_tokens_that_differ(wanted.tokenizer_info, artifact)}"


def serves_as_well(wanted: Wanted, reference: Reference, artifact: Artifact) -> bool:
    """Whether a near artifact can be loaded for the vocabulary wanted: its text tokens are ours, and some that are special here."""
    if not is_of_this_grammar(wanted, reference):
        return False
    if (reference.compiler_revision, reference.format_version) != (COMPILER_REVISION, VERSION):
        return False
    classes = artifact.arrays.get("class_of_token")
    return classes is not None and serves(classes, reference.fingerprint, wanted.tokenizer_info)


def _tokens_that_differ(info: TokenizerInfo, artifact: Artifact) -> str:
    classes = artifact.arrays.get("class_of_token")
    n = max(info.text_end, len(classes) if classes is not None else 0)
    theirs, ours = np.zeros(n, bool), np.zeros(n, bool)
    if classes is not None:
        theirs[: len(classes)] = classes >= 0
    ours[info.without_stop_tokens.text_token_ids] = True
    parts = []
    if (theirs & ~ours).any():
        parts.append(f"{_listed(np.flatnonzero(theirs & ~ours).tolist(), info)} text there, and not here")
    if (ours & ~theirs).any():
        parts.append(f"{_listed(np.flatnonzero(ours & ~theirs).tolist(), info)} text here, and not there")
    return "; ".join(parts) or "the same ids are text, and spell other bytes"


def _listed(ids: list[int], info: TokenizerInfo) -> str:
    if len(ids) > _TOKENS_SHOWN:
        return f"{len(ids):,} tokens ({ids[0]} to {ids[-1]}) are"
    decoded = info.decoded_vocab
    named = [f"{i} {decoded[i].decode('utf-8', 'replace')!r}" if i < len(decoded) and decoded[i] else str(i) for i in ids]
    return f"token{'s' if len(ids) > 1 else ''} {', '.join(named)} {'are' if len(ids) > 1 else 'is'}"
