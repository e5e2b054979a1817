"""``psc inspect --fst``: the paper's transducers, rebuilt from the grammar text that an artifact carries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from psc.artifacts.format import Artifact
from psc.cli.tokenizers import tokenizer_for
from psc.compile_file import read_build_record
from psc.errors import ArtifactError, GrammarError, needs_extra
from psc.loading import recorded_tokenizer

if TYPE_CHECKING:
    from psc.compiler.build import Progress


def export_transducers(path: Path, artifact: Artifact, directory: Path, tokenizer: str | None, progress: Progress) -> list[Path]:
    """Builds the transducers of an artifact's grammar and vocabulary as files.

    Args:
        path: of the artifact, for messages.
        artifact: what it holds.
        directory: where to; made if it is not there.
        tokenizer: what the user named; without it the recorded one is looked up.
        progress: told about each stage as it begins.

    Raises:
        MissingExtraError: the ``compiler`` extra is not installed.
        TokenizerError: the vocabulary is not found.
        GrammarError: the grammar is too large for this, or not lexed by maximal munch over all terminals.
        ArtifactError: the directory cannot be written to.
    """
    recorded = artifact.metadata["grammar"]
    if recorded["lexer"] != "basic" or recorded["keep_all_actions"]:
        raise GrammarError(
            f"{path}: the paper's transducers are of a grammar with the basic lexer and one action in each LR cell; this one has "
            f"the {recorded['lexer']} lexer{' and keeps all actions' if recorded['keep_all_actions'] else ''}. A Lark grammar can "
            "be compiled with --lexer basic"
        )
    with needs_extra("compiler"):
        from psc.compiler.build import native_compilation
        from psc.compiler.frontends.lark.loader import load_lark
        from psc.compiler.lr_tables import lr_tables
        from psc.compiler.terminals import terminal_automaton
        from psc.compiler.transducers import export
    info = tokenizer_for(artifact, tokenizer, str(path)) if tokenizer else recorded_tokenizer(artifact.metadata, str(path))
    record, _ = read_build_record(path, artifact.digest)
    place = str((record or {}).get("grammar_file", recorded["name"]))  # what a grammar imports lies beside it
    grammar = load_lark(recorded["text"], source_name=place, start=recorded["start"], lexer="basic")
    if [list(i) for i in grammar.imports] != recorded["imports"]:
        raise ArtifactError(f"{path}: the grammar imports files that have changed since it was compiled; compile it again")
    lr = lr_tables(grammar)
    compilation = native_compilation(grammar, lr, terminal_automaton(grammar), info)
    stages = (
        ("lexer", compilation.build_lexer),
        ("token classes", compilation.classify_tokens),
        ("terminal sequences", compilation.find_sequences),
    )
    for i, (name, run) in enumerate(stages):
        progress(name, i, len(stages) + 1)
        run()
    progress("transducers", len(stages), len(stages) + 1)
    sequences = {q: dict(compilation.sequences(q)) for q in range(compilation.n_lexer_states)}
    spelled = [info.token_bytes(int(t)) for t in compilation.class_representatives]
    try:
        return export(directory, grammar, lr, sequences, class_bytes=spelled)
    except OSError as e:
        raise ArtifactError(f"{directory}: cannot write the transducers: {e.strerror or e}") from e
