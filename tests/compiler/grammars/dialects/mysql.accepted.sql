select a, `b c` as d, "x" 'y', t.*, e as 'f', @a, @@global.b, :c from t
select sql_calc_found_rows distinct a from t straight_join u on t.a = u.a left join v using (a) natural join w, (select 1) x
select * from t partition (p0) use index (i) force key for order by (primary), lateral (select 1) u
select a from t join u join v on u.a = v.a where b <=> c and not d or e xor f && g || !h
select 7 div 2, 7 mod 2, 7 % 2, a << 1, b & c, ~d, a regexp 'x', b not rlike 'y', c like 'z' escape '!', d sounds like e
select a between b and c and d, a in (1, 2), b not in (select 1), exists (select 1), a > all (select 1), (1, 2) = row(1, 2)
select date_add(a, interval 1 day), a + interval b hour, timestampdiff(month, a, b), extract(year_month from a), now(3), current_date
select group_concat(distinct a order by b desc separator ','), count(distinct a, b), char(77 using utf8mb4), convert(a using utf8)
select cast(a as unsigned), convert(a, decimal(10, 2)), binary 'a' = 'b', a collate utf8mb4_bin, _utf8mb4'x', x'1f', 0x1f, b'01', n'x'
select match (a, b) against ('c' in boolean mode), values(a), if(a, b, c), left(a, 1), insert(a, 1, 2, b), replace(a, b, c), mod(a, 2)
select a->'$.b', case a when 1 then 2 else 3 end, substring(a from 2 for 3), trim(leading 'x' from a), position('a' in b)
select sum(a) over (partition by b order by c rows between unbounded preceding and current row), rank() over w from t
  window w as (order by a)
select a from t group by a desc, b with rollup having c order by d asc limit 5, 10 for update skip locked
select a into outfile 'x' fields terminated by ',' optionally enclosed by '"' lines terminated by '\n' from t
select a, b into @a, @b from t limit 1 lock in share mode
select * from json_table('[]', '$[*]' columns (a int path '$.a' default '0' on empty, b for ordinality)) as t
(select 1) union all (select 2 order by 1 limit 1) order by 1 limit 2
with recursive a (b) as (select 1 union all select b + 1 from a) select * from a
insert ignore into t (a, b) values (1, default), (2, 3) on duplicate key update a = values(a), b = b + 1
insert low_priority t set a = 1, b := 2
insert into t values (), () ; insert into t () values ()
insert into t select * from u on duplicate key update a = 1
replace into t partition (p0) (a) value (1)
update ignore t, u set t.a = u.a, b = default where t.c = u.c order by a limit 5
delete quick from t where a = 1 order by b limit 5
delete t, u.* from t join u on t.a = u.a where b
delete from t using t, u where a = b
create table if not exists t (a int(10) unsigned zerofill not null auto_increment primary key comment 'x', b varchar(20) character set
  utf8mb4 collate utf8mb4_bin default 'x', c enum('a', 'b') null, d timestamp(3) default current_timestamp(3) on update now(3),
  e int generated always as (a + 1) stored, f double precision, g set('a'), h json check (json_valid(h)), i decimal(10, 2) as (a) virtual,
  key (b(10) desc), unique key k (b, c) using btree, fulltext index l (b), index m ((lower(b))), spatial key (h),
  constraint n foreign key o (a) references u (a) on delete cascade on update set null) engine = InnoDB default charset utf8mb4,
  auto_increment = 5 comment 'y' row_format=compressed
create temporary table t like u
create table t (a int) partition by range (a) subpartition by hash (a) subpartitions 2 (partition p0 values less than (10)
  engine innodb, partition p1 values less than maxvalue)
create table t engine=memory as select 1
create or replace algorithm = merge definer = `a`@`b` sql security invoker view v (a) as select 1 with cascaded check option
create unique index i using btree on t (a, b(5) desc) comment 'x'
create database if not exists d default character set = utf8mb4 collate utf8mb4_bin
create user 'a'@'%' identified by 'b'
alter table t add column (a int, b int), add c int unsigned not null first, add d int after c, modify e bigint, change f g text,
  alter h set default 1, drop i, drop primary key, drop index j, drop foreign key k, add unique key l (a), rename to u,
  convert to character set utf8mb4, engine = MyISAM, disable keys, algorithm = inplace, lock none, order by a
