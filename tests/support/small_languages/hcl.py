"""HCL 2, beside python-hcl2, which takes several attributes in a line and does not look into heredocs."""

from small_languages.rows import Rows

MODULE = """# A module.
terraform {
  required_version = ">= 1.5.7" // at least
}

/* and
   so on */
resource "aws_subnet" "this" {
  count = local.create && length(var.subnets) > 0 ? length(var.subnets) : 0

  cidr_block = element(concat(var.subnets, [""]), count.index)
  tags = merge(
    { "Name" = "${var.name}-${upper(local.azs[count.index])}", (var.key) : true, },
    var.tags, # last
    [for k, v in var.more : v if v != null]...
  )
  ids = aws_vpc.this[*].id
  map = { for i, s in toset(var.b) : s => i... if !contains(["a"], s) }
  dynamic "ingress" {
    for_each = var.rules.*.name
    content { from = -1 }
  }
  text = "a $ 5% $${b} %%{c} \\"d\\" \\u00e9 %{ if a == 1 }x${f("y")}%{ else }z%{ endif }%{ for x in y ~}${x}%{ endfor }"
  lifecycle {}
}

locals {
  user_data = <<-EOT
    EOTX ${var.a}
    EOF %{ if b }x%{ endif } $HOME $${c} 5%
     EO
  EOT
  n = (1 + 2.5e-3) * 3 % 4 / -a.0 - 1
  s = format(<<EOF
x
EOF
  , provider::a::b())
}
"""


ROWS = Rows(
    accepted=[
        MODULE,
        "",
        "# a",
        "a = 1",
        "a = 1\n",
        "a = [\n1,\n2\n,]\n",
        "a = {\n b = 1, c : 2\n (d) = 3 # e\n}\n",
        "a = {}\nb = []\n",
        "a {}\n",
        'a b "c" {\n}\n',
        "a { b = 1 }\n",
        "a = b ? c : d ? 1 : 2\n",
        'a = b[0].c["d"][*].e.*.f.0\n',
        "a = f(b...)\n",
        "a = f(b, c, )\n",
        "a = -1 + !b\n",
        "a = b - 1\nc = b-1\n",
        "a = (b\n+ c)\n",
        "a = (b + # c\nd)\n",
        "a = 1 // b\n",
        'a = "$b %c $ %"\n',
        'a = "${b}${"${c}"}"\n',
        "a = [for b in c : d]\n",
        "a = [for b, c in d : e if f]\n",
        "a = {for b in c : d => e}\n",
        'a = "%{ if b ~}c%{ else }d%{~ endif }"\n',
        "a = <<EOF\nEOF\n",
        "a = <<-EOT\n  b\n  EOT\nc = 1\n",
        "a = b ? 1 : <<EOF\nEOF\n",
        "in = 1\nfor {}\nif = null\n",
        "a = { if = 1 }\n",
        "a = in\n",
        "a-b = c-d\n",
        "a = true\r\nb = 1\r\n",
    ],
    refused=[
        "a",
        "a = ",
        "a = \n1\n",
        "= 1",
        "a = 1,\n",
        "1 = a\n",
        "a {",
        "a }",
        "a = [1 2]\n",
        "a = [1,,2]\n",
        "a = [,]\n",
        "a = {b}\n",
        "a = {b = 1,, c = 2}\n",
        "a = {, b = 1}\n",
        "a = f(,)\n",
        "a = f(b\n",
        "a = f(b..., c)\n",
        "a = (b\n",
        "a = ()\n",
        "a = b +\n",
        "a = b &\n",
        "a = b & c\n",
        "a = b && \n",
        "a = b ? c\n",
        "a = b ? c :\n",
        'a = "b\n',
        "a = 'b'\n",
        'a = "${b"\n',
        'a = "${}"\n',
        "a = b.\n",
        "a = b[]\n",
        "a = [for b : c]\n",
        "a = [for b in c]\n",
        "a = [for b in c : d if]\n",
        "a = {for b in c : d}\n",
        "a = [for b in c : d => e]\n",
        "a = <<EOF\nb\n",
        "a = <<EOF\nb\nEOFX\n",
        "a = .5\n",
        'a = b-"c"\n',
        "a: 1\n",
        'a "b" = 1\n',
        "a = @\n",
        "a { b = 1\n",
        "a = /* b\n",
    ],
    stricter=[
        "a = 1 b = 2\n",
        "a {} b {}\n",
        "a { b {} }\n",
        "a\n{\n}\n",
        "a = b\n+ c\n",
        "a = b +\nc\n",
        "a = {b = 1 c = 2}\n",
        'a = "b\nc"\n',
        'a = "\\q"\n',
        "a = <<TAG\nTAG\n",
        "a = <<EOF\n${\nEOF\n",
        "a = 1.b\n",
        'a "${b}" {}\n',
        "a = [for b in (c): (d)if!e]\n",
        "a = <<EOF\nEOF",
    ],
    looser=[
        "a /* b */ = 1\n",
        "a = !!b\n",
        'a = "${~ b ~}"\n',
        'a = "$${"\n',
        "a = <<EOF\nEOF  \n",
        "a = [for]\n",
        "a = b::c()\n",
    ],
    tokens=[
        *('resource "', '" {\n', " = ", "${", "%{ ", '"\n', "<<-EOT\n", "EOT\n", "EO", "var.", "\n}\n"),
        *(" ? ", " : ", "[for ", " in ", " => ", ", "),
    ],
)
