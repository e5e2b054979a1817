"""The reports of a batch run: every job is in each of them, and nothing that a grammar is called or says gets out of its place."""

import io
import json
import re
from html.parser import HTMLParser

import pytest
from batch_reports import compiled, failed, report
from rich.console import Console

from psc.cluster.report.charts import tick_label, ticks
from psc.cluster.report.page import html_page
from psc.cluster.report.summary import summarize, waits
from psc.cluster.report.table import terminal_table
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.support.readable import duration, printable, size

HOSTILE = '</title></style><script>alert("x")</script><img src=x onerror=alert(1)>"\' onload="&amp;\x1b[2J'
VOID = {"meta", "br", "img", "link", "rect", "line", "input"}


class Page(HTMLParser):
    """Which elements a page has, with what in them; and that each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.cells: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th"):
            self.cells[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data + " "
            if {"td", "th"} & set(self.open):
                self.cells[-1][-1] += data

    def count(self, tag: str, **attributes: str) -> int:
        return sum(name == tag and all(found.get(k) == v for k, v in attributes.items()) for name, found in self.elements)


def mixed() -> RunReport:
    return report(
        compiled("java/qwen3", 8.0, worker="10.0.0.1 7"),
        compiled("json/qwen3", 1.0, begin=0.5, worker="10.0.0.1 8", peak=700_000_000),
        failed("bad/qwen3", "bad.lark:3:1: no such rule 'x'; define it", begin=1.5, worker="10.0.0.1 8"),
        wall=10.0,
        more=(
            JobOutcome("sql/qwen3", "sql", "qwen3", "present", size=5_000, digest="ab" * 32),
            JobOutcome("go/qwen3", "go", "qwen3", "not run"),
        ),
    )


def as_text(found: RunReport, width: int = 140) -> str:
    out = io.StringIO()
    terminal_table(found, Console(file=out, width=width, no_color=True))
    return out.getvalue()


def test_a_summary_is_what_the_tasks_say() -> None:
    summary = summarize(mixed())
    assert dict(summary.by_status) == {"compiled": 2, "failed": 1, "present": 1, "not run": 1}
    assert summary.with_artifact == 3
    assert summary.own_seconds == 9.0
    assert summary.wall_to_own == pytest.approx(10 / 9)
    assert summary.lost_seconds == pytest.approx(1.0)
    assert summary.busy_share == pytest.approx((8 + 1 + 1) / 20)
    assert summary.peak_job_bytes == 700_000_000
    assert summary.peak_together_bytes == 1_000_000_000
    assert waits(mixed()) == {"java/qwen3": 0.0, "json/qwen3": 0.5, "bad/qwen3": 1.5}


def test_tasks_after_each_other_do_not_add_up_their_memory() -> None:
    found = report(compiled("a/t", 1.0, peak=300), compiled("b/t", 1.0, begin=1.0, peak=400))
    assert summarize(found).peak_together_bytes == 400


def test_the_table_has_every_job_and_the_cause_of_each_failure() -> None:
    text = as_text(mixed())
    lines = {line.split()[0]: line for line in text.splitlines() if "/qwen3 " in line and "(" not in line}
    assert set(lines) == {"java/qwen3", "json/qwen3", "bad/qwen3", "sql/qwen3", "go/qwen3"}
    assert lines["java/qwen3"].split() == [
        "java/qwen3",
        "compiled",
        "8.00",
        "s",
        "-",
        "300",
        "MB",
        "500",
        "MB",
        "450",
        "kB",
        "10,000",
        "4,321",
        "987",
        "1",
    ]
    assert "2 of 5 jobs have no artifact" in text
    assert re.search(r"bad/qwen3 \(failed\)\n +bad.lark:3:1: no such rule 'x'; define it", text)
    assert re.search(r"go/qwen3 \(not run\)\n +the run ended before it", text)
    assert "wall time is 1.11 of that" in text


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_table_fits_its_console(width: int) -> None:
    text = as_text(mixed(), width)
    assert max(map(len, text.splitlines())) <= width
    assert all(name in text for name in ("java/qwen3", "json/qwen3", "bad/qwen3", "sql/qwen3", "go/qwen3"))
    assert ("reserved" in text) == (width >= 96) and ("tries" in text) == (width >= 118)


def test_nothing_said_by_a_grammar_steers_the_terminal() -> None:
    name = "[bold red]evil[/]\x1b[2J/qwen3"
    found = report(compiled("ok/qwen3", 1.0), failed(name, "cause \x1b]0;title\x07 [link=file:///x]y[/link]\nway out\u202e"))
    found.jobs[0].warnings = ("beware \x1b[31m",)
    text = as_text(found)
    assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "[bold red]evil[/]\\x1b[2J" in text.replace("\n", "")
    assert "[link=file:///x]y[/link]" in text
    assert re.search(r"\n  way out", text)


def test_attempts_before_the_last_are_told() -> None:
    job, task = compiled("java/qwen3", 2.0, begin=3.0)
    job.attempts = 2
    _, lost = failed("java/qwen3", "the worker was lost", worker="10.0.0.2 9")
    job.status, job.error = "failed", "out of memory twice; reserve more"
    found = report((job, task))
    found.tasks.insert(0, lost)
    for text in (as_text(found), Page(html_page(found)).text):
        assert "out of memory twice; reserve more" in text
        assert "attempt 1 at compile, on 10.0.0.2 9, after 1.00 s: the worker was lost" in text


def test_the_page_has_every_job_in_every_part() -> None:
    page = Page(html_page(mixed()))
    assert page.open == []
    heads, *rows = page.cells
    assert heads[:3] == ["job", "status", "own time"]
    assert {row[0]: row[1] for row in rows} == {
        "java/qwen3": "compiled",
        "json/qwen3": "compiled",
        "bad/qwen3": "failed",
        "sql/qwen3": "present",
        "go/qwen3": "not run",
    }
    assert all(len(row) == len(heads) for row in rows)
    assert rows[2][2:6] == ["8.00 s", "-", "300 MB", "500 MB"]
    assert "bad.lark:3:1: no such rule 'x'; define it" in page.text
    assert "2 of 5 jobs have no artifact" in page.text
    assert page.count("rect", **{"class": "task-body"}) == 3
    assert page.count("svg", **{"class": "task lost"}) == 1
    assert page.count("rect", **{"class": "over"}) == 1, "json needed more than was reserved"
    assert page.count("pre") == 2


def test_the_page_refers_to_nothing_outside() -> None:
    text = html_page(mixed())
    page = Page(text)
    assert not re.findall(r"https?:|//[a-z]|@import|url\((?!#lost)", text)
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "link", "iframe", "object", "embed", "base", "form"})
    assert not [attributes for _, attributes in page.elements if {"src", "href", "style"} & set(attributes)]
    (policy,) = [a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and "default-src 'none'" in policy


def test_the_page_lets_only_its_own_script_run() -> None:
    import base64
    import hashlib

    text = html_page(mixed())
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in text


def test_hostile_names_and_errors_are_text() -> None:
    job, task = compiled(HOSTILE + "/" + HOSTILE, 1.0, worker=HOSTILE)
    job.warnings, job.published = (HOSTILE,), (HOSTILE,)
    found = report(
        (job, task), failed("bad/" + HOSTILE, HOSTILE, worker=HOSTILE), more=(JobOutcome("x", "x", "x", "not run", error=HOSTILE),)
    )
    found.tasks[0].stages.update({HOSTILE: 0.1})  # type: ignore[attr-defined]
    found.executor = found.started = found.psc_version = HOSTILE
    page = Page(html_page(found))
    assert page.open == []
    assert page.count("script") == page.count("style") == 1 and page.count("img") == 0
    assert not [a for _, attributes in page.elements for a in attributes if a.startswith("on")]
    assert page.text.count(HOSTILE.replace("\x1b", "\\x1b")) >= 12


@pytest.mark.parametrize("wall", [0.0, 3.0])
def test_an_empty_run(wall: float) -> None:
    found = report(wall=wall)
    assert "no jobs" in as_text(found)
    page = Page(html_page(found))
    assert page.open == [] and page.cells == [] and page.count("h2") == 0


def test_a_run_in_which_all_failed() -> None:
    found = report(failed("a/t", "no a"), failed("b/t", "no b"))
    assert "2 of 2 jobs have no artifact" in as_text(found)
    page = Page(html_page(found))
    assert page.open == []
    assert [row[1] for row in page.cells[1:]] == ["failed", "failed"]
    assert page.count("rect", **{"class": "peak"}) == 0
    assert "every job has its artifact" not in page.text


def test_an_interrupted_run_says_so() -> None:
    found = mixed()
    assert "was interrupted" not in as_text(found) + html_page(found)
    found.interrupted = True
    assert "was interrupted" in as_text(found) and "was interrupted" in Page(html_page(found)).text


def test_times_of_nothing_divide_nothing() -> None:
    found = report(compiled("a/t", 0.0), wall=0.0)
    assert Page(html_page(found)).open == []
    assert summarize(found).wall_to_own is None


def test_bars_stay_in_the_drawing() -> None:
    found = report(compiled("a/t", 9.0, begin=-0.5), compiled("b/t", 1e-9, begin=3.0, worker="w 2"), wall=4.0)
    for tag, attributes in Page(html_page(found)).elements:
        if tag in ("svg", "rect") and "%" in (attributes.get("width") or ""):
            begin = float((attributes.get("x") or "0").rstrip("%"))
            assert begin >= 0 and begin + float((attributes["width"] or "").rstrip("%")) <= 100.2


def test_a_report_survives_json() -> None:
    found = mixed()
    found.jobs[0].warnings, found.jobs[0].published = ("careful",), ("file:///registry",)
    again = RunReport.from_json(json.loads(json.dumps(found.to_json())))
    assert html_page(again) == html_page(found)
    assert as_text(again) == as_text(found)


@pytest.mark.parametrize("whole", [1e-6, 0.003, 0.9, 1.0, 7.7, 41.0, 59.0, 240.0, 3599.0, 90_000.0, 1e7])
def test_axes_have_a_few_round_ticks(whole: float) -> None:
    found = ticks(whole)
    assert found[0] == 0 and found[-1] <= whole * (1 + 1e-6) and 2 <= len(found) <= 9
    labels = [tick_label(at, whole) for at in found]
    assert len(set(labels)) == len(labels) and max(map(len, labels)) <= 10


def test_figures_read_well() -> None:
    assert [size(n) for n in (0, 999, 1000, 12_345, 999_950, 415_300_000, 32e9)] == [
        "-",
        "999 B",
        "1.00 kB",
        "12.3 kB",
        "1.00 MB",
        "415 MB",
        "32.0 GB",
    ]
    assert [duration(s) for s in (0, 0.0123, 0.9999, 12.34, 99.96, 359.6, 3599.9, 7261)] == [
        "-",
        "12 ms",
        "1.00 s",
        "12.3 s",
        "1 min 40 s",
        "6 min 00 s",
        "1 h 00 min",
        "2 h 01 min",
    ]
    assert printable("a\nb\tc\x00\x9b\u200b") == "a\nb\tc\\x00\\x9b\\u200b"


def test_the_page_shows_the_matrix_and_the_worst_first() -> None:
    fine = [compiled(f"{grammar}/{tokenizer}", 2.0) for grammar in ("java", "go") for tokenizer in ("qwen3", "gemma3")]
    for outcome, _ in fine:
        outcome.published = ("https://artifacts.example.org/psc",)
    unpublished, _ = fine[1]
    unpublished.status, unpublished.published = "not published", ()
    unpublished.error = "in the store, but not published: https://other.example.org: no connection"
    page = Page(html_page(report(*fine, failed("sql/qwen3", "sql.lark:1: no"), failed("sql/gemma3", "sql.lark:1: no"))))
    assert page.open == []
    rows = [row for row in page.cells if row[:1] == ["grammar"] or row[0] in ("java", "go", "sql")]
    assert rows == [
        ["grammar", "qwen3", "gemma3"],
        ["java", "✓ 2.00 s", "↑"],
        ["go", "✓ 2.00 s", "✓ 2.00 s"],
        ["sql", "✗", "✗"],
    ]
    jobs = [row for row in page.cells if "/" in row[0]]
    assert [row[1] for row in jobs] == ["failed", "failed", "not published", "compiled", "compiled", "compiled"]
    assert page.text.count("https://artifacts.example.org/psc") == 1 and page.text.count("sql.lark:1: no") <= 3
    assert "2 of 6 jobs have no artifact; an artifact is in the store, but not published" in page.text
