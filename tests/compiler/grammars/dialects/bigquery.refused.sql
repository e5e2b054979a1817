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
declare
delete t
insert t
select a b c
select a = b = c
select a = not b
select a::int64
select a ilike b
select , a from t
select 1 union select 2
select struct(a b)
select from.a from t
select * replace (a b) from t
insert into t values (1) returning a
update t set a = 1
begin select 1 end
if a then select 1 end if
loop select 1; end while
create procedure p() as select 1
with a as (select 1),
select 1 order by
undrop table a
undrop schema
undrop schema if exists a
export table metadata a
export table a.b
select * from a natural, b
select * from a as natural join b
select natural from a
select sum(a) over w from b window w as select
