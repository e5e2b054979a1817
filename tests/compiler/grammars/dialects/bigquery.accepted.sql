select a, t.* except (b) replace (c + 1 as c), `p-q.d.t`.e from p-q.d.t as t
select as struct 1 as a, [1, 2] as b, array<int64>[3], struct(1 as x, 'y' as z), struct<a int64, b array<struct<c string>>>(1, [])
select x[0], y[offset(1)], f(z)[safe_offset(2)].w, r'\d+', b"bytes", """a "quoted"
  text""", 'it\'s', date '2020-01-01', @param, ? from t, unnest(t.items) as x with offset as o
select array_agg(distinct a ignore nulls order by b desc limit 5), safe_cast(c as array<int64>), cast(d as string format 'YYYY'), f(x => 1)
select extract(isoweek from a), timestamp_add(b, interval c hour), date_sub(d, interval 1 day), e in unnest([1, 2]), f is not distinct from g
select a, row_number() over (partition by b order by c) as r from t where true qualify r = 1
select * from t pivot (sum(a) as s for q in ('x' as x, 'y')) join u using (id)
select * from t for system_time as of timestamp_sub(current_timestamp(), interval 1 hour)
with a as (select 1) select * from a union all select 2 except distinct select 3 order by 1 limit 10
insert d.t (a, b) values (1, 'x'), (2, default)
merge into d.t as t using s on t.id = s.id when matched and s.x then update set y = 1 when not matched by target then insert row
  when not matched by source then delete
create or replace table d.t (a int64 not null options (description = 'x'), b array<struct<c string, d numeric>>)
  partition by date(e) cluster by a, b options (expiration_timestamp = null)
create temp function f(x int64, y any type) returns float64 as (x * y)
create function d.f(x string) returns string language js as r"""return x;"""
create schema if not exists s options (location = 'EU'); drop schema s cascade; truncate table t; alter table t set options (a = 'b')
declare x, y int64 default 1; set x = (select 2)
select a, b, from t; select f(x).*, t.values, assert.null(1), if(a, b, c).* except (d) from t
select date, `order`, t.select, t.1a, t.2 from my-project-123.d.events_1 as e, unnest(e.items) item with offset as o where not a like any ('x', 'y')
select as struct a, b from t; select distinct as value a from t; select array[1], array(select 1), exists(select 1), -interval 1 day, numeric '1.5'
select f(x, y -> y + 1), g(any_value(x having max y)), range<date> '[2020-01-01, unbounded)', cast(a as numeric(3, 2)), left(a, 1) from t
select a, count(*) from t group by all; select a from t group by grouping sets ((a, b), (), rollup (a)) order by a desc nulls last
select * from t unpivot include nulls (v for n in (a as 'x', b)) tablesample system (10 percent)
(select 1) union all by name (select 2); with recursive t as (select 1 union all select 2) select * from t for system_time as of current_timestamp()
begin declare x int64; set (x, y) = (1, 2); select 1; exception when error then raise using message = @@error.message; end
if a then select 1; elseif b then else select 2; end if; while true do break; end while; loop leave; end loop; repeat set i = i + 1; until i > 3 end repeat
outer_loop: for r in (select 1) do call p(r.a, 2); continue outer_loop; end for; case x when 1 then return; else select 1; end case
begin transaction; insert into t values (1, default); commit transaction; begin; rollback
create procedure p(in x int64, out y string) options (strict_mode = false) begin set y = 'a'; end
create or replace function f(x any type) returns struct<low float64, high float64> deterministic language js options (library = ['a.js']) as "return x;"
create table function f(x int64) returns table<a int64, b string> as select x; create temp aggregate function f(x int64 not aggregate) as (sum(x))
create external table t (a int64) with partition columns (b date) options (format = 'CSV', uris = ['gs://b/*'])
create model m transform (a, b * 2 as b) options (model_type = 'linear_reg') as select * from t
create materialized view v partition by date(a) cluster by b as select a, b from t; create snapshot table s clone t for system_time as of @x
create search index i on t (all columns); drop external table if exists t; drop snapshot table t; drop table function f
create row access policy p on t grant to ('user:a@b.c') filter using (a = session_user())
alter table t add column if not exists a struct<b int64 not null>, drop column c, rename column d to e, alter column f set data type numeric
alter table t add primary key (a) not enforced, alter column b drop not null; alter schema s set default collate 'und:ci'
execute immediate 'select ?' into a, b using 1 as x, @y; assert a = 1 as 'message'; export data options (uri = 'x') as select 1
load data overwrite t (a int64) partition by a from files (format = 'CSV', uris = ['x']); grant `roles/viewer` on table t to 'user:a@b.c'
update t set a.b = 1, c[0] = default from u where t.id = u.id; delete from t as x where true
undrop schema a
undrop schema if not exists p.a
select undrop, metadata from metadata as undrop
export table metadata from a.b
export table metadata from a.b with connection c options (d = 'e')
select * from a natural join b natural left outer join c natural inner join d natural cross join e
select a.natural from a natural full join b using (c)
select sum(a) over w from b window v as (order by c), w as v, x as `w`
