"""Every exception that psc raises on purpose. Messages say the place, the cause and the way out."""

from __future__ import annotations


class PscError(Exception):
    """Base of all of psc's own errors."""


class GrammarError(PscError, ValueError):
    """A grammar that cannot be loaded or compiled."""


class TokenizerError(PscError, ValueError):
    """A tokenizer that cannot be read, or does not fit."""


class ArtifactError(PscError, ValueError):
    """An artifact that is damaged, of another version, or made for another tokenizer."""


class MissingExtraError(PscError, ImportError):
    """Something was asked for whose package is not installed; the message names the extra."""
