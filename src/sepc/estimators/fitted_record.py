"""What an estimator learnt: one record, which a fit replaces as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from sklearn.utils.validation import check_is_fitted

P = ParamSpec("P")
F = TypeVar("F", bound="FittedAtOnce")


class Record(dict[str, Any]):
    """What a fit learnt; never changed, only replaced, so whoever holds it has a whole model."""


NOTHING = Record()


class FittedAtOnce:
    """Base class of estimators: names that end in an underscore are read from the record of the last fit."""

    _fitted: Record

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            record = self.__dict__.get("_fitted", NOTHING)
            if name in record:
                return record[name]
            # A property of the class that raised an AttributeError also ends here; it raises the same again.
            if not _is_fitted_name(name) or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            if record is NOTHING:
                check_is_fitted(self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if _is_fitted_name(name) and not hasattr(type(self), name):
            name, value = "_fitted", Record(vars(self).get("_fitted", {}), **{name: value})
        object.__setattr__(self, name, value)

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *vars(self).get("_fitted", ())}

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    def with_fitted(self, without: Iterable[str] = (), /, **attributes: Any) -> Self:
        """A copy of the fitted estimator with other fitted attributes, and without some."""
        changed, learnt = _unfitted(self), as_fitted(self)._fitted
        changed._fitted = Record({name: learnt[name] for name in learnt if name not in without}, **attributes)
        return changed


def as_fitted(estimator: F) -> F:
    """The estimator as it is now, which no later fit changes; raises NotFittedError if it is not fitted."""
    now = object.__new__(type(estimator))
    vars(now).update(vars(estimator))
    if "_fitted" not in vars(now):
        check_is_fitted(now)  # a hundred times slower than the line above
    vars(now).update(now._fitted)
    return now


def _unfitted(estimator: F) -> F:
    fresh = object.__new__(type(estimator))
    own = vars(estimator).items()
    vars(fresh).update({name: value for name, value in own if name != "_fitted" and not _is_fitted_name(name)})
    return fresh


def at_once(fit: Callable[Concatenate[F, P], F]) -> Callable[Concatenate[F, P], F]:
    """Let a method fit an unfitted copy of the estimator; what that learnt is taken over in one step at the end."""

    @wraps(fit)
    def fit_at_once(self: F, /, *args: P.args, **kwargs: P.kwargs) -> F:
        self._fitted = fit(_unfitted(self), *args, **kwargs)._fitted
        return self

    return fit_at_once


def _is_fitted_name(name: str) -> bool:
    return name[-1] == "_" != name[0]
