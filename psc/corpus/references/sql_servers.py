"""MySQL and MariaDB as parsers: a server of its own for each comparison, which prepares statements and never runs one.

A server parses a statement to prepare it, and mostly only then looks at names and types: a statement whose first error is none of
syntax is accepted. Some errors stop the parser before the end (an unknown system variable, a missing label). A second statement,
with a continuation that no statement can have, shows whether it had come to the end; if not, the text is not judged. Stored
programs are parsed in this way too, though MySQL then reports that it prepares none. A server prepares one statement. So a script
is cut at the first semicolon before which the text parses, or fails for every continuation.

The server has an empty folder of its own, below the one for temporary files, and a socket in it, no network and no accounts. It
ends with this process, however that ends.

Cost: MariaDB starts in a second, MySQL makes its tables first, which takes ten. After that some thousand statements a second.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from psc.corpus.references.reference import Refusal
from psc.errors import ReferenceMissingError, ReferenceParserError

_KEEPER = Path(__file__).with_name("keep_sql_server.py")
_SECONDS_TO_START = 180.0
_SECONDS_TO_ANSWER = 60.0
_SECONDS_BETWEEN_TRIES = 0.1
_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/bin")
"""Where servers are installed that are on no user's ``PATH``."""


def mysql() -> SqlServer:
    """``mysqld`` of MySQL 8 or later. Debian has a program of this name that is MariaDB's."""
    return SqlServer(*_found("mysqld", "MySQL", "install mysql-server-core, or put MySQL's mysqld on the PATH"), _MYSQL)


def mariadb() -> SqlServer:
    """``mariadbd`` of MariaDB."""
    return SqlServer(*_found("mariadbd", "MariaDB", "install mariadb-server-core, or put mariadbd on the PATH"), _MARIADB)


def either() -> Either:
    """MySQL and MariaDB, if installed: a text that one accepts is accepted; else it is not judged where one cannot judge it."""
    servers: list[SqlServer] = []
    missing: list[str] = []
    for opened in (mysql, mariadb):
        try:
            servers.append(opened())
        except ReferenceMissingError as e:
            missing.append(str(e))
    if not servers:
        raise ReferenceMissingError("; ".join(missing))
    return Either(servers)


_COMMON = ("--no-defaults", "--skip-networking", "--skip-grant-tables", "--skip-log-bin")
_MYSQL = (*_COMMON, "--mysqlx=OFF", "--performance-schema=OFF")
_MARIADB = (*_COMMON, "--skip-innodb", "--default-storage-engine=Aria")


def _found(name: str, maker: str, way_out: str) -> tuple[str, str]:
    """The program, and its version."""
    program = shutil.which(name) or shutil.which(name, path=os.pathsep.join(_FOLDERS))
    if program is None:
        raise ReferenceMissingError(f"no {name}: {way_out}")
    try:
        answer = subprocess.run([program, "--no-defaults", "--version"], capture_output=True, text=True, timeout=_SECONDS_TO_ANSWER)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ReferenceMissingError(f"{program} does not run: {e}; {way_out}") from e
    version = re.search(r"Ver ([0-9][\w.+-]*)", answer.stdout)
    if answer.returncode or version is None or ("MariaDB" in answer.stdout) != (maker == "MariaDB"):
        raise ReferenceMissingError(f"{program} is no server of {maker}: {way_out}")
    return program, f"{maker} {version[1].removesuffix('-MariaDB').split('-MariaDB')[0]}"


