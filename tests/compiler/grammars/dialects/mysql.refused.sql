select
select from t
select a b c
select a,, b
select a::int
select a from t limit 1 limit 2
select a from t order a
select a from t where
select a between 1
select a like
select a is 1
select count(*
select group_concat(a separator)
select interval 1
select cast(a int)
select case a end
select * from t left u on a
select * from t use index
select [a] from t
select e'a
select "a
select 1 div
insert into
insert into t (a) (b) values (1)
insert into t values (1) on conflict do nothing
insert into t set a
update t a = 1
update t set a
delete t
delete from
create table t
create table t ()
create table t (a)
create table t (a int unsigned unique primary)
create table t (a int,)
create table t (key)
create table t (a int) engine
create table t (a int) partition by (a)
create table select (a int)
create index i t (a)
create view v
alter table t modify
alter table t change a int
alter table t add column
alter table t drop key
drop t
drop index i
truncate
rename table a
set
set a
show
use
lock tables t
load data infile x into table t
prepare p
start
select 1 select 2
explain
create procedure p begin end
create procedure p() begin select 1 end
create procedure p() begin set a = 1; declare b int; end
create procedure p() if a then select 1; end
create procedure p() begin loop end loop; end
create procedure p() begin fetch c; end
create procedure p() begin declare handler for 1 select 1; end
create function f() return 1
create trigger t before insert on u set new.a = 1
create event e do select 1
leave a
return 1
signal 45000
create user a password expire interval day
grant r1 to
create tablespace t add 'f'
alter table t alter index a
explain format = json into a select 1
select * from t for share of
select f(a) respect over ()
handler t read
xa start
install p
change replication source source_host = 'h'
flush tables t with read
set statement a = 1 select 1
select count(a b)
select left(a b, 1)
select d.f(a b)
select f(distinct a)
select f(*)
select count()
select t. select
select @@select
select @@global a
select @@global
select 1 from dual dual
select dual
select _utf8
create table t (a int not b)
create table t (a unsigned)
create table t (a varchar)
select cast(a as integer signed)
create table t (a int), engine = innodb
check table t a
alter a table t add b int
select a from a.b.c
select @'a'.b
select 1 := 2
select a = b := 1
a: loop select 1; leave a; end loop
a: loop select 1; leave a; end loop a
begin select 1; end
declare x int
leave a
iterate a
fetch c into a
alter table t add constraint if not exists f foreign key (a) references u (b)
alter table t add constraint if not exists check (a > 0)
create table t (a int) without system versioning
if 1 then end if
if 1 then declare x int; end if
