"""Random structural tags, their texts and masks against two oracles: `python -m fuzz.triggers --seconds 60 --seed 1`.

Half of the formats are small: psc accepts a text of seven letters or fewer, and the beginning of one, where a slow reading of the
format's definition does (`tests/support/structural_tags/reading.py`). The others have up to 30 triggers that overlap each other,
special tokens and ends: the masks of one automaton for all triggers are those of an automaton for each, along random texts.

Cost: a format takes 0.01 to 0.5 s, most of it the oracles'.
"""

from __future__ import annotations

from contextlib import nullcontext

from structural_tags.many_triggers import check_builds_agree, format_with_triggers, one_automaton
from structural_tags.random_tags import check, random_format

from fuzz.session import Case, main


def run_case(case: Case) -> None:
    rng = case.rng
    if rng.random() < 0.5:
        form = format_with_triggers(rng)
        case.attach("format", repr(form).encode())
        compared = check_builds_agree(rng, form)
        case.counts["many triggers"] += 1
    else:
        depth = rng.choice([1, 1, 2])
        form = random_format(rng, depth)
        case.attach("format", repr(form).encode())
        with one_automaton() if rng.random() < 0.5 else nullcontext():
            compared = check(form, ahead=rng.random() < 0.2, is_short=depth == 1)
        case.counts["definitions"] += 1
    case.counts["compared"] += compared


if __name__ == "__main__":
    main("triggers", __doc__.partition("\n")[0], run_case)
