"""SGLang's masks by psc and by XGrammar are the same where XGrammar is right."""

import json
import random
from collections.abc import Callable

import numpy as np
import pytest

engine = pytest.importorskip("sglang_engine", exc_type=ImportError)
from sglang_engine import Engine, plugin, token_bytes, xgrammars_own  # noqa: E402
from sglang_requests import EOS, OLDER_TAG, SCHEMA, TAG  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated")  # what the engine gives to XGrammar


def is_utf8(text: bytes) -> bool:
    """Whether a text is the beginning of UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError as e:
        return e.reason == "unexpected end of data"
    return True


# Why XGrammar 0.2 allows or forbids other tokens than psc, of a text and the token that comes next.
def xgrammar_allows_what_is_not_utf8(text: bytes, token: bytes, ours: bool) -> bool:
    if token == b"":  # the end
        return not ours and text.decode(errors="replace").endswith("\ufffd")
    return not ours and not is_utf8(text + token)


def xgrammar_refuses_integers_like_2_0_and_minus_0(text: bytes, token: bytes, ours: bool) -> bool:
    return ours and (token in (b".", b"-0") or (text.endswith(b"-") and token == b"0"))


def xgrammar_refuses_scalars_as_any_json(text: bytes, token: bytes, ours: bool) -> bool:
    return ours and text == b"" and token[:1] not in b"{["


def xgrammar_refuses_escapes_in_counted_strings(text: bytes, token: bytes, ours: bool) -> bool:
    return ours and token[:1] == b"\\"


def xgrammar_allows_control_characters_in_counted_strings(text: bytes, token: bytes, ours: bool) -> bool:
    return not ours and min(token, default=32) < 32


def xgrammar_has_a_dot_for_line_breaks(text: bytes, token: bytes, ours: bool) -> bool:
    return not ours and (b"\n" in token or b"\r" in token)


def xgrammar_takes_february_for_a_month_of_39_days(text: bytes, token: bytes, ours: bool) -> bool:
    return not ours and text.endswith(b"-02-") and token == b"3"


UTF8 = xgrammar_allows_what_is_not_utf8
WHOLE = xgrammar_refuses_integers_like_2_0_and_minus_0
COUNTED = UTF8, xgrammar_refuses_escapes_in_counted_strings, xgrammar_allows_control_characters_in_counted_strings
BOTH: list[tuple[dict[str, str], tuple[Callable[[bytes, bytes, bool], bool], ...]]] = [
    ({"json_schema": "$$ANY$$"}, (UTF8, xgrammar_refuses_scalars_as_any_json)),
    ({"json_schema": '{"type": "object"}'}, (UTF8,)),
    ({"json_schema": json.dumps(SCHEMA)}, (WHOLE,)),
    ({"json_schema": '{"type": "string", "pattern": "^a+b$"}'}, ()),
    ({"json_schema": '{"type": "string", "maxLength": 5}'}, COUNTED),
    ({"json_schema": '{"type": "string", "format": "date"}'}, (xgrammar_takes_february_for_a_month_of_39_days,)),
    ({"json_schema": '{"type": "integer", "minimum": 3, "maximum": 120}'}, (WHOLE,)),
    ({"json_schema": '{"anyOf": [{"type": "boolean"}, {"const": "call"}]}'}, ()),
    ({"json_schema": '{"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3}'}, ()),
    ({"json_schema": '{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}}}}'}, ()),
    ({"regex": r"(ab|ca)+[0-9]{2,4}"}, ()),
    ({"regex": r"hello (world|the)?.*"}, (UTF8, xgrammar_has_a_dot_for_line_breaks)),
    ({"regex": r"[^a-z]{3}é?"}, (UTF8,)),
    ({"ebnf": 'root ::= "{" item ("," item)* "}"\nitem ::= [0-9]+ | "(" root ")"'}, ()),
    ({"ebnf": 'root ::= "a"* "日" [a-c]'}, ()),
    ({"structural_tag": json.dumps(TAG)}, (UTF8, WHOLE)),
    ({"structural_tag": json.dumps(OLDER_TAG)}, (UTF8, WHOLE)),
]


@pytest.mark.parametrize("number", range(len(BOTH)))
def test_masks_are_those_of_xgrammar_where_it_is_right(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    constraint, reasons = BOTH[number]
    monkeypatch.setenv("PSC_BOUNDED", "0")  # XGrammar has no limits of white space and digits
    with plugin("add"):
        ours, theirs = Engine(monkeypatch, "psc"), Engine(monkeypatch, "xgrammar")
        assert type(theirs.backend) is xgrammars_own()
        unexplained, seen = [], set()
        for seed in range(10):
            rng = random.Random(seed)
            a, b = ours.request(**constraint), theirs.request(**constraint)
            text = b""
            for _ in range(25):
                mine, other = ours.mask(a)[0], theirs.mask(b)[0]
                for token in np.flatnonzero(mine != other).tolist():
                    why = [r for r in reasons if r(text, token_bytes()[token], bool(mine[token]))]
                    seen.update(why)
                    if not why:
                        unexplained.append((text, token_bytes()[token], bool(mine[token])))
                both = np.flatnonzero(mine & other).tolist()
                token = EOS if EOS in both and rng.random() < 0.5 else rng.choice(both)
                ours.accept(a, token), theirs.accept(b, token)
                assert (a.to_finish, b.to_finish) == (None, None)
                assert a.grammar.is_terminated() == b.grammar.is_terminated()
                if a.grammar.is_terminated():
                    break
                text += token_bytes()[token]
        assert not unexplained, unexplained[:5]
        assert seen == set(reasons)
