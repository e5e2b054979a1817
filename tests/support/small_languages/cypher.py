"""Cypher, beside Neo4j's own parser of Cypher 5. Each row is a text a line, but for the long ones.

Random texts with EXPLAIN and the like are left out, behind which the parser passes what it cannot read, and those with `--`.
"""

import re

from small_languages.rows import Rows

READS = """// What reads.
MATCH (p:Person {name: $name})-[r:KNOWS*1..3]->(:Person|Robot&!Dead), q = shortestPath((p)-[*..5]-(m))
USING INDEX p:Person(name) WHERE p.age >= 18 AND NOT (p)-[:LIKES]->() OR r IS NULL
OPTIONAL MATCH (m {a: 1.5e3, `b c`: [1, -2, "x\\"y"]} WHERE m.x =~ '.*') /* more */
WITH DISTINCT p, count(*) AS n, [x IN m.list WHERE x > 1 | x.y] AS l, [(p)-->(f) WHERE f.z | f.w] AS fs, p {.*, .name, n, z: 1}
ORDER BY n DESC SKIP 1 LIMIT 2 WHERE n > 1
UNWIND l AS item
CALL { WITH p MATCH (p)--(x) RETURN x UNION ALL MATCH (x) RETURN x }
CALL db.labels() YIELD label AS t, more WHERE t <> 'a'
RETURN CASE WHEN p:Person THEN 1 ELSE p.a[0].b END AS c, CASE p.x WHEN 1, 2 THEN 3 WHEN > 4 THEN 5 END, any(i IN l WHERE i),
  reduce(a = 0, i IN l | a + i) ^ -2 % 3, EXISTS { (p)-->() WHERE p.x }, COUNT { MATCH (n) }, l[1..], trim(BOTH 'x' FROM p.n)
ORDER BY c
"""
WRITES = """CREATE INDEX i IF NOT EXISTS FOR (n:A) ON (n.x, n.y);
CREATE CONSTRAINT FOR ()-[r:R]-() REQUIRE r.x IS NOT NULL; DROP INDEX i IF EXISTS;
LOAD CSV WITH HEADERS FROM 'f.csv' AS row FIELDTERMINATOR ';'
MERGE (a:A {x: row.x}) ON CREATE SET a.y = 1, a:B:C ON MATCH SET a += {z: date()}
CREATE p = (a)-[:R {s: $s}]->(b:B&C $map)<-[:Q]-()
FOREACH (x IN [1, 2] | SET a[x] = 1 REMOVE b:B, b.y)
DETACH DELETE b;
"""

