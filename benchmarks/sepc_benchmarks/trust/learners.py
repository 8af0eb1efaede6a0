"""The learners that are compared: models that stand alone, and ways to say how far to trust the labels of a model."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

import sepc
from sepc import SEPClassifier, TrustedClassifier
from sepc_benchmarks.trust.peers import PEERS

DEFAULT, LAYERED = "SEP-C", "RF + layer"
LEARNERS: dict[str, Any] = {DEFAULT: SEPClassifier(), LAYERED: TrustedClassifier(PEERS["RF"])} | PEERS
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
    probabilities = np.asarray(model.predict_proba(X))
    return np.asarray(model.classes_)[probabilities.argmax(axis=1)], probabilities.max(axis=1)


@cache
def source() -> str:
    """A digest of the library's source: when it changes, what our own learners said is out of date."""
    digest = hashlib.sha256()
    for path in sorted(Path(sepc.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def settings_of(learner: Any) -> str:
    """A short fingerprint of a learner's settings; figures of other settings are not reused."""
    own = source() if type(learner).__module__.startswith("sepc.") else ""
    text = repr(sorted((name, repr(value)) for name, value in learner.get_params().items()))
    return hashlib.sha256((own + text).encode()).hexdigest()[:8]
