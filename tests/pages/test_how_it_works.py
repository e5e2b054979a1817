"""The example of docs/how-it-works.md: its table says what psc allows."""

import re
from pathlib import Path

from markdown_blocks import blocks

import psc

PAGE = Path(__file__).resolve().parents[2] / "docs/how-it-works.md"


def test_the_table_is_what_psc_allows() -> None:
    text = PAGE.read_text()
    tokens = re.findall(r"`([^`]+)`", text[text.index("The vocabulary has the tokens") : text.index("and a token that ends")])
    info = psc.TokenizerInfo([*(token.encode() for token in tokens), b"</s>"], stop_token_ids=[len(tokens)])
    grammar = next(block.text for block in blocks(PAGE))
    compiled = psc.GrammarCompiler(info, store=False, registry=False).compile_lark(grammar, lexer="basic")
    rows = re.findall(r"^\| `(.+?)` \| .+? \| (\d) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) == 3
    for so_far, n_open, allowed in rows:
        matcher = psc.GrammarMatcher(compiled)
        assert matcher.accept_string(so_far) and so_far.count("[") - so_far.count("]") == int(n_open)
        assert sorted(tokens[i] for i in matcher.allowed_tokens()) == sorted(re.findall(r"`([^`]+)`", allowed))
