"""A new front end is a class and an instance in the registry: a language of words, added here, goes through all of psc."""

import hashlib
import json
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from batches import write_tokenizer
from click.testing import CliRunner
from vocabularies import byte_tokenizer

import psc
from psc._core import LrTables
from psc.artifacts.format import read_file
from psc.artifacts.input_key import input_key_of
from psc.artifacts.references import short_name
from psc.artifacts.store import Store
from psc.cli import main
from psc.compiler.cfg.grammar import Cfg
from psc.compiler.cfg.terminals import TerminalAutomaton
from psc.compiler.expressions.expression import Choice, Literal, RuleSet
from psc.compiler.expressions.tokens import TokenNames
from psc.compiler.frontends.front_end import NO_SETTINGS, FrontEnd, GrammarOptions, Imports, Settings
from psc.compiler.frontends.lookup import find_grammar, is_grammar
from psc.compiler.frontends.registry import FRONT_ENDS
from psc.compiler.frontends.request import GrammarRequest
from psc.grammars.build_grammar import artifact_bytes
from psc.grammars.grammar import Grammar

INFO = byte_tokenizer()


@dataclass(frozen=True, kw_only=True)
class Words(FrontEnd):
    """Words, one to a line: a text is one of them."""

    language: str = "words"
    title: str = "list of words"
    a_grammar: str = "a list of words"
    suffixes: tuple[str, ...] = (".words",)
    has_rules: bool = False

    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        if any(line == "" for line in text.splitlines()):
            raise psc.GrammarError(f"{origin}: an empty line is no word")
        words = Choice(tuple(Literal(line) for line in text.splitlines()))
        return RuleSet({"root": words}, "root", text, origin, {"root": 1}, "words")

    def names_tokens(self, text: str, settings: Settings) -> bool:
        return False

    def warnings(self, grammar: Cfg, automaton: TerminalAutomaton, lr: LrTables) -> tuple[str, ...]:
        return ("words may be misspelt",)


class WordsOfFiles(Words):
    """The same; a line @file is the words of that file."""

    def read(self, text: str, options: GrammarOptions, origin: str, names: TokenNames | None) -> RuleSet:
        lines = [line for line in text.splitlines() if not line.startswith("@")]
        for name, _ in self.imports(text, origin):
            lines += (Path(origin).parent / name).read_text().splitlines()
        return super().read("\n".join(lines), options, origin, names)

    def imports(self, text: str, origin: str) -> Imports:
        names = sorted(line[1:] for line in text.splitlines() if line.startswith("@"))
        return tuple((name, hashlib.sha256((Path(origin).parent / name).read_bytes()).hexdigest()) for name in names)


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> FrontEnd:
    """The language's instance in the registry, for the time of a test."""
    monkeypatch.setitem(FRONT_ENDS, "words", Words())
    return FRONT_ENDS["words"]


@pytest.fixture
def file(words: FrontEnd, tmp_path: Path) -> Path:
    path = tmp_path / "colours.words"
    path.write_text("red\ngreen\nréséda\n")
    return path


