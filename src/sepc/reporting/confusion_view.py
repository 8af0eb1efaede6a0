"""The confusion matrix drawn: a table for few classes, pairs and a heat map for many."""

from __future__ import annotations

from sepc.reporting.confusion import ConfusedPair, Confusion
from sepc.reporting.markup import Markup, tag
from sepc.reporting.svg import LETTER, drawing, number, text_at
from sepc.reporting.tables import Cell, Column, table
from sepc.wording import percent, short

# With more classes than this, the most confused pairs come before the matrix, which is drawn as a heat map.
FEW_CLASSES = 8
SIZE = 18.0
# The darkest shade of a wrong cell stands for the largest count, and no wrong cell is fainter than this.
FAINTEST, DARKEST = 0.12, 0.75


def confusion_matrix(confusion: Confusion) -> Markup:
    """A table with a row for each true label and a column for each predicted one."""
    head = Column("true label")
    columns = [head, *(Column(f"predicted {name}", True) for name in confusion.classes)]
    rows = []
    for i, (name, counts, accepted) in enumerate(
        zip(confusion.truths, confusion.counts, confusion.accepted, strict=True)
    ):
        cells = [
            Cell(f"{n:,}", n, "hit" if i == j else "miss" if n else "", f"{m:,} accepted")
            for j, (n, m) in enumerate(zip(counts, accepted, strict=True))
        ]
        rows.append([Cell(name), *cells])
    return table("Rows by true and predicted label", columns, rows, class_="confusion")


def confused_pairs(confusion: Confusion) -> Markup | None:
    """A table of the pairs of labels that are confused most, with bars."""
    if not confusion.pairs:
        return None
    most = confusion.pairs[0].n_rows
    columns = [Column("labels"), Column("rows", True), Column("accepted", True)]
    rows = [
        [
            Cell(f"{pair.first} and {pair.second}", more=_both_ways(pair)),
            Cell(f"{pair.n_rows:,}", pair.n_rows, bar=pair.n_rows / most),
            Cell(f"{pair.n_accepted:,}", pair.n_accepted, "wrong" if pair.n_accepted else ""),
        ]
        for pair in confusion.pairs
    ]
    shown = (
        f"All {len(rows)} pairs of labels that are confused"
        if len(rows) == confusion.n_pairs
        else f"The {len(rows)} pairs of labels confused most, of {confusion.n_pairs:,}"
    )
    return table(shown, columns, rows, sortable=len(rows) > 5)


def _both_ways(pair: ConfusedPair) -> str:
    return f"{pair.first} as {pair.second} {pair.n_forth:,}, {pair.second} as {pair.first} {pair.n_back:,}"


def confusion_chart(confusion: Confusion) -> Markup | None:
    """A heat map of the matrix; None without one."""
    if not confusion.counts:
        return None
    n_rows, n = len(confusion.truths), len(confusion.classes)
    left = 12.0 + LETTER * min(max(map(len, confusion.truths)), 14)
    top = 34.0
    wrong = [c for i, row in enumerate(confusion.counts) for j, c in enumerate(row) if i != j]
    most = max([*wrong, 1])
    cells = [_heat(confusion, i, j, left, top, most) for i in range(n_rows) for j in range(n) if confusion.counts[i][j]]
    letters = max(2, int(SIZE / LETTER))
    names = [
        text_at(short(name, 14), left - 6, top + SIZE * (i + 0.5) + 4, "end") for i, name in enumerate(confusion.truths)
    ]
    names += [
        text_at(short(name, letters), left + SIZE * (j + 0.5), top - 6, "middle")
        for j, name in enumerate(confusion.classes)
    ]
    over = text_at("predicted label", left + SIZE * n / 2, 12, "middle", "axis")
    width, height = left + SIZE * n + 8, top + SIZE * n_rows + 8
    description = f"A row for each true label, a column for each predicted one; the darkest cell holds {most:,} rows."
    return drawing("confusion", "Confusion matrix", description, width, height, cells, names, over)


def _heat(confusion: Confusion, i: int, j: int, left: float, top: float, most: int) -> Markup:
    n, x, y = confusion.counts[i][j], left + SIZE * j, top + SIZE * i
    total = sum(confusion.counts[i])
    title = tag(
        "title", f"{confusion.truths[i]} predicted as {confusion.classes[j]}: {n:,} rows, {percent(n / total)} of them"
    )
    box = tag("rect", x=number(x), y=number(y), width=number(SIZE - 1), height=number(SIZE - 1))
    if i == j:
        return tag("g", title, box, class_="heat hit")
    shade = FAINTEST + (DARKEST - FAINTEST) * n / most
    text = text_at(f"{n}" if n < 1000 else "…", x + SIZE / 2, y + SIZE / 2 + 3.5, "middle")
    return tag("g", title, box, text, class_="heat miss", style=f"--share:{shade:.2f}")
