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
