r"""The bundled Bash grammar, as a table of what it accepts and what it rejects; `bash -n`, if installed, judges the same rows.

The rows under "stricter" and "looser" are the exceptions that the grammar's header lists.
"""

import random
import re
import shutil
from pathlib import Path

import pytest
from bundled_texts import takes
from masks_along_texts import go_where_masks_allow, read_by_tokens

import psc
from psc.compiler.grammars import bundled_path, bundled_text
from psc.compiler.grammars.writers import bash
from psc.corpus.references.registry import open_reference

PAGE = Path(__file__).parents[3] / "docs" / "bash.md"

ACCEPTED = [
    "",
    "\n",
    "# c",
    "#!/bin/bash\n\n  # c\nls\n",
    "find . -name '*.py' -exec grep -l foo {} \\; | xargs -I{} wc -l {} | sort -rn | head -5",
    "echo a#b #c",
    "echo a\\\n  b",
    "a && b || c; d & e",
    "a &&\n\n  b |\n c",
    "a |& b",
    "! a | b",
    "! !",
    "time -p a",
    "(a; b) >c",
    "( (a) )",
    "{ a; b; }",
    "echo }",
    "x= y",
    "a=b c+=d e f=g",
    "export a=b c",
    "a[i + 1]=3",
    "a=(1 [2]=3 'c'\n  # d\n  $e) f",
    "declare -A m=([a]=b)",
    "coproc { a; }",
    'set -- "$@"',
    "[ a",
    # words that are reserved elsewhere
    "echo if then in do done",
    "for do in do; do do=1; done",
    "case in in in) a;; esac",
    "a=1 then",
    ">x then",
    "then=1 do+=2",
    "do[1]=2",
    "if-a fi-x then#x",
    "function then { a; }",
    # redirections
    "a >&2 2>&1 3<&- <>x >|y &>z &>>w {fd}<v",
    ">x",
    'cat <<<"x" > >(tee y)',
    "diff <(a) <(b)",
    "while read -r x; do a; done < <(b)",
    # quotes and expansions
    'echo $\'a\\\'b\' $"c" "d\ne" \'f\'"g"$h\\ i',
    'echo "$(a "$(b)") `c` $((1 + 2)) ${d:-"e f"}"',
    "echo ${x:-} ${#x} ${!x} ${x%%.*} ${x//a/b} ${x^^} ${x:1:2} ${x@Q} ${!x*} ${#a[@]} ${a[$i]} ${10} $# $? $$ $! $-",
    "echo ${x:-${y:-$(z '}')}}",
    "a=$(<x) b=`c \\`d\\``",
    "echo $[1+2] {a,b} {1..3} *.{c,d} ~ ~/e ?[f-g] !h $",
    # compounds
    "if a; then b; elif c; then d; else e; fi",
    "if (a) then b; fi",
    "while a; do b; done | until c; do d; done",
    "for i; do a; done",
    'for i in a b "$@"; do echo $i; done >x 2>&1',
    "for ((i=0;i<3;i++)); do a; done",
    "for ((;;)) { a; }",
    "select x in a b; do c; done",
    'case $x in a|"b c"|$d) e;; (f*) ;& [g]) ;;& *) h; esac',
    "case x in esac",
    "case x in\n  # c\n  a) b ;;\nesac",
    "((i++)) && x=$((i+(2*3)))",
    "if [[ $a =~ ^(a|b c)$ && ! -f x || ( $b == z* ) ]]; then :; fi",
    "[[ a < b ]]",
    "[[ -v x &&\n y -nt z ]]",
    "f() { local a=(1 2 [x]=3); return; }",
    "f-g ()\n(a)",
    "f() if a; then b; fi >c",
    "function f { a; }",
    "function f() { a; }",
    "if true; then { a; } fi",
    # here-documents
    "cat <<EOF\nEOF",
    "cat <<EOF >x | grep y && z\n$(\n EOF\nEOF\nb",
    "cat <<-'END'\n\tEOF\n\tEND\n",
    'cat << "EOF" >x\nit\'s\nEOF\n',
    "x=$(cat <<EOF\nit's\nEOF\n)",
    'a "$(cat <<\\EOF\n$(\nEOF\n)" b',
    "while read x; do a; done <<EOF\n1\nEOF\n",
    "if a; then cat <<EOF\nb\nEOF\nfi",
    "git commit -m \"$(cat <<'EOF'\na $(\n\nb\nEOF\n)\" && git push",
    "cat <<EOF>a 2>b\nEOF",
    "cat <<EOF1>a\nEOF\nEOF1",
    "cat <<'EOF'&>>a\nEOF",
    "cat <<EOF | # a\n)\nEOF\nb",
    "cat <<EOF >a &&\nEOF\n\n  b | c <<-END || # d\n\tEND\n{ e; } <<EOF\nEOF",
    "cat <<EOF | while read x; do\n(\nEOF\n  a\ndone >b && c",
    "a | cat <<EOF b || { # c\n}\nEOF\n  exit\n}",
    "cat <<EOF; b=c d | (e; f) & { g; } >h; ! i;\nEOF",
]
REJECTED = [
    # reserved words as commands, and what they open
    "then",
    "in",
    "}",
    "a | then",
    "! do",
    "time fi",
    "if a; then then; fi",
    "if a; then b; else else; fi",
    "for x in a; do do; done",
    "{ a; } }",
    "a; }",
    "done",
    "esac",
    "]]",
    "then() { a; }",
    "if a; then b; fi in",
    "if a; then",
    "if a then b; fi",
    "if a; then; fi",
    "if; then a; fi",
    "while; do a; done",
    "for x in a; echo; done",
    "for in a; do b; done",
    "for ((a;b)); do c; done",
    "case x a) b;; esac",
    "case a in a) b esac",
    "{ }",
    "{a; }",
    "( )",
    "(a) b",
    "{ a; } b",
    "a=1 { b; }",
    ">x { b; }",
    "f() a",
    "f() { }",
    "f(a) { b; }",
    "a()",
    "echo (a)",
    "echo )",
    "echo a=(b)",
    # operators
    "; a",
    "& a",
    "| a",
    "a |",
    "a &&",
    "a ; ; b",
    "a;;b",
    "a | | b",
    "a & ; b",
    "foo | ; bar",
    "echo >",
    "echo > > a",
    # what is not closed
    "echo (",
    'echo "a',
    "echo 'a",
    "echo `a",
    "echo ${a",
    "echo $(ls",
    "echo $((a)",
    "((a",
    "a=(1 2",
    "[[ a",
    "[[ -z ]]",
    "[[ a b ]]",
    "[[ a ~ b ]]",
    "[[ a == b c ]]",
    # here-documents
    "cat <<EOF",
    "cat <<EOF\na",
    "cat <<EOF\nEOF x",
    "cat <<EOF\n EOF\n",
    "cat <<EOF |\nEOF",
    "cat <<EOF1>a\nEOF",
    "cat <<END2>a\nEND",
    "cat <<EOF |\nEOF\n| b",
    "cat <<EOF | while read x; do\nEOF\ndone",
    "cat <<EOF || {\nEOF\na",
    "cat <<EOF && ( |\nEOF\na",
    "cat <<EOF && then\nEOF",
    "cat <<EOF | while a; do\nEOF\nb; }",
    "x=$(cat <<EOF\na\nEOF)",
]
STRICTER = [
    "cat <<OTHER\nOTHER\n",
    "cat <<END2>a\nEND2",
    "cat <<EOF <<END\nEOF\nEND",
    "((a); (b))",
    "echo ${:-a}",
    '"a"() { b; }',
    "a$x() { b; }",
    "coproc a { b; }",
    "for a-b in c; do d; done",
    "a=(b c)d",
    'then"a"',
    "do$x",
]
LOOSER = ["[[ -q x ]]"]


