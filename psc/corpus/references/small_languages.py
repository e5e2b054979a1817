"""Parsers of small languages, each in a package of its own, which is needed for this language only."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from psc.corpus.references.conversation import dockerfile_utils
from psc.corpus.references.libraries import Library, module_of
from psc.corpus.references.reference import Refusal


def semantic_version() -> Library:
    """The package semver: Semantic Versioning 2.0.0."""
    package = module_of("semver", "semver")

    def judge(text: str) -> Refusal | None:
        return None if package.Version.is_valid(text) else Refusal("no version")

    return Library(f"semver {package.__version__}", judge)


def cron() -> Library:
    """Croniter, of five fields: it also reads seconds, ranges that go down, and blanks around a text."""
    package = module_of("croniter", "croniter")

    def judge(text: str) -> Refusal | None:
        if not text.startswith("@") and len(text.split()) != 5:
            return Refusal("not five fields")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                package.croniter.expand(text)
        except (ValueError, KeyError) as e:
            return Refusal(type(e).__name__)
        return None

    return Library(f"croniter {metadata.version('croniter')}", judge)


def sparql() -> Library:
    """Rdflib's parser, SPARQL 1.1: of a query, or else of an update. It does not know what the notes of the grammar forbid."""
    parser = module_of("rdflib.plugins.sparql.parser", "rdflib")
    refusals = module_of("pyparsing", "rdflib").ParseBaseException

    def judge(text: str) -> Refusal | None:
        furthest: Refusal | None = None
        for parse in (parser.parseQuery, parser.parseUpdate):
            try:
                parse(text)
            except refusals as e:
                if furthest is None or (e.lineno, e.column) > (furthest.line, furthest.column):
                    furthest = Refusal(_OF_THE_TEXT.sub("...", e.msg), e.lineno, e.column)
            except (RecursionError, TypeError, ValueError) as e:  # of what it makes of a number
                return Refusal(type(e).__name__, judged=False)
            else:
                return None
        return furthest

    return Library(f"rdflib {metadata.version('rdflib')}", judge)


_RING = re.compile(r"\[[^\]]*\]|%([0-9]{2})|([0-9])")


def smiles() -> Library:
    """RDKit's reader, without a look at valences and aromatic rings. It also reads a name behind the molecule."""
    chemistry = module_of("rdkit.Chem", "rdkit")
    module_of("rdkit.RDLogger", "rdkit").DisableLog("rdApp.*")

    def judge(text: str) -> Refusal | None:
        if not text or re.search(r"\s", text):
            return Refusal("empty, or more than a molecule")
        if chemistry.MolFromSmiles(text, sanitize=False) is not None:
            return None
        rings = Counter(int(m[1] or m[2]) for m in _RING.finditer(text) if m[1] or m[2])
        return Refusal("a ring is not closed" if any(n % 2 for n in rings.values()) else "no molecule")

    return Library(f"RDKit {metadata.version('rdkit')}", judge)


def hcl() -> Library:
    """Python-hcl2, which reads more than HCL: several attributes in a line, line breaks in quotes, anything within heredocs."""
    package = module_of("hcl2", "python-hcl2")
    refusals = module_of("lark.exceptions", "python-hcl2")

    def judge(text: str) -> Refusal | None:
        try:
            package.transform(package.parses_to_tree(text))
        except refusals.UnexpectedInput as e:
            return Refusal(type(e).__name__, max(e.line, 0), max(e.column, 0))
        except (refusals.LarkError, ValueError, RecursionError) as e:  # directives that do not match
            return Refusal(type(e).__name__)
        return None

    return Library(f"python-hcl2 {metadata.version('python-hcl2')}", judge)


class Dockerfiles:
    """BuildKit's own parser, in the package dockerfile, and dockerfile-utils, which looks at what it leaves to a later step.

    The first reads directives, lines, here-documents and the pairs of ENV and LABEL, the second instructions, flags and arguments.
    Neither knows the flags of RUN.
    """

    def __init__(self) -> None:
        self._parser = module_of("dockerfile", "dockerfile")
        self._validator = dockerfile_utils()

    @property
    def version(self) -> str:
        return f"BuildKit's parser in dockerfile {metadata.version('dockerfile')}, {self._validator.version}"

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._parse(text) or verdict for text, verdict in zip(texts, self._validator.judge(texts), strict=True)]

    def close(self) -> None:
        self._validator.close()

    def _parse(self, text: str) -> Refusal | None:
        try:
            self._parser.parse_string(text)
        except self._parser.GoParseError as e:
            return Refusal(_OF_THE_TEXT.sub("...", str(e)))
        return None


