"""Inside the decoding loop: masks made while the model runs, and grammars that begin after a trigger."""

from psc.decoding.deferred import DeferredGrammar, DeferredMatcher
from psc.decoding.overlap import OverlappedMasks
from psc.decoding.trigger import Trigger

__all__ = ["DeferredGrammar", "DeferredMatcher", "OverlappedMasks", "Trigger"]
