"""SPARQL, beside rdflib's parser, which knows nothing of what the notes of the grammar forbid."""

from small_languages.rows import Rows

QUERY = """# A query.
BASE <http://a/> PREFIX ex: <http://b#>
prefix : <>
SELECT DISTINCT ?a (COUNT(DISTINCT *) AS ?n) (STR(?b) + -1.5e3 as ?c) FROM <g> FROM NAMED ex:h {
  ?a a ex:b.c; :p "x"@en-GB, 'y\\n\\u00e9'^^ex:t, true, 1.0, [ :q ( 1 _:b.1 [] () ) ]; .
  ?a ^ex:p/(:q|!(a|^:r))*/:s+ ?b . OPTIONAL { ?b :t ?c FILTER(?c < 5 && ?b NOT IN (1, :z) || !BOUND(?x)) }
  { SELECT * WHERE { ?x ?y ?z } LIMIT 1 OFFSET 2 } UNION { GRAPH ?g {} } MINUS { } SERVICE SILENT <s> { }
  BIND(IF(REGEX(?a, \"\"\"^a\"b\"\"\", "i"), ?a-1, ex:f(?b, 2)) AS ?d) VALUES (?e ?f) { (UNDEF 1) () }
  FILTER NOT EXISTS { ?a :u ?b }
}
GROUP BY ?a (?b AS ?g) HAVING (SUM(?n) > 1) ORDER BY DESC(?a) ?b LIMIT 10 VALUES ?z { :y 2 }
"""
UPDATE = """PREFIX : <http://a/>
INSERT DATA { :a :b "c" . GRAPH :g { :d :e _:f } :h :i 1 } ;
WITH <g> DELETE { ?a :b ?c } INSERT { ?a :b [] } USING NAMED :u WHERE { ?a :b ?c };
LOAD SILENT <x> INTO GRAPH <y>; CLEAR ALL; DROP SILENT NAMED; CREATE GRAPH :g; ADD DEFAULT TO GRAPH :h; COPY :a TO :b;
DELETE WHERE { ?a ?b ?c . }; DELETE DATA { :a :b 1, 2 };
"""