_ABSENT = "psc_absent.proto"
_SAYS_ITS_SYNTAX = re.compile(r"(?:\s|//[^\n]*(?:\n|$)|/\*.*?\*/)*(?:syntax|edition)\b|\ufeff", re.DOTALL)
_PROTO_TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|(?P<token>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\w.]+|\S)", re.DOTALL)


def protobuf() -> Library:
    """Protoc's parser, in the package grpcio-tools, and that of the text format for values in braces.

    Protoc looks at types and at other files behind its parser. So each text ends with an import of a file that is not there: that
    it is missed says that the parser has read the rest.
    """
    compiler = module_of("grpc_tools._protoc_compiler", "grpcio-tools")
    text_format = module_of("google.protobuf.text_format", "grpcio-tools")
    any_message = _message_with_extensions()
    folder = TemporaryDirectory()
    file = Path(folder.name, "text.proto")

    def first_error(text: str, end: str) -> Any:
        if not _SAYS_ITS_SYNTAX.match(text):  # which protoc would warn of, each time
            text = 'syntax = "proto2";' + text
        file.write_text(f'{text}\n{end} "{_ABSENT}";', encoding="utf-8", newline="")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiler.get_protos(b"text.proto", [folder.name.encode()])
        except compiler.ProtocErrors as e:
            errors = e.errors()
            return None if any(error.filename == _ABSENT.encode() for error in errors) else errors[0]

    def judge(text: str) -> Refusal | None:
        error = first_error(text, "import")
        if error is not None and b"option imports" in error.message:  # which are the last
            error = first_error(text, "import option")
        if error is not None:
            return Refusal(_OF_THE_TEXT.sub('"..."', error.message.decode()), error.line + 1, error.column + 1)
        for value in _values_in_braces(text):
            try:
                text_format.Parse(value, any_message(), allow_unknown_field=True, allow_unknown_extension=True)
            except text_format.ParseError as e:
                return Refusal(f"text format: {_OF_THE_TEXT.sub('...', str(e).partition(': ')[2])}")
        return None

    return Library(f"protoc of grpcio-tools {metadata.version('grpcio-tools')}", judge)


def _message_with_extensions() -> Any:
    """The class of a message without fields that may have any extension."""
    descriptors = module_of("google.protobuf.descriptor_pb2", "grpcio-tools")
    file = descriptors.FileDescriptorProto(name="psc_any.proto")
    file.message_type.add(name="PscAny").extension_range.add(start=1, end=2)
    pool = module_of("google.protobuf.descriptor_pool", "grpcio-tools").DescriptorPool()
    pool.Add(file)
    return module_of("google.protobuf.message_factory", "grpcio-tools").GetMessageClass(pool.FindMessageTypeByName("PscAny"))


_OF_THE_TEXT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


def _values_in_braces(text: str) -> Iterator[str]:
    """What stands in the braces behind each `=`, without comments."""
    tokens = [m["token"] for m in _PROTO_TOKEN.finditer(text) if m["token"]]
    i = 0
    while i + 1 < len(tokens):
        i += 1
        if tokens[i - 1 : i + 1] != ["=", "{"]:
            continue
        begin, depth = i + 1, 1
        while depth and i + 1 < len(tokens):
            i += 1
            depth += (tokens[i] == "{") - (tokens[i] == "}")
        yield " ".join(tokens[begin:i]).replace("- ", "-")  # the text format's reader has a sign right before its number


def planning() -> Library:
    """The package pddl: its grammar, read by Lark, and behind it what it makes of names, types and requirements."""
    parsers = module_of("pddl.parser", "pddl")
    lark = module_of("lark", "pddl")
    grammar = lark.Lark(parsers.GRAMMAR_FILE.read_text(), parser="lalr", start=["domain", "problem"])
    domain = module_of("pddl.parser.domain", "pddl").DomainParser()
    problem = module_of("pddl.parser.problem", "pddl").ProblemParser()

    def judge(text: str) -> Refusal | None:
        furthest: Refusal | None = None
        for start, read in (("domain", domain), ("problem", problem)):
            try:
                grammar.parse(text, start=start)
            except lark.exceptions.UnexpectedInput as e:
                if furthest is None or (e.line, e.column) > (furthest.line, furthest.column):
                    furthest = Refusal(type(e).__name__, max(e.line, 0), max(e.column, 0))
                continue
            try:
                read(text)
            except Exception as e:  # of several packages
                return Refusal(type(e).__name__, of_names=True)
            return None
        return furthest

    return Library(f"pddl {metadata.version('pddl')}", judge)
