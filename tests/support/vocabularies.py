"""Vocabularies for tests: small ones that are made here, so that nothing is downloaded."""

from collections.abc import Iterable

from psc.vocabulary.tokenizer_info import TokenizerInfo

WORDS = [
    "the",
    "if",
    "else",
    "for",
    "while",
    "int",
    "return",
    "class",
    "public",
    "static",
    "void",
    "String",
    "new",
    "null",
    "true",
    "false",
    "package",
    "import",
    "func",
    "var",
    "const",
    "type",
    "struct",
    "interface",
    "map",
    "range",
    "SELECT",
    "select",
    "FROM",
    "from",
    "WHERE",
    "where",
    "AND",
    "and",
    "GROUP",
    "BY",
    "ORDER",
    "join",
    "count",
    "sum",
    "0",
    "1",
    "2",
    "10",
    "100",
    "0x",
    "ff",
    "1.5",
    "e+",
    "==",
    "!=",
    "<=",
    ">=",
    "&&",
    "||",
    "++",
    "--",
    "+=",
    "-=",
    "->",
    "::",
    ":=",
    "...",
    "{}",
    "[]",
    "()",
    "();",
    ");",
    "}}",
    "});",
    '",',
    '"}',
    '"]',
    '":',
    "//",
    "/*",
    "*/",
]
PIECES = [*WORDS, '\\"', "\\n", "\\u", "\t", "\n\n", "{\n", "}\n", ";\n"]


def tokenizer(tokens: Iterable[bytes | str], *, name: str = "test") -> TokenizerInfo:
    """The tokens as text, in order, then one special token that stops."""
    decoded = [t.encode() if isinstance(t, str) else t for t in tokens]
    stop = len(decoded)
    return TokenizerInfo.from_tokens([*decoded, b"<stop>"], special_token_ids=[stop], stop_token_ids=[stop], name=name)


def byte_tokenizer(*more: bytes | str) -> TokenizerInfo:
    """Every byte, pieces that programs are made of (with and without a space before), and more."""
    return tokenizer([*(bytes([b]) for b in range(256)), *PIECES, *(" " + p for p in PIECES), *more], name="bytes")
