"""Parsers of data formats: those of Python's standard library, GraphQL's in graphql-core, and Markdown's in markdown-it-py.

They refuse more than a grammar can, which has no memory: tags with different names, a TOML key that is defined twice. A report
groups these by their messages.
"""

from __future__ import annotations

import csv
import platform
import re
import tomllib
from importlib import metadata
from inspect import signature
from io import StringIO
from xml.parsers import expat

from psc.corpus.references.libraries import Library, module_of, python_json
from psc.corpus.references.reference import Refusal

_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_KEY = re.compile(r"\('.*\)|'.*'", re.DOTALL)
_QUOTED_FIELD = re.compile(r'(?<![^,\r\n])"(?:[^"]|"")*"')


def toml() -> Library:
    """Python's `tomllib`, TOML 1.0."""

    def judge(text: str) -> Refusal | None:
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            position = _POSITION.search(str(e))
            line, column = (int(n or 0) for n in position.groups()) if position else (0, 0)
            return Refusal(_KEY.sub("...", _POSITION.sub("", str(e))), line, column)
        except (ValueError, RecursionError) as e:
            return Refusal(str(e))
        return None

    return Library(f"tomllib of Python {platform.python_version()}", judge)


def xml() -> Library:
    """Expat: whether a document is well-formed."""

    def judge(text: str) -> Refusal | None:
        parser = expat.ParserCreate("utf-8")  # whatever encoding the text says that it has
        try:
            parser.Parse(text.encode(), True)
        except expat.ExpatError as e:
            return Refusal(expat.ErrorString(e.code), e.lineno, e.offset + 1)
        return None

    return Library(f"{expat.EXPAT_VERSION} of Python {platform.python_version()}", judge)


def comma_separated() -> Library:
    """Python's `csv`, strictly, without quotes in fields that are not quoted, which RFC 4180 does not have."""

    def judge(text: str) -> Refusal | None:
        reader = csv.reader(StringIO(text, newline=""), strict=True)
        try:
            for _ in reader:
                pass
        except csv.Error as e:
            return Refusal(str(e), reader.line_num)
        if '"' in _QUOTED_FIELD.sub("", text):
            return Refusal("a quote in a field that is not quoted")
        return None

    return Library(f"csv of Python {platform.python_version()}", judge)


def yaml() -> Library:
    """PyYAML's parser, YAML 1.1: neither anchors nor keys that are there twice are looked at."""
    parser = module_of("yaml", "pyyaml")

    def judge(text: str) -> Refusal | None:
        try:
            for _ in parser.parse(text, Loader=parser.SafeLoader):
                pass
        except parser.MarkedYAMLError as e:
            mark = e.problem_mark
            return Refusal(str(e.problem), mark.line + 1 if mark else 0, mark.column + 1 if mark else 0)
        except (parser.YAMLError, RecursionError) as e:
            return Refusal(str(e))
        return None

    return Library(f"PyYAML {parser.__version__}", judge)


def markdown() -> Library:
    """Fenced blocks as markdown-it-py finds them: each is closed, and holds JSON where it says so."""
    parser = module_of("markdown_it", "markdown-it-py").MarkdownIt("commonmark")
    is_json = python_json().judge

    def judge(text: str) -> Refusal | None:
        lines = text.split("\n")
        for block in parser.parse(text):
            if block.type != "fence":
                continue
            begin, end = block.map
            closing = rf"[\s>]*{re.escape(block.markup)}{block.markup[0]}*\s*"
            if end == begin + 1 or not re.fullmatch(closing, lines[end - 1]):
                return Refusal("a block is not closed", begin + 1)
            if block.info.split()[:1] and block.info.split()[0].lower() == "json":
                (refusal,) = is_json([block.content])
                if refusal is not None:
                    return Refusal(f"JSON: {refusal.message}", begin + 1 + refusal.line, refusal.column)
        return None

    return Library(f"markdown-it-py {metadata.version('markdown-it-py')}", judge)


def graphql() -> Library:
    """GraphQL's parser, in the package graphql-core, without the empty selection sets that only it takes."""
    package = module_of("graphql", "graphql-core")
    option = "allow_empty_selection_sets"  # since 3.3
    options = {option: False} if option in signature(package.parse).parameters else {}

    def judge(text: str) -> Refusal | None:
        try:
            package.parse(text, no_location=True, **options)
        except package.GraphQLSyntaxError as e:
            position = e.locations[0]
            return Refusal(e.message, position.line, position.column)
        except RecursionError as e:
            return Refusal(str(e))
        return None

    return Library(f"graphql-core {package.version}", judge)
