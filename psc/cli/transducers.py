"""``psc inspect --fst``: the paper's transducers of the tables that an artifact carries."""

from __future__ import annotations

from pathlib import Path

from psc.artifacts.format import Artifact
from psc.artifacts.scalars import is_closed, without_scalars
from psc.errors import ArtifactError, GrammarError, needs_extra


def export_transducers(path: Path, artifact: Artifact, directory: Path) -> list[Path]:
    """Builds the transducers of an artifact's LR table and vocabulary as files.

    Args:
        path: of the artifact, for messages.
        artifact: its content.
        directory: of the files; made if it is not there.

    Raises:
        MissingExtraError: the ``openfst`` extra is not installed.
        GrammarError: the grammar or its vocabulary is too large for this; nothing was written.
        ArtifactError: the directory cannot be written to.
    """
    if not is_closed(artifact.arrays):
        raise GrammarError(f"{path}: it is not closed, so there is no whole classifier to build transducers beside")
    with needs_extra("openfst"):
        from psc.compiler.paper import export_artifact
    try:
        return export_artifact(directory, without_scalars(artifact.arrays), artifact.metadata)
    except GrammarError as e:
        raise GrammarError(f"{path}: {e}") from e
    except OSError as e:
        raise ArtifactError(f"{directory}: cannot write the transducers: {e.strerror or e}") from e
