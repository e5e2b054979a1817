"""``psc explain``: what may come after a text, and why a token may not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from psc.cli.arguments import FILE, GRAMMAR, quiet_option, with_paragraph
from psc.cli.grammars import GRAMMAR_HELP, Chosen, grammar_options, open_compiled
from psc.cli.progress import Steps
from psc.cli.report import note, write_json
from psc.cli.tokenizers import recorded_tokenizer_option
from psc.errors import PscError
from psc.grammars.compiled_grammar import keeping_all_actions
from psc.inspection.explaining import Explainer, Explanation, Reading, TokenGroup, Verdict
from psc.inspection.next_bytes import shown
from psc.vocabulary.tokenizer_info import TokenizerInfo

_MAX_TERMINALS = 12
_MAX_RULES = 8
_MAX_SYMBOLS = 16
_MAX_GROUPS = 10
_MAX_READINGS = 4
_WIDTH = 100


@click.command("explain")
@click.argument("grammar", type=GRAMMAR)
@recorded_tokenizer_option
@click.option("--text", help="The text so far; empty by default.")
@click.option("--text-file", type=FILE, metavar="FILE", help="A file with the text so far; - is standard input.")
@click.option(
    "--token", "tokens", type=int, multiple=True, metavar="ID", help="A token to judge after the text; may be given again."
)
@click.option(
    "--token-text", "token_texts", multiple=True, metavar="TEXT", help="The same by the token's text; may be given again."
)
@grammar_options
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@quiet_option("Show no progress and no remarks.")
@click.pass_context
def command(
    ctx: click.Context,
    grammar: str,
    tokenizer: str | None,
    text: str | None,
    text_file: str | None,
    tokens: tuple[int, ...],
    token_texts: tuple[str, ...],
    chosen: Chosen,
    as_json: bool,
    quiet: bool,
) -> None:
    """Explain what may come after a text, by GRAMMAR: where lexer and parser are, which tokens are allowed, and why one is not.

    The exit code is 1 if the text itself does not pass, or a token is not allowed.
    """
    data = _text(text, text_file)
    with Steps("explaining", quiet=quiet) as steps:
        steps.step("reading the grammar", 0, 2)
        compiled = open_compiled(grammar, tokenizer, chosen)
        explainer = Explainer(compiled, lambda: keeping_all_actions(compiled))
        steps.step("reading the text", 1, 2)
        explanation = explainer.explain(data, (*tokens, *_ids(lambda: compiled.tokenizer_info, token_texts)))
    for remark in () if quiet else explanation.notes:
        note(remark)
    if as_json:
        write_json(asdict(explanation))
    else:
        for line in report(explanation):
            click.echo(line)
    ctx.exit(0 if explanation.stop is None and all(v.allowed for v in explanation.tokens) else 1)


with_paragraph(command, f"GRAMMAR is {GRAMMAR_HELP}.")


def _text(text: str | None, text_file: str | None) -> bytes:
    if text is not None and text_file is not None:
        raise click.UsageError("give --text or --text-file, not both")
    if text_file is None:
        return (text or "").encode("utf-8", "surrogateescape")
    try:
        return sys.stdin.buffer.read() if text_file == "-" else Path(text_file).read_bytes()
    except OSError as e:
        raise PscError(f"{text_file}: cannot read the file: {e.strerror or e}") from e


def _ids(info: Callable[[], TokenizerInfo], texts: Sequence[str]) -> list[int]:
    """The tokens with these texts, or with these names where they are special. Raises PscError where the vocabulary has none."""
    if not texts:
        return []
    names = info().decoded_vocab
    numbers = {text: i for i, text in reversed(list(enumerate(names))) if text}
    numbers |= {text: i for i, text in reversed(list(enumerate(info().token_texts))) if text}
    ids = []
    for text in texts:
        data = text.encode("utf-8", "surrogateescape")
        if data not in numbers:
            longest = next((data[:n] for n in range(len(data) - 1, 0, -1) if data[:n] in numbers), None)
            begins = f"; the longest that it begins with is {shown(longest)}" if longest else ""
            raise PscError(f"--token-text: no token of the vocabulary is {shown(data[:200])}{begins}")
        ids.append(numbers[data])
    return ids


def report(e: Explanation) -> Iterator[str]:
    """The lines for people."""
    if e.stop is not None:
        yield f"the text does not pass: it stops at {e.stop.line}:{e.stop.column}, byte {e.stop.offset}: {e.stop.message()}"
        yield from _reasons(e.reasons)
        yield ""
        yield "What may come there instead:"
    for verdict in e.tokens:  # first, as that is what was asked
        yield from _verdict(verdict)
        yield ""
    yield f"text    {e.read}▮" + (f"   ({e.line}:{e.column}, {e.bytes:,} bytes)" if e.bytes else "   (nothing is read yet)")
    for i, reading in enumerate(e.places[:_MAX_READINGS]):
        if e.n_places > 1:
            yield f"reading {i + 1} of {e.n_places}"
        yield from _reading(reading)
    yield _row("next", _some(e.expected, _MAX_TERMINALS) or "the end of the ignored text")
    yield _row("bytes", e.characters or "none")
    yield _row("end", f"the text may end here; or after {e.shortest_end}" if e.may_end and e.shortest_end != "''" else _end(e))
    if e.forced:
        yield _row("forced", f"{shown(e.forced.encode())} is all that can come next")
    yield _row("tokens", f"{e.allowed:,} of {e.vocab_size:,} are allowed")
    yield from _groups(e.groups)


def _reading(reading: Reading) -> Iterator[str]:
    yield _row("lexeme", _lexeme(reading))
    for i, rule in enumerate(reading.rules[:_MAX_RULES]):
        yield _row("" if i else "rules", rule)
    if len(reading.rules) > _MAX_RULES:
        yield _row("", f"and {len(reading.rules) - _MAX_RULES} more around it")
    more = "… " if len(reading.symbols) > _MAX_SYMBOLS else ""
    yield _row("stack", more + " ".join(reading.symbols[-_MAX_SYMBOLS:]) if reading.symbols else "empty")


def _lexeme(reading: Reading) -> str:
    if not reading.lexeme_begun:
        return "none is begun"
    ending = "may end here" if reading.complete else "cannot end here"
    if not reading.can_become:
        return f"ignored text, which {ending} (lexer state {reading.lexer_state})"
    options = [*reading.can_become[:_MAX_TERMINALS]]
    if len(reading.can_become) > _MAX_TERMINALS:
        options.append(f"{len(reading.can_become) - _MAX_TERMINALS} more")
    if reading.can_be_ignored:
        options.append("ignored text")
    return f"unfinished: {_or(options)}; it {ending} (lexer state {reading.lexer_state})"


def _end(e: Explanation) -> str:
    if e.may_end:
        return "the text may end here"
    return "the text cannot end here" + (f"; it can after {e.shortest_end}" if e.shortest_end else "; no short end was found")


def _groups(groups: Sequence[TokenGroup]) -> Iterator[str]:
    for group in groups[:_MAX_GROUPS]:
        line = f"  {group.tokens:>7,}  {_some(group.terminals, 5) if group.terminals else '(ignored text)'}:"
        for example in group.examples:
            if len(line) + len(example) > _WIDTH:
                break
            line += f" {example}"
        yield line
    if len(groups) > _MAX_GROUPS:
        yield f"  {sum(g.tokens for g in groups[_MAX_GROUPS:]):>7,}  in {len(groups) - _MAX_GROUPS} more groups"


def _verdict(v: Verdict) -> Iterator[str]:
    name = f"token {v.token}" + (f" {v.text}" if v.text else "")
    if v.allowed:
        yield f"{name}: allowed"
        return
    where = "" if not v.fails_at else f" from its byte {v.fails_at} on (counted from 0)"
    yield f"{name}: not allowed{where}"
    yield from _reasons(v.reasons)
    if v.expected:
        yield _row("next", _some(v.expected, _MAX_TERMINALS) + (" (before that byte)" if v.fails_at else ""))
    if v.fails_at:  # elsewhere the readings are those of the text
        for reading in v.places[:_MAX_READINGS]:
            yield from _reading(reading)


def _reasons(reasons: Sequence[str]) -> Iterator[str]:
    for reason in reasons[:_MAX_RULES]:
        yield f"  because {reason}"
    if len(reasons) > _MAX_RULES:
        yield f"  and for {len(reasons) - _MAX_RULES} more reasons, one for each way of reading the text"


def _row(name: str, value: str) -> str:
    return f"{name:<7} {value}"


def _some(names: Sequence[str], max_names: int) -> str:
    more = f" and {len(names) - max_names} more" if len(names) > max_names else ""
    return ", ".join(names[:max_names]) + more


def _or(options: Sequence[str]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if len(options) > 1 else options)
