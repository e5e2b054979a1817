"""Whether an installed psc works, with nothing but what it requires: grammars, masks, artifacts, the command line.

cibuildwheel runs it in a fresh environment for every wheel, so it needs no test framework and no tokenizer.
"""

import subprocess
import sys
import tempfile
from importlib import metadata, resources
from pathlib import Path

import psc
from psc.artifacts.format import read_file
from psc.inspection.explaining import Explainer

VOCABULARY = [*(bytes([byte]) for byte in range(256)), b'{"', b'":', b" true", b"false}", b"yes", b"100%"]


def main() -> None:
    info = psc.TokenizerInfo.from_tokens([*VOCABULARY, b"<end>"], special_token_ids=[262], stop_token_ids=[262], name="try")
    compiler = psc.GrammarCompiler(info, store=False)
    schema = {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"]}
    grammars = [
        (compiler.compile_grammar('root ::= "yes" | [0-9]{1,3} "%"'), "100%"),
        (compiler.compile_regex(r"\d{4}-\d{2}"), "2026-11"),
        (compiler.compile_json_schema(schema), '{"a": true}'),
        (compiler.compile_builtin_json_grammar(), '{"a": [1, {"b": null}]}'),
    ]
    with tempfile.TemporaryDirectory() as folder:
        artifact = Path(folder, "try.psc")
        psc.compile_ahead_of_time(grammars[0][0].grammar, info).save(artifact)
        compiled = psc.CompiledGrammar.from_artifact(read_file(artifact), tokenizer_info=info)
    for grammar, text in [*grammars, (compiled, "99%")]:
        matcher = psc.GrammarMatcher(grammar)
        for byte in text.encode():
            allowed = set(matcher.allowed_tokens().tolist())
            takes = {token for token in range(info.vocab_size) if matcher.fork().accept_token(token)}
            assert allowed == takes, (text, allowed ^ takes)
            assert matcher.accept_token(byte), (text, byte)
        assert matcher.is_completed(), text
        Explainer(grammar).explain(text.encode()[:2])
    for name in ("py.typed", "_core.pyi", "compiler/grammars/json.ebnf", "playground/page.html"):
        assert resources.files("psc").joinpath(name).is_file(), name
    said = subprocess.run([sys.executable, "-m", "psc", "--version"], capture_output=True, text=True, check=True).stdout
    assert psc.__version__ in said and psc.__version__ == metadata.version("psc"), said
    print(f"psc {psc.__version__} works on Python {sys.version.split()[0]}")


main()
