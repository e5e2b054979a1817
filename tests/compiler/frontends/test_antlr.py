"""Grammars in ANTLR 4's language: what is taken, what it means, and what each refusal says."""

from pathlib import Path

import pytest
from batches import write_tokenizer
from click.testing import CliRunner
from masks_along_texts import check_masks_along
from vocabularies import byte_tokenizer

import psc
from psc import Grammar
from psc.artifacts.format import read_file
from psc.cli import main
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.frontends.request import GrammarRequest
from psc.errors import GrammarError

INFO = byte_tokenizer()
COMPILER = psc.GrammarCompiler(INFO, store=False)


def takes(compiled: psc.CompiledGrammar, text: str) -> bool:
    """Whether a text is one of a grammar's."""
    matcher = psc.GrammarMatcher(compiled)
    return matcher.accept_string(text) and matcher.is_completed()


def compiled_of(text: str, start: str | None = None) -> psc.CompiledGrammar:
    return COMPILER.compile_grammar(GrammarRequest.of("antlr", text, start=start))


MEANING = [  # rules, texts of the first one, texts that are not
    ("a : 'x' ;", ["x"], ["", "xx"]),
    ("a : 'x'? EOF ;", ["", "x"], ["xx"]),
    ("a : ('x' | 'y')+ 'z'* ;", ["x", "yxzz"], ["", "z"]),
    ("a : v='x' w+='y' # both | 'z' # one ;", ["xy", "z"], ["x", "xyz"]),
    ("a : ~'x' ; B : 'y' ;", ["y"], ["x"]),
    ("a : . . ; B : 'y' ; C : 'x' ;", ["yx", "xx"], ["x", "z"]),
    ("a : ~('x' | B)* 'x' ; B : 'y' ; C : 'z' ;", ["x", "zzx"], ["yx", "zz"]),
    ("a : 'x' (';' | EOF) 'y'? ;", ["x", "x;", "x;y"], ["xy"]),
    ("s : t* ; t : 'x' (';' | EOF) ;", ["", "x", "x;x"], ["xx", "x;;"]),
    # The lexer: the longest lexeme, then literals of the parser, then the first rule.
    ("a : 'if' ID ; ID : [a-z]+ ; WS : [ \\t]+ -> skip ;", ["if x", " if  iff "], ["ifx", "if if"]),
    ("a : A B ; A : 'x' | 'xy' ; B : 'y' | 'z' ;", ["xyz", "xz"], ["xy"]),
    ("a : ID ; K : 'if' ; ID : [a-z]+ ;", ["iff"], ["if"]),
    ("a : 'if' ; K : 'if' ; ID : [a-z]+ ;", ["if"], ["iff"]),
    ("a : N+ ; N : D+ ('.' D+)? ; fragment D : '0'..'9' ; W : ' ' -> channel(HIDDEN) ;", ["1.5 2", "12"], ["1.", "1. 5"]),
    ("a : S ; S : '\"' ('\\\\' . | ~[\\\\\"\\r\\n])* '\"' ;", ['"a\\"b"', '""'], ['"', '"\n"']),
    (r"a : S ; S : [\]\-a\u0041\u{1F600}]+ ;", ["]-aA\U0001f600"], ["\\", "b"]),
    (r"a : S ; S : [\p{Lu}]+ ;", ["AÉ"], ["a"]),
    (r"a : S ; S : ~[\P{Lu}]+ ;", ["AÉ"], ["a"]),
    ("tokens { Y } a : X Y ; X : 'x' ; Z : 'z' -> type(Y) ;", ["xz"], ["xY", "x"]),
    # Non-greedy loops end as soon as ANTLR's do.
    ("a : 'x' ; C : '/*' .*? '*/' -> skip ;", ["/* * / */x", "x/**/"], ["/* */ */x", "/*x"]),
    ("a : 'x' ; C : '//' .*? '\\n' -> skip ;", ["//x\nx"], ["//x"]),
    ("a : S+ ; S : '\"' ('\\\\\"' | .)*? '\"' ;", ['"a\\"b"', '"a""b"', '"a\\"'], ['"a', '"a""']),
    ("a : T ; T : 'a' .*? 'b' | 'a' [a-z]* ;", ["a b", "abc", "azb"], ["a bc"]),
    ("a : T 'b'? ; T : 'a' 'b'?? ;", ["a", "ab"], ["abb"]),
    # Rules that begin with themselves.
    (
        "e : e '*' e | e '+' e | <assoc=right> e '^' e | '-' e | e '!' | '(' e ')' | e '?' e ':' e | N ; N : [0-9]+ ;",
        ["1", "1+2*3^4^5", "-1!+--2", "(1)*-(2+3)!", "1?2:3?4:5"],
        ["", "1+", "+1", "1 2", "1?2", "(1"],
    ),
    # A rule of the lexer in itself, to a depth.
    ("a : 'x' ; C : '(*' (C | .)*? '*)' -> skip ;", ["(* (* *) *)x", "(*(*(* *)*)*)x"], ["(* (* *)x", "(* *) *)x"]),
    # Options.
    ("options { caseInsensitive = true; } a : 'if' N ; N : [a-c]+ ;", ["ifabc", "IFABC", "iFaB"], ["ifd"]),
    ("a : K ; K options { caseInsensitive = true; } : 'k' [x-z] ;", ["Kz", "kX"], ["ka"]),
]


