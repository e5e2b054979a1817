"""What matchers tell of the rules with the option `capture`, and of markers behind rules."""

import pytest

import psc

TEXT_ONLY = psc.TokenizerInfo([])


def matcher_of(grammar: psc.Grammar, info: psc.TokenizerInfo = TEXT_ONLY) -> psc.GrammarMatcher:
    return psc.GrammarMatcher(psc.GrammarCompiler(info, store=False).compile_grammar(grammar))


def captured(grammar: psc.Grammar, text: str, *, deduplicate: bool = True) -> list[tuple[str, bytes]]:
    matcher = matcher_of(grammar)
    assert matcher.accept_string(text)
    return matcher.get_captures(deduplicate=deduplicate)


def lark(text: str, **options) -> psc.Grammar:
    return psc.Grammar.from_lark("%llguidance {}\n" + text, **options)


CASES = {
    "one": ('start: "<" n ">"\nn[capture]: /[0-9]+/', "<42>", [("n", b"42")]),
    "under a name": ('start: "<" n ">"\nn[capture="the-n"]: /[0-9]+/', "<42>", [("the-n", b"42")]),
    "the root": ('start[capture]: "x" "y"', "xy", [("start", b"xy")]),
    "not over yet": ('start: "<" n ">"\nn[capture]: "a" "b"', "<a", []),
    "empty": ('start: "<" n ">"\nn[capture]: /[0-9]*/', "<>", [("n", b"")]),
    "inner ones first": ('start: o "."\no[capture]: "(" i ")"\ni[capture]: /[a-z]/', "(q).", [("i", b"q"), ("o", b"(q)")]),
    "of one text": ("start: a\na[capture]: b\nb[capture]: c\nc[capture]: /x/", "x", [("c", b"x"), ("b", b"x"), ("a", b"x")]),
    "many": ('start: w (" " w)*\nw[capture]: /[a-z]+/', "ab c de", [("w", b"ab"), ("w", b"c"), ("w", b"de")]),
    "recursive": ('start: l\nl[capture]: "[" l? "]"', "[[]]", [("l", b"[]"), ("l", b"[[]]")]),
    "at the end of each other": ('start: l\nl[capture]: "a" l | "b"', "aab", [("l", b"b"), ("l", b"ab"), ("l", b"aab")]),
    "the longest of one place": ("start: a b\na[capture]: /x+/\nb: /x*/", "xxx", [("a", b"xxx")]),
    "characters of several bytes": ('start: "é" v "é"\nv[capture]: /[àü]+/', "éàüé", [("v", "àü".encode())]),
    "lazy": ('start: v "."* \nv[capture, lazy]: /[a-z]+\\./', "ab...", [("v", b"ab.")]),
    "repeated": ("start: v{2} /y?/\nv[capture]: /x{3}/", "xxxxxxy", [("v", b"xxx"), ("v", b"xxx")]),
    "in JSON": ('start: "a=" v\nv[capture]: %json {"type": "integer"}', "a=17", [("v", b"17")]),
    "in a nested grammar": ('start: "a" %lark { start: v "!"\nv[capture]: /[0-9]/ }', "a7!", [("v", b"7")]),
    "before what is ignored": ('start: "a" v "b"\nv[capture]: /[0-9]+/\n%ignore " "', "a 1  b", [("v", b"1")]),
    "with what is ignored inside": ('start: v "b"\nv[capture]: "x" "y"\n%ignore " "', "x  yb", [("v", b"x  y")]),
    "suffix": ('start[capture]: v "z"\nv[capture, suffix="!"]: /[a-z]*/', "ab!z", [("v", b"ab"), ("start", b"ab!z")]),
    "stop": ('start[capture]: v "z"\nv[capture, stop="!"]: /[a-z]*/', "ab!z", [("v", b"ab"), ("start", b"abz")]),
    "stop of a rule that is not captured": ('start[capture]: v v "z"\nv[stop="!"]: /[a-z]*/', "a!b!z", [("start", b"abz")]),
    "the marker": (
        'start: v "z"\nv[suffix=/!+#/, stop_capture="m", capture]: /[a-z]*/',
        "ab!!#z",
        [("m", b"!!#"), ("v", b"ab")],
    ),
    "the marker of a terminal": ('start: v\nv[stop=END, stop_capture="m"]: /[a-z]*/\nEND: "é" | "è"', "abè", [("m", "è".encode())]),
    "the first border": ('start: v\nv[suffix=/a?!/, stop_capture="m", capture]: /a*/', "aaa!", [("m", b"a!"), ("v", b"aa")]),
    "the border with a body": (
        'start: v\nv[suffix=/b?a/, stop_capture="m", capture]: "b"',
        "ba",
        [("m", b"a"), ("v", b"b")],
    ),
    "hidden in the way that was read": (
        'start: a | c\na[capture]: b "q"\nb[stop="!"]: "x"\nc[capture]: "x" "!" "y"',
        "x!y",
        [("c", b"x!y")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_captures(case):
    text, accepted, expected = CASES[case]
    assert captured(lark(text), accepted) == expected


@pytest.mark.parametrize("case", CASES)
def test_the_same_of_printed_and_of_combined_grammars(case):
    text, accepted, expected = CASES[case]
    grammar = lark(text)
    for other in (psc.Grammar.from_ebnf(str(grammar)), psc.Grammar.deserialize_json(grammar.serialize_json())):
        assert captured(other, accepted) == expected
    both = psc.Grammar.concat(psc.Grammar.from_regex("-"), psc.Grammar.union(psc.Grammar.from_regex("#"), grammar))
    assert captured(both, "-" + accepted) == expected
    assert captured(psc.Grammar.from_ebnf(str(both)), "-" + accepted) == expected


def test_each_place_where_a_rule_could_end():
    grammar = lark('start: "<" n ">"\nn[capture]: /[0-9]+/')
    assert captured(grammar, "<123", deduplicate=False) == [("n", b"1"), ("n", b"12"), ("n", b"123")]
    assert captured(grammar, "<123") == [("n", b"123")]


def test_only_what_the_text_can_still_be():
    grammar = lark('start: f "]" | g ")"\nf[capture]: /[0-9]+/\ng[capture]: /[0-9]+/')
    assert captured(grammar, "12]") == [("f", b"12")]
    assert captured(grammar, "1]", deduplicate=False) == [("f", b"1"), ("g", b"1")]


def test_of_a_text_that_is_over():
    matcher = matcher_of(lark("start: /1/ n /1/\nn[capture]: /[12]+/"), INFO)
    for token in (2, 3, 2):
        assert matcher.accept_token(token)
    assert matcher.get_captures() == [("n", b"121")]  # which may go on
    assert matcher.accept_token(8)
    assert matcher.get_captures() == [("n", b"12")]
    matcher.rollback()
    assert matcher.get_captures() == [("n", b"121")]


def test_ebnf():
    grammar = psc.Grammar.from_ebnf('root ::= a ("," a)*\na[capture="b", max_chars=2] ::= [0-9]+')
    assert captured(grammar, "1,22") == [("b", b"1"), ("b", b"22")]
    assert 'a[capture="b"] ::=' in str(grammar)


def test_a_grammar_that_has_none():
    assert captured(psc.Grammar.from_ebnf('root ::= "a"'), "a") == []
    assert captured(psc.Grammar.from_lark('start: "capture"'), "capture") == []


def test_a_count_of_a_million():
    grammar = psc.Grammar.from_ebnf('root ::= v "!"\nv[capture] ::= [a-z]{2,1000000}')
    assert captured(grammar, "abc!") == [("v", b"abc")]


INFO = psc.TokenizerInfo.from_tokens(
    [b"<", b">", b"1", b"12", b"2>", b"\xc3", b"\xa9", b"<|x|>", b"</s>"], special_token_ids=[7, 8], stop_token_ids=[8]
)


def test_tokens_rollback_fork_and_reset():
    matcher = matcher_of(lark('start: "<" n ">"\nn[capture]: /[0-9]+/'), INFO)
    for token in (0, 3, 4):
        assert matcher.accept_token(token)
    assert matcher.get_captures() == [("n", b"122")]
    fork = matcher.fork()
    matcher.rollback(2)
    assert matcher.get_captures() == []
    assert matcher.accept_token(2) and matcher.accept_token(1) and matcher.accept_token(8)
    assert matcher.get_captures() == [("n", b"1")]
    assert fork.get_captures() == [("n", b"122")]
    matcher.rollback()
    assert matcher.get_captures() == [("n", b"1")]
    matcher.reset()
    assert matcher.get_captures() == []
    assert fork.get_captures() == [("n", b"122")]


def test_batches():
    grammar = lark('start: "<" n ">"\nn[capture]: /[0-9]+/')
    matchers = [matcher_of(grammar, INFO), matcher_of(grammar, INFO)]
    batch = psc.BatchGrammarMatcher()
    assert batch.batch_accept_token(matchers, [0, 1]) == [True, False]
    assert batch.batch_accept_string(matchers, ["12", "<3"]) == [True, True]
    assert batch.batch_accept_token(matchers, [1, 4]) == [True, True]
    assert [m.get_captures() for m in matchers] == [[("n", b"12")], [("n", b"32")]]
    batch.batch_rollback(matchers, [0, 1])
    assert [m.get_captures() for m in matchers] == [[("n", b"12")], [("n", b"3")]]


def test_empty_steps():
    matcher = matcher_of(lark('start: "<" n ">"\nn[capture]: /[0-9]+/'), INFO)
    assert matcher.accept_prefix("<1x") == 2 and matcher.accept_prefix("x") == 0 and matcher.accept_string("")
    assert matcher.accept_prefix("2>>") == 2
    assert matcher.get_captures() == [("n", b"12")]
    matcher.rollback(matcher.n_steps - 1)
    assert matcher.accept_string("3>") and matcher.get_captures() == [("n", b"13")]


def test_characters_in_halves():
    matcher = matcher_of(lark('start: "<" n ">"\nn[capture]: /[é]+/'), INFO)
    for token in (0, 5, 6, 5):
        assert matcher.accept_token(token)
    assert matcher.get_captures() == [] and matcher.get_captures(deduplicate=False) == [("n", "é".encode())]
    assert matcher.accept_token(6) and matcher.accept_token(1)
    assert matcher.get_captures() == [("n", "éé".encode())]


def test_special_tokens_have_their_names():
    matcher = matcher_of(lark('start: n ">"\nn[capture]: "<" <|x|> /1?/'), INFO)
    for token in (0, 7, 2, 1):
        assert matcher.accept_token(token)
    assert matcher.get_captures() == [("n", b"<<|x|>1")]


def test_ordinary_tokens_as_themselves():
    matcher = matcher_of(lark("start: n <[1]>\nn[capture]: <[3]> | /[0-9]/"), INFO)
    assert matcher.accept_token(3) and matcher.accept_token(1)
    assert matcher.get_captures() == [("n", b"12")]


def test_artifacts_and_serialized_ones(tmp_path):
    grammar = lark('start: "<" n ">"\nn[capture]: /[0-9]+/')
    path = psc.GrammarCompiler(INFO, store=False).compile_grammar(grammar).save(tmp_path / "g.psc")
    for compiled in (psc.load(path, tokenizer_info=INFO), psc.compile_ahead_of_time(grammar, INFO)):
        again = psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO)
        for each in (compiled, again):
            matcher = psc.GrammarMatcher(each)
            assert matcher.accept_string("<5>") and matcher.get_captures() == [("n", b"5")]
