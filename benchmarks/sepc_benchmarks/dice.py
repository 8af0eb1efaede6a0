"""Counterfactuals by DiCE (`pip install dice-ml`), where it is installed, for a model of this library."""

from __future__ import annotations

import contextlib
import io
import logging
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from sepc import SEPClassifier

# The searches that need no gradients.
METHODS = ("random", "genetic")
# It may search for ever; so many seconds of the processor for a row are taken as finding nothing.
MOST_SECONDS = 3


def has_dice() -> bool:
    """Whether DiCE is installed."""
    return find_spec("dice_ml") is not None


class Accepting(ClassifierMixin, BaseEstimator):
    """A classifier for DiCE: 1 is a label with enough trust, 0 all else.

    Parameters
    ----------
    model : fitted SEPClassifier
    X : DataFrame
        Rows with the columns and types that the model was fitted to.
    label : object
    least : float
        The least probability of the label.
    """

    def __init__(self, model: SEPClassifier, X: pd.DataFrame, label: Any, least: float) -> None:
        self.model, self.X, self.label, self.least = model, X, label, least
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Probabilities, 0.5 where a row just is what is asked for."""
        decided = self.model.decide(X[self.X.columns].astype(self.X.dtypes))
        chance, least = decided.probabilities[:, list(decided.classes).index(self.label)], self.least
        scaled = np.where(chance >= least, 0.5 + 0.5 * (chance - least) / (1.0 - least), 0.5 * chance / least)
        return np.column_stack([1.0 - scaled, scaled])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Whether a row is what is asked for."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)


@dataclass(frozen=True)
class DiceSearch:
    """Asks DiCE for counterfactuals.

    Attributes
    ----------
    method : str
        One of `METHODS`.
    model : fitted SEPClassifier
    X : DataFrame
        Its training rows.
    numbers : list of str
        The columns of numbers.
    least : float
        The least probability of the label.
    """

    method: str
    model: SEPClassifier
    X: pd.DataFrame
    numbers: list[str]
    least: float
    explainers: dict[Any, Any] = field(default_factory=dict)

    def ask(
        self, row: pd.DataFrame, label: Any, ranges: Mapping[str, tuple[float, float]], vary: Sequence[str]
    ) -> pd.DataFrame | None:
        """One counterfactual within ranges, with only some columns changed; None if it finds none in time."""
        logging.disable(logging.CRITICAL)
        signal.signal(signal.SIGPROF, _give_up)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                made = self._explainer(label).generate_counterfactuals(
                    row,
                    total_CFs=1,
                    desired_class=1,
                    features_to_vary=list(vary),
                    permitted_range={name: [float(low), float(high)] for name, (low, high) in ranges.items()},
                    verbose=False,
                    **({"random_seed": 0} if self.method == "random" else {}),
                )
            frame = made.cf_examples_list[0].final_cfs_df
        except Exception:  # noqa: BLE001 - DiCE says by errors of many kinds that it found none.
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            logging.disable(logging.NOTSET)
        return None if frame is None or len(frame) == 0 else frame[:1][self.X.columns].astype(self.X.dtypes)

    def _explainer(self, label: Any) -> Any:
        import dice_ml

        if label not in self.explainers:
            model = Accepting(self.model, self.X, label, self.least)
            frame = self.X.assign(target=model.predict(self.X))
            data = dice_ml.Data(dataframe=frame, continuous_features=self.numbers, outcome_name="target")
            self.explainers[label] = dice_ml.Dice(
                data, dice_ml.Model(model=model, backend="sklearn"), method=self.method
            )
        return self.explainers[label]


def _give_up(*_: Any) -> None:
    raise TimeoutError