ACCEPTED = """
MATCH (n) ORDER BY n.x RETURN n
MATCH (n) LIMIT 1 RETURN n
WITH 1 AS x LIMIT 1 LIMIT 2 RETURN x
INSERT (n:A&B {x: 1})-[r:R]->(:C)
USE graph.byName(x) RETURN 1
CREATE (n) ORDER BY n.x RETURN n
RETURN distinct, case, not, count(distinct), all AND NOT not
MATCH (p) RETURN DISTINCT .name
MATCH (n) RETURN n
match(n)return n;
RETURN 1; RETURN 2;
EXPLAIN MATCH (n) RETURN n
EXPLAIN PROFILE RETURN 1
CYPHER 5 planner=cost runtime = parallel RETURN 1
CREATE (n:A&B)
CREATE (n IS A)
CREATE (n:$(x))
CREATE (a)-[:X {a:1}]->(b)
CREATE (a)-[r:X $p]->(b)
CREATE (:A)<-[:R]-(:B)-[:R]->(:C)
CREATE ()-[r IS R]->()
CREATE p=(a)
CREATE (n $p)
MERGE (a)-[:X]-(b)
MERGE (a)<-[:X]->(b)
MERGE (n:A&B {a: 1})
CREATE (a) MERGE (b) SET a.x=1 CREATE (c) DELETE a REMOVE b.x
CREATE (a) FOREACH (x IN [1] | CREATE (b)) CREATE (c)
CALL db.labels() MATCH (n) RETURN n
CALL { CREATE (n) } MATCH (n) RETURN n
DELETE a WITH a MATCH (n) RETURN n
WITH n.x AS x, n RETURN 1
WITH n {.x}, m RETURN 1
WITH *, n.x AS y RETURN 1
WITH DISTINCT * RETURN 1
WITH 1 AS x ORDER BY x SKIP 1 LIMIT 1 WHERE x RETURN x
MATCH (n:A:B) RETURN n
MATCH (n:$all(x)) RETURN n
MATCH (n:%) RETURN n
MATCH ()-[:A|:B]->() RETURN 1
MATCH ()-[:A|:B|C]->() RETURN 1
MATCH ()-[:!A]->() RETURN 1
MATCH ()-[r IS A]->() RETURN r
MATCH ()-[r:A|B*1..2 {x:1}]->() RETURN 1
MATCH ()-[r *1..]->() RETURN 1
MATCH (a)-[{x:1}]->() RETURN 1
MATCH (a {x:1} WHERE a.y) RETURN 1
MATCH (WHERE true) RETURN 1
MATCH (match:Match {match: 1})-[return:RETURN]->(where) RETURN match
MATCH ((a)-[:X]->(b)){2,3} RETURN 1
MATCH (a)((b)-[:X]->(c))+(d) RETURN 1
MATCH (a)-[:X]->{1,}(b) RETURN 1
MATCH SHORTEST 2 GROUPS (a)-[:X]->+(b) RETURN 1
MATCH p = ANY SHORTEST (a)-[:X]->+(b) RETURN 1
MATCH ANY 2 PATHS (a)-[:X]->+(b) RETURN 1
MATCH (n) WHERE n:A:B OR n:C RETURN n
MATCH (n) WHERE n:A|B OR n IS A RETURN n
MATCH (n) SET (n).x = 1, n.x.y = 1, n['x'] = 1, f(n).x = 1
MATCH (n) SET n IS A
MATCH (n) REMOVE n:A, n.x, n['x'], (n).x
MATCH (n) DELETE n.x, [n][0]
MATCH (n) NODETACH DELETE n
USE neo4j MATCH (n) RETURN n
USE a.b CREATE (n)
RETURN EXISTS { MATCH (n) UNION MATCH (m) }
RETURN COUNT { MATCH (n) MATCH (m) RETURN m }
RETURN COLLECT { MATCH (n) RETURN n.x }
RETURN COUNT { WITH 1 AS x RETURN x }
MATCH (n) FINISH
CALL db.labels YIELD *
CALL db.labels
CALL db.labels() YIELD label
MATCH (n) CALL db.labels RETURN n
CALL { CALL db.labels() YIELD label } RETURN 1
CALL (n) { SET n.x = 1 } IN TRANSACTIONS
CALL (*) { RETURN 1 AS x } RETURN x
CALL () { RETURN 1 AS x } RETURN x
CALL (n) { WITH n RETURN 1 AS x } IN 3 CONCURRENT TRANSACTIONS OF 10 ROWS ON ERROR CONTINUE REPORT STATUS AS s RETURN x
OPTIONAL CALL (n) { RETURN 1 AS x } RETURN x
RETURN 1 AS x UNION DISTINCT RETURN 2 AS x UNION RETURN 3 AS x
CREATE (n) UNION CREATE (m)
MATCH (n) WHERE (n) RETURN n
MATCH (n) WHERE (n:A)-->() RETURN n
MATCH (n) WHERE (n {x:1})-->(:B) AND NOT (n)<--() RETURN n
MATCH (n) WHERE ((n)-->()) RETURN n
MATCH (n) RETURN n.x OR (n)-->() AS a
MATCH (n) RETURN CASE WHEN (n)-->() THEN 1 ELSE 2 END
MATCH (n) RETURN exists((n)-->())
MATCH (n) RETURN [(n)-[r WHERE r.x]->(m) | m]
MATCH (n) RETURN [p = (n)-[*2]->() | p]
RETURN count(DISTINCT x), count(ALL x), foo(ALL n), count ( * )
RETURN foo.bar.baz(1), x.foo(1), foo (1)
RETURN normalize(x, NFC), trim('x' FROM y), trim(FROM y)
RETURN x IS :: INTEGER, x IS NOT :: STRING, x :: LIST<INTEGER NOT NULL>, x IS TYPED FLOAT, x IS NFC NORMALIZED
RETURN NOT x:A AND y, not not x, 1 < 2 < 3, x IS NOT NULL = true
RETURN -x ^ 2, 2 ^ -x, 1 - -1, - - 1, -(-1), 'a' + 1, x || y
RETURN x[1][2].y.z[3], (x).y, {a:1}.a, [1][0], 'a'.b, f(x).y, [1][..2]
RETURN {`a b`: 1, null: 2, match: 3}, {}, []
RETURN $match, $`a b`, $0, `a``b`
RETURN true, FALSE, NULL, Infinity, NaN, 0xFF, 0o17, 1_000, 1e3, .5, 1E+3
RETURN 1 -- c
CREATE FULLTEXT INDEX foo FOR (n:A|B) ON EACH [n.x, n.y]
CREATE LOOKUP INDEX foo FOR ()-[r]-() ON EACH type(r)
CREATE VECTOR INDEX foo FOR (n:A) ON (n.x) OPTIONS {indexConfig: {`vector.dimensions`: 3}}
CREATE CONSTRAINT foo FOR (n:A) REQUIRE (n.x, n.y) IS NODE KEY
CREATE CONSTRAINT foo FOR (n:A) REQUIRE n.x IS :: INTEGER
DROP CONSTRAINT $n
SHOW ALL INDEXES YIELD name, type WHERE name = 'a' RETURN name
SHOW UNIQUENESS CONSTRAINTS
SHOW PROCEDURES EXECUTABLE YIELD name ORDER BY name LIMIT 3
SHOW BUILT IN FUNCTIONS WHERE name = 'x'
"""

