"""What is refused in llguidance's dialect of Lark: by name, with the place and what to write."""

from __future__ import annotations

import pytest

import psc
from psc.compiler.expressions.tokens import TokenNames

REFUSED = {
    "no start": ('item: "a"{1}', 1, 1, "there is no rule 'start'"),
    "unknown rule": ("start: missing{1}", 1, 8, "unknown name 'missing'"),
    "unknown terminal": ("start: MISSING{1}", 1, 8, "unknown name 'MISSING'"),
    "unknown ignored terminal": ('%ignore MISSING\nstart: "a"{1}', 1, 9, "unknown name 'MISSING'"),
    "rule twice": ('start: foo{1}\nfoo: "a"\nfoo: "b"', 3, 1, "duplicate rule or terminal 'foo', first in line 2"),
    "import and terminal": ('%import common.INT\nINT: "x"\nstart: INT{1}', 2, 1, "duplicate rule or terminal 'INT'"),
    "terminals in a circle": ("start: A{1}\nA: B\nB: A", 3, 4, "circular reference in terminal: A -> B -> A"),
    "a rule in a terminal": ("start: A{1}\nA: start", 2, 4, "terminal 'A' cannot reference rule 'start'"),
    "a token in a terminal": ("start: A\nA: <[1]>", 2, 4, "special tokens cannot be used in terminals"),
    "a schema in a terminal": ("start: A\nA: %json {}", 2, 10, "%json cannot be used in terminals"),
    "a grammar in a terminal": ('start: A\nA: %lark { start: "a" }', 2, 4, "nested %lark cannot be used in terminals"),
    "a reference in a terminal": ("start: A\nA: @x", 2, 4, "grammar references cannot be used in terminals"),
    "unknown attribute": ('start[budget=10]: "a"', 1, 7, "attribute 'budget' is not supported"),
    "too many tokens": ('start[max_tokens=1000001]: "a"', 1, 18, "max_tokens must be a whole number up to 1,000,000"),
    "a budget where rules become one": (
        'start: (x | head) "." x\nx: T\nhead[lazy, max_tokens=3]: T "<"\nT: /(\\n|.)*/',
        3,
        12,
        "depends on the place",
    ),
    "max_chars of what": ('start[max_chars=-1]: "a"', 1, 17, "max_chars must be a whole number up to 2,147,483,647"),
    "max_chars of too many": ('start[max_chars=2147483648]: "a"', 1, 17, "max_chars must be a whole number"),
    "max_chars of a schema": ("start: x\nx[max_chars=9]: y\ny: %json {}", 2, 3, "max_chars counts the characters of rules and"),
    "no tokens at most": ('start[max_tokens=0]: "a"', 1, 18, "max_tokens must be positive"),
    "a rule as a suffix": ('start[suffix=end]: "a"\nend: "b"', 1, 14, "suffix terminal name must be uppercase"),
    "a rule as a stop": ('start[stop=end]: "a"\nend: "b"', 1, 12, "stop terminal name must be uppercase"),
    "stop and suffix": ('start[stop="x", suffix="y"]: "a"', 1, 17, "suffix cannot be combined with stop"),
    "empty suffix": ('start[suffix=""]: "a"', 1, 7, "suffix must not be empty"),
    "attribute twice": ('start[capture, capture]: "a"', 1, 16, "capture attribute is specified more than once"),
    "empty capture": ('start[capture=""]: "a"', 1, 15, "capture name must not be empty"),
    "name of a capture": ('start[capture="a b"]: "a"', 1, 15, "capture name must only contain letters, digits"),
    "stop_capture alone": ('start[stop_capture="a"]: "a"', 1, 7, "stop_capture requires stop or suffix"),
    "temperature": ('start[temperature=-1]: "a"', 1, 19, "temperature must be a finite non-negative number"),
    "attribute of a terminal": ("TOKEN[lazy]: /a/\nstart: TOKEN", 1, 6, "attributes are only supported on rules"),
    "a lazy rule of rules": ('start: a\na[lazy]: b\nb: "x"', 2, 10, "cannot reference rule 'b'"),
    "priority": ('start.1: "a"{1}', 1, 6, "priorities are not supported"),
    "template": ('start: foo{"x"}\nfoo{x}: x "b"{1}', 1, 11, "Lark templates are not supported"),
    "parametric": ('start::0: "a"', 1, 6, "parametric grammar is not supported"),
    "parametric reference": ("start: foo::0", 1, 11, "parametric grammar is not supported"),
    "condition": ('start: "a" %if enabled', 1, 12, "parametric %if conditions are not supported"),
    "and in a rule": ('start: A & B\nA: "a"\nB: "b"', 1, 8, "intersection '&' is not supported in rules"),
    "not in a rule": ("start: ~/[a]/", 1, 8, "complement '~' is not supported in rules"),
    "flag": ("start: /abc/l{1}", 1, 8, "regular-expression flag 'l' is not supported"),
    "flag of a range": ('start: "a"i.."z"{1}', 1, 8, "flags are not allowed on character ranges"),
    "long range": ('start: "ab".."c"{1}', 1, 8, "range endpoints must be one character"),
    "reversed range": ('start: "z".."a"{1}', 1, 8, "range start must not exceed end"),
    "regex": ("start: /[abc/{1}", 1, 8, "failed to compile regular expression"),
    "word boundary": (r"start: /a\b/{1}", 1, 8, "Word boundary assertion"),
    "lookahead": (r"start: /(?=a)/{1}", 1, 8, "Lookahead assertion"),
    "escape": (r'start: "\q"{1}', 1, 8, "invalid string literal"),
    "half a pair": (r'start: "\ud800"{1}', 1, 8, "invalid string literal"),
    "open string": ('start: <x> "unterminated', 1, 12, "unterminated string literal"),
    "open regex": ("start: <x> /unterminated", 1, 12, "unterminated regular expression"),
    "open token": ("start: @x <unterminated", 1, 11, "unterminated special token"),
    "white space in a token": ("start: @x <bad token>", 1, 11, "invalid special token"),
    "no name behind @": ("start: <x> @", 1, 12, "empty grammar reference"),
    "character": ("start: <x> $", 1, 12, "unexpected character '$'"),
    "no colon": ('start <x> "a"', 1, 7, "expected ':' after rule name"),
    "open group": ('start: <x> ("a"', 1, 16, "expected ')' after group"),
    "no alias": ('start: <x> ->', 1, 14, "expected alias name after '->'"),
    "declare": ("%declare TOKEN\nstart: TOKEN{1}", 1, 1, "directive %declare is not supported"),
    "override": ('%override start\nstart: "a"{1}', 1, 1, "directive %override is not supported"),
    "other imports": ("%import common.UNKNOWN\nstart: UNKNOWN{1}", 1, 9, "unknown common import"),
    "counts": ('start: "a"{3,2}', 1, 8, "repetition end must be greater"),
    "negative count": ('start: "a"{-1,}', 1, 12, "invalid repetition count"),
    "huge count": ('start: "a"{999999999999999999999}', 1, 12, "invalid repetition count"),
    "JSON": ("start: %json {", 1, 15, "failed to parse JSON value after %json"),
    "schema": ('start: %json {"type": "thing"}', 1, 14, "failed to compile inline JSON schema"),
    "x-guidance": ('start: %json {"x-guidance": {"coerce_one_of": true}}', 1, 14, "'coerce_one_of' is not supported"),
    "unknown x-guidance": ('start: %json {"x-guidance": {"other": true}}', 1, 14, "unknown option 'other'"),
    "no start inside": ('start: %lark { item: "a" }', 1, 8, "failed to compile nested Lark grammar"),
    "no such grammar": ("start: @other", 1, 8, "unknown named grammar '@other'"),
    "substring of what": ('start: %regex {"substring": "a"}', 1, 15, "unknown field 'substring' in %regex"),
    "two dashes": ("start: <[1-2-3]>", 1, 8, "invalid numeric special-token range"),
    "reversed ids": ("start: <[3-1]>", 1, 8, "invalid numeric special-token range"),
    "no ids": ("start: <[,]>", 1, 8, "empty numeric special-token range"),
    "no token": ("start: <[^*]>", 1, 8, "negated wildcard special token is not supported"),
    "wildcard and ids": ("start: <[*,1]>", 1, 8, "wildcard cannot be mixed"),
    "huge id": ("start: <[0-1048576]>", 1, 8, "special-token range is too large"),
    "option": ('%llguidance {"allow_initial_skip": 1}\nstart: "a"', 1, 13, "allow_initial_skip must be a boolean"),
    "bytes": ('%llguidance {"allow_invalid_utf8": true}\nstart: "a"', 1, 13, "'allow_invalid_utf8' is not supported"),
    "unknown option": ('%llguidance {"unknown": false}\nstart: "a"', 1, 13, "unknown %llguidance option 'unknown'"),
    "options": ('%llguidance []\nstart: "a"', 1, 13, "%llguidance value must be an object"),
    "a line too many": ('start: "a"{1}\n  "b"', 2, 3, "expected a rule, a terminal or a directive"),
    "a schema where text ends early": (
        'start: h "!" | %json {"type": "integer"}\nh[lazy]: /[0-9a]*;/', 1, 22, "a schema or grammar may begin where the rule h may"
    ),
    "rules that need themselves": (
        'start: list (h "!" | TEXT)\nlist: "x" list TEXT "." | "z"\nh[lazy]: TEXT ";"\nTEXT: /[a-z;]*/',
        2,
        16,
        "depends on what was read before",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, line, column, message = REFUSED[name]
    with pytest.raises(psc.GrammarError) as caught:
        psc.Grammar.from_lark(text, source_name="g")
    told = str(caught.value)
    assert told.startswith(f"g: Lark error at line {line}, column {column}: ") and message in told
    shown, pointer = told.splitlines()[1:3]
    assert shown == f"  {text.splitlines()[line - 1]}" and pointer == f"  {' ' * (column - 1)}^"


def test_tokens_that_a_vocabulary_lacks() -> None:
    info = psc.TokenizerInfo.from_tokens([b"a", b"<known>", b"<end>"], special_token_ids=[1, 2], stop_token_ids=[2])
    for text, message in (("<unknown>", "unknown special token <unknown>; did you mean <known>"), ("<[3]>", "there is no token 3")):
        grammar = psc.Grammar.from_lark(f"start: {text}")
        with pytest.raises(psc.GrammarError, match=message):
            psc.Grammar.from_lark(f"start: {text}", tokenizer_info=info)
        with pytest.raises(psc.GrammarError, match=message):
            psc.GrammarCompiler(info, store=False).compile_grammar(grammar)
    assert TokenNames(info).id_of("<known>") == 1


def test_a_name_is_that_of_all_tokens_which_have_it() -> None:
    info = psc.TokenizerInfo.from_tokens([b"<t>", b"x", b"<t>", b"<t>", b"<"], special_token_ids=[0, 2], stop_token_ids=[])
    compiled = psc.GrammarCompiler(info, store=False).compile_grammar(psc.Grammar.from_lark("start: <t>", tokenizer_info=info))
    assert psc.GrammarMatcher(compiled).allowed_tokens().tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "start: " + "(" * 101 + '"a"{1}' + ")" * 101,
        "start: A0{1}\n" + "".join(f"A{i}: A{i + 1}\n" for i in range(101)) + 'A101: "a"',
        "start: A0{1}\n" + "".join(f"A{i}: {'(' * 60}A{i + 1}{' X)?' * 60}\n" for i in range(60)) + 'A60: "a"\nX: "b"',
        "start: A\nA: ~(/[ab]*a[ab]{18}/)",
        'start: "a"{1}' + " " * 1_000_000,
        "start: %json " + "[" * 100_000,
        "start: h TEXT\nh[lazy]: /[ab]*a[ab]{18}/\nTEXT: /a/",
        'start: %regex {"substring_chars": "' + "a" * 3000 + '"}',
    ],
    ids=["groups", "terminals", "terminals and groups", "complement", "long", "JSON", "lazy", "substring"],
)
def test_limits(text: str) -> None:
    with pytest.raises(psc.ResourceLimitError):
        psc.Grammar.from_lark(text)


def test_named_grammars_inside_each_other() -> None:
    named = {f"a{i}": f"start: @a{i + 1}" for i in range(300)}
    with pytest.raises(psc.ResourceLimitError, match="named grammars refer to each other more than 30 deep"):
        psc.Grammar.from_lark("start: @a0", named_grammars=named)
    some = {**{f"a{i}": f"start: @a{i + 1}" for i in range(29)}, "a29": 'start: "x"'}
    assert psc.Grammar.from_lark("start: @a0", named_grammars=some)
