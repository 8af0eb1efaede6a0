"""Alarms: which rate of which region changed, and which features shifted there."""

from __future__ import annotations

from dataclasses import dataclass

from sepc.cards import Card, ShownInLists
from sepc.lifecycle.monitoring.feature_shift import FeatureShift
from sepc.lifecycle.monitoring.monitored_rates import ALL_ROWS, ERROR, FEATURE, OUTSIDE, SHARE
from sepc.model.names import region_name
from sepc.model.sep_model import SEPModel
from sepc.wording import counted, listed, percent


@dataclass(frozen=True, repr=False)
class Alarm(ShownInLists):
    """What changed, and where.

    Attributes
    ----------
    kind : {"share", "outside", "feature", "error"}
        Which rate of the region changed: its share of all rows; how many of the rows in or near its ellipsoid lie
        outside it; how many of its rows have a feature above the region's middle; how many of its labels are wrong.
    region : int
        Position in `SEPClassifier.regions_`; -1 for sets of ellipsoids that no training row has, and -2 for all rows
        together, where a feature shifted too little to be clear in any single region.
    where : str
        The region in words.
    before, now : float
        The rate before the window that raised the alarm (including the reference), and in that window.
    n_rows : int
        The number of rows behind the rate `now`.
    n_since : int
        Rows since the start of the window that raised the alarm.
    log_evidence : float
        Logarithm of the evidence against "nothing changed", corrected for the number of rates and windows.
    moved : tuple of FeatureShift
        Features whose mean shifted in and around the region, the largest shift first; for the kind "feature", that
        feature comes first.
    """

    kind: str
    region: int
    where: str
    before: float
    now: float
    n_rows: int
    n_since: int
    log_evidence: float
    moved: tuple[FeatureShift, ...] = ()

    @property
    def rises(self) -> bool:
        """Whether the rate is higher than it was."""
        return self.now > self.before

    @property
    def refuses(self) -> bool:
        """Whether rows of the region are no longer accepted: a feature shifted, or another rate is higher.

        An alarm about all rows together refuses none.
        """
        return self.region != ALL_ROWS and (self.kind == FEATURE or self.rises)

    def cells(self) -> tuple[str, str, str, str, str]:
        """The alarm as a row of a table: where, what changed, before, now, and of how many rows."""
        place = {ALL_ROWS: "all rows", -1: "unseen"}.get(self.region, f"region {self.region}")
        feature = f"{self.moved[0].name} above the middle" if self.moved else "a feature"
        rate = {SHARE: "share of all rows", OUTSIDE: "rows outside", ERROR: "wrong labels"}.get(self.kind, feature)
        return place, rate, percent(self.before), percent(self.now), f"{self.n_rows:,}"

    def _card(self) -> Card:
        place, rate, before, now, n_rows = self.cells()
        facts = (
            ("where", self.where),
            ("what changed", rate),
            ("before", before),
            ("now", f"{now} of {n_rows} rows"),
            ("shifted", ", ".join(map(str, self.moved)) or "no single feature"),
            ("decisions there", "no longer accepted" if self.refuses else "accepted as before"),
        )
        return Card(f"Alarm in {place}: {rate} {before} before, {now} now", facts)

    def __str__(self) -> str:
        level = "a level" if self.region == ALL_ROWS else "the middle"
        rate = {SHARE: "share of all rows", OUTSIDE: "share outside", ERROR: "share of wrong labels"}.get(
            self.kind, f"share with {self.moved[0].name} above {level}" if self.moved else ""
        )
        place = "All rows" if self.region == ALL_ROWS else f"Region {self.region} ({self.where})"
        text = f"{place}: {rate} {percent(self.before)} before, "
        text += f"{percent(self.now)} of {counted(self.n_rows, 'row')} now."
        return f"{text} Shifted: {listed([str(shift) for shift in self.moved])}." if self.moved else text


def describe_region(model: SEPModel, region: int) -> str:
    """Where a region lies, in words."""
    return "all rows" if region == ALL_ROWS else region_name(model, region)
