"""How far from the training rows the default and the trust layer still accept labels.

Half of the rows for fitting. Far rows lie in random directions, at a multiple of the root mean square deviation of the
features. Beside them, test rows one of whose features is moved that many deviations from its mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, TrustedClassifier
from sepc_benchmarks.datasets import load
from sepc_benchmarks.measure import arguments, save, show

SPREADS = (3, 5, 10, 50, 1000)
N_FAR = 10_000


def known(name: str) -> tuple[NDArray[np.float64], NDArray[Any]]:
    if name == "wdbc":
        X, y = load_breast_cancer(return_X_y=True)
        return X, y
    data = load(name)
    return data.numeric.to_numpy(dtype=float), np.asarray(data.target)


def far_rows(names: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in names:
        X, y = known(name)
        train, test, labels, _ = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
        layer = TrustedClassifier(HistGradientBoostingClassifier(random_state=0), random_state=0)
        for model in (SEPClassifier().fit(train, labels), layer.fit(train, labels)):
            for spread in SPREADS:
                rng = np.random.default_rng(spread)
                found.append(
                    {
                        "set": name,
                        "model": type(model).__name__,
                        "deviations": spread,
                        "accepted, random directions": float(model.decide(_far(train, spread, rng)).accepted.mean()),
                        "accepted, one feature moved": float(
                            model.decide(_moved(train, test[:N_FAR], spread, rng)).accepted.mean()
                        ),
                        "accepted, test rows": float(model.decide(test).accepted.mean()),
                    }
                )
    return found


def _far(X: NDArray[np.float64], spread: float, rng: np.random.Generator) -> NDArray[np.float64]:
    directions = rng.normal(size=(N_FAR, X.shape[1]))
    directions /= np.sqrt(np.mean(directions**2, axis=1, keepdims=True))
    return X.mean(axis=0) + spread * X.std(axis=0) * directions


def _moved(
    X: NDArray[np.float64], rows: NDArray[np.float64], spread: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    moved, each, j = rows.copy(), np.arange(len(rows)), rng.integers(X.shape[1], size=len(rows))
    moved[each, j] = X.mean(axis=0)[j] + spread * X.std(axis=0)[j] * rng.choice([-1.0, 1.0], size=len(rows))
    return moved


def main() -> None:
    options = arguments(__doc__)
    names = ("wdbc",) if options.smallest else ("wdbc", "banknote_authentication", "magic_gamma_telescope")
    results = {"far": far_rows(names)}
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
