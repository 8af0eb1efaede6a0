"""Certificates computed again by the library alone, from what auditors export: the log and the cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pandas as pd
from sepc.lifecycle import Certificate, ReviewQueue

from sepc_desk.models import Model


class Redrawn(ReviewQueue):
    """A queue that draws again what was drawn."""

    drawn: dict[int, list[int]]

    def _draw(self, plan: Any, band: Any, n: int) -> Any:
        return np.array(self.drawn.get(self._n_chosen + 1, []), dtype=np.int64)


def recomputed(
    live: Model, accepted: pd.DataFrame, own_cases: pd.DataFrame, *, block: int, share: float, max_risk: float
) -> Certificate:
    """The certificate of a version.

    Parameters
    ----------
    live : Model
    accepted : DataFrame
        The rows that the version accepted, in the order of the log.
    own_cases : DataFrame
        Cases of the model as exported: all values are text, empty where there is none.
    block, share, max_risk
        The settings `certificate_block`, `certificate_share` and `certificate_risk`.
    """
    own = own_cases[(own_cases["digest"] == live.digest) & (own_cases["review"] != "")]
    own = own.assign(**{name: own[name].astype(int) for name in ("review", "position", "draw_order")})
    own = own.assign(after=pd.to_numeric(own["counted_after"], errors="coerce")).sort_values("draw_order")
    n_rows = max(1, round(share * block))
    queue = Redrawn(live.estimator, n_rows, max_risk=max_risk)
    queue.drawn = {
        number: some["position"].tolist() for number, some in own[own["purpose"] == "drawn"].groupby("review")
    }
    n_blocks = len(accepted) // block
    for number in range(1, n_blocks + 2):
        # What had been counted before this draw decided which bands it was from.
        for review, some in own[own["after"] == number - 1].groupby("review"):
            labels = [_counted_label(live, one) for one in some.itertuples()]
            queue.learn(queue.reviews_[review], labels, some["position"].tolist(), complete=False)
        if number <= n_blocks:
            queue.choose(accepted[(number - 1) * block : number * block].reset_index(drop=True), n_rows=n_rows)
    return queue.certificate()


def _counted_label(live: Model, case: Any) -> Any:
    """What a certificate counts for a case: the reviewers' label, or an error."""
    if case.evidence == "answer":
        return orjson.loads(case.evidence_label)
    said = orjson.loads(case.model_label)
    return next(label for label in live.classes if label != said)
