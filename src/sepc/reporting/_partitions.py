"""The partition behind decisions, and the names of its regions."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.preparation import Preparation
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.names import conditions_of, meets, region_name
from sepc.model.sep_model import SEPModel
from sepc.wording import percent, short, visible, with_number

# Longer names of regions are cut.
LONGEST_REGION = 120
# A name is of conditions that more than this share of the rows meet together.
HALF = 0.5


def names_of_regions(partition: SEPDecisions) -> dict[int, str]:
    """The regions that rows lie in, in words that hold for all these rows, or for the share said with "mostly"."""
    model, rows, missing = partition.model, partition.watched_rows, partition.missing
    d = missing.shape[1]
    restored = None if model.usual is None else model.usual.in_own_units(rows[:, :d])
    values = np.where(missing, np.nan, rows[:, :d] if restored is None else restored)
    rows = np.column_stack([values, rows[:, d:]])
    order = np.argsort(partition.region, kind="stable")
    regions, starts = np.unique(partition.region[order], return_index=True)
    names = {
        region: _name_that_holds(model, region, rows[own])
        for region, own in zip(regions.tolist(), np.split(order, starts[1:]), strict=True)
    }
    times = Counter(names.values())
    return {region: with_number(name, region) if times[name] > 1 else name for region, name in names.items()}


def _name_that_holds(model: SEPModel, region: int, rows: FloatArray) -> str:
    """The conditions of a region's name that most of these rows meet together, and how many do if not all."""
    conditions = {one.text: meets(model, rows, one) for one in conditions_of(model, region)}
    if not conditions:
        return short(visible(region_name(model, region)), LONGEST_REGION)
    while (share := float(np.all([np.ones(len(rows)), *conditions.values()], axis=0).mean())) <= HALF:
        del conditions[min(conditions, key=lambda text: int(conditions[text].sum()))]
    words = short(visible(", ".join(conditions) or f"region {region}"), LONGEST_REGION)
    n = int(model.table.memberships[region].sum()) if region < len(model.table.counts) else 0
    where = f" (where {n} overlap)" if n > 1 else "" if n else " (outside all groups)"
    return f"{'' if share == 1.0 else f'mostly ({percent(share, 0)}) '}{words}{where}"


def category_positions(preparation: Preparation | None) -> tuple[int, ...]:
    """Positions of the features that stand for categories."""
    if preparation is None:
        return ()
    return tuple(j for j, (column, _) in enumerate(preparation.features) if column in preparation.categories)
