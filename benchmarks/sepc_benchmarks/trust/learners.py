"""The learners that are compared: each gives a label, and how sure it is of it.

Track A has models that stand alone, Track B ways to say how far to trust the labels of a base model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier, TrustedClassifier
from sepc_benchmarks.trust.peers import PEERS
from sepc_benchmarks.trust.without_ellipsoids import CurvesAlone

DEFAULT, LAYERED = "SEP-C", "RF + layer"
OURS: dict[str, Any] = {
    DEFAULT: SEPClassifier(),
    "SEP-C counts": SEPClassifier(trust="counts"),
    "SEP-C published": SEPClassifier.as_published(),
    "curves alone": CurvesAlone(),
    LAYERED: TrustedClassifier(PEERS["RF"]),
}
LEARNERS = OURS | PEERS
STRONGEST = tuple(name for name in (DEFAULT, "RF", "HGB", "LightGBM", "CatBoost") if name in LEARNERS)
AT_FULL_SIZE = tuple(name for name in (DEFAULT, "RF", "HGB", "LightGBM", "LR") if name in LEARNERS)

BASES: dict[str, Any] = {name: PEERS[name] for name in ("HGB", "RF", "LR")}
FOLDS_OF_LAYERS = StratifiedKFold(5, shuffle=True, random_state=0)
SCORES: dict[str, Any] = {f"scores on {name}": base for name, base in BASES.items()}
LAYERS: dict[str, Any] = {
    f"TrustedClassifier on {name}": TrustedClassifier(base, cv=FOLDS_OF_LAYERS) for name, base in BASES.items()
}
KNOWN = LEARNERS | SCORES | LAYERS


def label_and_trust(model: Any, X: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """What a fitted model says: its labels, and how sure it is of each."""
    if hasattr(model, "decide"):
        decisions = model.decide(X)
        return np.asarray(decisions.label), np.asarray(decisions.trust)
    if hasattr(model, "label_and_trust"):
        return model.label_and_trust(X)
    probabilities = np.asarray(model.predict_proba(X))
    return np.asarray(model.classes_)[probabilities.argmax(axis=1)], probabilities.max(axis=1)


def checked_names(asked: Sequence[str] | None) -> list[str]:
    """The learners asked for in that order, all of them if nobody asked; a name that no learner has is an error."""
    names = list(KNOWN) if asked is None else list(asked)
    if unknown := sorted(set(names) - set(KNOWN)):
        raise SystemExit(f"No learner is called {', '.join(unknown)}; there are {', '.join(KNOWN)}.")
    return names


def settings_of(learner: Any) -> str:
    """A short fingerprint of a learner's settings; figures of other settings are not reused."""
    text = repr(sorted((name, repr(value)) for name, value in learner.get_params().items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
