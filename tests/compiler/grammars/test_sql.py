"""The bundled SQL grammar: what it accepts, what it rejects, and that keywords are safe under both kinds of lexing.

The tables below, one text a line (a line that starts with blanks goes on with the line before), are run through Lark
itself (LALR(1), basic lexer).  Lark's lexer takes the first terminal that matches and psc's the longest lexeme; the
last tests hold the two together, and hold the word list in NAME to the keywords of the rules.
"""

import contextlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedCharacters
from lark.lexer import PatternStr
from lark_verdicts import lark_accepts, lark_warnings

GRAMMAR = Path(__file__).parents[3] / "compiler" / "grammars" / "sql.lark"


@cache
def parser() -> Lark:
    return Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start")


@cache
def lexer() -> Lark:
    return Lark.open(str(GRAMMAR), parser=None, lexer="basic", start="start")


ACCEPTED = r"""
select 1
SELECT 1;
SELECT 1; SELECT 2;
select * from t
select t.*, u.a from t, u
SELECT DISTINCT a, b AS c FROM s.t AS x
select selected, fromage, inner1, int, is_a, in_, or2 from t
select "a ""quoted"" name", `b` from "S"."T"
select 'it''s', n'x', X'1F', '' from t
select date '2020-01-01', timestamp '2020-01-01 00:00:00', time '00:00'
select date, year, first, last, rows, range, row, position from data
select date year, d_year month from t order by date nulls last
select interval '1' day, interval '90' day (3), interval '1-2' year to month, interval '1 day', interval 5 day,
    interval (a + 1) hour
select a || b || 'c' from t where not a = 1 and (b <> 2 or c between 1 and 2 + 3 and d not between 1 and 2)
select * from t where a in (1, 2, 3) and b not in (select b from u) and (a, b) in ((1, 2), (3, 4)) and (a, b) in
    (select 1, 2)
select * from t where a like '%x' and b not like '_!%' escape '!' and a ilike 'x'
select * from t where exists (select 1) and not exists (select * from u where u.a = t.a)
select * from t where a is null and b is not null and c is distinct from d and e is not distinct from f and g is not
    true and h is unknown
select * from t where a = any (select 1) and b <> all (select 2) and c > some (select 3) and d = any($1)
select case when a then 1 end, case a when 1 then 2 when 3 then 4 else 5 end
select cast(a as integer), cast(a as decimal(10, 2)), cast(a as double precision), cast(a as character varying(10)),
    cast(a as timestamp(3) with time zone), a::numeric(10,2)::int[]
select count(*), count(distinct a), sum(all b), count(distinct a, b), f(), s.f(1, 2)
select sum(a) filter (where b > 0), array_agg(a order by b desc nulls last), percentile_cont(0.5) within group (order
    by x)
select rank() over (partition by a order by b desc), sum(x) over w, avg(x) over (), max(x) over (order by y rows
    between unbounded preceding and current row) from t window w as (partition by z)
select sum(x) over (order by y range between interval '1' day preceding and 1 following), sum(x) over (rows 3
    preceding), sum(x) over (partition by p groups unbounded preceding)
select first_value(a) ignore nulls over (order by b)
select extract(year from d), substring(a from 1 for 2), substring(a from 2), substring(a, 1, 2), trim(a), trim(both
    ' ' from a), trim(leading from a), trim('x' from a), position('a' in b), left(a, 2), right(a, 1), replace(a, b,
    c), if(a, 1, 2), coalesce(a, b), date(x), year(x), timestamp(x)
select a from t group by a, b having count(*) > 1 order by a, 2 desc limit 10 offset 5
select a from t order by a offset 5 rows fetch next 10 rows only
select a from t order by a fetch first row only
select a from t order by a fetch first 5 rows with ties
select a from t limit 5, 10
select a from t offset 10
select a from t for update
select a, grouping(a) from t group by rollup(a, b)
select a from t group by cube (a, b), c
select a from t group by grouping sets ((a, b), (a), (), rollup(c))
select grouping from t group by grouping
select a from t group by ()
select * from a join b on a.x = b.x left join c using (x, y) right outer join d on true full join e on 1 = 1 cross
    join f natural join g natural left join h
select * from a join b join c on b.y = c.y on a.x = b.x
select * from a inner join (b left join c on b.y = c.y) on a.x = b.x
select * from (a join b on true) as ab, (select 1) x, (select 2) as y (p, q), lateral (select 3) z
select * from (select 1)
select * from (select 1) at, (select 2) pt
select * from ((select 1) union (select 2)) u
select * from ((select 1) a join (select 2) b on true)
select * from unnest(array[1, 2]) as u (a), generate_series(1, 10) g
select * from (values (1, 'a'), (2, 'b')) as v (x, y)
values (1, 2), (3, 4)
(select 1)
((select 1))
(select 1) union all (select 2) order by 1
select 1 union select 2 intersect select 3 except all select 4 order by 1 limit 1
(select 1 order by 1 limit 1) union select 2
((select 1) union select 2) intersect select 3
select (select 1), ((select 1)), (((select 1)) + 1), ((select 1) union (select 2)), ((select 1), 2)
select * from t where a = (select max(a) from t) and a in ((select 1)) and a in ((select 1), 2) and a in ((select 1)
    union (select 2))
with a as (select 1), b (x, y) as (select 2, 3) select * from a, b
with recursive r (n) as (select 1 union all select n + 1 from r where n < 10) select * from r
with a as (select 1) (select * from a)
with a as (select 1) insert into t select * from a
select (with a as (select 1) select * from a)
select -1, +1, - -1, a - -1, a*-b, 1e10, .5, 1., 1.5e-3, a.b.c[1], a % 2, a / b * c
select a->'b'->>'c' from t
select * from t where a = ? and b = :name and c = $1 and d = @x
select cast(a as date) + 14 days, a at time zone 'UTC', a collate "de_DE"
select 1 -- comment
select /* comment * ** / */ 1 /**/ /***/
select true, false, null, not true or false
select a = b, a < b and c, a is null = b is null
select distinct on (a, b) c from t
select current_date, current_timestamp(3)
select ünïcode, 名前 from 表
insert into t values (1, default, 'x'), (2, 3, null)
insert into t (a, b) select a, b from u
insert into t (select 1)
insert into t default values
insert into t (a) values (1) on conflict (a) do update set b = 1, c = excluded.c where t.d > 0 returning *
insert into t (a) values (1) on conflict do nothing
insert into t select * from a join b on true on conflict do nothing
update t set a = 1, b = default, (c, d) = (1, 2), (e, f) = (select 1, 2) where a = 2
update t as x set a = b from u where x.i = u.i returning x.a, b as c
delete from t
delete from t as x where x.a in (select 1)
create table t (a integer primary key, b varchar(20) not null unique default 'x', c numeric(10, 2) check (c > 0)
    references u (id) on delete cascade on update set null, constraint pk primary key (a, b), foreign key (b)
    references u, unique (c), check (a <> 1))
create table if not exists s.t (id bigint generated always as identity, t timestamp with time zone default now() not
    null, d double precision, "key" text collate "C", date date, n int default -1 + 2 not null)
create temporary table t as select 1
create table t (a, b) as (select 1, 2)
create or replace view v (a, b) as select 1, 2
create unique index i on t (a, lower(b) desc nulls last) where a > 0
create index if not exists i on s.t (a)
drop table t
drop table if exists s.t cascade
drop view v; drop index i
alter table t add column a int not null
alter table t add b text default 'x'
alter table t add constraint c unique (a)
alter table t add primary key (a)
alter table t drop column a cascade
alter table t drop constraint c
alter table t alter column a set default 1
alter table t alter a drop not null
alter table t alter column a type bigint
alter table t alter column a set data type bigint
alter table t rename to u
alter table t rename column a to b
begin; commit
BEGIN TRANSACTION; update t set a = 1; ROLLBACK WORK;
select f(a => 1, b => x + 1), count(t.*), (f(x)).a.b, array (select 1), ~a, a ~ 'x', b !~* 'y', c @> d, d <@ c, e #>> '{a}', e'a\'b'
select * from unnest(a) with ordinality as t (x, n), lateral f(a) with ordinality where x like any ('a', 'b') and not y like all (z)
select * from t for update of t, u skip locked
select * from t for share nowait
select * from ((a cross join b) join (((c join d using (x)))) on y)
with t as materialized (select 1), u as not materialized (select 2)
  select at, values, interval, if.x, cube as filter, character from t at
delete from t using u, v as w where t.a = u.a returning *
drop table if exists a, b.c cascade
alter table if exists only t add column a int, drop column b, rename to u
create table t (a int generated always as (b * 2) stored, interval interval, character character(3))
create index i on t using gin (a)
table t
table s.t order by 1 limit 1
select json '{}', foo 'bar', pg_catalog.text 'x', a == b, a = not b, a isnull, b notnull, c similar to 'x' escape '!'
select sum(a) over (w), max(a) over (w order by b), min(a) over (w rows between 1 preceding and 1 following exclude current row),
    count(*) over (partition by a order by b groups current row exclude no others), avg(x) over (rows 1 preceding exclude ties)
    from t window w as (partition by c), v as (w order by d)
select array[1, 2], count(t.*, u.*), g(t.*)
select extract('year' from a), substring(a for 2), substring(a similar b escape '#'), trim(from a), trim(both from a),
    trim(leading from a, b), trim(a, b)
select a::timestamp with time zone, a::time(3) without time zone at time zone 'UTC', cast(a as interval year to month), a::int[3],
    cast(a as foo('b', -1)), a::text[1]::int
select a, b current from t
insert into t as x (a) values (1) on conflict (lower(a) collate "C" desc) where b do update set a = 1 on conflict on constraint c do
    nothing
replace into t (a) values (1)
update t set a = 1 where current of c; delete from t where current of c
create index i on t (a text_pattern_ops, b s.ops desc nulls last, c collate "C" ops, d nulls first)
create table t (a int primary key desc, b int unique, c text default 'x' collate "C" not null, d int generated by default as
    identity, e int generated always as identity, f int generated always as (a + 1) stored, unique nulls not distinct (a, b),
    foreign key (a) references u (b) on delete set null (a))
create table t (a int) partition by range (a, lower(b))
create table t as select 1 with no data
create materialized view if not exists v (a) as select 1 with data
drop materialized view if exists v
alter view v rename to w; alter index if exists i rename to j
alter table t alter column a type int using a::int, rename constraint c to d, alter b set data type text collate "C"
end; end transaction
"""

