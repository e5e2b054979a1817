"""The construction of "Parser Stack Classification" done to the letter with OpenFst, for small grammars.

LR table → push-down automaton (``pda``) → ``P_ε`` (``epsilon``) and ``P̃_a`` (``terminal``) → ``S_a``, ``P_w``, ``A_w``
and the acceptor of masks (``composition``) → files and pictures (``export``, ``picture``).

It decides nothing in psc: the native classifier does not use it. It is there to be looked at, and to be what the classifier is
compared with: by ``psc compile --verify`` (``verification``), and in the tests. Needs the extra `openfst`.
"""

from psc.compiler.paper.composition import (
    allowed_classes,
    class_label,
    mask_acceptor,
    real_stacks,
    sequence_acceptor,
    sequence_transducer,
    step_transducer,
    viable_stacks,
)
from psc.compiler.paper.export import Names, export, export_artifact
from psc.compiler.paper.pda import MAX_LR_STATES, check_size, state_label
from psc.compiler.paper.realized import MAX_SEQUENCES, class_bytes_of, realized_sequences
from psc.compiler.paper.verification import Difference, Verification, verify

__all__ = [
    "MAX_LR_STATES",
    "MAX_SEQUENCES",
    "Difference",
    "Names",
    "Verification",
    "allowed_classes",
    "check_size",
    "class_bytes_of",
    "class_label",
    "export",
    "export_artifact",
    "mask_acceptor",
    "real_stacks",
    "realized_sequences",
    "sequence_acceptor",
    "sequence_transducer",
    "state_label",
    "step_transducer",
    "verify",
    "viable_stacks",
]
