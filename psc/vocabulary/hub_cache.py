"""Finds a model of the Hugging Face hub in the local cache; never downloads.

The cache's layout is documented and stable: `models--ORG--NAME/refs/REVISION` holds a commit, whose files lie in
`models--ORG--NAME/snapshots/COMMIT/`. Reading it directly spares importing `huggingface_hub` (0.3 s).

Source: huggingface_hub, "Understand caching".
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from psc.errors import TokenizerError
from psc.support.regular_file import read_regular_text

MODEL_ID: Final = re.compile(r"(?P<org>[\w.-]+)/(?P<name>[\w.-]+?)(?:@(?P<revision>[\w./-]+))?")


_MAX_REF_BYTES: Final = 4096


def _is_inside(path: str) -> bool:
    """Whether a path stays in the folder that it is joined to: ids also come from artifacts, whose words are no paths."""
    return all(part.strip(".") for part in path.split("/")) and "\\" not in path and ":" not in path and "\0" not in path


def cache_folder() -> Path:
    """The folder of huggingface_hub's files, by the same environment variables."""
    if explicit := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(explicit).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "huggingface" / "hub"


def find_snapshot(model_id: str) -> Path:
    """The folder of a cached model.

    Args:
        model_id: `ORG/NAME` or `ORG/NAME@REVISION`; the revision is a branch, a tag or a commit, `main` by default.

    Raises:
        TokenizerError: the model is not in the cache.
    """
    match = MODEL_ID.fullmatch(model_id)
    if match is None:
        raise TokenizerError(f"{model_id!r} is not a Hugging Face id (ORG/NAME or ORG/NAME@REVISION)")
    repository, revision = f"{match['org']}/{match['name']}", match["revision"] or "main"
    folder = cache_folder() / f"models--{match['org']}--{match['name']}"
    commit = revision
    if _is_inside(revision):
        with suppress(OSError, UnicodeDecodeError):  # the revision may be a commit, which has no ref
            commit = read_regular_text(folder / "refs" / revision, _MAX_REF_BYTES).strip()
        snapshot = folder / "snapshots" / commit
        if _is_inside(commit) and snapshot.is_dir():
            return snapshot
    option = f" --revision {revision}" if match["revision"] else ""
    raise TokenizerError(
        f"{model_id}: not in the Hugging Face cache ({cache_folder()}). Get it with "
        f"`hf download {repository}{option} --include '*token*' '*config.json'`, or give a folder or file"
    )
