"""A log full of decisions of all models, as the service would have written them."""

from __future__ import annotations

from pathlib import Path

from sample_models import NAMES, model
from sqlalchemy import Engine

from sepc_desk.chain import Chain, keep_context
from sepc_desk.deciding import decide_rows
from sepc_desk.entries import EntryKind, entry
from sepc_desk.models import ModelFolder
from sepc_desk.rows import typed_row


def fill(engine: Engine, folder: Path, n: int, names: tuple[str, ...] = NAMES, group: int = 200) -> int:
    """Decide on `n` rows of each model and log them; rows come again if there are fewer. Returns how many."""
    chain = Chain(engine)
    for name in names:
        version = ModelFolder(folder).load(name)
        keep_context(engine, *version.context)
        rows = model(name)[1]
        for start in range(0, n, group):
            some = [typed_row(version.columns, rows[i % len(rows)], i) for i in range(start, min(start + group, n))]
            explain = start == 0 and n < group
            chain.append(
                [
                    entry(
                        EntryKind.DECISION,
                        "key:1",
                        own.private(row),
                        model=name,
                        context=version.context[0],
                        label=own.label_text,
                        accepted=own.accepted,
                        cause=own.cause,
                    )
                    for row, own in zip(some, decide_rows(version, some, explain), strict=True)
                ]
            )
    chain.close()
    return n * len(names)
