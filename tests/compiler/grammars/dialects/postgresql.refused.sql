select a from t where a = b = c
select a is null is null from where
select a b c
select * from t join u
select f(variadic a, b)
select :x
select `a`
select ?
select [1]
select f(a => )
select a from t limit 1 limit 2
select a from t where a between 1
select a. from t where
select a as from user
select table
select e'a
select $$a
select 1 having having
select a in ()
select left
select f() over
select a year from t
select (a).b.c.
select array[1
insert t values (1)
insert into t (a) (b) values (1)
insert into t values (1) on conflict do update
update t a = 1
update t set a
delete t
merge into t using s when matched then delete
create table t (a)
create table user (a int)
create table t (a int,)
create table t (a int) inherits
create table t (a int primary)
create table t (constraint k)
create index on t
create index i t (a)
create view v
create function f returns int as 'x'
create function f(a int b) returns int as 'x'
create trigger g insert on t execute function f()
create type t as enum (a)
create sequence s start start
create or replace table t (a int)
create unique table t (a int)
create schema s create role r
alter table t
alter table t add
alter table t drop column
alter table t add column a int drop column b
alter table rename t to u
comment on t is 'x'
comment on table t
grant select on to r
grant on t to r
drop t
drop table
drop function f(
truncate
explain
copy t
set a
set = 1
begin commit
fetch
lock t in mode
do
execute
analyze verbose verbose
1
select 1 -
create index i on t (a nulls last asc)
create index i on t (a nulls first nulls last)
create index i on t (a nulls middle)
select a from t order by a using s.<
select a from t order by a using operator <
create publication p for current_schema
