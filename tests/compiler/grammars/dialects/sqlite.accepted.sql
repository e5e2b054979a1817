select 1, 'x' as "a", b'c', d e, [f g], `h`, x'01ff' from t
select * from t as a indexed by i join u using (a, b), (select 1) v natural left outer join w on a = b cross join (x, y)
select a = b = c, not a, - not b, a is not b, a is distinct from b, a isnull, b not null, c notnull, d not like e escape '!'
select a between b and c and d, a in (), b in (1, 2), c not in (select 1), d in e, f in main.g, h in i(1), j glob k, l match m
select count(*) filter (where a > 0) over (partition by b order by c rows between unbounded preceding and 1 following exclude ties)
select sum(a) over w, max(distinct b), group_concat(c, ',' order by d) from t window w as (order by a)
select cast(a as varchar(10)), case a when 1 then 2 else 3 end, exists (select 1), (1, 2) = (3, 4), a -> 'b' ->> '$.c', ~d, e collate nocase
select ?, ?1, :a, @b, $c, $d::e, current_timestamp, 0x1F, .5e3, a.b.c
select a from t where b group by c having d order by e collate nocase desc nulls last limit 1 offset 2
select 1 union all select 2 except values (3, 4), (5, 6) order by 1 limit 2, 3
with recursive a(b) as not materialized (select 1), c as (values (1)) insert into t select * from a, c
insert or replace into main.t as x (a, "b") values (1, 2), (3, 4) on conflict (a collate nocase) where b do update set (a, b) = (1, 2),
  c = excluded.c where d on conflict do nothing returning *, a + 1 as b
replace into t default values
update or ignore t indexed by i set a = 1, (b, c) = (select 1, 2) from u where d returning a
delete from t not indexed where a = 1
create table if not exists main.t (a integer primary key desc on conflict abort autoincrement, b, c text(10) not null default 'x'
  collate nocase unique, d as (a + 1) stored, e generated always as (b) virtual, f default (1 + 2) check (f > 0),
  g references u (x) on delete set null match full deferrable initially deferred, primary key (a, b collate nocase desc),
  constraint k unique (c) on conflict ignore foreign key (d) references v on update no action) without rowid, strict
create temp table t as select 1
create unique index if not exists i on t (a, lower(b) desc, c collate nocase) where d > 0
create view v (a, b) as select 1, 2
create temp trigger if not exists r instead of update of a, b on v for each row when new.a > 1 begin update t set a = new.a;
  select raise(abort, 'x'); delete from u; end
create virtual table t using fts5(a, b unindexed, tokenize = 'porter', content=(x, y))
alter table t rename to u
alter table t rename column a to b
alter table t add column a int not null default 1
alter table t drop b
drop table if exists main.t
begin immediate transaction; savepoint a; rollback to savepoint a; release a; commit transaction
pragma main.cache_size = -2000
pragma table_info('t')
attach database 'x' as y key 'z'; detach y; vacuum main into 'x'; reindex t; analyze
explain query plan select 1
create table key (desc desc, if, temp int, 'a b', [c d] int) 
select key, action, replace(a, b, c), rowid "x" from query where plan = row order by by
