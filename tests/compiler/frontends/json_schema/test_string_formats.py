"""The formats of JSON Schema, by examples and against Python's own readers."""

import calendar
import ipaddress

import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from psc._core import TextAutomaton

EXAMPLES = {
    "date": (
        ["2023-01-31", "2023-04-30", "2023-02-28", "2024-02-29", "2000-02-29", "0000-02-29", "9999-12-31"],
        [
            "2023-01-32", "2023-04-31", "2023-02-29", "1900-02-29", "2100-02-29", "2023-00-10", "2023-13-01", "2023-01-00",
            "23-01-01", "2023-1-1", "20230101", "2023-01-01Z", "2023-01-0\u0967", " 2023-01-01", "2023-01-01\n", "",
        ],
    ),
    "time": (
        [
            "00:00:00Z", "23:59:59.999999z", "12:30:00+01:00", "12:30:00-23:59", "23:59:60Z", "23:59:60.5z",
            "23:59:60+00:00", "23:59:60-00:00", "15:59:60-08:00", "00:59:60+01:00", "05:29:60+05:30", "20:29:60-03:30",
            "22:59:60-01:00",
        ],
        [
            "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00:00", "12:00Z", "12:00:00.Z", "12:00:00+24:00", "12:00:00+01:60",
            "12:00:00+1:00", "23:58:60Z", "22:59:60Z", "23:59:60+01:00", "22:59:60+01:00", "05:59:60+05:30", "12:00:00 Z",
            "1:00:00Z", "12:00:00+0100",
        ],
    ),
    "date-time": (
        ["2023-06-19T08:30:06Z", "2024-02-29t23:59:59.123+05:30", "1990-12-31T15:59:60-08:00", "0001-01-01T00:00:00z"],
        [
            "2023-02-29T08:30:06Z", "2023-06-19 08:30:06Z", "2023-06-19T08:30:06", "2023-06-19", "08:30:06Z",
            "1998-12-31T23:58:60Z", "2023-06-19T08:30Z", "+2023-06-19T08:30:06Z", "2023-350T01:01:01Z",
        ],
    ),
    "duration": (
        ["P1Y", "P1Y2M3DT4H5M6S", "PT36H", "P4W", "PT0S", "P1YT1S", "P1M2D", "P007D", "PT1H2M"],
        [
            "P", "PT", "P1", "1Y", "PT1D", "P1S", "P1Y2W", "P1D2H", "P2D1Y", "PT0.5S", "-P1D", "P1DT", "P1Y2D", "PT1H2S",
            "P1W1D", "p1y",
        ],
    ),
    "email": (
        [
            "a@b", "john.smith+tag@mail.example.com", '"john smith"@example.com', '"a\\"b"@example.com', "a@[127.0.0.1]",
            "o'hara@x.ie", "a@[IPv6:::1]", "a@[ipv6:2001:db8::1]", "~x@1a.com", "a@b--c.com",
        ],
        [
            "a", "@b", "a@", "a@@b", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b..c", "a@-b", "a@b-", "a@b_c", "a@[1.2.3]",
            "a@[::1]", '"a"b"@c', "a@b.", "a@b, c@d", '"a@b', "\xe9@b", "a@\xe9",
        ],
    ),
    "idn-email": (
        ["\uc2e4\ub840@\uc2e4\ub840.\ud14c", "caf\xe9@x.com", '"\xe9"@x.com'],
        ["\uc2e4\ub840", "a@b\uff20c@d", "a@-\xe9"],
    ),
    "hostname": (
        ["a", "www.example.com", "1host", "a--b.c-d", "xn--4gbwdl.xn--wgbh1c", "a" * 63 + ".b", "0"],
        ["", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "a b", "\xe9", "a" * 64, "\u212aelvin", "a\n"],
    ),
    "idn-hostname": (
        ["\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "l\xb7l", "a\u3002b\uff0ec\uff61d", "\xdf\u03c2", "x" * 63, "host-name"],
        [
            "", "\u302e\uc2e4", "\u0300a", "-a", "a-", "a\xb7l", "l\xb7", "\xb7l", "l\xb7a", "a..b", "a\u3002", "x" * 64,
            "\u3031",
        ],
    ),
    "ipv4": (
        ["0.0.0.0", "255.255.255.255", "192.168.10.1"],
        [
            "256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.04", "1.2.3.4 ", "0x7f.0.0.1", "1", "1.2.3.\u0967",
            "1..2.3",
        ],
    ),
    "ipv6": (
        [
            "::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "::ffff:1.2.3.4",
            "1:2:3:4:5:6:1.2.3.4", "1::2:1.2.3.4", "ABCD:ef01::",
        ],
        [
            "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", ":1", "1:", "::1.2.3",
            "::1.2.3.256", "fe80::1%x", "[::1]", "::1/64", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:6:7:8::", "g::",
        ],
    ),
    "uri": (
        [
            "http://a/b?c=d#e", "urn:isbn:123", "mailto:a@b.c", "http://u:p@[::1]:80/%20;x=y", "file:///etc", "a:",
            "a+b-c.1://", "tel:+1-2", "http://[v1.fe:x]/", "http://1.2.3.4", "x:/a//b", "http://%41/", "http://a:/",
        ],
        [
            "", "/a", "a", "//a/b", "1a:b", ":a", "http://a b", "http://a/\xe9", "http://[::1", "http://[g::]",
            "http://a:b/", "http://a/%2", "http://a/{b}", "a:b#c#d", "http://a/\\", "http://a/<>", "http://[1.2.3.4]", "a:^",
        ],
    ),
    "uri-reference": (
        ["", "a", "/a/b", "//host/x", "../a?b#c", "?q", "#f", "http://a/b", "a/b:c", "./a:b", "%20", "//"],
        ["\\a", "a b", "#a#b", "1a:b", ":a", "%", "[a]", "\xe9", "{a}"],
    ),
    "iri": (
        ["http://\u0192\xf8\xf8.\xdfr/?\u2202=\u03c0#\U0001f600", "a:\U000e1000", "a:?\ue000\U00100000"],
        ["\xe9", "a:\ue000", "a:\x80", "a:\ufff0"],
    ),
    "iri-reference": (
        ["\xe9/\xfc", "//\u0192\xf8\xf8.com", "#\u0192r\xe4gment", ""],
        ["\\\\\xe9", "\xe9 ", "#\u0192r\xe4g\\ment"],
    ),
    "uri-template": (
        ["", "http://a/{b}/{c:3}", "{+a,b*}", "{?q.r,s}", "a%20b", "{%41}", "a'b", "{&x:9999}", "\xe9{a_1}"],
        [
            "{", "}", "{}", "{a", "a}", "{a,}", "{,+a}", "{a:0}", "{a:10000}", "{a..b}", "{.}", "{a b}", "a b", "a%2", "<a>",
            '"', "{a*:3}",
        ],
    ),
    "uuid": (
        [
            "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380",
            "00000000-0000-0000-0000-000000000000",
        ],
        [
            "", "2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
            "2eb8aa08-aa98-11ea-b4aa-73b441d163800", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}",
            "2eb8aa08-aa98-11ea-b4aa73b441d16380-", "geb8aa08-aa98-11ea-b4aa-73b441d16380",
        ],
    ),
    "json-pointer": (
        ["", "/", "/a/b~0c~1d/0", "/a//b", "/ \n\U0001f600"],
        ["a", "#/a", "/~", "/~2", "/a~", "~0"],
    ),
    "relative-json-pointer": (
        ["0", "12/a", "0#", "1/", "10/~0"],
        ["", "/a", "-1", "01", "0##", "1#/a", "1/~", "+1", "1 "],
    ),
    "regex": (
        ["a*", "(?=x)"],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    texts = TextAutomaton.format(name)
    assert texts is not None
    valid, invalid = EXAMPLES[name]
    assert [t for t in valid if not texts.matches(t)] == []
    assert [t for t in invalid if texts.matches(t)] == []
    assert TextAutomaton.format(name) == texts


def test_other_names_are_no_formats() -> None:
    assert [TextAutomaton.format(name) for name in ["", "int32", "dateTime", "date-", "DATE"]] == [None] * 5


def test_all_days_of_some_years() -> None:
    dates = TextAutomaton.format("date")
    assert dates is not None
    for year in (1600, 1899, 1900, 1904, 1999, 2000, 2023, 2096, 2100):
        for month in range(14):
            last = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
            found = [day for day in range(33) if dates.matches(f"{year:04}-{month:02}-{day:02}")]
            assert found == list(range(1, last + 1))


def test_leap_seconds_are_at_the_end_of_a_day_in_utc() -> None:
    times = TextAutomaton.format("time")
    assert times is not None
    for minutes in range(0, 24 * 60, 30):
        offset = f"{minutes // 60:02}:{minutes % 60:02}"
        for local in range(29, 24 * 60, 30):
            clock = f"{local // 60:02}:{local % 60:02}:60"
            assert times.matches(f"{clock}+{offset}") == ((local - minutes) % (24 * 60) == 23 * 60 + 59)
            assert times.matches(f"{clock}.25-{offset}") == ((local + minutes) % (24 * 60) == 23 * 60 + 59)


def is_address(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return "%" not in text


@examples(300)
@given(
    st.lists(
        st.sampled_from(["", ":", "::", "0", "1", "ffff", "1a", "12345", "1.2.3.4", "1:2:3", "g", ".", "255"]), max_size=12
    ).map("".join)
)
def test_addresses_are_those_that_python_reads(text: str) -> None:
    for name, kind in (("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)):
        texts = TextAutomaton.format(name)
        assert texts is not None
        assert texts.matches(text) == is_address(text, kind), name


@examples(200)
@given(st.integers(0, 2**128 - 1))
def test_addresses_that_python_writes(number: int) -> None:
    texts = TextAutomaton.format("ipv6")
    assert texts is not None
    address = ipaddress.IPv6Address(number)
    sparse = ipaddress.IPv6Address(number & 0xFFFF00000000FFFF0000FFFF00000000)
    assert all(texts.matches(t) for t in (str(address), address.exploded, str(sparse)))
