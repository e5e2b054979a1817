"""A catalogue to a grammar of SQLite in which the names that are read are the catalogue's.

The idea: the rules of queries, expressions and data changes are those of the bundled `sqlite.lark`. What is here replaces the rules
in which names stand, so that each says which names those are. The lexer is `basic`: each word of a text is one terminal,
whatever the parser could take, so that `singer.namex` is never read as `singer.name` and something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase

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

_QUOTES = (('"', '"'), ("`", "`"), ("[", "]"))
_SECTIONS = ("queries", "expressions", "data changes")
_TERMINALS = (
    *("STRING", "BLOB", "NUMBER", "PARAMETER", "LIKE", "NULL_TEST", "TIME_FUNCTION", "JOIN_WORD", "OPERATOR"),
    *("COMMENT", "DIRECTION", "FRAME_DIRECTION", "WS"),
)
_RESERVED = words(
    """add all alter and as autoincrement between case check collate commit constraint create cross current_date current_time
    current_timestamp default deferrable delete distinct drop else escape except exists false foreign from full glob group
    having in indexed index inner insert intersect into is isnull join left like limit match natural not nothing notnull
    null on or order outer primary references regexp returning right select set table then to transaction true union
    unique update using values when where asc desc binary nocase following preceding over filter window"""
)
"""Words that are no bare names; the soft ones of the rules are added to them."""
_WORDS_OF_TERMINALS = words(
    """asc binary cross current_date current_time current_timestamp desc false following full glob inner isnull left like natural
    nocase notnull outer preceding regexp right true"""
)
"""Those of them that are in terminals of the rules."""
FUNCTIONS = words(
    """abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes char coalesce concat concat_ws cos cosh count
    cume_dist date datetime degrees dense_rank exp first_value floor format group_concat hex ifnull iif instr json
    json_array json_array_length json_extract json_group_array json_group_object json_insert json_object json_patch
    json_quote json_remove json_replace json_set json_type json_valid julianday lag last_insert_rowid last_value lead
    length likelihood likely ln log log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length percent_rank pi
    pow power printf quote radians random randomblob rank replace round row_number rtrim sign sin sinh soundex
    sqlite_version sqrt strftime string_agg substr substring sum tan tanh time timediff total total_changes trim trunc
    typeof unhex unicode unixepoch unlikely upper zeroblob"""
)
"""SQLite's own, by its documentation; some need a later version than 3.40."""
_TYPES = words(
    """bigint blob boolean char character date datetime decimal double float int integer nchar numeric nvarchar precision real
    smallint text time timestamp tinyint unsigned varchar varying"""
)

