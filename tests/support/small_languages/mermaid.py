"""Mermaid, beside its own parsers, which also read lines that nothing is made of, and names with quotes in them."""

from small_languages.rows import Rows

FLOWCHART = """---
title: A "flow" of things
config:
  theme: forest
---
%% A comment.
flowchart LR
    A["Start (now)"] --> B{Is it?}
    B -->|yes| C([Stadium]):::wide & D[(data)]
    B -- no, it is not --> E((end here)) -.-> F
    subgraph one [Title of it]
        direction TB
        F[/sloped\\] ==> G{{hex}}
        G == thick ==> H>flag]
    end
    H -. dotted .-> I(((twice))) ~~~ J[[sub]]
    e1@{ shape: rect, label: "x: y" }
    K l1@--> L@{ shape: doc }
    classDef wide,tall fill:#f9f,stroke:#333,stroke-width:4px;
    class A,B wide
    style C fill:none, color: red
    linkStyle 0,1 stroke:#ff3,stroke-width:4px
    click A "https://example.com" "tip" _blank
    click B call f(1) "tip"
"""
SEQUENCE = """sequenceDiagram
    autonumber
    participant A as Alice <br/> and others
    actor B
    box Aqua The group
    participant C@{ "type": "queue" } as Queue
    end
    A->>+B: Hello, how are you?; B-->>-A: fine
    Note right of B: thinks # not seen
    note over A,B : both
    loop every minute
        alt is well
            B--xA: yes
        else is ill
            B-)A: no
        end
        par one
            A->>C(x): y
        and two
            A<<->>C: z
        end
    end
    critical now
    option then
    end
    rect rgb(0, 255, 0)
    end
    links A: {"a": "b"}
    destroy B
    A-xB: bye
"""

ROWS = Rows(
    accepted=[
        FLOWCHART,
        SEQUENCE,
        "graph TD",
        "graph\nA",
        "graph TD;A-->B;",
        "flowchart-elk BR\n\n%%{init: {'a': {}}}%%\nA",
        "%%{init: {}}%%\ngraph LR\nA\n  -->\n\nB --> C",
        "graph TD\nA --o B --x C\nx --> o x--x D <--> E",
        "graph TD\nA & B --> C & D",
        'graph TD\nA["`**bold** text`"] -- "quoted" --> B',
        'graph TD\nsubgraph "a b"\nend',
        "graph TD\nsubgraph a-b: c\nsubgraph d [e]\nend\nend",
        "graph TD\nsubgraph a;A;end;B",
        "graph TD\nA@{\n  shape: odd\n  label: some text\n}\n",
        "graph TD\nA(-oval-) --> B[/a b/c/] --> C[#quot;; x -- y]",
        "graph TD\naccTitle: a\naccDescr { b\nc }",
        'graph TD\nclick A href "x"\nclick A f "tip"',
        "graph TD\nlinkStyle default interpolate basis",
        "graph TD\n変 --> é:::b",
        "sequenceDiagram",
        "sequenceDiagram; A->B: c",
        "sequenceDiagram\nopt\n\nEND",
        "sequenceDiagram\nA-b ->> c d:\nA()->>()B: x\nA/|-B: y",
        "sequenceDiagram\nautonumber 10 2.5\nautonumber off",
        "sequenceDiagram\ncreate participant A-b c\nx->>A-b c: d",
    ],
    refused=[
        "",
        "pie\n",
        "Graph TD\nA",
        "graph TD A",
        "graph td\nA",
        "graph TDA\n",
        "graph TD\nA -->",
        "graph TD\n--> A",
        "graph TD\nA B",
        "graph TD\nA -> B",
        "graph TD\nA --> end",
        "graph TD\nend --> A",
        "graph TD\nend",
        "graph TD\nclass --> A",
        "graph TD\nx-->B",
        "graph TD\nA[x (y)]",
        'graph TD\nA[x "y"]',
        'graph TD\nA[ "x" ]',
        "graph TD\nA[x@y]",
        "graph TD\nA[a|b]",
        "graph TD\nA[]",
        "graph TD\nA[x",
        "graph TD\nA((x)",
        "graph TD\nA{x}}",
        "graph TD\nA [x]",
        "graph TD\nA[x] [y]",
        "graph TD\nA -->|x| |y| B",
        "graph TD\nA -->|x|  B",
        "graph TD\nA -- x -- B",
        "graph TD\nA -. x.y .-> B",
        "graph TD\nA --> B %% x",
        "graph TD\nA:::b:::c",
        "graph TD\nA@{ shape: nothing }",
        "graph TD\nA@{ label: a: b }",
        "graph TD\nsubgraph a",
        "graph TD\nsubgraph a (b)\nend",
        "graph TD\nsubgraph a, b\nend",
        "graph TD\nsubgraph [a]\nend",
        "graph TD\ndirection XX",
        "graph TD\nstyle A",
        "graph TD\nstyle  A fill:red",
        "graph TD\nclassDef a fill:rgb(1,2,3)",
        "graph TD\nclassDef a fill:red,",
        "graph TD\nclass A b ",
        "graph TD\nlinkStyle a stroke:red",
        'graph TD\nclick A  "x"',
        "graph TD\nclick A f()",
        "sequencediagram\n",
        "sequenceDiagram\nA->>B",
        "sequenceDiagram\nA,B->>C: d",
        "sequenceDiagram\nA--b->>C: d",
        "sequenceDiagram\nA->>end: x",
        "sequenceDiagram\nEnd user->>A: x",
        "sequenceDiagram\nfoo",
        "sequenceDiagram\nparticipant A:b",
        "sequenceDiagram\nparticipant A,B",
        "sequenceDiagram\nnote over A",
        "sequenceDiagram\nnote over A,B,C: x",
        "sequenceDiagram\nnote left A: b",
        "sequenceDiagram\nloop a\nA->>B: x",
        "sequenceDiagram\nA->>B: x\nend",
        "sequenceDiagram\nalt x\nand y\nend",
        "sequenceDiagram\nbox a\nA->>B: x\nend",
        "sequenceDiagram\nautonumber x",
        "sequenceDiagram\ntitle",
    ],
    stricter=[
        'graph TD\nA"x"',
        "graph TD\nA#b",
        "graph TD\nA,b",
        "graph TD\na-",
        "graph TD\nA[a c@b]",
        "graph TD\nstyle A fill:red;B",
        "graph TD\nA@{ animate }",
        "sequenceDiagram\n<\nA->>B: x",
    ],
    looser=[
        "graph TD\nA-- x --> |y| B",
        "graph TD\nstyle A end",
        "graph TD\nA@{\n\tshape: rect\n}",
        "sequenceDiagram\nactivate A as b",
    ],
    tokens=[
        *(
            "graph TD\n",
            "flowchart LR\n",
            " --> ",
            "-->",
            "[",
            "]",
            '["',
            '"]',
            "subgraph ",
            "end\n",
            "    ",
            "\n    ",
            "-.",
            "--",
            "|",
            "| ",
            "{",
        ),
        *(
            "sequenceDiagram\n",
            "->>",
            "-->>",
            ": ",
            "participant ",
            " as ",
            "Note over ",
            "loop ",
            "alt ",
            "style ",
            "fill:#",
            "classDef ",
        ),
    ],
)
