"""What an operator may choose, from the environment and from an engine's configuration."""

import re
from typing import Any

import pytest

from psc.serving import OptionError, ServiceOptions


def test_nothing_is_read_or_written_unasked() -> None:
    options = ServiceOptions.of(None, {})
    assert options.store is None and options.registry == () and options.warm == () and options.fallback == "none"


def test_the_environment() -> None:
    given = {
        "PSC_STORE": "/srv/psc",
        "PSC_REGISTRY": "https://a.example/x https://b.example",
        "PSC_WARM": "java, sql,my tools.json",
        "PSC_FALLBACK": "engine",
        "PSC_CACHE_MB": "64",
        "PSC_ANY_WHITESPACE": "0",
        "PSC_MAX_WHITESPACE": "2",
        "PSC_COMPILE_TIMEOUT_S": "0.5",
        "PSC_LENIENT": "",
        "PSC_MASK_STEPS": "1000",
        "HOME": "/root",
    }
    assert ServiceOptions.of(None, given) == ServiceOptions(
        store="/srv/psc",
        registry=("https://a.example/x", "https://b.example"),
        warm=("java", "sql", "my tools.json"),
        fallback="engine",
        cache_mb=64,
        any_whitespace=False,
        max_whitespace=2,
        compile_timeout_s=0.5,
        mask_steps=1000,
    )


def test_a_mapping_wins() -> None:
    options = ServiceOptions.of(
        {"cache_mb": 8, "warm": ["json"], "strict": False, "store": None}, {"PSC_CACHE_MB": "64", "PSC_STORE": "x"}
    )
    assert (options.cache_mb, options.warm, options.strict, options.store) == (8, ("json",), False, None)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"stroe": "x"}, "psc has no option 'stroe'; did you mean store"),
        ({"qqqq": "x"}, "psc has no option 'qqqq'; there are store, registry"),
        ({"cache_mb": -1}, "cache_mb must be a whole number, 0 or more, not -1"),
        ({"cache_mb": True}, "cache_mb must be a whole number"),
        ({"cache_mb": 1.5}, "cache_mb must be a whole number"),
        ({"mask_steps": 0}, "mask_steps must be a whole number, 1 or more, not 0"),
        ({"fallback": "guidance"}, "fallback must be 'engine' or 'none', not 'guidance'"),
        ({"strict": "perhaps"}, "strict must be true or false"),
        ({"warm": [1]}, "warm must be a list of texts"),
        ({"compile_timeout_s": "nan"}, "compile_timeout_s must be a number of seconds"),
        ({"metrics": "here"}, "metrics must be a port, or HOST:PORT"),
        ({"metrics": "[::]:99999"}, "metrics must be a port"),
        ({"store": 3}, "store must be a folder"),
        (["store"], "must be a mapping"),
    ],
)
def test_what_cannot_be(given: Any, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        ServiceOptions.of(given, {})


def test_a_variable_that_cannot_be_is_named() -> None:
    with pytest.raises(OptionError, match="PSC_CACHE_MB must be a whole number"):
        ServiceOptions.of(None, {"PSC_CACHE_MB": "much"})
