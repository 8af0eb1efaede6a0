"""Result: audits, repairs, monitors and reviews all have a summary, a table, a picture and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sepc.cards import NUMBER, Card
from sepc.io.atomic_files import write_whole
from sepc.lifecycle.results.chart_axes import draw
from sepc.lifecycle.results.chart_svg import svg_of
from sepc.lifecycle.results.charts import Chart, left_out
from sepc.reporting.result_page import PageTable, ResultPage

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result:
    """Mixin for results with a `summary`, a card and a chart: it adds a picture and a page."""

    __slots__ = ()

    def summary(self) -> str:
        """The result in words; the first line says what matters most."""
        raise NotImplementedError

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
        chart, card = self._chart(), self._card()
        made = ResultPage(
            title=self._page_title(),
            verdict=self.summary().splitlines()[0],
            facts=card.facts,
            picture=svg_of(chart) if len(chart) else None,
            caption=" ".join(part for part in (f"{chart.title}.", left_out(chart)) if part),
            tables=self._tables(),
            notes=self._notes(),
        )
        text = made.html()
        if path is not None:
            write_whole(path, text.encode())
        return text

    def _card(self) -> Card:
        raise NotImplementedError

    def _chart(self) -> Chart:
        raise NotImplementedError

    def _page_title(self) -> str:
        return type(self).__name__

    def _tables(self) -> Sequence[PageTable]:
        """The tables of the page; by default that of the card."""
        card = self._card()
        return [table_of(card.head, card.rows, card.title)] if card.rows else []

    def _notes(self) -> Sequence[str]:
        """What follows from the result, a paragraph each."""
        return ()


def table_of(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, reasons: Sequence[str] = ()
) -> PageTable:
    """A table of a page in which columns that hold nothing but numbers are aligned on the right."""
    columns = zip(head, zip(*rows, strict=True), strict=True)
    numbers = [name for name, cells in columns if all(NUMBER.fullmatch(cell) for cell in cells)]
    return PageTable(caption, head, rows, numbers, reasons)