ROWS = Rows(
    accepted=[
        QUERY,
        UPDATE,
        "",
        "BASE <a>",
        "ASK {}",
        "SELECT * { :a :b (#c\n) }",
        "ask where{?a?b?c}",
        "SELECT * { ?x <y> ?z FILTER(?a < ?b) }",
        "SELECT * { :a.b :c.d..e _:f.g .:h :i :j.}",
        "SELECT * { ex:\\~a%20b :c:d :1 }",
        "SELECT * { () :p (1 2) . [ :q :r ] . (3) :s [] }",
        "SELECT * { { ?a :b ?c } . ?d :e ?f . OPTIONAL {} ?g :h ?i }",
        "SELECT ?a { ?a :p* ?b ; :q? ?c ; :r+ 1 ; a|^a ?d ; !() ?e }",
        "CONSTRUCT { ?a :b ?c . } WHERE { ?a :b ?c }",
        "CONSTRUCT WHERE { ?a :b ?c }",
        "DESCRIBE * ",
        "DESCRIBE :a ?b FROM :c { ?b ?p ?o }",
        "SELECT (GROUP_CONCAT(DISTINCT ?a ; SEPARATOR = ', ') AS ?b) {}",
        "SELECT (1+2-3*-4/5 AS ?a) (?b +1 AS ?c) (COUNT(?O) AS ?d) {}",
        "SELECT * {} ORDER BY ASC(?a) STR(?b) :f(?c) (?d)",
        "SELECT * { FILTER(COALESCE() = CONCAT(?a, 'b')) FILTER :f(DISTINCT ?a) FILTER EXISTS {} }",
        "SELECT * { ?a ?b '''c\n'd''e''' }",
        "INSERT { ?a :b ?c } WHERE {}",
        "CLEAR DEFAULT ;",
    ],
    refused=[
        "SELECT",
        "SELECT {}",
        "SELECT *",
        "SELECT * {",
        "SELECT ?a, ?b {}",
        "SELECT a {}",
        "SELECT (?a) {}",
        "SELECT (?a AS b) {}",
        "SELECT DISTINCT REDUCED * {}",
        "SELECT * { ?a ?b }",
        "SELECT * { ?a }",
        "SELECT * { ?a ?b ?c ?d }",
        "SELECT * { ?a ?b ?c . . }",
        "SELECT * { . ?a ?b ?c }",
        "SELECT * { ?a ?b ?c , }",
        "SELECT * { ?a 'b' ?c }",
        "SELECT * { ?a _:b ?c }",
        "SELECT * { ?a ?b ?c } { }",
        "SELECT * { OPTIONAL }",
        "SELECT * { UNION {} }",
        "SELECT * { FILTER ?a }",
        "SELECT * { FILTER (?a ?b) }",
        "SELECT * { FILTER (?a = ?b = ?c) }",
        "SELECT * { FILTER (?a NOT ?b) }",
        "SELECT * { FILTER foo(?a) }",
        "SELECT * { FILTER BOUND(1) }",
        "SELECT * { FILTER REGEX(?a) }",
        "SELECT * { FILTER NOW(1) }",
        "SELECT * { BIND(?a ?b) }",
        "SELECT * { VALUES (?a) { 1 } }",
        "SELECT * { VALUES ?a { ?b } }",
        "SELECT * {} LIMIT ?a",
        "SELECT * {} LIMIT 1 LIMIT 2",
        "SELECT * {} LIMIT -1",
        "SELECT * {} GROUP BY",
        "SELECT * {} ORDER BY 1",
        "SELECT * {} HAVING ?a",
        "SELECT * {} ORDER BY ?a GROUP BY ?a",
        "PREFIX a <b> ASK {}",
        "PREFIX a:b <c> ASK {}",
        "BASE a: ASK {}",
        "CONSTRUCT { { ?a ?b ?c } } WHERE {}",
        "DESCRIBE",
        "ASK",
        "ASK {} ASK {}",
        'SELECT * { ?a ?b "c\nd" }',
        'SELECT * { ?a ?b "\\q" }',
        "SELECT * { ?a ?b <c d> }",
        "SELECT * { ?a ?b 'c'^^'d' }",
        "SELECT * { ?a ?b 'c'@ }",
        "INSERT { ?a :b :c }",
        "DELETE WHERE { GRAPH ?g { GRAPH ?h {} } }",
        "DELETE { OPTIONAL {} } WHERE {}",
        "CLEAR",
        "CREATE :a",
        "LOAD 'a'",
        "COPY DEFAULT :a",
        "CLEAR ALL CLEAR ALL",
    ],
    stricter=[
        "INSERT DATA { ?a :b :c }",
        "DELETE DATA { :a :b [] }",
        "DELETE DATA { :a :b _:c }",
        "DELETE WHERE { ?a :b (1) }",
        "DELETE { [] :b :c } WHERE {}",
        "INSERT DATA { :a :b :c . . }",
        "SELECT * { :a...b :c :d }",
    ],
    looser=["SELECT * { ?a<?b>?c }", "SELECT * { ?a :b ? ?c }"],
    words=[
        *(
            "?a",
            "$b",
            ":c",
            "d:e.f",
            "<g>",
            "'h'",
            "1",
            "-2",
            "3.5",
            ".",
            ";",
            ",",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "a",
            "/",
            "|",
            "^",
        ),
        *("!", "=", "<", "&&", "AS", "FILTER", "OPTIONAL {}", "UNION", "SELECT *", "WHERE", "LIMIT 1", "STR(?a)", "_:b", "true"),
        "ORDER BY ?a",
    ],
    tokens=["SELECT ", " WHERE {\n", "?x", " ?y .\n", "PREFIX ex:", "://", "FILTER(", " <http", "COUNT(", "ex:name", "} GRO"],
)
