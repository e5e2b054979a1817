select
select from t
select a b c
select a,, b
(select 1) union select 2
((select 1))
select a::int
select e'\''
select a from t limit 1 limit 2
select a from t order by a where b
select a from t group a
select a between 1
select a like
select a in 1
select a is
select count(*
select f(* , 1)
select cast(a int)
select case a end
select 1 from
select * from t join
select * from t indexed
select #1
select a ! b
insert t values (1)
insert into t
insert into t (a b) values (1)
insert into t values (1) on conflict do
update t a = 1
update t set a
delete t
create table t
create table t ()
create table t (a int, )
create table t (a int primary)
create table t (a int) without
create table table (a)
create index i t (a)
create index on t (a)
create trigger r on t begin select 1; end
create trigger r update on t begin end
create trigger r update on t begin select 1 end
create virtual table t (a)
create or replace view v as select 1
alter table t
alter table t add constraint c unique (a)
alter table t alter a set default 1
drop t
drop table
begin begin
pragma
pragma a =
attach 'x'
grant select on t to u
truncate t
select 1 select 2
select all distinct a from t
