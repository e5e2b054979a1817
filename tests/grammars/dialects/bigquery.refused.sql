select
select * except a from t
select a from t qualify
select array<int64
select struct<a int64>
select cast(a as array<>)
select [1, 2
select """a
select "a
select 'a
select unnest from
select a from t pivot (sum(a))
merge t using s on a
merge t using s on a when matched then insert row
create table t (a array<int64)
create table t (a struct<int64, >)
create function f(x) as (x)
declare
delete t
insert t
select a b c
