"""A query in stages: each is a common table expression that adds columns to those of the stage before."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sepc.sql._dialects import Dialect
from sepc.sql._expressions import SQL


@dataclass(frozen=True)
class Stage:
    """One stage: its name, the columns it adds, and its FROM clause."""

    name: SQL
    columns: Mapping[SQL, SQL]
    source: SQL


class Query:
    """A query being built. All names that it adds begin with the prefix, and none of them needs quotes."""

    def __init__(self, dialect: Dialect, prefix: str, table: SQL) -> None:
        self.dialect, self.prefix, self.table = dialect, prefix, table
        self.alias, self.row = self.prefixed("table"), self.prefixed("row")
        self._stages: list[Stage] = []
        self._constants: list[SQL] = []

    def prefixed(self, name: str) -> SQL:
        """A name with the prefix."""
        return f"{self.prefix}{name}"

    def constant(self, name: SQL, columns: Collection[SQL], rows: Collection[Collection[int]]) -> None:
        """Add a small table of whole numbers."""
        values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        self._constants.append(f"{name}({', '.join(columns)}) AS (VALUES {values})")

    def begin(self, columns: Mapping[SQL, SQL]) -> None:
        """Add the first stage, which reads the table."""
        whole = {self.row: self.dialect.whole_row(self.alias)}
        self._stages.append(Stage(self.prefixed("given"), whole | dict(columns), f"{self.table} AS {self.alias}"))

    def add(self, name: str, columns: Mapping[SQL, SQL], join: SQL = "") -> None:
        """Add columns, computed from those of the stages before."""
        if columns:
            self._stages.append(Stage(self.prefixed(name), columns, f"{self._stages[-1].name}{join}"))

    def finish(self, outputs: Mapping[SQL, SQL]) -> SQL:
        """The text of the query, whose result has all columns of the table and these `outputs`."""
        last = self._stages[-1].name
        needed = {self.row} | self._names_in(outputs.values(), self._stages)
        parts = []
        for i, stage in reversed(list(enumerate(self._stages))):
            new = {name: value for name, value in stage.columns.items() if name in needed}
            kept = sorted(needed - set(new))
            parts.append(self._write(stage, kept, new))
            needed = set(kept) | self._names_in([*new.values(), stage.source], self._stages[:i])
        added = ", ".join(f"{value} AS {self.prefixed(name)}" for name, value in outputs.items())
        source = self.dialect.source(last, self.row, self.table, self.alias)
        columns = self.dialect.all_columns(self.row, self.alias)
        stages = ",\n".join([*self._constants, *reversed(parts)])
        return f"WITH {stages}\nSELECT {columns}, {added}\nFROM {source}\n"

    def _write(self, stage: Stage, kept: Collection[SQL], new: Mapping[SQL, SQL]) -> SQL:
        n_columns, most = len(kept) + len(new), self.dialect.most_columns
        if n_columns > most:
            raise ValueError(
                f"The statement would have {n_columns:,} columns in a SELECT, where the database allows {most:,}. Fit "
                "with fewer features or max_ellipsoids, or export to DuckDB or Spark."
            )
        columns = ", ".join([*kept, *(f"{value} AS {name}" for name, value in new.items())])
        kind = self.dialect.last_stage if stage is self._stages[-1] else ""
        return f"{stage.name} AS {kind}(SELECT {columns} FROM {stage.source}{self.dialect.fence})"

    def _names_in(self, texts: Iterable[SQL], stages: Sequence[Stage]) -> set[SQL]:
        """The columns of stages that expressions use, and any whose name occurs only in a text literal."""
        known = {name for stage in stages for name in stage.columns}
        return {name for text in texts for name in re.findall(rf"\b{self.prefix}\w+", text)} & known