alter table t add partition (partition p values in (1, 2))
alter table t partition by key (a) partitions 4
alter table t truncate partition all
rename table a to b, c to d
drop temporary table if exists a, b cascade
drop index i on t
truncate table t
start transaction with consistent snapshot, read only; savepoint a; rollback to savepoint a; commit and no chain
set @a = 1, global b = on, @@session.c = default, names_x = 'y'
set session transaction isolation level read committed, read only
set names utf8mb4 collate utf8mb4_bin
use d; describe t; desc t a; explain format = json select 1; explain update t set a = 1
show full columns from t from d like 'x%'; show create table t; show variables where a = 1; show tables; show grants for a@b
lock tables t read local, u as v write; unlock tables
check table t, u extended; optimize table t; flush tables; kill 5; do sleep(1); call p(1, @a)
prepare p from 'select ?'; execute p using @a; deallocate prepare p
load data local infile 'x' ignore into table t fields terminated by ',' ignore 1 lines (a, @b) set c = @b
grant select (a), insert on d.* to a@b with grant option
create table user (date date, time time, year year, status int, `select` int, value text) # a comment
create procedure p(in a int, inout b varchar(10) character set utf8mb4, out c decimal(3, 2)) begin end
create definer = `root`@`localhost` procedure d.p() comment 'x' reads sql data sql security invoker begin
  declare done int default false; declare x, y int unsigned; declare dup condition for sqlstate '23000';
  declare c cursor for select a, b from t; declare continue handler for not found, dup, 1062 set done = true; open c;
  rows_of: loop fetch c into x, y; if done then leave rows_of; elseif x > y then iterate rows_of; else insert into u values (x, y);
  end if; end loop rows_of; close c; end
create function f(a int) returns varchar(20) deterministic no sql return concat(a, 'x')
create function if not exists f() returns int begin declare i int default 0; while i < 3 do set i = i + 1; end while;
  repeat set i = i - 1; until i = 0 end repeat; case i when 0 then select 1; else begin end; end case;
  case when i then return 1; end case; return i; end
create trigger t1 before insert on t for each row follows t0 set new.a = old.b + 1
create trigger t2 after delete on t for each row begin if old.a is null then signal sqlstate '45000' set message_text = 'no'; end if; end
create event if not exists e on schedule every 1 day starts now() + interval 1 hour on completion preserve disable comment 'c' do call p(1)
create event e on schedule at current_timestamp do delete from t; alter event e enable; alter procedure p sql security definer
create procedure p() begin get diagnostics condition 1 @a = returned_sqlstate, b = message_text; resignal; end
create or replace procedure p() outer_block:begin select a into x from t; inner_block: begin end inner_block; end outer_block
create function g returns string soname 'x.so'; select a, b into x, @y from t; execute immediate 'select 1'
create user if not exists a@b identified with 'p' by 'x' require ssl with max_user_connections 3 password expire interval 9 day account lock
create user a identified by random password failed_login_attempts 3 comment 'c'; alter user a default role all; rename user a@b to c@d
grant r1, 'r2'@'%' to a@b with admin option; revoke if exists all privileges, grant option from a, b ignore unknown user
grant execute on procedure d.p to a; grant create user, proxy on *.* to a; revoke insert on function f from a@b
set role all except r1; set default role r1, r2 to a@b; set password for a@b = 'x'; set persist a = 1, persist_only b = on
set names utf8mb4, @a = 1; select @, @@a.b from d.t; select d.t.a, d.t.* from d.t
create undo tablespace u add datafile 'u.ibu' engine = innodb; alter tablespace t rename to u; drop tablespace t engine innodb
create table t (p point not null srid 0, a int storage disk column_format default) tablespace = x storage memory checksum = 1
create table t (a int, b int) partition by key algorithm = 2 (a) partitions 3
create table t (a int) partition by range columns(a, b) (partition p values less than (1, maxvalue) data directory = 'd')
alter table t algorithm = copy, lock = none, drop partition p; alter table t alter index a invisible, alter check c not enforced
alter table t discard partition all tablespace; alter table t row_format = dynamic key_block_size = 4, force; alter instance reload tls
alter table t exchange partition p with table u without validation; rename tables a to b, b to c; drop temporary tables a, b
explain format = json into @a select 1; explain for connection 5; analyze table t update histogram on a, b with 5 buckets
select * from t for share of t nowait for update of u skip locked; select lag(a) respect nulls over (order by b) from t
select interval(a, 1, 2) from t order by interval(a, 1); select a from t having a window w as () qualify a > 1
select a from t group by grouping sets ((a), (a, b), ()); select id from t where match a, b against ('x')
create json relational duality view v as select json_duality_object(with(insert, update) '_id': a, 'b' :b,
  'c': (select json_duality_object('d': u.d with (no update)) from u)) from t
