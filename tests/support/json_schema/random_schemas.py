"""Random schemas over all keywords, and values that are near to what they say: few names, few scalars, so that keywords meet."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2020: "https://json-schema.org/draft/2020-12/schema",
}

NAMES = ["a", "b", "ab", "z"]
TEXTS = ["", "a", "b", "ab", "abc", "bé", "127.0.0.1", "😀"]
NUMBERS = [Decimal(x) for x in ("-3", "-1", "0", "0.5", "1", "1.0", "1.5", "2", "3", "6", "10", "12.25")]
PATTERNS = ["^a", "b", "^[ab]*$", "^(a|bc)+$", "\\.", "^.{2}$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

names = st.sampled_from(NAMES)
scalars = st.one_of(st.none(), st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(TEXTS))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(names, inner, max_size=4)),
    max_leaves=8,
)
small_values = st.one_of(scalars, st.lists(scalars, max_size=2), st.dictionaries(names, scalars, max_size=2))

_counts = st.integers(0, 3)
_enums = st.lists(small_values, min_size=1, max_size=4)


def schemas(draft: int) -> st.SearchStrategy[Any]:
    """Of one draft, with its ``$schema``, and definitions that refer to each other."""
    one = _subschemas(draft, 2)
    where = "$defs" if draft == 2020 else "definitions"
    body = _objects(draft, one, _keywords(draft, one))
    return st.builds(
        lambda body, definitions: {"$schema": DRAFTS[draft], **body, where: definitions},
        body,
        st.fixed_dictionaries({"p": one, "q": one}),
    )


def _subschemas(draft: int, depth: int) -> st.SearchStrategy[Any]:
    where = "$defs" if draft == 2020 else "definitions"
    leaves = [
        st.builds(lambda t: {"type": t}, st.sampled_from(TYPES)),
        st.builds(lambda v: {"enum": v}, _enums),
        st.sampled_from([{"$ref": f"#/{where}/p"}, {"$ref": f"#/{where}/q"}, {"$ref": "#"}]),
        st.just({}),
    ]
    if draft > 4:
        leaves += [st.booleans(), st.builds(lambda v: {"const": v}, small_values)]
    leaf = st.one_of(leaves)
    if depth == 0:
        return leaf
    inner = _subschemas(draft, depth - 1)
    return st.one_of(leaf, _objects(draft, inner, _keywords(draft, inner)))


def _objects(draft: int, inner: st.SearchStrategy[Any], keywords: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    chosen = st.lists(st.sampled_from(sorted(keywords)), min_size=1, max_size=4, unique=True)
    drawn = chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))
    return drawn.map(lambda schema: _completed(draft, schema))


def _completed(draft: int, schema: dict[str, Any]) -> dict[str, Any]:
    """What draft 4 asks of its own schemas, and a parting of keywords that come together."""
    out: dict[str, Any] = {}
    for name, value in schema.items():
        if name.startswith("together "):
            out |= value
        else:
            out[name] = value
    if draft == 4:
        for bound in ("minimum", "maximum"):
            exclusive = f"exclusive{bound.capitalize()}"
            if exclusive in out and bound not in out:
                del out[exclusive]
    return out


def _keywords(draft: int, inner: st.SearchStrategy[Any]) -> dict[str, st.SearchStrategy[Any]]:
    some = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(names, inner, min_size=1, max_size=3)
    lists = st.lists(names, min_size=1, max_size=3, unique=True)
    types = st.one_of(st.sampled_from(TYPES), st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
    few = st.lists(scalars, min_size=1, max_size=3).map(lambda v: {"enum": v})
    numbers = st.sampled_from(NUMBERS)
    found: dict[str, st.SearchStrategy[Any]] = {
        "type": types,
        "enum": _enums,
        "minimum": numbers,
        "maximum": numbers,
        "multipleOf": st.sampled_from([Decimal(x) for x in ("0.5", "1", "1.5", "2", "3", "0.1")]),
        "minLength": _counts,
        "maxLength": _counts,
        "pattern": st.sampled_from(PATTERNS),
        "format": st.sampled_from(["ipv4", "nothing-known"]),
        "properties": members,
        "together members": st.fixed_dictionaries({"properties": members, "required": lists}),
        "together closed": st.fixed_dictionaries({"properties": members, "additionalProperties": inner}),
        "required": lists,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "^[ab]*$"]), inner, min_size=1, max_size=2),
        "additionalProperties": st.one_of(inner, st.booleans()),
        "minProperties": _counts,
        "maxProperties": _counts,
        "minItems": _counts,
        "maxItems": _counts,
        "together unique": few.map(lambda schema: {"items": schema, "uniqueItems": True}),
        "allOf": some,
        "anyOf": some,
        "oneOf": some,
        "not": inner,
    }
    if draft < 2020:
        found["items"] = st.one_of(inner, some)
        found["additionalItems"] = st.one_of(inner, st.booleans())
        found["dependencies"] = st.dictionaries(names, st.one_of(lists, inner), min_size=1, max_size=2)
    else:
        found["items"] = inner
        found["prefixItems"] = some
        found["dependentRequired"] = st.dictionaries(names, lists, min_size=1, max_size=2)
        found["dependentSchemas"] = st.dictionaries(names, inner, min_size=1, max_size=2)
        found["unevaluatedProperties"] = st.one_of(inner, st.booleans())
        found["unevaluatedItems"] = st.one_of(inner, st.booleans())
        found["minContains"] = _counts
        found["maxContains"] = _counts
        found["together contains"] = st.fixed_dictionaries(
            {"contains": inner}, optional={"minContains": _counts, "maxContains": _counts}
        )
    if draft == 4:
        found["exclusiveMinimum"] = found["exclusiveMaximum"] = st.booleans()
        found["const"] = small_values  # of later drafts: says nothing
    else:
        found["exclusiveMinimum"] = found["exclusiveMaximum"] = numbers
        found["const"] = small_values
        found["contains"] = inner
        found["propertyNames"] = inner
        found["if"] = inner
        found["together if"] = st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner})
    return found
