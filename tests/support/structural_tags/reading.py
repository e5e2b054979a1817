"""Structural tags read from their definitions, slowly: which places a format that begins at a place of a text can end at.

The oracle of the tests, for texts of characters. It knows formats as documents have them, and shares nothing with psc.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a format stands: the ends of the nearest tag, and whether the format is the last thing in it and reads one of them."""

    ends: tuple[str, ...] = ()
    closes: bool = False


def is_text(form: dict[str, Any], text: str) -> bool:
    """Whether a whole text has a format."""
    return len(text) in spans(form, text, 0, Place())


def spans(form: dict[str, Any], text: str, begin: int, place: Place) -> set[int]:
    """Where a format that begins at a place can end."""
    kind = form["type"]
    if kind == "any_text":
        return free(text, begin, place, form.get("excludes", []), [], form.get("max_chars"))
    if kind == "sequence":
        reached = {begin}
        for element in form["elements"][:-1]:
            reached = each(reached, lambda at, e=element: spans(e, text, at, inside(place)))
        return each(reached, lambda at: spans(form["elements"][-1], text, at, place))
    if kind == "or":
        return {end for element in form["elements"] for end in spans(element, text, begin, place)}
    if kind == "optional":
        return closed({begin}, text, place) | spans(form["content"], text, begin, place)
    if kind in ("triggered_tags", "dispatch"):
        return dispatch(form, text, begin, place)
    return closed(inner_spans(form, text, begin, inside(place)), text, place)


def inner_spans(form: dict[str, Any], text: str, begin: int, place: Place) -> set[int]:
    """Of formats behind which an end of the tag stands like any other text."""
    kind = form["type"]
    if kind == "const_string":
        return literally(text, begin, form["value"])
    if kind == "tag":
        return each(literally(text, begin, form["begin"]), lambda at: rest_of_tag(form, text, at))
    if kind in ("star", "plus"):
        return repeated(lambda at: spans(form["content"], text, at, place), begin, kind == "plus")
    assert kind == "tags_with_separator"

    def one(at: int) -> set[int]:
        return {end for tag in form["tags"] for end in spans(tag, text, at, place)}

    reached = set() if form.get("at_least_one") else {begin}
    new = first = one(begin)
    while new and not form.get("stop_after_first"):
        first = first | new
        new = each(each(new, lambda at: literally(text, at, form["separator"])), one) - first
    return reached | first


def rest_of_tag(tag: dict[str, Any], text: str, begin: int) -> set[int]:
    """The content and an end."""
    ends = [tag["end"]] if isinstance(tag["end"], str) else tag["end"]
    if not any(ends):
        return spans(tag["content"], text, begin, Place())
    return spans(tag["content"], text, begin, Place(tuple(ends), True))


def dispatch(form: dict[str, Any], text: str, begin: int, place: Place) -> set[int]:
    """Free text with tags in it."""
    if form["type"] == "dispatch":
        rules = [(pattern, pattern, inner) for pattern, inner in form["rules"]]
        once, at_least_one = not form.get("loop", True), False
    else:
        rules = [(next(t for t in form["triggers"] if g["begin"].startswith(t)), g["begin"], g) for g in form["tags"]]
        once, at_least_one = form.get("stop_after_first", False), form.get("at_least_one", False)
    triggers = form.get("triggers", [pattern for pattern, _, _ in rules])
    excludes = form.get("excludes", [])

    def body(inner: dict[str, Any], at: int) -> set[int]:
        if form["type"] == "triggered_tags":
            return rest_of_tag(inner, text, at)
        return spans(inner, text, at, place if once else inside(place))

    def tag(at: int) -> set[int]:
        return {end for _, start, inner in rules for after in literally(text, at, start) for end in body(inner, after)}

    def segment(at: int) -> set[int]:
        found: set[int] = set()
        for stop in range(at + 1, len(text) + 1):
            seen = text[at:stop]
            if any(x and x in seen for x in (*place.ends, *excludes)):
                break
            here = [t for t in triggers if seen.endswith(t)]
            for trigger, start, inner in rules:
                if trigger in here:
                    for after in literally(text, stop, start[len(trigger) :]):
                        found |= body(inner, after)
            if here:
                break
        return found

    def rest(at: int) -> set[int]:
        return free(text, at, place, excludes, triggers, None)

    if at_least_one and once:
        return closed(tag(begin), text, place)
    if once:
        return rest(begin) | (closed(segment(begin), text, place) if form["type"] == "triggered_tags" else segment(begin))
    starts = tag(begin) if at_least_one else {begin}
    return each(each(starts, lambda at: repeated(segment, at, False)), rest)


def free(text: str, begin: int, place: Place, excludes: list[str], triggers: list[str], most: int | None) -> set[int]:
    """Free text; where it closes a tag, with the end."""
    found = set()
    for stop in range(begin, len(text) + 1):
        seen = text[begin:stop]
        ends = [e for e in place.ends if e and seen.endswith(e)]
        if not place.closes:
            if not any(x and x in seen for x in (*place.ends, *excludes, *triggers)) and (most is None or len(seen) <= most):
                found.add(stop)
            continue
        before = [seen[: -len(e)] for e in ends] + [seen] * (not ends and "" in place.ends)
        if any((most is None or len(u) <= most) and not any(x in u for x in (*excludes, *triggers)) for u in before):
            found.add(stop)
        if ends:
            break
    return found


def closed(reached: set[int], text: str, place: Place) -> set[int]:
    """The same, and then one of the ends, where the format reads them."""
    if not place.closes:
        return reached
    return each(reached, lambda at: {end for e in place.ends for end in literally(text, at, e)})


def inside(place: Place) -> Place:
    return Place(place.ends, False)


def literally(text: str, begin: int, wanted: str) -> set[int]:
    return {begin + len(wanted)} if text.startswith(wanted, begin) else set()


def each(reached: set[int], step: Any) -> set[int]:
    return {end for at in reached for end in step(at)}


def repeated(step: Any, begin: int, needed: bool) -> set[int]:
    reached: set[int] = set() if needed else {begin}
    new = step(begin) if needed else {begin}
    while new:
        reached |= new
        new = each(new, step) - reached
    return reached
