"""The terminals that `%import common.NAME` stands for, as regular expressions; names and languages are those of Lark's `common`."""

from __future__ import annotations

from typing import Final

_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_DECIMAL: Final = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_FLOAT: Final = rf"(?:{_DECIMAL}(?:{_EXPONENT})?|[0-9]+{_EXPONENT})"

COMMON: Final = {
    "DIGIT": r"[0-9]",
    "HEXDIGIT": r"[0-9a-fA-F]",
    "INT": r"[0-9]+",
    "SIGNED_INT": r"[+-]?[0-9]+",
    "DECIMAL": _DECIMAL,
    "_EXP": _EXPONENT,
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": rf"[+-]?{_FLOAT}",
    "NUMBER": rf"(?:{_FLOAT}|[0-9]+)",
    "SIGNED_NUMBER": rf"[+-]?(?:{_FLOAT}|[0-9]+)",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
    "LCASE_LETTER": r"[a-z]",
    "UCASE_LETTER": r"[A-Z]",
    "LETTER": r"[A-Za-z]",
    "WORD": r"[A-Za-z]+",
    "CNAME": r"[_A-Za-z][_A-Za-z0-9]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "SQL_COMMENT": r"--[^\n]*",
}