class SqlServer:
    """A server, started on first use.

    Args:
        program: its path.
        version: its name and version.
        options: its command-line options.
    """

    def __init__(self, program: str, version: str, options: tuple[str, ...]) -> None:
        self._program, self._version, self._options = program, version, options
        self._keeper: subprocess.Popen[bytes] | None = None
        self._connection: _Connection | None = None

    @property
    def version(self) -> str:
        return self._version

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        return [self._judge(text) for text in texts]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._keeper is not None:
            with self._keeper as keeper:
                assert keeper.stdin is not None
                keeper.stdin.close()  # at which the keeper ends the server, and itself
                keeper.wait()
        self._connection = self._keeper = None

    def _judge(self, text: str) -> Refusal | None:
        begin = 0
        for end in (*_semicolons(text), len(text)):
            refusal = self._judge_statement(text, begin, end)
            if refusal is not None and not refusal.judged and end < len(text):
                # The error that stopped the parser may be in a program that goes on after the semicolon.
                whole = self._judge_statement(text, begin, len(text))
                if whole is None or not whole.judged:
                    return whole
            if refusal is None:
                begin = end + 1
            elif refusal.message != _NOT_WHOLE or end == len(text):
                return refusal
        return None

    def _judge_statement(self, text: str, begin: int, end: int) -> Refusal | None:
        statement = text[begin:end]
        if not _COMMENTS.sub("", statement).strip():
            return None
        if self._connection is None:
            self._connection = self._start()
        error = self._connection.prepare(statement)
        if error is not None and _is_of_syntax(error):
            return _refusal(error[1], text, begin, end)
        if error is None:
            return None
        # The text after another error is not judged, unless the parser had come to the end before.
        further = self._connection.prepare(statement + _NEVER_GOES_ON)
        if further is not None and not _is_of_syntax(further):
            return Refusal(f"error {error[0]}: {error[1]}", text.count("\n", 0, begin) + 1, judged=False)
        return None

    def _start(self) -> _Connection:
        command = [sys.executable, str(_KEEPER), self._program, *self._options]
        # In a session of its own: an interrupt at the terminal ends this process, at which the keeper cleans up.
        self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._keeper.stdout is not None
        folder = Path(self._keeper.stdout.readline().decode().rstrip("\n"))
        until = time.monotonic() + _SECONDS_TO_START
        with selectors.DefaultSelector() as ended:
            ended.register(self._keeper.stdout, selectors.EVENT_READ)
            while True:
                try:
                    return _Connection(str(folder / "socket"), self._version)
                except OSError as e:
                    if ended.select(_SECONDS_BETWEEN_TRIES) or time.monotonic() > until:
                        log = folder / "log"
                        messages = log.read_text(errors="replace")[-1000:] if log.exists() else str(e)
                        self.close()
                        raise ReferenceParserError(f"{self._version} does not start: {self._program}: {messages}") from e


class Either:
    """Several servers: a text that one of them takes is accepted; else the refusal is the first one's."""

    def __init__(self, servers: Sequence[SqlServer]) -> None:
        self._servers = tuple(servers)

    @property
    def version(self) -> str:
        return " or ".join(server.version for server in self._servers)

    def judge(self, texts: Sequence[str]) -> list[Refusal | None]:
        verdicts = self._servers[0].judge(texts)
        for server in self._servers[1:]:
            refused = [i for i, verdict in enumerate(verdicts) if verdict is not None]
            for i, verdict in zip(refused, server.judge([texts[i] for i in refused]), strict=True):
                if verdict is None or not verdict.judged:
                    verdicts[i] = verdict
        return verdicts

    def close(self) -> None:
        for server in self._servers:
            server.close()


_COMMENT = r"#[^\n]*|--(?=[\s\0]|$)[^\n]*|/\*.*?\*/"
_COMMENTS = re.compile(_COMMENT, re.DOTALL)
_LEXEME = re.compile(rf"{_COMMENT}|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|(?P<end>;)", re.DOTALL)
_PARSE_ERROR = 1064
_NEAR = re.compile(r"to use near '(.*)' at line ([0-9]+)$", re.DOTALL)
_NOT_WHOLE = "the statement is not whole"
_NEVER_GOES_ON = "\n)))"


def _is_of_syntax(error: tuple[int, str]) -> bool:
    # With the same number the parser also refuses values, such as a size out of its range.
    return error[0] == _PARSE_ERROR and _NEAR.search(error[1]) is not None