REJECTED = r"""
select
select from t
select a b c from t
select a,, b
select * t
select a from
select a from t where
select a from t where a =
select a from where b
select a from t group a
select a from t order a
select a from t limit
select case a end
select case when a then b
select (a
select a)
select f(a,
select 'abc
select "abc
select /* abc
select a from t having count(*) > 1 group by a
select a from t order by a where b
select a from t limit 1 limit 2
select a from t union
select a from t union order by a
select a from t join u
select a from t natural join u on true
select a from t cross join u on true
select a from t left u on true
select a in 1
select a in ()
select a between 1
select a like
select a is 1
select a not b
select not
select select
select from from from
select a as select
select end
select a at, b
insert t values (1)
insert into t
insert into t values
insert into t values ()
insert into t (a,) values (1)
update t where a = 1
update t set a
update t set a = 1,
delete t
delete from t set a = 1
create table t
create table t ()
create table t (a)
create table t (a int,)
create view v
create index i on t
create index on t (a) from u
drop t
drop table
alter table t
alter table t add
with a as select 1 select 2
with a (select 1) select 2
with select 1
select date '2020' '2021'
select a.b 'x' 'y'
select count(* )(1)
select rank() over
select rank() over order by a
select sum(a) over (rows between 1 preceding)
select a over (order by b)
select exists select 1
select cast(a integer)
select cast(a as)
select extract(year d)
select 1 from t offset
select 1 fetch 5 rows
values
values 1, 2
select a from (b)
select a from ((b))
select * from (select 1
select 1 select 2
select a..b
select a.
select .a
select t.* as x
select a b.c
select a b + c
select 5 6
select group
commit now
select #
select [a]
select a ! b
select a === b
select a from t table u
select from
select 1 as select
select rank() over (w rows 1 preceding exclude)
select rank() over (w order by a exclude current row)
select a = not
select a isnull 1
select trim(from)
merge into t
create index i on t (a b c)
insert into t as values (1)
replace t values (1)
create table t (a int generated by default as (b))
create view v as select 1 with check
create table t (a int collate)
create table t as select 1 with data no
"""


