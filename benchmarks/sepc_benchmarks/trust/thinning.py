"""Leave out some folds of slow peers, so that one core runs the comparison in about two hours; never of our own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thinned:
    """A peer that takes part in some parts and drawings alone, on all their sets or on some."""

    why: str
    sets: tuple[str, ...] | None = None
    parts: tuple[str, ...] = ("models",)
    n_seeds: int = 1


SMALL = (
    *("parkinsons", "haberman", "vertebral_column_2c", "glass", "ecoli", "blood_transfusion", "sonar"),
    *("heart_cleveland", "ionosphere", "wdbc", "ilpd", "mammographic_masses", "german_credit_numeric", "vehicle"),
)
QUICK_FOR_EBM = (
    *("haberman", "vertebral_column_2c", "blood_transfusion", "heart_cleveland", "ilpd", "mammographic_masses"),
    *("german_credit_numeric", "htru2", "adult"),
)
THINNED = {
    "CatBoost": Thinned("a minute a fit and more if classes or rows are many", parts=("models", "together"), n_seeds=2),
    "EBM": Thinned("9 s a fit; the sets where it took at most 6 s", QUICK_FOR_EBM),
    "hyperboxes": Thinned("the weakest peers"),
    "random hyperboxes": Thinned("the weakest peers; the sets where a fit took at most 1.5 s", SMALL),
}


def is_left_out(part: str, learner: str, data_set: str, seed: int) -> bool:
    """Whether thinning leaves these folds out."""
    if learner not in THINNED:
        return False
    peer = THINNED[learner]
    is_in = part in peer.parts and seed < peer.n_seeds and (peer.sets is None or data_set in peer.sets)
    return not is_in