def test_accepts() -> None:
    assert [text for text in [*ACCEPTED, *LOOSER] if not takes("bash", text)] == []


def test_rejects() -> None:
    assert [text for text in [*REJECTED, *STRICTER] if takes("bash", text)] == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_says_the_same() -> None:
    reference = open_reference("bash", bundled_path("bash"))
    taken = [*ACCEPTED, *STRICTER]
    assert [(t, v.message) for t, v in zip(taken, reference.judge(taken), strict=True) if v is not None] == []
    refused = [*REJECTED, *LOOSER]
    assert [t for t, v in zip(refused, reference.judge(refused), strict=True) if v is None] == []


def test_the_file_is_what_its_writer_writes() -> None:
    assert bundled_text("bash") == bash.grammar()


def test_the_page_lists_the_tags() -> None:
    (line,) = (
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("A here-document's tag is one of ")
    )
    assert re.findall(r"`(\w+)`", line.partition(". ")[0]) == [*bash.TAGS]


@pytest.mark.parametrize("tag", bash.TAGS)
@pytest.mark.parametrize("tabs", ["", "-"])
def test_a_here_document_ends_with_its_tag(tag: str, tabs: str) -> None:
    """Whatever is nearly its tag, or another one, is a line of it; the same tag quoted, or behind tabs, ends it where it may."""
    near = [tag[:-1], f"{tag}x", f" {tag}", f"{tag} ", tag.swapcase(), *(other for other in bash.TAGS if other != tag)]
    if not tabs:
        near.append(f"\t{tag}")
    body = "".join(f"{line}\n" for line in near)
    end = f"\t{tag}" if tabs else tag
    for written in (tag, f"'{tag}'", f'"{tag}"', f"\\{tag}"):
        assert takes("bash", f"a <<{tabs}{written}\n{body}{end}\nb && c\n")
        assert not takes("bash", f"a <<{tabs}{written}\n{body}")
        assert not takes("bash", f"a <<{tabs}{written}\n{body}{end}\n(\n")


