"""Stylesheets."""

from small_languages.rows import Rows

SHEET = """@charset "utf-8";
@layer reset, base.theme;
@import url("a.css") layer(base) supports(display: grid) screen and (min-width: 40em);
@namespace svg url(http://www.w3.org/2000/svg);
:root { --gap: 1rem; --empty: ; --json: { "a": [1, 2] }; color-scheme: light dark }
/* a comment */
html > body.dark #main ~ a[href^="https" i]:not(.b, :hover)::after, svg|rect {
  content: "\\201C" attr(title); margin: -1px auto !important;
}
.card {
  width: calc(100% - 2 * var(--gap, 1px));
  background: url(data:image/png;base64,AAA=) no-repeat, linear-gradient(45deg, #fff 0 50%, rgb(0 0 0 / 40%));
  grid-template-columns: [full] repeat(auto-fit, minmax(10px, 1fr));
  &:hover { color: red; }
  & + .card, > img { margin: 0 }
  a:hover b { color: blue }
  @media (width >= 600px) and (not (hover: none)) { padding: 1em; p { margin: 0 } }
}
@media screen and (max-width: 100px), print { .a { color: red } @page { margin: 1cm } b:focus-within { color: red } }
@supports (display: grid) and (not selector(:has(a))) { a { b: c } }
@container card (inline-size > 30em) and style(--a: b) { a { b: c } }
@keyframes spin { from { transform: rotate(0) } 50.5%, 60% { opacity: .5 } to { transform: none } }
@font-face { font-family: "A"; src: url(a.woff2) format("woff2"), local(A); unicode-range: U+0025-00FF, u+4?? }
@property --angle { syntax: "<angle>"; inherits: false; initial-value: 0deg }
@layer base { a { b: c } }
@scope (.a) to (.b) { img { border: 1px } }
@starting-style { a { opacity: 0 } }
li:nth-child(2n + 1 of .a):nth-last-of-type(-n+3):is(a, b):has(> img):lang(en, "fr") {}
"""

ROWS = Rows(
    accepted=[
        SHEET,
        "",
        "a{}",
        "a{color:red;;}",
        "a{b:c!important}",
        "a{b:hover}",
        "a{b:hover 1s}",
        "a{b:hover{c:d}}",
        "a{b c{d:e} b > c, d{e:f} g:h}",
        "a{--x:a;b:var(--x,)}",
        "a{b:url( 'c' )}",
        "@media not all and (color){}",
        "@media (400px <= width <= 700px) or (aspect-ratio: 16/9){}",
        "@font-palette-values --a{font-family:b}",
        "@page a:first{margin:1px;@top-left{content:'b'}}",
        "a::part(b c):hover,::-webkit-scrollbar-thumb:hover{}",
        "@tailwind base;a{@apply b c;}",
        "*|*{}.a\\:b{}#é{}",
    ],
    refused=[
        "a",
        "a{",
        "a{b:c",
        "a{b}",
        "a{b c}",
        "a{b:c}}",
        "a{b:(c}",
        "a{b:c)}",
        "a{b:'c}",
        "a{b:url(c d)}",
        "a{b:c!important d}",
        "a{b:{c:d}}",
        "a>{}",
        ">a{}",
        "a>>b{}",
        "a,{}",
        "a,,b{}",
        "{}",
        ".1a{}",
        "a#1{}",
        "a[b=1]{}",
        "a[b=]{}",
        "a:{}",
        "a: hover{}",
        "a::before b{}",
        "a:not(){}",
        "a:nth-child(foo){}",
        "a{}@import 'b';",
        "a{b:var(c)}",
        "@media (max-width:){}",
        "@media (max-width 1px){}",
        "@media (a) and (b) or (c){}",
        "@supports a:b{}",
        "@property a{}",
        "@font-face a{}",
        "@layer a,b{}",
        "@keyframes {}",
        "/* a",
    ],
    stricter=[
        "a{b:}",
        "a{b:,}",
        "a{b:c d:e}",
        "a{b:c,}",
        "a{b:c,,d}",
        "a{b:#ggg}",
        "a{b:$c}",
        "a{width:calc(1px + )}",
        "<!-- a{} -->",
        "@foo a;",
        "@media screen and{a{b:c}}",
        "a:unknown(b){}",
    ],
    looser=["a/**/b{}"],
    texts=0,
    tokens=["a{", "b:c;", ":hover", "::before", "}\n", "@media (", "px;", "var(--", "!important", " > ", "/*", "*/", "url("],
)
