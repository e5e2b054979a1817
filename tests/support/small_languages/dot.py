"""DOT, beside Graphviz's parser, which also reads several graphs in a text."""

import re

from small_languages.rows import Rows

GRAPH = """// A graph.
strict digraph "G" + "h" {
  rankdir = LR; node [shape=box, label=<<b>x</b> &lt; y>; color="a\\"b"]
  a -> b:port:ne -> { c; "d e" } [weight=-1.5 style = dotted][label="x"];
  subgraph cluster_1 { label = "one
two"; 1 -> .5 -> \u00e9 edge[] } /* and so on */
  a, b -> c, d
}
"""


def differs(text: str) -> bool:
    """Whether a text may have brackets deep in others, something behind its graph, or a macro."""
    markup = re.search(r"<[^>]*<[^>]*<", text)
    return bool(markup or re.search(r"\}\s*(?:(?:strict|graph|digraph)\b|[<\"/])|\b(?:node|edge|graph)\s*\w", text, re.IGNORECASE))


ROWS = Rows(
    accepted=[
        GRAPH,
        "graph{}",
        "# a\ndigraph {\n# }\na # }\n}",
        "digraph a {}",
        "GRAPH Node_1 { EDGE[a=b] }",
        "graph { a -- b -- c; {a b} -- subgraph { c } subgraph d {} }",
        "digraph { a = b c = d; a:b [e=<>] a:b:c }",
        'digraph { "a" + <b> + "\\\\" -> c }',
        "digraph { 5a -> 1.2.3; -1; 7. }",
        "digraph { a [b=c, d=e; f=g h=i,] [] }",
        "digraph { {} a[b=<x<y>z>]// c\n}",
        "digraph { a /* ** / */ -> b }",
        'graph { "a//b" -- "/*" -- n0 -- "\n#" }',
    ],
    refused=[
        "{}",
        "a",
        "digraph",
        "digraph {",
        "digraph { } }",
        "digraph a b {}",
        "digraph a:b {}",
        "subgraph {}",
        "strict {}",
        "digraph { a -- b }",
        "graph { a -> b }",
        "graph { a - b }",
        "digraph { a -> }",
        "digraph { -> a }",
        "digraph { ; }",
        "digraph { a;; }",
        "digraph { a = }",
        "digraph { a = b, c = d }",
        "digraph { a:b:c:d }",
        "digraph { a: }",
        "digraph { a, }",
        "digraph { a [b] }",
        "digraph { a [b=c,,d=e] }",
        "digraph { a [,b=c] }",
        "digraph { a [b=c }",
        "digraph { a ] }",
        "digraph { graph }",
        "digraph { edge = a }",
        "digraph { node -> a }",
        "digraph { subgraph a }",
        "digraph { a=b [c=d] }",
        "digraph { a + b }",
        'digraph { "a" + b }',
        'digraph { "a }',
        "digraph { 'a' }",
        "digraph { a=<<b> }",
        "digraph { a=<b>> }",
        "digraph { -a }",
        "digraph { a.b }",
        "digraph { a-b }",
        "digraph { a # b }",
        "",
        "# a",
        "digraph { /* a }",
        "digraph { a@b }",
    ],
    stricter=["digraph {} graph {}", "digraph { a=<b<c<d>>> }", "digraph { node a=[b=c] }"],
    pieces=[
        *("a", "b", "->", "--", "{", "}", "[", "]", "=", ":", ";", ",", "+", '"c"', '"', "<", ">", "<d>", "1", ".5", "-"),
        *("\n", " ", "#"),
        *("node", "edge", "graph", "subgraph ", "digraph ", "strict ", "\u00e9", "\\", "//", "/*", "*/", "[e=f]", "{g}"),
    ],
    tokens=["digraph {\n", " -> ", " -- ", ' [label="', '"]', "];\n", "<<b>", "</b>>", "subgraph cluster_", "\n}"],
    differs=differs,
)
