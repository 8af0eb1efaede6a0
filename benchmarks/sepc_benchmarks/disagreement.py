"""How often weights and counts give different labels, and which is right.

Five-fold on the data sets of the comparison and on those that took no part in any choice, at most 2,000 rows each. A
row in which the two differ is `counts_label != label`; rows outside all ellipsoids are counted by what is nearest.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import StratifiedKFold

from sepc import SEPClassifier
from sepc.errors import FlatSetWarning
from sepc_benchmarks.accuracy import rows_of
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.trust.suite import SETS, UNSEEN

FROM_SKLEARN = {"digits": load_digits, "wine": load_wine}


def of_one_set(name: str) -> dict[str, NDArray[Any]]:
    """Of rows left out: whether the labels differ, who is right, and what is accepted."""
    X, y = FROM_SKLEARN[name](return_X_y=True) if name in FROM_SKLEARN else rows_of(name)
    found = {key: np.empty(len(y), dtype=bool) for key in ("differs", "weights", "counts", "accepted", "outside")}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        decisions = SEPClassifier().fit(X[train], y[train]).decide(X[test])
        found["differs"][test] = decisions.label != decisions.counts_label
        found["weights"][test] = decisions.label == y[test]
        found["counts"][test] = decisions.counts_label == y[test]
        found["accepted"][test] = decisions.accepted
        found["outside"][test] = decisions.place >= 0
    return found


def record(name: str, found: list[dict[str, NDArray[Any]]]) -> dict[str, Any]:
    """One line about all rows of some sets together."""
    differs, weights, counts, accepted, outside = (np.concatenate([one[key] for one in found]) for key in found[0])
    return {
        "sets": name,
        "rows": len(differs),
        "differ": _share(differs),
        "of rows outside": _share(differs[outside]),
        "weights right there": _share(weights[differs]),
        "counts right there": _share(counts[differs]),
        "accepted there": _share(accepted[differs]),
        "right where they agree": _share(weights[~differs]),
    }


def _share(mask: NDArray[Any]) -> str:
    return f"{100 * mask.mean():.1f}%" if len(mask) else ""


def main() -> None:
    options = arguments(__doc__)
    warnings.filterwarnings("ignore", category=FlatSetWarning)
    kinds = {"smallest": ("wine",)} if options.smallest else {"27 of the comparison": SETS, "9 unseen": UNSEEN}
    found = {kind: [of_one_set(name) for name in names] for kind, names in kinds.items()}
    pooled = [record(kind, sets) for kind, sets in found.items()]
    each = [record(name, [one]) for kind, names in kinds.items() for name, one in zip(names, found[kind], strict=True)]
    show("pooled", pooled)
    show("each", each)
    save(options.output, {"pooled": pooled, "each": each})


if __name__ == "__main__":
    main()
