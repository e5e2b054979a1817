"""Protocol Buffers, beside protoc's parser; values in braces beside the parser of the text format."""

import re

from small_languages.rows import Rows

FILE = """// A file.
syntax = "proto3";
package a.b.v1;
import public "google/api/annotations.proto"; /* why */
option java_package = "com." 'a';
message Thing {
  option (x).y = {a: 1 b {c: "d"} e: [1, 2] [f.g]: <h: -inf>, i: 0x1F; };
  reserved 2, 9 to 11, 20 to max;
  reserved "foo", "bar";
  optional string name = 1 [deprecated = true, json_name = "n", (a.b).c = -1.5e3];
  map<string, .google.protobuf.Any> items = 3;
  oneof kind { int32 message = 4; repeated_ x = 5; }
  enum E { option deprecated = true; A = 0; B = -1 [(c) = "\\n\\x41\\101\\u00e9"]; reserved 3 to 5; }
  message Inner { repeated Inner inner = 1; ; }
}
service S { rpc Get(stream Thing) returns (.a.Thing) { option (google.api.http) = { get: "/v1/{name=*}" }; }
  rpc B(A) returns (stream A); }
"""


def message(field: str, syntax: str = 'syntax = "proto3"; ') -> str:
    return f"{syntax}message A {{ {field} }}"


TWO, EDITION = 'syntax = "proto2"; ', 'edition = "2023"; '


def differs(text: str) -> bool:
    """Whether a text may have what protoc finds behind its parser, or names types as statements."""
    statement = r"(?:message|enum|extend|extensions|reserved|option|oneof|group)"
    return bool(re.search(rf"\b(?:map|required|group|extensions|default)\b|\[[^\]]*/|\boneof\b.*\b{statement}\b", text, re.DOTALL))


