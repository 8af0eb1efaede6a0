"""What stands inside pipelines, searches and frozen estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


@dataclass(frozen=True)
class Opened:
    """A classifier, and the transformers that stand before it, in order."""

    classifier: Any
    before: tuple[Any, ...] = ()

    def transform(self, X: Any) -> Any:
        """The rows as the classifier sees them."""
        for steps in self.before:
            X = steps.transform(X)
        return X

    def feature_names(self, X: Any) -> list[str] | None:
        """The names of the features that the classifier sees, as far as the transformers know them."""
        names = [str(name) for name in getattr(X, "columns", ())] or None
        for steps in self.before:
            try:
                names = [str(name) for name in steps.get_feature_names_out(names)]
            except (AttributeError, ValueError):  # A step that gives no names, or not from these.
                return None
        return names


def opened(model: Any) -> Opened:
    """Take a fitted classifier out of the pipelines, searches and frozen estimators around it."""
    if isinstance(model, FrozenEstimator):
        return opened(model.estimator)
    if hasattr(model, "best_estimator_"):
        return opened(model.best_estimator_)
    if isinstance(model, Pipeline):
        last = opened(model[-1])
        return Opened(last.classifier, ((model[:-1],) if len(model) > 1 else ()) + last.before)
    return Opened(model)


def name_of(model: Any) -> str:
    """What to call a model: the class of the classifier inside."""
    return type(opened(model).classifier).__name__
