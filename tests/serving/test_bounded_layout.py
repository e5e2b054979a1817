"""A bundled language that is named without an option has bounded layout, whoever names it, and its artifact is found."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.store import Store
from psc.compiler.frontends.lookup import find_grammar
from psc.compiler.grammars import bundled_bounds_layout, bundled_names
from psc.grammars.compile_file import compile_to_artifact
from psc.serving import GrammarService, ServiceOptions
from psc.serving.kinds import request_of
from psc.serving.warm_up import warm_request

INFO = byte_tokenizer()
COMMENTED = "# c\n{ a }"


def service(**options: Any) -> GrammarService:
    return GrammarService(INFO, options=ServiceOptions.of(options, {}))


def takes(grammar: psc.CompiledGrammar, text: str) -> bool:
    matcher = psc.GrammarMatcher(grammar)
    return matcher.accept_string(text) and matcher.is_completed()


@pytest.mark.parametrize("name", bundled_names())
def test_what_a_name_stands_for(name: str) -> None:
    served = find_grammar(f"{name}?layout=bounded" if bundled_bounds_layout(name) else name).request()
    for options, wanted in (
        ({}, served),
        ({"bounded_layout": False}, find_grammar(name).request()),
        ({"bounded": False}, find_grammar(name).request()),
        ({"bounded": False, "bounded_layout": True}, served),
    ):
        read = ServiceOptions.of(options, {})
        for kind in ("grammar", "lark", "ebnf"):
            assert request_of(kind, name, read) == wanted  # type: ignore[arg-type]
        assert warm_request(name, read) == wanted


def tag(*grammars: str) -> str:
    """A structural tag of these one after the other, beside a schema in which nothing is a name."""
    schema = {"type": "json_schema", "json_schema": {"enum": [{"type": "grammar", "grammar": "go"}, 1.50, "é"]}}
    elements = [schema, *({"type": "grammar", "grammar": grammar} for grammar in grammars)]
    return json.dumps({"type": "structural_tag", "format": {"type": "sequence", "elements": elements}})


@pytest.mark.parametrize("grammar", ["java", "go", "python", "sql", "json", "java?layout=any", 'root ::= "java"', "java?x", "jaba"])
def test_what_a_name_in_a_structural_tag_stands_for(grammar: str) -> None:
    served = f"{grammar}?layout=bounded" if grammar in ("java", "go", "python", "sql", "json") else grammar
    for options, wanted in (({}, served), ({"bounded_layout": False}, grammar), ({"bounded": False}, grammar)):
        read = ServiceOptions.of(options, {})
        requests = [request_of("structural_tag", tag(name, "csv"), read) for name in (grammar, wanted)]
        assert requests[0].key() == requests[1].key()
        assert json.loads(str(requests[0].text)) == json.loads(tag(wanted, "csv"))


def test_a_structural_tag_has_bounded_layout() -> None:
    for named, options, commented in (
        ("graphql", {}, False),
        ("graphql?layout=any", {}, True),
        ("graphql", {"bounded": False}, True),
    ):
        compiled = service(**options).compile("structural_tag", tag(named))
        assert takes(compiled, '"é"{ a }') and takes(compiled, '"é"' + COMMENTED) == commented


def test_a_tag_that_is_nested_deep() -> None:
    nested = json.dumps({"type": "grammar", "grammar": "sql"})
    for _ in range(900):
        nested = f'{{"type": "sequence", "elements": [{nested}]}}'
    request = request_of("structural_tag", f'{{"type": "structural_tag", "format": {nested}}}', ServiceOptions())
    assert '"sql?layout=bounded"' in str(request.text)


def test_the_whole_language_can_be_named() -> None:
    serving = service()
    assert takes(serving.compile("grammar", "graphql"), "{ a }")
    assert not takes(serving.compile("grammar", "graphql"), COMMENTED)
    assert takes(serving.compile("grammar", "graphql?layout=any"), COMMENTED)
    assert takes(service(bounded_layout=False).compile("grammar", "graphql"), COMMENTED)
    assert ServiceOptions.of({}, {"PSC_BOUNDED_LAYOUT": "0"}) == ServiceOptions(bounded_layout=False)


def add(spec: str, folder: Path) -> Path:
    """Into a store, what `psc compile` makes."""
    path = folder / f"{find_grammar(spec).stem}.psc"
    compile_to_artifact(spec, INFO, path)
    Store(folder / "store").add(path.read_bytes())
    return folder / "store"


def test_the_artifact_of_what_is_served_is_found(tmp_path: Path) -> None:
    store = add("graphql?layout=bounded", tmp_path)
    serving = service(store=str(store), warm="graphql")
    assert serving.wait_until_warm(60)
    assert not serving.compile("grammar", "graphql").is_lazy
    counted = serving.snapshot()
    assert (counted["artifacts.warm_up"], counted["cache_hits.grammar"], counted["near_misses"]) == (1, 1, 0)


def test_an_artifact_of_the_whole_language_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = add("graphql", tmp_path)
    serving = service(store=str(store))
    with caplog.at_level(logging.WARNING, "psc.artifacts"):
        for _ in range(2):
            compiled = serving.compile("grammar", "graphql")
            assert compiled.is_lazy and not takes(compiled, COMMENTED)
            serving.compiler.clear_cache()
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 1 and "compile 'graphql?layout=bounded', or" in said[0], said
    assert serving.snapshot()["near_misses"] == 1 and "psc_near_misses_total 1\n" in serving.prometheus_text()
    whole = service(store=str(store), bounded_layout=False).compile("grammar", "graphql")
    assert not whole.is_lazy and takes(whole, COMMENTED)
