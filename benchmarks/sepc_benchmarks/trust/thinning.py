"""Leave out some folds of slow peers, so that one core runs the comparison in about two hours; never of our own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thinned:
    """A peer that takes part in some parts and drawings alone, on all their sets or on some."""

    sets: tuple[str, ...] | None = None
    parts: tuple[str, ...] = ("models",)
    n_seeds: int = 1


QUICK_FOR_EBM = (
    *("haberman", "vertebral_column_2c", "blood_transfusion", "heart_cleveland", "ilpd", "mammographic_masses"),
    *("german_credit_numeric", "htru2", "adult"),
)
# A fit of CatBoost takes a minute and more if classes or rows are many; one of the EBM 9 s, here at most 6 s.
THINNED = {
    "CatBoost": Thinned(parts=("models", "together"), n_seeds=2),
    "EBM": Thinned(QUICK_FOR_EBM),
}


def is_left_out(part: str, learner: str, data_set: str, seed: int) -> bool:
    """Whether thinning leaves these folds out."""
    if learner not in THINNED:
        return False
    peer = THINNED[learner]
    is_in = part in peer.parts and seed < peer.n_seeds and (peer.sets is None or data_set in peer.sets)
    return not is_in