def _refusal(message: str, text: str, begin: int, end: int) -> Refusal:
    """The refusal of a statement: the server reports the line, and up to 80 characters from the error on."""
    near = _NEAR.search(message)
    assert near is not None
    if near[1]:
        statement = text[begin:end]
        line_begin = sum(len(line) + 1 for line in statement.split("\n")[: int(near[2]) - 1])
        at = len(statement) - len(near[1]) if statement.endswith(near[1]) else statement.find(near[1], line_begin)
        offset = begin + (at if at >= 0 else line_begin)
        word = re.match(r"\w+|\W", near[1])
        what = f"syntax error near {word[0] if word else near[1]}"
    else:
        offset, what = end, _NOT_WHOLE
    return Refusal(what, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _semicolons(text: str) -> Iterator[int]:
    """Where those are that may end a statement."""
    for lexeme in _LEXEME.finditer(text):
        if lexeme["end"]:
            yield lexeme.start()


# Of the protocol of both servers, which they document: capabilities, commands, and what an answer begins with.
_CAPABILITIES = 0x200 | 0x8000 | 0x80000
"""The protocol since 4.1, its passwords, and the name of how they are checked."""
_QUERY, _PREPARE, _CLOSE_STATEMENT = b"\x03", b"\x16", b"\x19"
_OK, _ERROR, _OTHER_AUTHENTICATION = 0, 0xFF, 0xFE
_UTF8MB4 = 45
_DATABASE = "psc"


class _Connection:
    """A client that has statements prepared, of a server without accounts.

    Raises:
        OSError: there is no server at the socket yet.
        ReferenceParserError: the server refuses its first request.
    """

    def __init__(self, path: str, version: str) -> None:
        self._version = version
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.settimeout(_SECONDS_TO_ANSWER)
            self._socket.connect(path)
            self._stream = self._socket.makefile("rb")
            self._number = 0
            greeting = self._read()
            if greeting[:1] == bytes([_ERROR]):
                raise ConnectionError(greeting[3:].decode("utf-8", "replace"))
            limits = _CAPABILITIES.to_bytes(4, "little") + (1 << 24).to_bytes(4, "little") + bytes([_UTF8MB4]) + bytes(23)
            self._write(limits + b"root\0" + b"\0" + b"caching_sha2_password\0")
            while (answer := self._read())[0] not in (_OK, _ERROR):
                if answer[0] == _OTHER_AUTHENTICATION:  # an empty password is empty in all
                    self._write(b"")
        except BaseException:
            self._socket.close()
            raise
        for statement in (f"create database {_DATABASE}", f"use {_DATABASE}"):
            if answer[0] == _ERROR:
                raise ReferenceParserError(f"{version}: {_error(answer)[1]}")
            answer = self._ask(_QUERY + statement.encode())

    def prepare(self, statement: str) -> tuple[int, str] | None:
        """The number and the text of the error, if there is one."""
        try:
            answer = self._ask(_PREPARE + statement.encode("utf-8", "surrogatepass"))
            if answer[0] == _ERROR:
                return _error(answer)
            columns, parameters = int.from_bytes(answer[5:7], "little"), int.from_bytes(answer[7:9], "little")
            for described in (parameters, columns):
                for _ in range(described + 1 if described else 0):  # an end follows them
                    self._read()
            self._number = 0
            self._write(_CLOSE_STATEMENT + answer[1:5])
        except OSError as e:
            raise ReferenceParserError(f"{self._version} has ended at: {statement[:200]}: {e}") from e
        return None

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _ask(self, command: bytes) -> bytes:
        self._number = 0
        self._write(command)
        return self._read()

    def _write(self, data: bytes) -> None:
        self._socket.sendall(len(data).to_bytes(3, "little") + bytes([self._number]) + data)
        self._number += 1

    def _read(self) -> bytes:
        head = self._stream.read(4)
        data = self._stream.read(int.from_bytes(head[:3], "little"))
        if len(head) < 4 or len(data) < int.from_bytes(head[:3], "little"):
            raise ConnectionError("the connection is closed")
        self._number = head[3] + 1
        return data


def _error(answer: bytes) -> tuple[int, str]:
    text = answer[3:].decode("utf-8", "replace")
    return int.from_bytes(answer[1:3], "little"), text[6:] if text.startswith("#") else text