def lines(table: str) -> list[str]:
    """The lines of a table, continuation lines joined to the line before."""
    return table.strip().replace("\n  ", " ").split("\n")


def accepts(text: str) -> bool:
    """Whether the grammar, under Lark's basic lexer, accepts the text."""
    return lark_accepts(parser(), text)


def test_accepts() -> None:
    assert [text for text in lines(ACCEPTED) if not (accepts(text) and accepts(text.swapcase()))] == []


def test_rejects() -> None:
    assert [text for text in lines(REJECTED) if accepts(text)] == []


def test_scripts_may_have_empty_statements() -> None:
    texts = ["", " ", "-- nothing", ";", ";; select 1;;", "/*!40101 set a */; select 1"]
    assert [text for text in texts if not accepts(text)] == []


NON_RESERVED = """
action add always begin by cascade commit conflict current data date datetime day days delete do extract first generated
grouping groups identity index insert key last month next no nothing nulls only partition position precision range
recursive rename replace restrict rollback row rows second sets substring temp temporary ties time timestamp
transaction trim type unknown update view work year zone others exclude
"""


def test_non_reserved_words_are_names() -> None:
    for word in NON_RESERVED.split():
        for text in (
            f"select {word}, {word}.{word} {word}, x as {word} from {word} {word} where {word} = {word}.{word}",
            f"with {word} as (select 1) select {word} n from {word} as {word}, t ({word}) group by {word}, {word}",
            f"create table {word} ({word} {word} not null, constraint {word} unique ({word}))",
            f"insert into {word} ({word}) values ({word}); update {word} set {word} = {word}; drop table {word}",
        ):
            assert accepts(text), text


