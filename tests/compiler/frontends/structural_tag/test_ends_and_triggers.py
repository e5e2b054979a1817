"""Ends that have a trigger in them, or that a trigger overlaps: an end is read from where it begins, as excluded texts are.

A table with what is taken, and all short texts of some pieces against reading the definitions.
"""

from itertools import product

import pytest
from structural_tags.reading import is_text
from vocabularies import byte_tokenizer

import psc

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)
STOP = COMPILER.tokenizer_info.stop_token_ids[0]


def tag(begin, content, end):
    return {"type": "tag", "begin": begin, "content": content, "end": end}


def const(value):
    return {"type": "const_string", "value": value}


def triggered(triggers, tags, **options):
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, **options}


def dispatch(rules, **options):
    return {"type": "dispatch", "rules": rules, **options}


B = tag("<b>", const("1"), "</b>")
ANY = {"type": "any_text"}
CASES = [
    (tag("<a>", triggered(["<"], [B]), "</a>"),
     ["<a>x</a>", "<a></a>", "<a>x<b>1</b>y</a>"], ["<a>x<</a>", "<a>x</b></a>", "<a>x<b>1</b>"]),
    (tag("<a>", triggered(["<b"], [B]), "</a>"),
     ["<a>x</a>", "<a>x<b>1</b></a>", "<a><</a>"], ["<a><b</a>"]),
    (tag("<a>", triggered(["</"], [tag("</b>", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a></b>1!</a>"], ["<a></</a>"]),
    (tag("<a>", triggered(["a"], [tag("ab", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a>xab1!</a>"], ["<a>xa</a>", "<a>a"]),
    (tag("<a>", triggered([">"], [tag(">b", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a>>b1!</a>"], ["<a>></a>"]),
    (tag("<a>", triggered(["x<"], [tag("x<b>", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a>y</a>", "<a>xx<b>1!x</a>"], ["<a>x<</a>"]),
    (tag("<a>", triggered(["x</a"], [tag("x</a!", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a>x</a!1!</a>"], ["<a>x</a</a>"]),
    (tag("<a>", triggered(["</a>"], [tag("</a>b", const("1"), "!")]), "</a>"),
     ["<a>x</a>"], ["<a>x</a>b1!</a>", "<a>x</a>b"]),
    (tag("<a>", triggered(["x</a>"], [tag("x</a>", const("1"), "!")]), "</a>"),
     ["<a>x</a>", "<a></a>"], ["<a>x</a>1!</a>"]),
    (tag("<a>", triggered(["</a>x"], [tag("</a>x", const("1"), "!")]), "</a>"),
     ["<a></a>"], ["<a></a>x1!</a>"]),
    (tag("<a>", triggered(["<"], [B], stop_after_first=True), "</a>"),
     ["<a></a>", "<a>x</a>", "<a><b>1</b></a>"], ["<a><b>1</b>x</a>"]),
    (tag("<a>", triggered(["<"], [B], at_least_one=True), "</a>"),
     ["<a><b>1</b></a>", "<a><b>1</b>x</a>"], ["<a></a>", "<a>x</a>"]),
    (tag("<a>", triggered(["<"], [B], at_least_one=True, stop_after_first=True), "</a>"),
     ["<a><b>1</b></a>"], ["<a></a>", "<a><b>1</b>x</a>"]),
    (tag("<a>", triggered(["<"], [B], excludes=["/"]), "</a>"),
     ["<a>x</a>", "<a><b>1</b></a>"], ["<a>/</a>"]),
    (tag("<a>", triggered(["<"], [B], excludes=["x"]), "</a>"),
     ["<a></a>", "<a><b>1</b></a>"], ["<a>x</a>"]),
    (tag("<a>", triggered(["<"], [B]), ["</a>", "<!"]),
     ["<a>x</a>", "<a>x<!", "<a><b>1</b><!"], ["<a><<!"]),
    (tag("<a>", triggered(["<"], [B]), ["</a>", ""]),
     ["<a>x</a>", "<a>x", "<a><b>1</b>", "<a>"], ["<a><"]),
    (tag("<a>", dispatch([["<", const("b")]]), "</a>"),
     ["<a>x</a>", "<a>x<by</a>"], ["<a>x<</a>"]),
    (tag("<a>", dispatch([["<", const("b")]], loop=False), "</a>"),
     ["<a>x</a>", "<a>x<b</a>"], ["<a>x<bx</a>"]),
    (tag("<a>", dispatch([["a", const("b")], ["/", const("c")]]), "</a>"),
     ["<a>x</a>", "<a>ab/c</a>"], ["<a>a</a>"]),
    (tag("<a>", {"type": "or", "elements": [triggered(["<"], [B]), const("!")]}, "</a>"),
     ["<a>x</a>", "<a>!</a>"], ["<a><!</a>"]),
    (tag("<a>", {"type": "sequence", "elements": [const("!"), triggered(["<"], [B])]}, "</a>"),
     ["<a>!x</a>", "<a>!<b>1</b></a>"], ["<a>x</a>"]),
    (tag("<a>", {"type": "optional", "content": triggered(["<"], [B])}, "</a>"),
     ["<a>x</a>", "<a></a>"], ["<a><</a>"]),
    (tag("<a>", triggered(["<"], [tag("<b>", triggered(["<"], [B]), "</b>")]), "</a>"),
     ["<a>x<b>y<b>1</b></b></a>", "<a><b></b></a>"], ["<a><b></a>"]),
    ({"type": "sequence", "elements": [triggered(["<"], [B]), const("<end>")]},
     ["x<end>", "<b>1</b><end>"], ["<"]),
    (tag("<t>", dispatch([["x", ANY]], loop=False), ">>"),
     ["<t>xa>>", "<t>a>>", "<t>x>>"], ["<t>xa>>>", "<t>a>>>", "<t>x>>b>>"]),
    (tag("<t>", dispatch([["x", ANY], ["y", const("z")]], loop=False), [">>", "!"]),
     ["<t>xa!", "<t>yz>>"], ["<t>xa!!", "<t>yzz!"]),
    (tag("<t>", dispatch([["x", {"type": "any_text", "excludes": ["b"]}]], loop=False), ">>"),
     ["<t>xa>>", "<t>>>"], ["<t>xb>>", "<t>xa>>>"]),
    (tag("<t>", dispatch([["x", dispatch([["y", ANY]], loop=False)]], loop=False), ">>"),
     ["<t>xya>>", "<t>x>>"], ["<t>xya>>>", "<t>xy>>>"]),
    (tag("<t>", dispatch([["x", {"type": "star", "content": const("a")}]], loop=False), "a!"),
     ["<t>xa!", "<t>xaaa!"], ["<t>xb!"]),
    (tag("<t>", dispatch([["x", {"type": "sequence", "elements": [const("-"), ANY]}]], loop=False), ">>"),
     ["<t>x-a>>"], ["<t>x-a>>>"]),
]  # fmt: skip


def _compiled(form):
    return COMPILER.compile_structural_tag({"type": "structural_tag", "format": form})


def _takes(compiled, text):
    matcher = psc.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.accept_token(STOP)


@pytest.mark.parametrize(("form", "taken", "refused"), CASES)
def test_an_end_is_read_from_where_it_begins(form, taken, refused):
    compiled = _compiled(form)
    assert [text for text in taken if not _takes(compiled, text)] == []
    assert [text for text in refused if _takes(compiled, text)] == []


@pytest.mark.parametrize("form", [case[0] for case in CASES])
def test_all_short_texts_against_the_definitions(form):
    compiled = _compiled(form)
    pieces = ["<", "/", ">", "a", "b", "x", "1", "!", "</a>", "<b>1</b>"]
    begin = form.get("begin", "")
    texts = [begin + "".join(some) for n in range(5) for some in product(pieces, repeat=n)]
    wrong = [text for text in texts if _takes(compiled, text) != is_text(form, text)]
    assert wrong == []


@pytest.mark.parametrize("form", [case[0] for case in CASES])
def test_no_text_leads_into_a_dead_end(form):
    """Behind every text that is begun each allowed byte has a way on: the masks of three steps are never empty."""
    compiled = _compiled(form)
    todo = [psc.GrammarMatcher(compiled)]
    assert todo[0].accept_string(form.get("begin", ""))
    for _ in range(4):
        following = []
        for matcher in todo:
            allowed = [t for t in (*b"</>abcqxyz12!-", STOP) if matcher.is_allowed(t)]
            assert allowed
            for token in allowed:
                if token != STOP:
                    fork = matcher.fork()
                    assert fork.accept_token(token)
                    following.append(fork)
        todo = following[:200]