@pytest.mark.parametrize(("rules", "texts", "others"), MEANING, ids=[rules for rules, _, _ in MEANING])
def test_meaning(rules: str, texts: list[str], others: list[str]) -> None:
    compiled = compiled_of(f"grammar G; {rules}")
    assert [t for t in texts if not takes(compiled, t)] == []
    assert [t for t in others if takes(compiled, t)] == []
    for text in texts:
        check_masks_along(compiled, INFO, text.encode())


MODES = """
parser grammar P;
options { tokenVocab = L; }
page : (TEXT | tag | string)* EOF ;
tag : OPEN NAME (NAME EQ VALUE)* CLOSE ;
string : QUOTE (CHARS | INTO page_part BACK)* UNQUOTE ;
page_part : (TEXT | string)* ;
"""
LEXER = """
lexer grammar L;
REMARK : '<!' .*? '!>' -> skip ;
OPEN : '<' -> pushMode(INSIDE) ;
QUOTE : '"' -> pushMode(STRING) ;
BACK : '}' -> popMode ;
TEXT : ~[<"}]+ ;
mode INSIDE;
CLOSE : '>' -> popMode ;
EQ : '=' ;
VALUE_BEGINS : '\\'' -> more, pushMode(QUOTED) ;
NAME : [a-z]+ ;
SPACE : [ \\n]+ -> channel(HIDDEN), type(TEXT) ;
mode QUOTED;
VALUE : '\\'' -> popMode ;
PART : . -> more ;
mode STRING;
INTO : '${' -> pushMode(DEFAULT_MODE) ;
UNQUOTE : '"' -> popMode ;
CHARS : ~["$]+ ;
"""


@pytest.fixture
def pages(tmp_path: Path) -> psc.CompiledGrammar:
    (tmp_path / "P.g4").write_text(MODES)
    (tmp_path / "L.g4").write_text(LEXER)
    return COMPILER.compile_file(tmp_path / "P.g4")


def test_modes(pages: psc.CompiledGrammar) -> None:
    for text in ("", "a=b", "x<b>y", "<b a='x>y' c = '' >", "<! <b !>z", '"a"', '"a${b"c${}"}d"', '"<b>"', "<b\n>="):
        assert takes(pages, text), text
        check_masks_along(pages, INFO, text.encode())
    for text in ("<", "<b", "<b a>", "<b a=x>", "<b =>", '"', '"${"', '"${}', "}", "<b <c>", "<b '>"):
        assert not takes(pages, text), text


def test_one_mode_is_lexed_as_a_whole(tmp_path: Path) -> None:
    # '==' is one token wherever the mode is, although no rule takes it where '=' stands.
    text = "lexer grammar L; A : '<' -> pushMode(M) ; mode M; B : '=' ; C : '==' ; D : '>' -> popMode ;"
    (tmp_path / "L.g4").write_text(text)
    (tmp_path / "G.g4").write_text("parser grammar G; options { tokenVocab = L; } a : '<' '=' '=' '>' | '<' '=' '>' '<' ;")
    compiled = COMPILER.compile_file(tmp_path / "G.g4")
    assert takes(compiled, "<=><") and not takes(compiled, "<==>")


