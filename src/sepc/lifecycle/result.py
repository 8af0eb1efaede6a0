"""Result: what audits, repairs, monitors and reviews share: a summary, a card, a page and perhaps a picture."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sepc.cards import ShownAsCard
from sepc.documents.charts import Chart
from sepc.documents.document import Document, Facts, Figure, Part, Section, Table
from sepc.documents.drawing import draw
from sepc.documents.page import as_page
from sepc.io.atomic_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result(ShownAsCard):
    """Mixin for results with a `summary` and a card: it adds a page."""

    __slots__ = ()

    def summary(self) -> str:
        """The result in words; the first line says what matters most."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.summary()

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as one HTML page that needs no other file, no network and no script.

        Parameters
        ----------
        path : path, optional
            Where to write the page; an existing file is replaced.

        Returns
        -------
        str
            The page.
        """
        chart, facts = self._chart(), self._card().facts
        tables: list[list[Part]] = [[table] for table in self._tables() if table.rows]
        parts: list[list[Part]] = [
            list(self._notes()),
            [Figure([chart], f"{chart.title}.")] if chart is not None and chart.rows else [],
            *tables,
            [Facts("At a glance", facts)] if facts else [],
        ]
        sections = [Section("", some) for some in parts if some]
        text = as_page(Document(self._page_title(), self.summary().splitlines()[0], sections))
        if path is not None:
            write_whole(path, text.encode())
        return text

    def _chart(self) -> Chart | None:
        return None

    def _page_title(self) -> str:
        return type(self).__name__

    def _tables(self) -> Sequence[Table]:
        """The tables of the page; by default that of the card."""
        card = self._card()
        return [Table(card.title, card.head, card.rows)] if card.rows else []

    def _notes(self) -> Sequence[str]:
        """What follows from the result, a paragraph each."""
        return ()


class DrawnResult(Result):
    """Mixin for results with a picture as well."""

    __slots__ = ()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib axes
        """
        return draw(self._chart(), ax)

    def _chart(self) -> Chart:
        raise NotImplementedError
