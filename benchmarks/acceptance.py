"""How many real files does psc accept, token by token, with each tokenizer; and does it ever refuse one that Lark parses?

    python benchmarks/acceptance.py GRAMMAR FILES... --tokenizer SPEC... [--sample N]

The idea: teacher forcing over whole corpora, each file cut into tokens as the model's own tokenizer does it (a document that
the tokenizer does not spell back is left out), with `accept_token` for every token and the end of the text at the end. What psc
refuses is given to Lark: it must refuse it too.

The cost: the tokenizer's, about 1 s a MB; Lark's, about 10 s a MB, for refused files only.
"""

import argparse
import sys

import lark
from corpus import add_corpus_options, encoder, read_corpus, tokenize
from measure import table

import psc
from psc.compiler.frontends.found import find_grammar


def main() -> None:
    """Prints a row per tokenizer, then what psc refuses and Lark parses; exits with 1 if there is anything of that."""
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("grammar", help="a bundled name, or a .lark file")
    add_corpus_options(options)
    options.add_argument("--tokenizer", nargs="+", required=True, metavar="SPEC")
    options.set_defaults(min_bytes=0, max_bytes=1 << 30)
    args = options.parse_args()
    found = find_grammar(args.grammar)
    text = found.path.read_text(encoding="utf-8")
    documents = read_corpus(args, f".{found.stem}")
    rows, refused = [], dict[str, list[str]]()
    for spec in args.tokenizer:
        info = psc.load_tokenizer(spec)
        _library, encode = encoder(spec, info)
        tokenized, left_out = tokenize(documents, info, encode)
        compiled = psc.GrammarCompiler(info, store=False).compile_lark(text, source_name=str(found.path))
        matcher, accepted = psc.GrammarMatcher(compiled), 0
        for name, ids in tokenized.items():
            matcher.reset()
            if all(map(matcher.accept_token, ids)) and matcher.is_completed():
                accepted += 1
            else:
                refused.setdefault(name, []).append(spec)
        share = f"{100 * accepted / max(1, len(tokenized)):.2f} %"
        rows.append([info.name, str(len(tokenized)), str(left_out), str(accepted), share, str(compiled.n_rows)])
    print(table(["tokenizer", "files", "left out", "accepted", "share", "distinct masks"], rows))
    parser = lark.Lark(text, parser="lalr", lexer="basic", source_path=str(found.path))
    wrong = 0
    by_name = {d.name: d for d in documents}
    for name, specs in refused.items():
        try:
            parser.parse(by_name[name].data.decode())
        except lark.exceptions.UnexpectedInput:
            continue
        wrong += 1
        print(f"Lark parses {name}, psc refuses it with {', '.join(specs)}")
    print(f"refused by psc and parsed by Lark: {wrong} of {len(refused)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