def reserved_list() -> set[str]:
    """The words that NAME's lookahead excludes."""
    found = re.search(r"^NAME: /\(\?!\(\?:([a-z_|\s]+)\)", GRAMMAR.read_text(encoding="utf-8"), re.M)
    assert found
    return set("".join(found[1].split()).split("|"))


def test_word_list_is_the_keywords() -> None:
    strings = {t.pattern.value for t in parser().terminals if isinstance(t.pattern, PatternStr)}
    keywords = {word for word in strings if word.isidentifier()}
    assert keywords <= reserved_list()
    for word in reserved_list() - keywords:
        assert only_type(word) in {t.name for t in parser().terminals if not isinstance(t.pattern, PatternStr)} - {"NAME"}


def only_type(text: str) -> str:
    """The terminal of a text that is one lexeme."""
    (token,) = lexer().lex(text)
    assert str(token) == text
    return str(token.type)


def test_keywords_are_whole_words_in_any_case() -> None:
    for word in reserved_list():
        assert only_type(word) == only_type(word.upper()) == only_type(word.title()) != "NAME", word
        for name in (word + "1", word + "_", word + "x", word + "é", "x" + word, "_" + word):
            assert only_type(name) == only_type(name.upper()) == "NAME", name


def test_conflicts_are_those_explained() -> None:
    with lark_warnings() as messages:
        Lark.open(str(GRAMMAR), parser="lalr", lexer="basic", start="start", debug=True)
    conflicts = sorted(re.findall(r"conflict for terminal (\w+)", "\n".join(messages)))
    explained = "ADD AT COLLATE DOT FIELD FILTER IF LSQB PRECISION RENAME RPAR SIMILAR WITH"
    assert set(conflicts) == set(explained.split())


@cache
def lexemes() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What is a lexeme from end to end, of which psc's lexer takes the longest prefix; and what is ignored."""
    ignored = [parser().get_terminal(name) for name in parser().ignore_tokens]
    every, ignore = ("|".join(f"(?:{t.pattern.to_regexp()})" for t in terminals) for terminals in (parser().terminals, ignored))
    return re.compile(every), re.compile(ignore)


def longest_lexemes(text: str) -> Iterator[str]:
    """The lexemes of maximal munch that are not ignored, up to where there is none."""
    lexeme, ignored = lexemes()
    at = 0
    while at < len(text):
        end = next((e for e in range(len(text), at, -1) if lexeme.fullmatch(text, at, e)), None)
        if end is None:
            return
        if not ignored.fullmatch(text, at, end):
            yield text[at:end]
        at = end


def lark_lexemes(text: str) -> Iterator[str]:
    """The lexemes of Lark's basic lexer, up to where there is none."""
    with contextlib.suppress(UnexpectedCharacters):
        yield from map(str, lexer().lex(text))


WORDS = ["select", "SELECT", "date", "datetime", "year", "years", "auto_increment", "n'", "--", "/*", "*/"]
PIECES = [*"abenxé_019.'\"`-/*<>=!|&^%:;,?$@()[] \n", *WORDS]


@examples(200)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_lark_takes_the_longest_lexeme(text: str) -> None:
    assert list(lark_lexemes(text)) == list(longest_lexemes(text))
