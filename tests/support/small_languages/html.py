"""Documents and fragments."""

from small_languages.rows import Rows

DOCUMENT = """<!-- a --><!DOCTYPE html>
<html lang="en">
<head>
  <meta charset=utf-8>
  <title>a < b & c</title>
  <link rel="stylesheet" href="a.css" />
  <style media="screen">
    :root { --a: { b: c } } /* c */
    a:hover, h1::before, .b > [c="d"] { color: red; background: url(data:a;b) }
    @media (min-width: 40em) { p { margin: 0; &:hover { top: 1px } } }
    @layer a; @font-face { font-family: "</a>" }
  </style>
  <script>if (a < b && c > "<p></p>") d(`</title>`)</script>
  <script src=a.js type="module" defer></script>
  <script type="application/ld+json">{"a": [1, -2.5e3, "b\\u0041"], "c": {}, "d": null}</script>
  <noscript><link rel=a></noscript>
</head>
<body class='a b' data-c>
  <h1 id=a>A &amp; B &eacute; &#65; &#x41; R&D b</h1>
  <p>a <b>b <i>c</i></b><br>d
  <p>e</p>
  <ul><li>a<li>b <p>c</li></ul>
  <dl><dt>a<dd>b</dd><div><dt>c</dt><dd>d</div></dl>
  <table><caption>a</caption><colgroup><col><col></colgroup><thead><tr><th>a<tbody><tr><td>b</td><td>c</table>
  <select name="a"><option value=1 selected>a<option>b</option><optgroup label=c><option>d</select>
  <a href="a?b=c&d=e">a</a><img src=a/b alt=""/><textarea><b></textarea>
  <svg viewBox="0 0 1 1"><g><path d="M0 0"/><text>a</text></g><foreignObject><p>b</p></foreignObject></svg>
  <math><mi>x</mi></math><my-element a>b</my-element><template><tr><td>a</td></tr></template>
  <video controls><source src=a>b</video><iframe src=a></iframe>
</body>
</html>
"""

ROWS = Rows(
    accepted=[
        DOCUMENT,
        "",
        "a",
        "<p>a",
        "<!doctype html><title>a</title><p>b",
        "<!DOCTYPE html>\n<html><body></body></html>\n<!-- a -->",
        "<DIV CLASS=a>b</Div >",
        "<p>a<div>b</div>",
        "<div><p>a</div>",
        "<p><button><p>a</p></button></p>",
        "<ruby>a<rt>b</ruby>",
        "<!-- a -- b ---><br/>",
        "<script type='importmap'>{}</script>",
        "<script type=text/x-template><div></div></script>",
        "<style></style>",
        "<style>a { b: ; }</style>",
        "<table><tr><script></script><td>a</table>",
    ],
    refused=[
        "<div>",
        "</div>",
        "<div></p></div>",
        "<b><i></b></i>",
        "<p><div></div></p>",
        "<span><p>a</span>",
        "<ul><li><div><li>a</li></div></li></ul>",
        "<table>a</table>",
        "<table><div></div></table>",
        "<tr><td>a</td></tr>",
        "<div/>",
        "<br></br>",
        "<input></input>",
        "<a b=c d",
        '<a href="x"class="y">b</a>',
        "<a href=>b</a>",
        "<a =b>c</a>",
        '<a b"c>d</a>',
        "a < b",
        "&copy 2024",
        "<!-->",
        "<!-- <!-- a -->",
        "<!x>",
        "<?x?>",
        "</>",
        "<svg><g></svg>",
        "<svg><div></div></svg>",
        "<html></html>",
        "<!DOCTYPE html><html><head><div></div></head></html>",
        "<!DOCTYPE html><html><head></head><link><body></body></html>",
        "<script>a",
        "<script type='application/json'>{a: 1}</script>",
        "<style>a { b: c</style>",
        "<style>a { b c }</style>",
    ],
    stricter=[
        "<foo></foo>",
        "<div><li>a</li></div>",
        "<ul><p>a</p></ul>",
        "<p>&foo;",
        "<title>a</title>",
        "<style>a { b:}</style>",
        "<style>a { b: c d: e; }</style>",
    ],
    looser=[
        "<a><a></a></a>",
        "<form><form></form></form>",
        "<h1><h2></h2></h1>",
        "<p a a>b",
        "<a-b></c-d>",
        "<svg><g></a></svg>",
        "<style>a > { b: c }</style>",
    ],
    texts=0,
    tokens=[
        "<div",
        "</div>",
        "<p>",
        "</p>",
        "<li>",
        '="',
        "&amp;",
        "<!--",
        "-->",
        "<style>",
        "</style>",
        "<script",
        "</",
        " class=",
        "/>",
    ],
)