REFUSED = """
;
RETURN 1;;
MATCH (n)
MATCH (n RETURN n
MATCH (n) RETURNn
MATCH (n) RETURN
MATCH (n) DELETE
MATCH (n) RETURN n RETURN n
MATCH (n) RETURN n FINISH
RETURN 1 MATCH (n) RETURN n
match (a) retrun a
RETURN a.1
RETURN 01
RETURN 0XFF
RETURN 1 x
RETURN 1, *
RETURN ALL n
RETURN 1 LIMIT 2 SKIP 3
RETURN ($)
RETURN foo(1
RETURN {a: 1, b}
RETURN {a: 1,}
RETURN {'a': 1}
RETURN [1,]
RETURN - -x
RETURN a IS NULL IS NULL
RETURN a STARTS WITH b ENDS WITH c
RETURN 1 + NOT x
RETURN 1 = NOT 2
RETURN x IS NOT A
RETURN x != y
RETURN x IN [1] IN [true]
RETURN n.x {.y}
RETURN n { .x.y }
RETURN x[..]
RETURN x..1
RETURN "a" 'b'
RETURN 'it''s'
RETURN 1 AS 'a'
RETURN 1 # c
RETURN a@b
RETURN CASE x END
RETURN [(a) | b]
RETURN any(x IN y)
RETURN reduce(1)
RETURN exists(n.x)
MATCH (n) RETURN size((n)-->())
MATCH (n) RETURN ((n)-->()) AS a
MATCH (n) WITH (n)-->() AS x RETURN x
MATCH (n) WHERE (n)-->() = true RETURN n
CREATE (n:A|B)
CREATE (n:!A)
CREATE (n:A:B&C)
CREATE (a)-[:X]-(b)
CREATE (a)<-[:X]->(b)
CREATE (a)-[:X*2]->(b)
CREATE (a)-[:B|C]->(d)
CREATE (a)-->(b)
CREATE (a WHERE a.x)
CREATE p=shortestPath((a)-[:X]->(b))
MERGE (a)-[r]->(b)
MERGE (a)-[:X|Y]->(b)
MERGE (a $p)
MERGE (a), (b)
MERGE ()--()
MERGE (a) ON MATCH DELETE a
CREATE (m) MATCH (x) RETURN x
CREATE (a) UNWIND [1] AS x CREATE (b)
CREATE (a) CALL db.labels() YIELD label RETURN label
CREATE (a) CALL { RETURN 1 AS x } RETURN x
FOREACH (x IN [1] | CREATE (b)) MATCH (n) RETURN n
FOREACH (x IN [1] | MATCH (n))
FOREACH (x IN [1] | CALL foo())
WITH n.x RETURN 1
WITH count(*) RETURN 1
WITH $p RETURN 1
MATCH (n:A&B:C) RETURN n
MATCH (n:A:!B) RETURN n
MATCH (n IS A:B) RETURN n
MATCH (a $p) RETURN 1
MATCH (a)(b) RETURN 1
MATCH ()-[:A:B]->() RETURN 1
MATCH ()-[:A|:B*]->() RETURN 1
MATCH ()-[r:A|:B]->() RETURN 1
MATCH ()-[:A|:B {x: 1}]->() RETURN 1
MATCH ()-[r:A&B*1..2]->() RETURN 1
MATCH ()-[r *1..2 WHERE r.x]->() RETURN 1
MATCH shortestPath((a)) RETURN 1
MATCH shortestPath((a)-[*]-(b)-[]-(c)) RETURN 1
MATCH (n) WHERE n:A|:B RETURN n
MATCH (n) SET n:A&B RETURN n
MATCH (n) SET (n):A
MATCH (n) SET n[1..2] = 1
MATCH (n) SET count(n) = 1
MATCH (n) REMOVE n
MATCH (n) USE x RETURN n
MATCH (n) RETURN n:$(x)
RETURN EXISTS { CREATE (n) }
RETURN COLLECT { MATCH (n) }
CALL { MATCH (n) } RETURN 1
MATCH (n) CALL { MATCH (m) RETURN m }
MATCH (n) CALL foo() YIELD x
CALL db.labels() YIELD * RETURN 1
CALL db.labels() YIELD -
UNWIND [1] AS x, [2] AS y RETURN x
RETURN 1 AS x UNION RETURN 2 AS x UNION ALL RETURN 3 AS x
START n = node(1) RETURN n
FILTER x
SHOW RELATIONSHIP EXISTS CONSTRAINTS
INSERT (n:A|B)
INSERT (n)-[:R]-(m)
ORDER BY x LIMIT 1
SHOW INDEXES WHERE type = 'a' RETURN 1
CREATE OR REPLACE INDEX foo FOR (n:A) ON (n.x)
CREATE INDEX ON :A(b)
CREATE CONSTRAINT ON (n:A) ASSERT n.x IS UNIQUE
USING PERIODIC COMMIT 500 LOAD CSV FROM 'a' AS x CREATE (n)
MATCH (n) WHERE n.x = "a" RETURN n.y AS y,
MATCH (n) \u017fET n.x = 1
MATCH (n) RETURN n \u017fKIP 1
MATCH (n) RETURN n S\u212aIP 1
"""

