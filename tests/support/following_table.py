"""A table of mask rows in another process, which follows one here. A module of its own, for the other process to import."""

from __future__ import annotations

from typing import Any

from vocabularies import byte_tokenizer

from psc.runtime.numpy_masks import MaskTable


def follow(connection: Any, max_bytes: int) -> None:
    """Another rank: gets updates until None comes, sends back the rows that the ids stand for."""
    table = MaskTable(byte_tokenizer(), max_bytes=max_bytes, max_batch=4)
    while (update := connection.recv()) is not None:
        step = table.apply_update(update)
        connection.send([None if i < 0 else table.rows[i].tolist() for i in step.ids])