REFUSED = [  # text, the beginning of the message
    ("a : 'x' ;", "<string>:1:1: a cannot stand here; a text in ANTLR's language begins with grammar NAME;"),
    ("grammar G; a : {f()}? 'x' ;", "<string>:1:16: this is a predicate: a mask cannot run it. Write what it decides as rules"),
    ("grammar G; a : 'x' {f();} ;", "<string>:1:20: this is an action: a mask cannot run it."),
    ("grammar G; a @init {f();} : 'x' ;", "<string>:1:14: this rule has an action: a mask cannot run it."),
    ("grammar G; a : b ;", "<string>:1:16: there is no rule 'b'; define it, or put text into quotes"),
    ("grammar G; a : A ; A : B ;", "<string>:1:24: the lexer has no rule 'B'; define it, or put text into quotes"),
    ("grammar G; a : 'x' ; a : 'y' ;", "<string>:1:22: the rule a is defined twice, first on line 1; keep one of them"),
    ("grammar G; a : 'x ;", "<string>:1:16: this literal has no closing '"),
    ("grammar G; a : ('x' ;", "<string>:1:21: ; cannot stand here; this group has no closing )"),
    ("grammar G; a : A ; A : [z-a] ;", "<string>:1:25: the range z-a runs backwards; write the lower character first"),
    (r"grammar G; a : A ; A : '\q' ;", r"<string>:1:25: ANTLR has no escape \q here; there are"),
    ("grammar G; a : A ; A : 'x' -> hide ;", "<string>:1:31: ANTLR has no command hide; there are skip, more"),
    ("grammar G; a : A ; A : 'x' -> mode(M) ;", "<string>:1:31: there is no mode M; there are DEFAULT_MODE"),
    ("lexer grammar G; A : 'x' ;", "<string>:1:1: this is the grammar of a lexer, which has no texts of its own"),
    ("parser grammar G; a : 'x' ;", "<string>:1:23: no rule of the lexer is 'x' alone, and a parser grammar defines no token"),
    ("grammar G; import H; a : 'x' ;", "<string>:1:19: H.g4 lies beside a grammar in a file, and this text is in none"),
    ("grammar G; a : a 'x' ;", "<string>: rule 'a' can never finish: every alternative needs itself (a -> a)"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        compiled_of(text)
    assert str(caught.value).startswith(message)


def test_actions_are_dropped_if_the_user_says_so(tmp_path: Path) -> None:
    path = tmp_path / "G.g4"
    path.write_text("grammar G; @header { import x; } a @init {int i = '}';} : {p()}? 'x' {f(\"}\");} | {p()}? <fail={q}> 'y' ;")
    with pytest.raises(GrammarError, match="drop_actions=True"):
        COMPILER.compile_file(path)
    compiled = COMPILER.compile_file(path, drop_actions=True)
    assert takes(compiled, "x") and takes(compiled, "y") and not takes(compiled, "z")
    again = psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO)
    assert takes(again, "y")
    tokenizer = tmp_path / "tokenizer.json"
    write_tokenizer(tokenizer, [bytes([b]) for b in range(256)])
    command = ["compile", str(path), "--tokenizer", str(tokenizer), "-o", str(tmp_path / "g.psc")]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 1 and "--drop-actions" in refused.output
    done = CliRunner().invoke(main, [*command, "--drop-actions"])
    assert done.exit_code == 0, done.output
    assert Grammar.from_metadata(read_file(tmp_path / "g.psc").metadata["grammar"]).key.options.settings.text


def test_imports_and_start(tmp_path: Path) -> None:
    (tmp_path / "G.g4").write_text("grammar G; import H; a : b | 'z' ; b : 'own' ;")
    (tmp_path / "H.g4").write_text("grammar H; b : 'x' ; c : B 'y' ; B : 'b' ;")
    compiled = COMPILER.compile_file(tmp_path / "G.g4")
    assert takes(compiled, "own") and takes(compiled, "z") and not takes(compiled, "x")
    assert takes(COMPILER.compile_file(tmp_path / "G.g4", start="c"), "by")
    request = find_grammar(tmp_path / "G.g4").request()
    key = request.key()
    assert key is not None and [name for name, _ in key.imports] == ["H.g4"]
    assert Grammar.parse(request).imports == key.imports
    (tmp_path / "H.g4").unlink()
    with pytest.raises(GrammarError, match=r"G\.g4:1:19: cannot read .*H\.g4: No such file"):
        psc.GrammarCompiler(INFO, store=False).compile_file(tmp_path / "G.g4")


def test_an_artifact_is_compiled(tmp_path: Path) -> None:
    grammar = Grammar.parse(GrammarRequest.of("antlr", "grammar G; a : 'x' a 'y' | ID ; ID : [a-z] ; W : ' ' -> skip ;"))
    compiled = psc.compile_ahead_of_time(grammar, INFO)
    assert takes(compiled, "x x q y y") and not takes(compiled, "x x q y")


@pytest.mark.parametrize("grammar", ["go", "json"])
def test_actions_of_other_languages_cannot_be_dropped(grammar: str) -> None:
    with pytest.raises(GrammarError, match="drop_actions is of ANTLR grammars"):
        COMPILER.compile_file(grammar, drop_actions=True)