_RULES = r"""
start: statement
     | statement ";"
with_clause: "with"i list{cte}
           | "with"i "recursive"i list{cte}
cte: common_table "as"i materialization "(" query ")"
   | common_table "(" list{written_result} ")" "as"i materialization "(" query ")"
selects: compound
       | compound outer_order
       | compound limit
       | compound outer_order limit
outer_order: "order"i "by"i list{outer_key}
outer_key: sort_key
         | result
         | result nulls_order
         | result DIRECTION
         | result DIRECTION nulls_order
having: grouped
      | grouped "having"i group_test
group_test: group_condition
          | group_test "and"i group_condition
          | group_test "or"i group_condition
group_condition: condition
               | result infix operand
               | result test
               | result "not"i test
               | result NULL_TEST
grouped: filtered
       | filtered "group"i "by"i list{group_key}
group_key: expression
         | result
select_item: "*"
           | star_of_table
           | introduced "." "*"
           | expression
           | expression result_name
result_name: "as"i heading
           | "as"i STRING
           | RESULT
window: alias "as"i "(" window_specification ")"
join_condition: "on"i expression
              | "using"i "(" list{column} ")"
table_source: table_name index_hint
            | table_name table_alias index_hint
            | common_table
            | common_table table_alias
            | "(" query ")"
            | "(" query ")" table_alias
            | "(" tables ")"
            | "(" tables ")" table_alias
table_alias: "as"i alias
           | alias
index_hint:
          | "not"i "indexed"i
test: match_word operand
    | match_word operand "escape"i operand
    | "between"i condition "and"i operand
    | "in"i "(" ")"
    | "in"i "(" query ")"
    | "in"i parenthesized
    | "in"i table_name
    | "in"i common_table
suffixed: primary
        | suffixed "collate"i COLLATION
primary: NUMBER
       | STRING
       | BLOB
       | PARAMETER
       | BOOLEAN
       | "null"i
       | TIME_FUNCTION
       | column
       | column_of_table
       | introduced "." column
       | introduced "." result
       | function
       | function "filter"i filter
       | function "over"i over
       | function "filter"i filter "over"i over
       | parenthesized
       | "(" query ")"
       | "exists"i "(" query ")"
       | "cast"i "(" expression "as"i type ")"
       | case
over: alias
    | "(" window_specification ")"
window_name:
           | alias
type_word: type_name
introduced: alias
          | common_table
common_table: CTE
written_result: result
              | column
"""
_QUERIES = """
statement: query
"""
_CHANGES = r"""
statement: query
         | data_change
         | with_clause data_change
changed{named, columns}: insertion "into"i target{named} inserted{columns} returning
                       | "update"i or_failure target{named} index_hint "set"i list{assignment{columns}} from where returning slice
removed{named}: "delete"i "from"i target{named} index_hint where returning slice
target{named}: named
             | named "as"i alias
inserted{columns}: contents{columns}
                 | "(" list{columns} ")" contents{columns}
contents{columns}: query
                 | rows upserts{columns}
                 | "default"i "values"i
rows: "values"i list{parenthesized}
upserts{columns}: upsert{columns}
                | upserts{columns} upsert{columns}
upsert{columns}: "on"i "conflict"i "do"i upsert_action{columns}
               | "on"i "conflict"i "(" list{sort_key} ")" where "do"i upsert_action{columns}
upsert_action{columns}: "nothing"i
                      | "update"i "set"i list{assignment{columns}} where
assignment{columns}: columns "=" expression
                   | "(" list{columns} ")" "=" expression
failure: "rollback"i
       | "abort"i
       | "fail"i
"""
_MORE_TERMINALS = r"""
BOOLEAN: /true|false/i
COLLATION: /binary|nocase/i
"""
_READING_RESULTS = ("outer_key", "group_condition", "group_key")


def sqlite_grammar(tables: Sequence[Table], options: CatalogOptions) -> str:
    """The rules and terminals of the statements that name what is in a catalogue. Raises GrammarError as :class:`Names`."""
    changes = not options.queries_only and any(table.written for table in tables)
    rules = {**bundled_rules("sqlite", _SECTIONS), **rules_of(_RULES), **rules_of(_CHANGES if changes else _QUERIES)}
    keywords = _RESERVED | words_in(rules[name] for name in reachable(rules, "statement"))
    spelling = Spelling(_fold, is_plain, _QUOTES, True, keywords, options.every_quote)
    names = Names(tables, spelling, FUNCTIONS, _TYPES, frozenset(), options.introduced)
    rules.update(rules_of(names_in_rules(names, changes, ['"replace"i'] * changes)))
    if changes:
        rules["primary"] += '       | "excluded"i "." column\n'
    if options.double_quoted_strings:  # as SQLite reads what is in double quotes where no column has that name
        rules["primary"] += "       | DOUBLE_QUOTED\n"
    if options.results_anywhere:
        read_results_anywhere(rules, "primary", 7, _READING_RESULTS)
    bundled = {**bundled_terminals("sql"), **bundled_terminals("sqlite")}
    terminals = [_MORE_TERMINALS, *(bundled[name] for name in _TERMINALS)]
    return catalogue_grammar("Statements of SQLite", rules, names, options, _RESERVED - _WORDS_OF_TERMINALS, terminals)


_FOLDED = str.maketrans(ascii_uppercase, ascii_lowercase)


def _fold(name: str) -> str:
    """SQLite ignores the case of ASCII's letters alone."""
    return name.translate(_FOLDED)
