"""Everything but the paper's construction works without pynini, which PyPI has for one platform only: the same artifacts, the same
warnings.
"""

import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]

# Terminals that are compiled, and judged against Lark's lexing, in all the ways there are.
GRAMMARS = {
    "expressions": 'start: (A | B | "if")+\nA: /[a-z]+/\nB: /[0-9]+(\\.[0-9]+)?/\n%ignore " "\n',
    "shorter lexeme": "start: A | B\nA: /a/\nB.-1: /ab/\n",
    "first alternative": "start: A\nA: /a|ab/\n",
    "names that are not keywords": 'start: A "if" A\nA: /(?!if)[a-z]+/\n',
    "word edge": "start: (A | B)+\nA: /foo\\b/\nB: /[a-z ]/\n",
    "lookahead at the end": "start: (A | B)+\nA: /x(?!y)z?/\nB: /[xyz]/\n",
    "lazy": 'start: (A | "*")+\nA: /\\/\\*.*?\\*\\//\n',
    "lookbehind": 'start: A\nA: /".*?(?<!x)"/\n',
    "atomic": "start: A B\nA: /(?>a|ab)c?/\nB: /a*+b?c/\n",
}

# Prints, for each grammar, its artifact's digest, its warnings, and whether pynini was imported.
SCRIPT = """
    import hashlib, json, sys
    if sys.argv[1] == "blocked":
        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("pynini", "_pynini", "pywrapfst", "_pywrapfst"):
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.meta_path.insert(0, Blocked())
    from grammar_tables import tables_of
    from vocabularies import byte_tokenizer
    from psc.artifacts.format import encode
    from psc.compiler.pipeline.build import build
    from psc.compiler.frontends.lark.loader import load_lark
    from lark_grammars import lark_text
    texts = json.loads(sys.argv[2]) | {"json": lark_text("json"), "sql": lark_text("sql")}
    found = {}
    for name, text in texts.items():
        for lexer in ("basic", "contextual"):
            result = build(tables_of(load_lark(text, lexer=lexer)), byte_tokenizer())
            digest = hashlib.sha256(encode(result.arrays, result.metadata)).hexdigest()
            found[f"{name}, {lexer}"] = digest, result.warnings
    print(json.dumps([found, "pynini" in sys.modules]))
"""


def compiled(mode: str) -> tuple[dict[str, tuple[str, list[str]]], bool]:
    script = f"import sys; sys.path.insert(0, {str(ROOT / 'tests/support')!r})\n" + textwrap.dedent(SCRIPT)
    command = [sys.executable, "-c", script, mode, json.dumps(GRAMMARS)]
    found, imported = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    return found, imported


def test_the_same_bytes_and_warnings() -> None:
    pytest.importorskip("pynini", reason="there is nothing to compare with")
    (without, _), (with_it, imported) = compiled("blocked"), compiled("installed")
    assert without == with_it
    assert not imported, "pynini takes a second to import, and compiling does not need it"
    warnings = {name: " ".join(warnings) for name, (_, warnings) in without.items()}
    assert "first alternative" in warnings["first alternative, basic"]
    assert "shorter lexeme" in warnings["shorter lexeme, basic"]
    assert not warnings["expressions, contextual"]


def test_pynini_is_required_by_the_extra_for_it_only() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: [Requirement(line) for line in lines] for name, lines in project["optional-dependencies"].items()}

    def packages(requirements: list[Requirement], environment: dict[str, str]) -> set[str]:
        found: set[str] = set()
        for r in requirements:
            if r.marker and not r.marker.evaluate({**environment, "extra": ""}):
                continue
            found |= {r.name}.union(*(packages(extras[e], environment) for e in r.extras)) if r.name == "psc" else {r.name}
        return found

    linux = {"sys_platform": "linux", "platform_machine": "x86_64"}
    others = ({"sys_platform": "linux", "platform_machine": "aarch64"}, {"sys_platform": "darwin", "platform_machine": "arm64"})
    assert "pynini" in packages(extras["test"], linux) & packages(extras["openfst"], linux)
    for name in extras.keys() - {"openfst", "test"}:
        assert "pynini" not in packages(extras[name], linux), name
    for platform in others:
        assert not {"pynini", "cupy-cuda12x"} & packages(extras["test"], platform)
