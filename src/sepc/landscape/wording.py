"""A landscape in a few sentences."""

from __future__ import annotations

from sepc.landscape.figures import LandscapeFigures
from sepc.landscape.overlaps import Overlap
from sepc.wording import counted, listed, percent

# More classes than this are counted, not listed.
MOST_NAMES = 6


def summary_of(summary: LandscapeFigures) -> str:
    """The classes, how their ellipsoids overlap, and how many rows the partition cannot separate."""
    parts = [_classes(summary), *_flat(summary)]
    if summary.overlaps:
        parts += [_overlaps(summary), _partition(summary), *_small(summary)]
    return " ".join(parts)


def overlaps_in_words(summary: LandscapeFigures) -> str:
    """How the ellipsoids of the classes overlap, without the partition."""
    return " ".join([*_flat(summary), _overlaps(summary)]) if summary.overlaps else _classes(summary)


def _classes(summary: LandscapeFigures) -> str:
    n_classes = len(summary.classes)
    if n_classes == 1:
        return f"All {summary.n_all:,} rows belong to one class, {summary.classes[0]!r}: there is nothing to separate."
    text = f"{summary.n_all:,} rows of {n_classes} classes"
    if n_classes > MOST_NAMES:
        return f"{text}."
    return f"{text}: {listed([f'{c!r} ({n:,})' for c, n in zip(summary.classes, summary.n_rows, strict=True)])}."


def _flat(summary: LandscapeFigures) -> list[str]:
    d = len(summary.feature_names)
    few = [repr(c) for c, n in zip(summary.classes, summary.n_rows, strict=True) if n <= d]
    if not few:
        return []
    shown = listed(few) if len(few) <= MOST_NAMES else f"{len(few)} classes"
    is_one = len(few) == 1
    return [
        f"{shown} {'has' if is_one else 'have'} no more rows than there are features ({d}), so "
        f"{'its ellipsoid is' if is_one else 'their ellipsoids are'} flat."
    ]


def _overlaps(summary: LandscapeFigures) -> str:
    if len(summary.classes) == 2:
        return _two(summary.overlaps[0], summary)
    n_apart = sum(overlap.disjoint for overlap in summary.overlaps)
    shown = f"{n_apart:,} {'is' if n_apart == 1 else 'are'}" if n_apart else "none is"
    text = f"Of {len(summary.overlaps):,} pairs of class ellipsoids, {shown} disjoint."
    most = max(summary.overlaps, key=lambda overlap: overlap.n_first + overlap.n_second)
    if most.n_first + most.n_second == 0:
        return text if n_apart == len(summary.overlaps) else f"{text} No row lies in two of them."
    return f"{text} The pair with the most rows in both: {_rows(most, summary)}."


def _two(overlap: Overlap, summary: LandscapeFigures) -> str:
    if overlap.disjoint:
        return "Their ellipsoids are disjoint."
    if overlap.n_first + overlap.n_second == 0:
        return "Their ellipsoids overlap, but no row lies in both."
    taken = [
        f"{percent(ratio)} of the volume of {summary.classes[k]!r}"
        for k, ratio in ((overlap.first, overlap.ratio_first), (overlap.second, overlap.ratio_second))
        if ratio
    ]
    volumes = f"; the ellipsoid around these rows has {listed(taken)}" if taken else ""
    return f"Their ellipsoids overlap: {_rows(overlap, summary)} lie in both{volumes}."


def _rows(overlap: Overlap, summary: LandscapeFigures) -> str:
    counts = ((overlap.first, overlap.n_first), (overlap.second, overlap.n_second))
    texts = [f"{counted(n, 'row')} of {summary.classes[k]!r} ({percent(n / summary.n_rows[k])})" for k, n in counts]
    return listed(texts)


def _partition(summary: LandscapeFigures) -> str:
    is_sample = summary.n_partitioned < summary.n_all
    rows = f"a sample of {summary.n_partitioned:,} rows" if is_sample else "all rows"
    text = (
        f"A partition of {rows} ({counted(summary.n_ellipsoids, 'ellipsoid')}, "
        f"{counted(summary.n_regions, 'region')}) {_mixed_regions(summary)}."
    )
    if summary.n_mixed and is_sample:
        text += " Another sample may give other figures."
    if summary.outside_share:
        text += f" {percent(summary.outside_share)} of the rows lie in no ellipsoid."
    return text


def _mixed_regions(summary: LandscapeFigures) -> str:
    if summary.n_mixed == 0:
        return "has no region with more than one label"
    return (
        f"leaves {percent(summary.mixed_share)} of the rows in regions with several labels, "
        f"where {percent(summary.outvoted_share)} of all rows have a minority label"
    )


def _small(summary: LandscapeFigures) -> list[str]:
    if summary.n_small == 0:
        return []
    is_one = summary.n_small == 1
    return [
        f"{counted(summary.n_small, 'ellipsoid')} {'is a small disjunct' if is_one else 'are small disjuncts'}, with "
        f"less than {percent(summary.small)} of the rows of {'its' if is_one else 'their'} label; "
        f"{percent(summary.small_share)} of the rows lie in no larger ellipsoid of their label."
    ]