def accepted(compiled: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(compiled)
    return all(matcher.accept_token(t) for t in text.encode()) and matcher.accept_token(INFO.stop_token_ids[0])


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_api_takes_it(file: Path) -> None:
    compiler = psc.GrammarCompiler(INFO, store=False)
    request = GrammarRequest.of("words", file.read_text())
    for compiled in (
        compiler.compile_file(file),
        compiler.compile_grammar(request),
        compiler.compile_grammar(Grammar.parse(request)),
        psc.compile_ahead_of_time(Grammar.parse(request), INFO),
    ):
        assert [accepted(compiled, text) for text in ("red", "réséda", "re", "blue")] == [True, True, False, False]
        assert accepted(pickle.loads(pickle.dumps(compiled)), "green")
        again = psc.CompiledGrammar.deserialize_json(compiled.serialize_json(), INFO)
        assert accepted(again, "green") and again.grammar == Grammar.parse(request)
    both = compiler.compile_grammar(Grammar.union(Grammar.parse(request), Grammar.from_regex("blue")))
    assert accepted(both, "blue") and accepted(both, "red")


def test_an_artifact_keeps_it_and_is_found_by_its_key(file: Path, tmp_path: Path) -> None:
    data = artifact_bytes(Grammar.parse(find_grammar(file).request()), INFO)
    (tmp_path / "colours.psc").write_bytes(data)
    metadata = read_file(tmp_path / "colours.psc").metadata
    assert metadata["grammar"]["language"] == "words"
    assert Grammar.from_metadata(metadata["grammar"]) == Grammar.parse(find_grammar(file).request())
    key = find_grammar(file).request().key()
    assert key is not None
    assert key.with_vocabulary(INFO.fingerprint) == input_key_of(metadata)
    store = Store(tmp_path / "store")
    store.add(data)
    assert not psc.GrammarCompiler(INFO, store=store).compile_file(file).is_lazy
    file.write_text("red\n")
    assert psc.GrammarCompiler(INFO, store=store).compile_file(file).is_lazy


def test_the_command_line_takes_it(file: Path, tmp_path: Path) -> None:
    write_tokenizer(tmp_path / "bytes.json", [bytes([b]) for b in range(256)])
    (tmp_path / "text").write_text("green")
    assert is_grammar(str(file))
    artifact = tmp_path / "colours.psc"
    run("compile", file, "-t", tmp_path / "bytes.json", "-o", artifact)
    assert "list of words" in run("inspect", artifact)
    assert ": ok" in run("check", artifact, tmp_path / "text", "-t", tmp_path / "bytes.json")
    assert ": ok" in run("check", file, tmp_path / "text", "-t", tmp_path / "bytes.json")


def test_a_batch_takes_it(file: Path, tmp_path: Path) -> None:
    write_tokenizer(tmp_path / "bytes.json", [bytes([b]) for b in range(256)])
    (tmp_path / "broken.words").write_text("red\n\n")
    jobs = tmp_path / "jobs.toml"
    jobs.write_text('[[jobs]]\ngrammars = ["*.words"]\ntokenizers = ["bytes.json"]\n')
    result = CliRunner().invoke(main, ["batch", str(jobs), "--store", str(tmp_path / "store"), "--json"])
    outcomes = {job["name"]: job for job in json.loads(result.stdout)["jobs"]}
    assert {name: job["status"] for name, job in outcomes.items()} == {"broken/bytes": "failed", "colours/bytes": "compiled"}
    assert "an empty line is no word" in outcomes["broken/bytes"]["error"]
    assert outcomes["colours/bytes"]["warnings"] == ["words may be misspelt"]
    compiler = psc.GrammarCompiler(psc.load_tokenizer(tmp_path / "bytes.json"), store=tmp_path / "store")
    assert not compiler.compile_file(file).is_lazy


def test_what_it_imports_is_in_the_key(words: FrontEnd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FRONT_ENDS, "words", WordsOfFiles())
    (tmp_path / "more").write_text("blue\n")
    (tmp_path / "all.words").write_text("red\n@more\n")
    request = find_grammar(tmp_path / "all.words").request()
    before = request.key()
    assert before is not None and [name for name, _ in before.imports] == ["more"]
    (tmp_path / "more").write_text("grey\n")
    assert request.key() != before


def test_its_options_are_checked(file: Path) -> None:
    for options, message in (
        ({"lexer": "basic"}, "a list of words is a language of characters: it has no lexer to choose"),
        ({"keep_all_actions": True}, "a list of words is a language of characters"),
        ({"start": "x"}, "a list of words has no rules, so there is no start to choose"),
    ):
        with pytest.raises(psc.GrammarError, match=message):
            find_grammar(file).request(**options)


SOME_TEXT = {
    "lark": ('start: A\nA: "a"\n%import common.INT\n', True),
    "ebnf": ('root ::= "a" <[3]>', True),
    "w3c_ebnf": ("[1] root ::= 'a' - #x20", True),
    "iso_ebnf": ("root = 'a' - 'b';", True),
    "antlr": ("grammar G; a : 'x' | A ; A : 'y' -> skip ;", True),
    "regex": ("a+", True),
    "json_schema": ('{ "type": "integer" }', True),
    "llguidance": ("start: /a/ <x>", True),
    "structural_tag": ('{"type": "structural_tag", "format": {"type": "any_text"}}', True),
    "combination": ("{}", False),
}


@pytest.mark.parametrize("entry", FRONT_ENDS.values(), ids=FRONT_ENDS)
def test_entries(entry: FrontEnd) -> None:
    """Every entry answers what is asked of it, and fits the rest of the registry."""
    text, is_right = SOME_TEXT[entry.language]
    assert entry.language_of(text) == entry.language
    assert entry.canonical(entry.canonical(text)) == entry.canonical(text)
    assert entry.names_tokens(entry.canonical(text), NO_SETTINGS) == entry.names_tokens(text, NO_SETTINGS)
    assert entry.imports(text, "x") is not None
    assert (entry.order_free(text) is not None) == (entry.language == "structural_tag")
    if is_right:
        parsed = entry.parse(text, entry.defaults, "x")
        assert not parsed.reads_names or entry.names_tokens(text, NO_SETTINGS)
        tables = parsed.tables()
        assert entry.warnings(tables.cfg, tables.automaton, tables.lr) == ()
    else:
        with pytest.raises(psc.GrammarError):
            entry.parse(text, entry.defaults, "x")
    entry.check(entry.defaults, "x")
    assert entry.defaults.lexer == entry.lexers[0]
    for suffix in entry.suffixes:
        assert suffix == suffix.lower() and [f for f in FRONT_ENDS.values() if suffix in f.suffixes] == [entry]
        assert short_name(f"folder/name{suffix}") == "name", "artifacts are named without it: psc/artifacts/references.py"


def test_a_class_that_reads_nothing_is_refused() -> None:
    """As mypy refuses it, which checks the arguments and results of its methods, too."""

    class Nothing(FrontEnd):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?read"):
        Nothing(language="nothing", title="nothing", a_grammar="nothing")  # type: ignore[abstract]


def test_looking_one_up_imports_no_parser() -> None:
    import subprocess

    program = (
        "import sys; from psc.compiler.frontends.lookup import find_grammar; find_grammar('java').request().key(); "
        "find_grammar('json').request().key(); "
        "print([m for m in sys.modules if m == 'lark' or m.endswith(('.parser', '.loader')) and m.startswith('psc.compiler')])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_an_unknown_language() -> None:
    with pytest.raises(psc.GrammarError, match=r"no language 'abnf'; psc reads lark, ebnf, w3c_ebnf, iso_ebnf, antlr, regex"):
        GrammarRequest.of("abnf", "x")


def test_imports_as_they_were_parsed_are_what_is_compiled(tmp_path: Path) -> None:
    """Two parsings of one text at one place, between which the file that it imports has changed, are two grammars."""
    (tmp_path / "w.lark").write_text('W: "a"\n')
    text, origin = "start: W\n%import .w.W\n", str(tmp_path / "g.lark")
    first = Grammar.from_lark(text, source_name=origin)
    (tmp_path / "w.lark").write_text('W: "b"\n')
    second = Grammar.from_lark(text, source_name=origin)
    compiler = psc.GrammarCompiler(INFO, store=False)
    assert first != second
    assert accepted(compiler.compile_grammar(first), "a") and accepted(compiler.compile_grammar(second), "b")
