"""What the registry of front ends has for JSON Schema; structural tags and the dialect use the same for the schemas in them.

Cost: the native core reads the schema and makes its rules, some hundred microseconds for a page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from psc import _core
from psc.compiler.expressions.expression import RuleSet
from psc.compiler.expressions.words import NativeRules
from psc.compiler.frontends.json_schema.no_value import no_value_error
from psc.compiler.frontends.json_schema.settings import SchemaSettings
from psc.errors import GrammarError
from psc.support.warning import warn

_log = logging.getLogger("psc.compiler")


def rules_of(
    text: str,
    settings: SchemaSettings,
    origin: str,
    *,
    excludes: Sequence[str] = (),
    parameters: _core.ParameterStyle | None = None,
    unique_items: bool = False,
    few_sets: bool = False,
    warns: bool = True,
) -> RuleSet:
    """The rules of a schema, for a grammar or a part of one. Arguments and errors are those of :func:`schema_grammar`.

    ``warns`` is False where the schema was read before, and its warnings were logged.
    """
    if_empty = partial(no_value_error, text, settings, origin, parameters is not None)
    try:
        grammar = schema_grammar(
            text,
            settings,
            settings.resources.get,
            origin,
            excludes=excludes,
            parameters=parameters,
            unique_items=unique_items,
            few_sets=few_sets,
        )
    except GrammarError as e:
        if parameters is not None and "no object is valid" in str(e):
            raise if_empty() from None
        raise
    for warning in grammar.warnings if warns else ():
        _log.warning("%s: %s", origin, warning)
    for doubt in grammar.doubts if warns else ():
        warn(_log, f"{origin}: {doubt}")
    return RuleSet(
        NativeRules(grammar.rules),
        grammar.rules.root_name,
        text,
        origin,
        {},
        language="json_schema",
        settings=settings.text,
        if_empty=if_empty,
    )


def canonical(text: str) -> str:
    """The JSON text of a schema without white space.

    Strings are as `json.dumps` writes them with ``ensure_ascii=False``, numbers as they are spelled, members in their order; of
    members with one name the last one counts, at the position of the first. Text that is not JSON is returned as it is: parsing it
    says where.

    Cost: some 20 ns a byte.
    """
    try:
        return _core.canonical_json(text)
    except GrammarError:
        return text


def schema_grammar(
    text: str,
    settings: SchemaSettings,
    resolver: Callable[[str], str | None],
    origin: str,
    *,
    excludes: Sequence[str] = (),
    parameters: _core.ParameterStyle | None = None,
    unique_items: bool = False,
    few_sets: bool = False,
) -> _core.SchemaGrammar:
    """The rules of a schema as the native core has them.

    Args:
        text: the schema.
        settings: how it is meant.
        resolver: gives the text of another schema by its absolute URI, or None.
        origin: for messages.
        excludes: what no string and no name of a member may contain, as they are spelled; none of them empty.
        parameters: how the whole value is written, if not as JSON.
        unique_items: whether the caller links the machines of arrays whose items must differ, where rules cannot say so
            (`has_unique`). With lenient settings that is left out, for artifacts too.
        few_sets: leave which members came to the machine where they may come in any order and are more than three, for a machine
            that is built as it is visited; else rules say it of up to eight.

    Raises:
        GrammarError: the schema is malformed, true of no value, or says what cannot be enforced.
        ResourceLimitError: it exceeds a limit, which the message names.
    """
    separators = settings.separators or ("," if settings.indent is not None else ", ", ": ")
    try:
        return _core.schema_grammar(
            text,
            strict=settings.strict_mode,
            assert_format=settings.assert_format,
            lenient=settings.lenient,
            any_order=settings.any_order,
            any_whitespace=settings.any_whitespace,
            max_whitespace=settings.max_whitespace_cnt,
            max_digits=settings.max_digits,
            plain_integers=settings.plain_integers,
            indent=settings.indent,
            item_separator=separators[0],
            key_separator=separators[1],
            resolver=resolver,
            excludes=list(excludes),
            parameters=parameters,
            unique_items=unique_items and not settings.lenient,
            few_sets=few_sets,
        )
    except GrammarError as e:
        raise e.reworded(f"{origin}: {e}").with_position(path=origin) from None
