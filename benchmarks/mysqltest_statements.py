r"""The SQL statements of MySQL's and MariaDB's regression tests, for ``psc bench corpus mysql``.

Tests are in the language of the servers' own runner, mysqltest: statements between commands. What is left here are the
statements that are sent as they stand, one of those that differ in nothing but numbers and strings; those in which the runner fills
in variables (``eval``) are left out. Which of them are SQL is for the reference to say.

    python benchmarks/mysqltest_statements.py OUT /usr/lib/mysql-test/t /usr/lib/mysql-test/suite --part held
    psc bench corpus mysql OUT --split '\n-- next\n' --mutants 2

Debian's packages mysql-testsuite and mariadb-test-data have the tests. The parts are drawn by the names of tests: what the grammar
is developed on is not what it is measured on.

Cost: some MB a second.
"""

import argparse
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

_SEPARATOR = "\n-- next\n"
_HELD_OF_16 = 7
_COMMANDS = frozenset(
    """append_file assert assert_cond begin_concurrent cat_file change_user character_set chmod chmod_file connect connection
    copy_file copy_files_wildcard dec delimiter die diff_files dirty_close disable_abort_on_error disable_async_client
    disable_cached_connection disable_cursor_protocol disable_info disable_metadata disable_non_blocking_api disable_parsing
    disable_prepare_warnings disable_ps2_protocol disable_ps_protocol disable_query_log disable_reconnect disable_result_log
    disable_rpl_parse disable_service_connection disable_session_track_info disable_testcase disable_view_protocol
    disable_warnings disconnect echo enable_abort_on_error enable_async_client enable_cursor_protocol enable_info enable_metadata
    enable_non_blocking_api enable_parsing enable_prepare_warnings enable_ps2_protocol enable_ps_protocol enable_query_log
    enable_reconnect enable_result_log enable_rpl_parse enable_service_connection enable_session_track_info enable_testcase
    enable_view_protocol enable_warnings error eval evalp exec exec_in_background execw exit expr file_exists force-cpdir
    force-rmdir horizontal_results if inc let list_files list_files_append_file list_files_write_file lowercase_result mkdir
    move_file optimizer_trace output partially_sorted_result perl ping query_attributes query_get_value query_horizontal real_sleep
    reap remove_file remove_files_wildcard replace_column replace_numeric_round replace_regex replace_result require
    reset_connection result_format rmdir run save_master_pos secret send_eval send_quit send_shutdown shutdown_server skip
    skip_if_hypergraph sleep sorted_result source start_timer sync_slave_with_master sync_with_master system vertical_results
    wait_for_slave_to_stop while write_file""".split()  # noqa: SIM905 - eighty lines of strings say no more
)
_PREFIXES = re.compile(r"(?:query_vertical|query_horizontal|query|send)\s+", re.IGNORECASE)
_IN_LINES = ("perl", "write_file", "append_file", "cat_file")
_LEXEME = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|/\*.*?\*/|#[^\n]*|--[ \t][^\n]*"
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\b[0-9][0-9a-fx.]*", re.DOTALL)


def statements(test: str) -> Iterator[str]:
    """Those of one test, without what ends them."""
    delimiter, place = ";", 0
    while True:
        place = re.compile(r"[\s}]*").match(test, place).end()
        if place >= len(test):
            return
        line_end = test.find("\n", place)
        line = test[place : line_end if line_end >= 0 else len(test)]
        command = re.match(r"(?:--\s*)?([A-Za-z_-]+)", line)
        word = command[1].lower() if command else ""
        if line.startswith(("#", "--")) or word in ("if", "while") or line.startswith("{"):
            place += len(line)
            end, text = place, line
        else:
            end = _statement_end(test, place, delimiter)
            text = test[place:end]
            place = end + len(delimiter)
        if word == "delimiter":
            delimiter = re.sub(r"^(?:--\s*)?delimiter\s+", "", text, flags=re.IGNORECASE).strip() or ";"
            if not line.startswith("--") and test[end : end + 1] == "\n":
                place = end
        elif word in _IN_LINES and word != "cat_file":
            mark = re.search(r"\s(\S+)\s*$", text) if word != "perl" or " " in text.strip() else None
            last = mark[1] if mark and re.fullmatch(r"[A-Z_]+", mark[1]) else "EOF"
            found = re.compile(rf"^{re.escape(last)}$", re.MULTILINE).search(test, place)
            place = found.end() if found else len(test)
        elif not line.startswith(("#", "--", "{")) and word not in _COMMANDS:
            yield _PREFIXES.sub("", text.strip(), count=1) if _PREFIXES.match(text) else text.strip()


def _statement_end(test: str, place: int, delimiter: str) -> int:
    for lexeme in re.compile(rf"(?P<end>{re.escape(delimiter)})|{_LEXEME}", re.DOTALL).finditer(test, place):
        if lexeme["end"]:
            return lexeme.start()
    return len(test)


def main() -> None:
    """Writes one file for each test."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("out", type=Path, help="a folder for the files")
    options.add_argument("tests", type=Path, nargs="+", help="folders of .test files")
    options.add_argument("--part", choices=("developed", "held", "all"), default="all", help="which tests, by their names")
    args = options.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    for path in sorted(p for folder in args.tests for p in folder.rglob("*.test")):
        held = int(hashlib.sha256(path.stem.encode()).hexdigest()[0], 16) < _HELD_OF_16
        if args.part != "all" and held != (args.part == "held"):
            continue
        try:
            texts = [text for text in statements(path.read_text("utf-8").replace("\r\n", "\n")) if text]
        except UnicodeDecodeError:
            continue
        new = []
        for text in texts:
            shape = _LITERAL.sub("0", " ".join(text.split())).lower()
            if shape not in seen and "$" not in text:
                seen.add(shape)
                new.append(text)
        if new:
            name = "-".join(path.parts[-4:]).removesuffix(".test")
            (args.out / f"{name}.sql").write_text(_SEPARATOR.join(new) + "\n", "utf-8")
    print(f"{len(seen):,} statements")


if __name__ == "__main__":
    main()
