"""Random grammars, their whole masks against the tests' oracles: `python -m fuzz.grammars --seconds 60 --seed 1`.

For every way to read a grammar (any context-free EBNF, Lark by the basic and the contextual lexer, every action kept), both
builds: the mask after every short history, and what `accept_token` does with every token, are the oracle's. Grammars and
vocabularies are drawn by the tests' strategies. Psc's own limits and `bounded.at_most` bound an example; those that run out of time
are counted, because an oracle that anyone can believe is slow. A call of psc that does not end is what the session finds to
hang.

Cost: an example takes 0.02 to 1 s, most of it the oracle's.
"""

from __future__ import annotations

import os

import strategies
from bounded import OutOfTime, at_most
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from languages import LANGUAGES, check_short_histories
from random_grammars import FANCY_TEXTS, TEXTS

import psc
from fuzz.session import Case, main

_EXAMPLE_S = 20.0 if "PSC_SANITIZED" in os.environ else 5.0
_EXAMPLES = 10  # of a case; the first that hypothesis draws is always the simplest


def run_case(case: Case) -> None:
    language = case.rng.choice(sorted(TEXTS))

    @seed(case.rng.randrange(2**32))
    @settings(
        max_examples=_EXAMPLES, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(
        text=(TEXTS if case.rng.random() < 0.7 else FANCY_TEXTS)[language],
        tokens=strategies.vocabularies(max_size=6),
        walk=st.integers(0, 2**16),
    )
    def masks_are_the_oracles(text: str, tokens: list[bytes], walk: int) -> None:
        case.counts["examples"] += 1
        case.attach("grammar", f"{language}\n{text}\n{tokens!r} {walk}\n".encode())
        try:
            with at_most(_EXAMPLE_S):
                reading = LANGUAGES[language]
                check_short_histories(reading.builds(text, tokens), reading.oracle(text), tokens, walk, longest=2)
        except OutOfTime:
            case.counts["out of time"] += 1
        except psc.ResourceLimitError:
            case.counts["beyond a limit"] += 1
        except psc.GrammarError as error:
            if "matches no text at all" not in str(error) and "matches the empty string" not in str(error):
                raise
            case.counts["refused"] += 1
        else:
            case.counts["checked"] += 1

    masks_are_the_oracles()
    case.counts[language] += 1


if __name__ == "__main__":
    main("grammars", __doc__.partition("\n")[0], run_case, case_limit_s=120.0)
