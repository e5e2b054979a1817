"""A catalogue to a grammar of PostgreSQL's queries in which the names that are read are the catalogue's, as in `sqlite_grammar`.

The rules are those of the bundled `sql.lark`, the common core: `postgresql.lark` is nearly four times as long, which just in time
counts. What is here replaces the rules with names in them, and says what PostgreSQL has otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from psc.compiler.grammars.sql_catalog.catalogue import CatalogOptions, Table
from psc.compiler.grammars.sql_catalog.names import Names, Spelling, is_plain, words
from psc.compiler.grammars.sql_catalog.rules import (
    bundled_rules,
    bundled_terminals,
    catalogue_grammar,
    names_in_rules,
    reachable,
    read_results_anywhere,
    rules_of,
    words_in,
)
from psc.errors import GrammarError

_QUOTES = (('"', '"'),)
_SECTIONS = ("queries", "table references", "expressions", "types")
_TERMINALS = (
    *("ANY", "BOOLEAN", "CHARACTER", "DIRECTION", "FRAME_DIRECTION", "FRAME_UNIT", "LEFT_OR_RIGHT", "NUMBER", "OPERATOR"),
    *("ROLLUP_OR_CUBE", "STRING", "SYMMETRY", "TRIM_SIDE", "UNION", "WS"),
)
_RESERVED = words(
    """all analyse analyze and any array as asc asymmetric authorization between binary both case cast char character check
    collate collation column concurrently constraint create cross cube current_catalog current_date current_role
    current_schema current_time current_timestamp current_user default deferrable desc distinct do double else end except
    exists extract false fetch following for foreign freeze from full grant group grouping groups having ilike in
    initially inner intersect interval into is isnull join lateral leading left like limit localtime localtimestamp
    natural not notnull null offset on only or order outer overlaps over overlay placing position precision preceding
    primary range references returning right rollup rows select session_user similar some substring symmetric table
    tablesample then to trailing treat trim true union unique user using values variadic verbose when where window with"""
)
"""Words that are no bare names here; the other words of the rules are added to them."""
_WORDS_OF_TERMINALS = words(
    """any asc asymmetric both char character cube current_date current_time current_timestamp desc except false following groups
    ilike isnull leading left like localtime localtimestamp notnull preceding range right rollup some symmetric trailing
    true union"""
)
FUNCTIONS = words(
    """abs age any_value array_agg array_append array_cat array_length array_position array_remove array_to_string avg bit_and
    bit_or bool_and bool_or btrim cardinality ceil ceiling char_length clock_timestamp coalesce concat concat_ws corr
    count cume_dist date_bin date_part date_trunc dense_rank div every exp first_value floor format gen_random_uuid
    generate_series greatest initcap json_agg json_build_object jsonb_agg jsonb_array_length jsonb_build_object
    json_object_agg jsonb_object_agg jsonb_typeof jsonb_extract_path_text json_extract_path_text lag last_value lead least
    length ln log lower lpad ltrim make_date make_interval make_timestamp max md5 min mod mode now nth_value ntile nullif
    percent_rank percentile_cont percentile_disc pi power radians random rank regexp_match regexp_matches regexp_replace
    regexp_split_to_array repeat reverse round row_number row_to_json rpad rtrim sign split_part sqrt starts_with
    statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array strpos substr sum to_char to_date to_json
    to_jsonb to_number to_timestamp translate trunc unnest upper var_pop var_samp variance width_bucket"""
)
"""Of PostgreSQL's, by its documentation; `left`, `right` and those with words between their arguments are of the rules."""
_TYPES = words(
    """bigint bool boolean bytea date decimal float float4 float8 inet int int2 int4 int8 integer json jsonb money numeric real
    smallint text time timestamp timestamptz timetz uuid varchar"""
)
_PARTS_OF_TIME = words("century day decade dow doy epoch hour isodow isoyear millennium minute month quarter second week year")
_RULES = r"""
start: query
     | query ";"
subquery: "(" bare_query ")"
ordered: set_operand outer_order
outer_order: "order"i "by"i outer_keys
outer_keys: outer_key
          | outer_keys "," outer_key
outer_key: sort_key
         | result direction nulls_order
limit: "limit"i additive
     | "limit"i "all"i
     | "fetch"i first row_unit ties
     | "fetch"i first row_count row_unit ties
lock: "for"i lock_strength
    | "for"i lock_strength "nowait"i
    | "for"i lock_strength "skip"i "locked"i
lock_strength: "update"i
             | "share"i
cte: common_table "as"i subquery
   | common_table "as"i not "materialized"i subquery
   | common_table "(" written_results ")" "as"i subquery
   | common_table "(" written_results ")" "as"i not "materialized"i subquery
written_results: written_result
               | written_results "," written_result
core: select
    | values
    | "table"i table_name
    | "table"i common_table
value: expression
select_item: "*"
           | star_of_table
           | introduced "." "*"
           | expression
           | expression result_name
result_name: "as"i heading
           | RESULT
grouping_element: expression
                | result
                | "(" ")"
                | ROLLUP_OR_CUBE parenthesized
                | "grouping"i "sets"i "(" grouping_elements ")"
window: alias "as"i window_specification
join: table join_kind table "on"i expression
    | table join_kind table "using"i "(" columns_of_both ")"
    | table unconditional table_primary
columns_of_both: column
               | columns_of_both "," column
table_primary: table_name
             | table_name table_alias
             | common_table
             | common_table table_alias
             | subquery
             | subquery table_alias
             | "lateral"i subquery table_alias
             | joined
             | joined table_alias
table_alias: alias
           | "as"i alias
           | alias "(" written_results ")"
           | "as"i alias "(" written_results ")"
suffixed: primary
        | suffixed "::" simple_type
        | suffixed "at"i zone primary
primary: NUMBER
       | STRING
       | subscripted
       | "null"i
       | BOOLEAN
       | VALUE_FUNCTION
       | type_name STRING
       | "interval"i STRING
       | function_call
       | case
       | "cast"i "(" expression "as"i type ")"
       | subquery
       | "exists"i subquery
       | parenthesized
       | "array"i subquery
       | "array"i array
subscripted: PARAMETER
           | column
           | column_of_table
           | introduced "." column
           | introduced "." result
           | subscripted "[" expression "]"
function_call: windowable
             | windowable "over"i alias
             | windowable "over"i window_specification
windowable: filtered_call
argument: expression
special_function: "extract"i "(" part_of_time "from"i expression ")"
                | "position"i "(" additive "in"i additive ")"
                | "substring"i parenthesized
                | "substring"i "(" expression "from"i expression ")"
                | "substring"i "(" expression "from"i expression "for"i expression ")"
                | "trim"i "(" trimmed ")"
                | "trim"i "(" TRIM_SIDE trimmed ")"
window_specification: "(" window_base ")"
                    | "(" alias window_base ")"
                    | "(" window_base frame exclusion ")"
                    | "(" alias window_base frame exclusion ")"
type: simple_type
    | simple_type time_zone
    | "interval"i
simple_type: type_name
           | type_name "(" type_arguments ")"
           | "double"i "precision"i
           | CHARACTER
           | CHARACTER "(" NUMBER ")"
           | CHARACTER "varying"i
           | CHARACTER "varying"i "(" NUMBER ")"
           | simple_type "[" "]"
type_argument: NUMBER
introduced: alias
          | common_table
written_result: result
              | column
"""
_MORE_TERMINALS = r"""
// PostgreSQL nests comments, so that none has the beginning of another one here.
COMMENT: /--[^\n]*|\/\*([^*\/]|\*+[^*\/]|\/+[^*\/])*\*+\//
COMPARISON: /<>|!=|<=|>=|<|>/
LIKE: /i?like/i
MULTIPLICATION: /[\/%^]/
NULL_TEST: /isnull|notnull/i
PARAMETER: /\$[0-9]+/
VALUE_FUNCTION: /current_date|current_timestamp|current_time|localtimestamp|localtime/i
"""
_READING_RESULTS = ("outer_key", "grouping_element")


def postgresql_grammar(tables: Sequence[Table], options: CatalogOptions) -> str:
    """The rules and terminals of the queries that name what is in a catalogue. Raises GrammarError as :class:`Names`."""
    if options.double_quoted_strings:
        raise GrammarError("double_quoted_strings: PostgreSQL reads names alone in double quotes; leave the option out")
    rules = {**bundled_rules("sql", _SECTIONS), **rules_of(_RULES)}
    keywords = _RESERVED | words_in(rules[name] for name in reachable(rules, "query"))
    spelling = Spelling(str, is_plain, _QUOTES, False, keywords, options.every_quote)
    names = Names(tables, spelling, FUNCTIONS, _TYPES, _PARTS_OF_TIME, options.introduced)
    rules.update(rules_of(names_in_rules(names, False, ["LEFT_OR_RIGHT"])))
    if options.results_anywhere:
        read_results_anywhere(rules, "subscripted", 11, _READING_RESULTS)
    bundled = bundled_terminals("sql")
    terminals = [_MORE_TERMINALS, *(bundled[name] for name in _TERMINALS)]
    return catalogue_grammar("Queries of PostgreSQL", rules, names, options, _RESERVED - _WORDS_OF_TERMINALS, terminals)