SCRIPT = """#!/bin/bash
# a script
set -euo pipefail
f() { local a="$1" b=${2:-"x y"}; echo "$a $(date +%F) $((b + 1))" >&2; }
if [[ -f $x && $y =~ ^(a|b)$ ]]; then f 'a' | grep -v "b" || exit 1
elif [ -n "$z" ]; then :; else a=(1 [2]=3); fi
for i in 1 2 "${a[@]}"; do case $i in 1|2) echo then;; *) break; esac; done
while read -r line; do ((n++)); done < <(ls)
cat <<-'END' > out
\tEOF $(
\tEND
x=$(cat <<EOF
it's ${a}
EOF
)
"""
PIECES = [
    "\n",
    "\n\n",
    ";",
    ";;",
    " ",
    "  ",
    " |",
    " && ",
    "||",
    "&",
    "<<",
    "<<-",
    "<<'",
    "EOF",
    "EOF\n",
    "\nEOF\n",
    "\tEND",
    "'END'",
]
PIECES += [
    "then",
    " then",
    "fi",
    "do",
    "done\n",
    "esac",
    "in ",
    "if ",
    "if [[ ",
    " ]]",
    "]]; then",
    "{ ",
    "; }",
    "}",
    "()",
    "() {",
    "$(",
    "${",
    ":-",
]
PIECES += [
    "$((",
    "))",
    "((",
    ")",
    "(",
    "=(",
    "a=",
    "a",
    "a b",
    '"',
    '"$',
    "'",
    "`",
    "# c",
    " # c\n",
    "\\\n",
    "\\",
    ">&2",
    "2>",
    "[",
    "]",
    "!",
    "\t",
    "\u00e9",
]


@pytest.mark.parametrize("seed", range(4))
def test_masks_are_what_is_taken(seed: int) -> None:
    """Over tokens of several words and lines, along a script and at random places of it."""
    tokens = [bytes([b]) for b in range(256)] + [piece.encode() for piece in PIECES]
    info = psc.TokenizerInfo([*tokens, b"</s>"], stop_token_ids=[len(tokens)])
    compiled = psc.GrammarCompiler(info, store=False).compile_file("bash")
    rng, matcher = random.Random(seed), psc.GrammarMatcher(compiled)
    read_by_tokens(matcher, info, tokens, SCRIPT.encode(), rng)
    assert go_where_masks_allow(matcher, info, len(tokens), rng) == 40