WORDS = """
MATCH (n) (n:A) --> -[r:R]- <-[]- ( ) [ ] { } , . : | = <> + - * WHERE WITH RETURN AS a x n.x $p 'a' 1 .. NOT AND IS NULL IN CREATE
MERGE SET DELETE CALL YIELD UNION ALL DISTINCT ORDER BY LIMIT CASE WHEN THEN END EXISTS COUNT any( count( UNWIND ; {x: 1}
"""

ROWS = Rows(
    accepted=[READS, WRITES, "RETURN \"a\nb\\x\", 'é', 変数", *ACCEPTED.strip("\n").split("\n")],
    refused=REFUSED.strip("\n").split("\n"),
    stricter=[
        "",
        "CREATE ((a)-[:X]->(b))",
        "MATCH (n:A:(B)) RETURN n",
        "WITH (n) RETURN 1",
        "RETURN all(x)",
        "RETURN EXISTS { MATCH (n) CALL db.labels() YIELD label RETURN 1 }",
        "RETURN 1.5f",
        "SHOW DATABASE foo",
        "TERMINATE TRANSACTION 'a'",
        "CREATE DATABASE foo",
        "CYPHER 25 UNWIND [1] AS x FILTER x > 1 RETURN x",
    ],
    looser=[
        "RETURN 1AS x",
        "MATCH (n) WHERE (n WHERE n.x)-->() RETURN n",
        "MATCH (a)-[:X*2]->{1,}(b) RETURN 1",
    ],
    texts=300,
    words=WORDS.split(),
    differs=lambda text: not text.strip() or re.search(r"explain|profile|cypher|--", text, re.IGNORECASE) is not None,
    tokens=[" RETURN", "MATCH (", ")-[:", "]->(", " WHERE n", " AS ", "count(", "}) ", " ORDER BY", "'a' ", "RETURN n\n"],
)
