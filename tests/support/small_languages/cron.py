"""Schedules of cron, beside croniter, which also reads ranges that go down."""

import re

from small_languages.rows import Rows

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_OWN = re.compile(r"[#?lhrw@]|\d{3}|/0|\s{9}|^\s|\s$")
"""Croniter's letters and signs, long numbers, and blanks that are many or at an end."""


def differs(text: str) -> bool:
    """Whether a text has what croniter alone reads, such as a range that goes down or is from a name to a number."""
    plain = text.lower()
    for first, last in re.findall(r"(\w+)-(\w+)", plain):
        values = [names.index(end) if end in names else -1 for names in (MONTHS, WEEKDAYS) for end in (first, last)]
        if first.isdigit() and last.isdigit():
            values += [int(first), int(last)]
        if not any(0 <= low <= high for low, high in zip(values[::2], values[1::2], strict=True)):
            return True
    return _OWN.search(re.sub("|".join((*MONTHS, *WEEKDAYS)), "", plain)) is not None


ROWS = Rows(
    accepted=[
        "* * * * *",
        "*/15 0,12 1-31 1-12 0-7",
        "0 9-17 * * MON-FRI",
        "5,7-9,20-40/4 8/2 1,15 jan,Jun-DEC sun",
        "05 00 01 01 07",
        "0-59 0-23 1-31 1-12 0-6",
        "59-59 23-23 31-31 12-12 7-7",
        "10-19/3 20-23 9-30 9-12 1-5",
        "7-11 09-21 28-31 10-11 SUN-SAT",
        "0 0 1 1 *",
        "0\t0  1 * *",
        "*,5 * * * *",
        "@daily",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@midnight",
        "@hourly",
    ],
    refused=[
        "",
        "*",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 0 *",
        "* * * 13 *",
        "* * * * 8",
        "MON * * * *",
        "* * * MON *",
        "* * * * JAN",
        "* * * FOO *",
        "5- * * * *",
        "-5 * * * *",
        "5, * * * *",
        ",5 * * * *",
        "*/0 * * * *",
        "*/ * * * *",
        "*/5/2 * * * *",
        "*-5 * * * *",
        "1-2-3 * * * *",
        "* * * * MON-",
        "5.5 * * * *",
        "@reboot",
        "@dail",
        "0 0 * * * root",
    ],
    stricter=[
        "5-3 * * * *",
        "19-10 * * * *",
        "* 22-2 * * *",
        "* * 31-1 * *",
        "* * * 12-1 *",
        "* * * DEC-JAN *",
        "* * * * SAT-SUN",
        "* * * * 6-0",
        "* * * * MON-5",
        "005 * * * *",
        "*/100 * * * *",
        "*/05 * * * *",
        "* * L * *",
        "* * ? * *",
        "* * * * 1#2",
        " * * * * *",
        "* * * * *\n",
        "*         * * * *",
        "@Daily",
    ],
    pieces=["*", "0", "1", "5", "12", "31", "59", ",", "/", "/2", " ", "JAN", "mon", "a", "6", "8", "24", "60", "\t"],
    tokens=["* *", "0 ", "-1", "1-", "MON-", "-F", "@d", "JU", "*/1"],
    differs=differs,
)
