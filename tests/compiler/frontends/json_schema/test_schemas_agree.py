"""Random schemas over all keywords against the library jsonschema.

Every text at whose end the masks lead is valid (nothing is looser), no mask is empty before the end, and values are accepted in the
spelling of json.dumps exactly if they are valid (nothing is stricter). A schema that is refused is refused with its place.
"""

from __future__ import annotations

import random
import re
from typing import Any

from bounded import bounded
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from json_schema.bytewise import LONGER, accepts, compiler
from json_schema.random_schemas import DRAFTS, NAMES, schemas, values
from json_schema.reference import NotComparable, is_valid, text_of, value_of
from json_schema.walks import walk

import psc

drafts = st.sampled_from(sorted(DRAFTS))
cases = drafts.flatmap(lambda draft: st.tuples(st.just(draft), schemas(draft)))


def _compiled(schema: Any, longer: tuple[bytes, ...] = (), **options: Any) -> psc.CompiledGrammar | None:
    """None if it is refused, which must be with a place, or with a limit."""
    try:
        return compiler(longer).compile_json_schema(text_of(schema), strict_mode=False, **options)
    except psc.ResourceLimitError as e:
        assert "limit" in str(e), e
    except psc.GrammarError as e:
        assert "no value is valid" in str(e) or re.search(r"#[^ ]*, [$a-zA-Z]+: ", str(e)), e
    return None


@examples(60)
@given(cases, st.integers(0, 2**32))
@bounded
def test_what_masks_lead_to_is_valid(case: tuple[int, Any], seed: int) -> None:
    draft, schema = case
    grammar = _compiled(schema, LONGER)
    if grammar is None:
        return
    rng = random.Random(seed)
    for _ in range(8):
        text = walk(grammar, rng)
        try:
            assert is_valid(draft, schema, value_of(text)), (text_of(schema), text)
        except (NotComparable, RecursionError):
            continue


@examples(60)
@given(cases, st.lists(values, min_size=8, max_size=8), st.integers(0, 2**32))
@bounded
def test_values_are_accepted_exactly_if_they_are_valid(case: tuple[int, Any], some: list[Any], seed: int) -> None:
    draft, schema = case
    rng = random.Random(seed)
    try:
        grammar = _compiled(schema, any_order=True)
    except psc.ResourceLimitError:
        return
    near = []
    if grammar is not None:
        for _ in range(4):
            text = walk(grammar, rng)
            try:
                near += [_changed(value_of(text), rng) for _ in range(3)]
            except NotComparable:
                continue
    for value in some + near:
        try:
            valid = is_valid(draft, schema, value)
        except RecursionError:
            return
        if grammar is None:
            continue
        assert accepts(grammar, text_of(value)) == valid, (text_of(schema), text_of(value), valid)


_SMALL: list[Any] = [None, True, False, "", "a", "ab", [], {}, [None], {"a": None}]


def _changed(value: Any, rng: random.Random) -> Any:
    """With a member or an item less, or more, or another one."""
    if isinstance(value, dict) and rng.random() < 0.9:
        out = dict(value)
        name = rng.choice([*out, *NAMES])
        if name in out and rng.random() < 0.6:
            out[name] = _changed(out[name], rng)
        elif name in out and rng.random() < 0.5:
            del out[name]
        else:
            out[name] = rng.choice(_SMALL)
        return out
    if isinstance(value, list) and rng.random() < 0.9:
        items = list(value)
        i = rng.randrange(len(items) + 1)
        if i < len(items) and rng.random() < 0.6:
            items[i] = _changed(items[i], rng)
        elif i < len(items) and rng.random() < 0.5:
            del items[i]
        else:
            items.insert(i, rng.choice([*_SMALL, *items]))
        return items
    return value if rng.random() < 0.3 else rng.choice(_SMALL)
