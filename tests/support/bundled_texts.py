"""Whether bundled grammars take whole texts."""

from functools import cache

from vocabularies import byte_tokenizer

import psc


@cache
def compiled(spec: str) -> psc.CompiledGrammar:
    """A bundled grammar over single bytes."""
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_file(spec)


def takes(spec: str, text: str) -> bool:
    """Whether a text is one of the grammar's, such as `java?layout=bounded`, over single bytes; each is compiled once."""
    matcher, data = psc.GrammarMatcher(compiled(spec)), text.encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()
