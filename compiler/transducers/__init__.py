"""The construction of "Parser Stack Classification" done to the letter with OpenFst, for small grammars.

LR table → push-down automaton (``pda``) → ``P_ε`` (``epsilon``) and ``P̃_a`` (``terminal``) → ``S_a``, ``P_w``, ``A_w``
and the acceptor of masks (``composition``) → files and pictures (``export``).

It decides nothing in psc: the native classifier does not use it. It is there to be looked at, and to be what the
classifier is tested against.
"""

from psc.compiler.transducers.composition import (
    allowed_classes,
    class_label,
    mask_acceptor,
    real_stacks,
    sequence_acceptor,
    sequence_transducer,
    step_transducer,
)
from psc.compiler.transducers.export import export
from psc.compiler.transducers.pda import MAX_LR_STATES, state_label

__all__ = [
    "MAX_LR_STATES",
    "allowed_classes",
    "class_label",
    "export",
    "mask_acceptor",
    "real_stacks",
    "sequence_acceptor",
    "sequence_transducer",
    "state_label",
    "step_transducer",
]
