"""What a fitted `SEPClassifier` tells besides its decisions: importances, regions of rows, and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import Preparation
from sepc.estimators.fitted_record import FittedAtOnce, as_fitted
from sepc.estimators.sep.fitted import FittedEllipsoids, sample_rows
from sepc.estimators.sep.importances import importances_of
from sepc.model.proofs import Proofs, proofs_of
from sepc.model.sep_model import SEPModel
from sepc.wording import MOST_NAMES, check_number, listed, shown


class FittedViews(FittedAtOnce):
    """The methods of an `SEPClassifier` that describe the fitted model."""

    trust: str
    random_state: Any
    classes_: NDArray[Any]
    ellipsoids_: FittedEllipsoids
    model_: SEPModel
    encoding_: Preparation | None
    decide: Any

    @property
    def preparation_(self) -> Preparation:
        """How the columns of a table become features; those of an array are numbers, named x0, x1 and so on."""
        fitted = as_fitted(self)
        return fitted.encoding_ or Preparation.of_numbers(fitted.model_.feature_names)

    @property
    def feature_importances_(self) -> FloatArray:
        """How much each column matters: the mean absolute term in log-odds over the training rows.

        0 for columns that are left out. With several classes, the size of a term is the largest difference it makes
        between two of them. Terms of ellipsoids belong to no single column, and are not counted here.
        """
        fitted = as_fitted(self)
        if fitted.model_.weights is None:
            raise AttributeError(f"With trust={fitted.trust!r} columns have no terms, and therefore no importances.")
        sizes = importances_of(fitted.model_, fitted.encoding_)
        names = getattr(fitted, "feature_names_in_", fitted.model_.feature_names)
        return np.array([sizes.get(str(name), 0.0) for name in names])

    def proofs(self) -> Proofs:
        """What is proved of the features of `monotone`, in words, and what follows from it.

        Every statement is checked against the weights that the model has now, also after edits.

        Returns
        -------
        Proofs
            A sequence with an entry for each monotone feature; `print` shows it in words.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sepc import SEPClassifier
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> X = X[["mean texture", "worst area", "worst concavity"]]
        >>> classifier = SEPClassifier(monotone={"worst area": "down"}).fit(X, y)
        >>> print(classifier.proofs()[0])
        A larger 'worst area' never raises the log-odds of 1 against any other label, whatever the other values ...
        """
        return proofs_of(self.model_)

    def apply(self, X: ArrayLike) -> IntArray:
        """The region of every row: a position in `regions_`, or -1 for an unseen combination of ellipsoids."""
        region: IntArray = self.decide(X).region
        return region

    def sample(self, n: int, label: Any, random_state: Any = None) -> FloatArray:
        """Draw new rows uniformly from the ellipsoids of a label, in proportion to the label's training rows in them.

        Parameters
        ----------
        n : int
            Number of rows to draw.
        label : object
            One of `classes_`.
        random_state : int, RandomState or None
            By default the estimator's own.

        Returns
        -------
        (n, d) array
        """
        check_number("n", n, least=0, whole=True)
        fitted = as_fitted(self)
        if (alone := fitted.model_.alone) is not None:
            names = listed(shown(fitted.model_.feature_names[j]) for j in alone.features.tolist())
            raise ValueError(f"sample draws rows from ellipsoids, which standalone features have no part in: {names}.")
        of_label = [found for found in fitted.ellipsoids_ if found.label == label]
        if not of_label:
            others = sorted({found.label for found in fitted.ellipsoids_})
            known = (
                f"the labels with ellipsoids are {listed(map(shown, others), MOST_NAMES)}" if others else "none has one"
            )
            raise ValueError(f"No ellipsoid was found for label {shown(label)}; {known}.")
        random = check_random_state(self.random_state if random_state is None else random_state)
        rng = np.random.default_rng(random.randint(2**31 - 1))
        return sample_rows(of_label, list(fitted.classes_).index(label), n, rng)