change replication source to source_host = 'h', source_port = 1, ignore_server_ids = (1, 2) for channel 'c'; change replication filter f = (d.t)
start replica sql_thread until source_log_file = 'f', source_log_pos = 4; stop replica for channel 'c'; reset binary logs and gtids to 5
select a from .t, .u; handler t open as h; handler h read i >= (1, 2) where a = 1 limit 3; handler h read next; handler h close
xa start 'a', 'b', 1 join; xa end 'a' suspend for migrate; xa prepare 'a'; xa commit 'a' one phase; xa recover convert xid
install plugin p soname 'p.so'; install component 'a', 'b' set global c = 1; uninstall plugin p; reset persist if exists a.b; purge binary logs to 'x'
flush local tables t, u with read lock; flush tables t for export; kill query 5; load index into cache t partition (all) key (a) ignore leaves
create function f() returns int language javascript using (d.l as m) as 'return 1'; create library l language wasm as 'x'; drop library l
create server s foreign data wrapper mysql options (host 'h', port 1, database 'd'); create spatial reference system 1 name 'a' definition 'b'
set statement a = 1, b = 'x' for select 1; begin not atomic declare i int; set i = 1; end; create or replace sequence s maxvalue 5 cache 3 cycle
select a from t order by a offset 1 row fetch first 2 rows with ties; select next value for s; select 1 limit rows examined 5
select hex(a b), concat(a as 'x', b y, `c` as `z`) from t; select column_get(c, 'k' as unsigned int), column_create('a', 1 as int)
select count(*), count(distinct a, b), sum(all a), max(a) over (), count, max from t
select t.select, t .from, d.t.where, `a`.`b`, a . b from t
select .t.a from .t where .t.b = 1; drop table if exists .t, d.u
select @@sql_mode, @@global.sql_mode, @@session . `sql_mode`, @@sql_buffer_result, @.a, @a.b
select 1 from dual where 1; select substr(a from 1 for 2), mid(a, 1), substring(a, 2)
select _utf8mb4'a' 'b', _latin1 x'41', _binary 0x41, _unknown from t
create table t (a int default 'a' 'b', b varchar(2) default upper('a'), c int not secondary)
create table t (database int, function int, `schema` int, key_block_size int) engine=innodb, comment='a'
select cast(a as unsigned int), cast(b as char(3) character set utf8mb4), cast(c as double precision), cast(d as nchar)
lock tables t a read, u as v read, tables write
alter table t rebuild partition p; alter table t secondary_load; alter table t; alter online table t add a int
check table t fast quick; repair table t use_frm; alter user a@b account lock password expire
analyze select a from t order by a limit 1; analyze table t, u; analyze table t update histogram on a; analyze format=json select 1
select b = @a := 1, 1 + @c := d or e, -@a := not 2, f(g, @a := h in (1)); update t set c = @a := @b := 1 where d > @e := 2
if @x = 0 then set @b = ''; end if
if @x = 0 then set @b = ''; elseif 1 then select 1; else select 2; end if
loop select 1; end loop
while @a < 3 do set @a = @a + 1; end while
repeat set @a = @a + 1; until @a > 3 end repeat
case @a when 1 then select 1; end case
case when 1 then select 1; else select 2; end case
for i in 1 .. 3 do select i; end for
for i in (select 1) do select i.a; end for
begin not atomic select 1; end
begin not atomic declare x int; set x = 1; end
alter table t add index if not exists (a, b)
alter table t add index if not exists i (a, b)
alter table t add key if not exists (a, b)
alter table t add unique if not exists (a)
alter table t add unique index if not exists (a)
alter table t add fulltext if not exists (a)
alter table t add fulltext index if not exists (a)
alter table t add index if not exists using btree (a)
alter table t add primary key if not exists (a)
alter table t add foreign key if not exists (a) references u (b)
alter table t add foreign key if not exists f (a) references u (b)
alter table t add constraint if not exists c check (a > 0)
alter table t add column if not exists (a int)
create table t (a int, index if not exists (a))
create table t (a int, index if not exists i (a))
create table t (a date, b date, period for p (a, b))
create table t (a date, b date, period for system_time (a, b)) with system versioning
alter table t add period for p (a, b)
alter table t add period if not exists for p (a, b)
alter table t drop period for p
alter table t drop period if exists for p
alter table t add system versioning
alter table t drop system versioning
create table t (a int with system versioning)
create table t (a int without system versioning)
create table t (a int, b timestamp(6) generated always as row start, c timestamp(6) generated always as row end, period for system_time (b, c)) with system versioning
create table t (a int, unique (a, p without overlaps))
create table t (a int, primary key (a, p without overlaps))
select * from t for system_time as of timestamp '2020-01-01'
select * from t for system_time as of now() as x
select * from t for system_time all
select * from t for system_time between a and b
select * from t for system_time from a to b
delete from t for portion of p from '2000-01-01' to '2001-01-01'
update t for portion of p from '2000-01-01' to '2001-01-01' set a = 1
delete history from t
delete history from t before system_time now()
help 'select'
help contents
select previous value for s
select previous value for a.s + 1 from t
select lastval(s), nextval(s), setval(s, 1)
create table t (a int default next value for s)
create table t (a int default (next value for s))
create table t (a int default nextval(s))
create index if not exists i on t (a)
drop index if exists i on t
alter table t drop index if exists i
alter table t drop foreign key if exists i
alter table t drop constraint if exists i
alter table t drop column if exists i
alter table t change column if exists a b int
alter table t modify column if exists a int
alter table t rename column if exists a to b
alter table t rename index if exists a to b
alter table t alter column if exists a set default 1
execute immediate concat('a', 'b') using @a, 1
for i in 1..3 do select i; end for
for i in 1 ..3 do select i; end for
for i in 1 .. a do select i; end for
for i in 1..a do select i; end for
for i in c do select i.x; end for
alter table t add period for system_time (a, b)
alter table t drop period for system_time
create table t (a int generated always as row start)
create table t (a int as row start)
alter table t add column period for p (a, b)
if 1 then select 1; end if
if 1 then begin declare x int; end; end if
if exists (select 1) then select 1; end if
select 1; if 1 then select 1; end if; select 2
create procedure p() if 1 then select 1; end if
