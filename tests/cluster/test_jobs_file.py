"""What a jobs file may say, and the line and the way out of everything that it may not."""

from pathlib import Path

import pytest
from batches import jobs_of, write_folder

from psc.compiler.frontends.front_end import GrammarOptions
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import JobsFileError

GOOD = '[[jobs]]\ngrammars = ["grammars/sums.ebnf"]\ntokenizers = ["models/bytes.json"]\n'

BAD = {
    "syntax": ('[[jobs]]\ngrammars = ["a"\ntokenizers = 1\n', "jobs.toml:3:1: not TOML: Unclosed array"),
    "syntax at the end": ('[[jobs]]\ngrammars = ["a', "jobs.toml:2: not TOML"),
    "no jobs": ("[defaults]\n", "jobs.toml:1: there are no jobs; write a table [[jobs]]"),
    "jobs no table": ("jobs = 3\n", "jobs.toml:1: jobs is 3, but must be a list of tables, each headed [[jobs]]"),
    "single table": ('[jobs]\ngrammars = ["java"]\n', "jobs.toml:1: jobs is a table, but must be a list of tables"),
    "unknown key": (
        f'{GOOD}\nlexers = "basic"\n',
        "jobs.toml:5: unknown key 'lexers'; did you mean 'lexer'? [jobs] may have grammars, tokenizers,",
    ),
    "unknown table": (
        f"[default]\n{GOOD}",
        "jobs.toml:1: unknown key 'default'; did you mean 'defaults'? a jobs file may have defaults, tokenizer and jobs",
    ),
    "unknown default": (f"[defaults]\nmemorry = 1\n{GOOD}", "jobs.toml:2: unknown key 'memorry'; did you mean 'memory'?"),
    "missing key": ('[[jobs]]\ngrammars = ["java"]\n', "jobs.toml:1: the table [[jobs]] lacks tokenizers"),
    "wrong type": (
        GOOD.replace('["grammars/sums.ebnf"]', '"java"'),
        "jobs.toml:2: grammars is 'java', but must be a list of strings, [\"java\"]",
    ),
    "wrong element": (
        GOOD.replace('"grammars/sums.ebnf"', '"java",\n 3'),
        "jobs.toml:3: grammars, element 2, is 3, but must be a string",
    ),
    "empty list": (GOOD.replace('"grammars/sums.ebnf"', ""), "jobs.toml:2: grammars is empty"),
    "empty string": (GOOD.replace("grammars/sums.ebnf", " "), "jobs.toml:2: grammars, element 1, is an empty string"),
    "true is no number": (f"{GOOD}priority = true\n", "jobs.toml:4: priority is true, but must be a whole number"),
    "memory": (
        f'{GOOD}memory = "2 GB or more"\n',
        "jobs.toml:4: memory: '2 GB or more' is not an amount of memory; write it as in",
    ),
    "time": (f'[defaults]\ntime = "soon"\n{GOOD}', "jobs.toml:2: time: 'soon' is not a time; write it as in"),
    "lexer": (
        f'{GOOD}lexer = "longest"\n',
        'jobs.toml:4: lexer = "longest": there are contextual, basic, flush, flush-contextual, modal, flush-modal',
    ),
    "name of a path": (f'{GOOD}name = "../x"\n', "jobs.toml:4: '../x' cannot be the name of a grammar or tokenizer"),
    "unknown grammar": (GOOD.replace("grammars/sums.ebnf", "jaba"), "jobs.toml:2: jaba: no such file, nor a bundled grammar"),
    "unknown file": (GOOD.replace("sums", "sum"), "grammars/sum.ebnf: no such file"),
    "unknown kind": (GOOD.replace("grammars/sums.ebnf", "jobs.toml"), "jobs.toml:2: "),
    "unknown tokenizer": (
        GOOD.replace("models/bytes.json", "qwenn3"),
        "jobs.toml:3: tokenizer 'qwenn3': no such file or folder, nor a short",
    ),
    "unknown tokenizer file": (GOOD.replace("bytes", "byte"), "models/byte.json: no such file"),
    "glob": (GOOD.replace("sums.ebnf", "*.gbnf"), "jobs.toml:2: grammars/*.gbnf: no file matches, looked for from "),
    "tokenizer glob": (GOOD.replace("bytes", "*/*"), "jobs.toml:3: models/*/*.json: no file matches"),
    "one name twice": (GOOD + GOOD.replace('"]', '"]\n', 1), "jobs.toml:5: sums/bytes is what the job of line 2 writes already"),
    "one name in two": (
        f'{GOOD}name = "list"\n{GOOD.replace("sums", "list")}',
        "jobs.toml:6: list/bytes is what the job of line 2 writes",
    ),
    "name for two": (GOOD.replace("sums", "*") + 'name = "x"\n', "jobs.toml:4: name is for one grammar, but this table has 2"),
    "names of none": (
        f'{GOOD}names = {{ "list" = "x" }}\n',
        "jobs.toml:4: names: 'list' is none of this table's grammars: grammars/sums.ebnf",
    ),
    "declared twice": (
        '[[tokenizer]]\nname = "a"\nspec = "b"\n' * 2 + GOOD,
        'jobs.toml:5: a tokenizer called "a" is declared on line 2 already',
    ),
    "declared unknown": (
        f'[[tokenizer]]\nname = "mine"\nspec = "models/none.json"\n{GOOD.replace("models/bytes.json", "mine")}',
        "jobs.toml:3: ",
    ),
    "stop tokens": (
        '[[tokenizer]]\nname="a"\nspec="b"\nstop_token_ids = ["</s>"]\n' + GOOD,
        "jobs.toml:4: stop_token_ids is ['</s>'], but",
    ),
    "vocabulary size": (
        '[[tokenizer]]\nname="a"\nspec="b"\nvocab_size = 0\n' + GOOD,
        "jobs.toml:4: vocab_size is 0, but must be at least 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad(tmp_path: Path, case: str) -> None:
    text, expected = BAD[case]
    with pytest.raises(JobsFileError) as caught:
        jobs_of(write_folder(tmp_path, text))
    assert expected in str(caught.value)
    assert str(tmp_path / "jobs.toml") in str(caught.value)


def test_all_problems_at_once(tmp_path: Path) -> None:
    text = '[[jobs]]\ngrammars = ["jaba", "grammars/*.gbnf"]\ntokenizers = ["qwenn3"]\npriority = "high"\ncolour = 1\n'
    with pytest.raises(JobsFileError) as caught:
        jobs_of(write_folder(tmp_path, text))
    head, *rest = str(caught.value).splitlines()
    assert head == f"{tmp_path / 'jobs.toml'}: 5 problems; nothing was compiled"
    assert [line.removeprefix(f"{tmp_path / 'jobs.toml'}:")[0] for line in rest] == ["2", "2", "3", "4", "5"]


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(JobsFileError, match="cannot read the jobs file: No such file"):
        jobs_of(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'a = 1\nb = "\xe9"\n')
    with pytest.raises(JobsFileError, match=r"latin\.toml:2: not UTF-8"):
        jobs_of(tmp_path / "latin.toml")


def test_globs_options_and_names(tmp_path: Path) -> None:
    text = """
[defaults]
memory = "1GiB"
time = "10m"
[[tokenizer]]
name = "mine"
spec = "models/bytes.json"
stop_token_ids = [256]
[[jobs]]
grammars = ["grammars/**/*.ebnf", "grammars/sums.ebnf", "json"]
exclude = ["grammars/dra*"]
tokenizers = ["mine", "models/p*.json"]
names = { "grammars/list.ebnf" = "lists" }
priority = 7
[[jobs]]
grammars = ["./grammars/assignments.lark"]
tokenizers = ["mine"]
name = "assign"
lexer = "basic"
keep_all_actions = true
memory = "2GiB"
time = 30
"""
    more = {"grammars/draft.ebnf": "root ::= ", "grammars/deep/down.ebnf": 'root ::= "x"'}
    jobs = jobs_of(write_folder(tmp_path, text, more))
    assert [j.name for j in jobs] == [
        *("down/mine", "down/pieces", "lists/mine", "lists/pieces"),
        *("sums/mine", "sums/pieces", "json/mine", "json/pieces", "assign/mine"),
    ]
    first, last = jobs[0], jobs[-1]
    assert (first.priority, first.memory_limit, first.time_limit) == (7, 1 << 30, 600.0)
    assert (last.priority, last.memory_limit, last.time_limit) == (0, 2 << 30, 30.0)
    assert last.grammar.request is not None
    assert last.grammar.request.options == GrammarOptions(start="start", lexer="basic", keep_all_actions=True)
    assert first.grammar.label == "grammars/deep/down.ebnf"
    assert first.tokenizer.info is not None
    assert (first.tokenizer.info.name, first.tokenizer.info.stop_token_ids) == ("mine", [256])


def test_a_tokenizer_is_called_after_its_folder(tmp_path: Path) -> None:
    path = write_folder(tmp_path, GOOD.replace("models/bytes.json", "models/*/tokenizer.json"))
    (tmp_path / "models" / "tiny-1b").mkdir()
    (tmp_path / "models" / "bytes.json").rename(tmp_path / "models" / "tiny-1b" / "tokenizer.json")
    assert [j.name for j in jobs_of(path)] == ["sums/tiny-1b"]


def test_a_file_that_cannot_be_called_so(tmp_path: Path) -> None:
    path = write_folder(tmp_path, GOOD.replace("sums.ebnf", "*.ebnf"), {"grammars/two words.ebnf": SUMS_TEXT})
    with pytest.raises(
        JobsFileError, match=r'jobs\.toml:2: .two words. cannot be the name.*names = \{ "grammars/two words.ebnf" ='
    ):
        jobs_of(path)


SUMS_TEXT = 'root ::= "1"'


FLEET = """
[[jobs]]
grammars = ["grammars/*.ebnf", "json"]
tokenizers = ["models/bytes.json", "models/*/tokenizer.json"]
"""


def test_tokenizers_of_one_name_that_are_the_same(tmp_path: Path) -> None:
    """A folder of a model that is called as its short name is, or as another copy of it."""
    path = write_folder(tmp_path, FLEET)
    alone = {job.name for job in jobs_of(write_folder(tmp_path / "alone", FLEET.replace(', "models/*/tokenizer.json"', "")))}
    copy = path.parent / "models" / "bytes" / "tokenizer.json"
    copy.parent.mkdir()
    copy.write_bytes((path.parent / "models" / "bytes.json").read_bytes())
    jobs = jobs_of(path)
    assert {job.name for job in jobs} == alone and len(jobs) == len(alone)
    path.write_text(FLEET + FLEET.replace('"models/bytes.json", ', "").replace('"grammars/*.ebnf", "json"', '"csv"'))
    assert {job.name for job in jobs_of(path)} == alone | {"csv/bytes"}


def test_tokenizers_of_one_name_that_differ(tmp_path: Path) -> None:
    path = write_folder(tmp_path, FLEET)
    other = path.parent / "models" / "bytes" / "tokenizer.json"
    other.parent.mkdir()
    other.write_bytes((path.parent / "models" / "pieces.json").read_bytes())
    with pytest.raises(JobsFileError) as e:
        jobs_of(path)
    said = str(e.value)
    assert said.count("\n") == 0 or said.count("jobs.toml") == 2, said
    assert "models/bytes/tokenizer.json and models/bytes.json (line 4) are different tokenizers of one name, 'bytes'" in said
    assert "[[tokenizer]]" in said
    path.write_text(FLEET * 3)
    with pytest.raises(JobsFileError) as e:
        jobs_of(path)
    assert str(e.value).count("are different tokenizers") == 1


def test_a_bundled_grammar_with_an_option(tmp_path: Path) -> None:
    """A question mark is no glob there; both have artifacts of their own names."""
    text = GOOD.replace('"grammars/sums.ebnf"', '"java", "java?layout=bounded", "java?layout=any"')
    jobs = jobs_of(write_folder(tmp_path, text.replace(', "java?layout=any"', "")))
    assert [job.name for job in jobs] == ["java/bytes", "java-layout=bounded/bytes"]
    requests = [job.grammar.request for job in jobs]
    assert requests == [find_grammar("java").request(), find_grammar("java?layout=bounded").request()]
    with pytest.raises(JobsFileError, match=r"layout=none.*has the option layout=bounded"):
        jobs_of(write_folder(tmp_path, GOOD.replace("grammars/sums.ebnf", "java?layout=none")))
    left = jobs_of(write_folder(tmp_path, text + 'exclude = ["java?layout=bounded", "java?layout=any"]\n'))
    assert [job.name for job in left] == ["java/bytes"]