ROWS = Rows(
    accepted=[
        "",
        ";",
        "// nothing",
        FILE,
        'edition = "2024"; import "a"; import option "b"; export message A { local enum B { C = 0; } } local message D {}',
        'edition = "2023"; option features.x = Y; message A { reserved a, b; repeated int32 c = 1; int32 d = 2; }',
        message("optional int32 a = 1; required B b = 0x2; repeated group C = 3 { optional bool d = 4; }", TWO),
        message("extensions 4 to 8, 100 to max [verification = DECLARATION]; extend .B { optional C d = 5; }", ""),
        message("oneof a { option (b) = c; group D = 1 { } string e = 2 [default = 'f']; }", TWO),
        message("rpc rpc = 1; stream.service to = 2; weak max = 3; syntax.import package = 4;"),
        message("map map = 1; map a = 2; .map.a b = 5; .message.int32 b = 3; repeated message c = 4;"),
        message('string a = 1 [default = "b" "c"]; double d = 2 [default = -inf]; float e = 3 [default = .5];'),
        "syntax='proto3';service A{;rpc B(C)returns(D){;}}",
        'option a = "proto2"; option b = - 5; option (c.d).e.(f) = g; option h = {};',
        "option a = { b: 'c' 'd' e { f: -inf } [h.i] { l: [{}, {m: 1.}] } n < > };",
        "/* a * / ** b / **/ message A { }",
        "enum A { option b = c; ; D = 0; message = -0x1; reserved -5 to max, 7; reserved 'E'; }",
        "option a = 99999999999999999999999; option b = {c: - 1, d: -.5 e: .5};",
        "service A { rpc B(map.C) returns (stream map); } extend map.D { repeated map e = 1; }",
        "extend A.B { repeated string c = 1; }",
    ],
    refused=[
        "a",
        "message A",
        "message A {",
        "message 1A { }",
        "message A.B { }",
        'package a; syntax = "proto3";',
        'syntax = "proto4";',
        "syntax = proto3;",
        'edition = "1999";',
        "package a",
        "package .a;",
        "import a;",
        "import public weak 'a';",
        "import option 'a';",
        'edition = "2024"; import option "a"; import "b";',
        message("int32 a;"),
        message("int32 a = ;"),
        message("int32 a = 1"),
        message("int32 a = -1;"),
        message("int32 a = b;"),
        message("int32 a = 1 [];"),
        message("int32 a = 1 [b];"),
        message("int32 a = 1 [b = c,];"),
        message("int32 a = 1 [json_name = b];"),
        message("int32 a = 1 [default = {}];"),
        message("int32.b a = 1;"),
        message("a..b c = 1;"),
        message("a.b. c = 1;"),
        message("map.a b = 1;"),
        message("repeated map.a b = 1;"),
        "option a = {b: -c};",
        "option a = {b: 1c: 2};",
        "option a = {b: 1.5c: 2};",
        "option a = {b: 0x1Fg: 2};",
        "option a = {b: 1;;};",
        "option a = {b [{}]};",
        "option a = {b: [1,]};",
        message("optional optional int32 a = 1;"),
        message("option int32 a = 1;"),
        message("message a = 1;"),
        message("repeated map<string, int32> a = 1;"),
        message("map<string> a = 1;"),
        message("oneof a { repeated int32 b = 1; }"),
        message("oneof a { map<string, int32> b = 1; }"),
        message("oneof a { }"),
        message("reserved a;"),
        message("reserved 'a', 2;"),
        message("reserved -1;"),
        message("reserved 1 to;"),
        message("reserved min to 3;"),
        message("int32 a = 1;", TWO),
        message("repeated group b = 1 { }", TWO),
        message("optional int32 a = 1;", EDITION),
        message("reserved 'a';", EDITION),
        message("repeated group B = 1 { }", EDITION),
        "extend A { }",
        "enum A { B; }",
        "enum A { B = c; }",
        "enum A { 'b' = 1; }",
        "service A { rpc B(C); }",
        "service A { rpc B() returns (C); }",
        "service A { rpc B(int32) returns (C); }",
        "service A { rpc B(stream) returns (C); }",
        "service A { rpc B(C) returns (D) }",
        "option a = b.c;",
        "option a = -b;",
        "option a = 09;",
        "option a = 'b;",
        "option a = 'b\nc';",
        "option a = '\\q';",
        "option a = '\\u00e';",
        "option a = '\\UFFFFFFFF';",
        "option a = 1 b = 2;",
        "option (a = b;",
        "option a = {b};",
        "option a = {b: };",
        "option a = {b: c,, d: e};",
        "option a = {b: [1 2]};",
        "option a = {b: {c};",
        "/* a /* b */ */",
        "/* a",
        "message A { } }",
    ],
    stricter=[
        "\ufeffmessage A { }",
        message("required int32 a = 1;"),
        message("extensions 1 to 3;"),
        message("repeated group B = 1 { }"),
        message("map<double, int32> a = 1;"),
        message("oneof a { message b = 1; }"),
        'syntax = "proto3"; extend A { option c = 2; }',
        'edition = "UNSTABLE";',
    ],
    looser=[
        message("int32 a = 99999999999;"),
        message("int32 a = 1 [default = 'b'];"),
        "option a = {[b.c/d.e] {}};",
    ],
    pieces=[
        *("message", "enum", "A", "a.b", ".", "=", "1", "-1", ";", "{", "}", "[", "]", "(", ")", "<", ">", ",", " ", "\n", ":"),
        *("repeated ", "optional ", "string", "int32 a = 7;", "reserved 1;", "option b = c;", "to", "stream ", "//", "/*", "*/"),
        *("returns", "rpc", 'syntax = "proto2";', "import 'a';", "{}", "B = 2;", "\\", "'x'", "1.5"),
    ],
    tokens=["message A {\n  ", " = 1;\n", "int32 ", "  reserved 1", "[(", '"proto', "3", " {", "};", "// c\n", " to max", ": {"],
    differs=differs,
)
