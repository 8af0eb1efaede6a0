"""Telling how far a fit has come: by scikit-learn's callbacks where its version has them, and by printed lines."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from sepc.partition.sequence import Round

__all__ = ["CallbackSupport", "Progress", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


class Progress:
    """One fit, of which every round is a step.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are told, and with `verbose` a line is printed.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.context: Any = None
        self.n_steps = 0

    def __enter__(self) -> Self:
        if hasattr(self.estimator, "_init_callback_context"):
            self.context = self.estimator._init_callback_context(max_subtasks=None)
            self.context.call_on_fit_task_begin(estimator=self.estimator)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self.context is not None and kind is None:
            self.context.call_on_fit_task_end(estimator=self.estimator)

    def step(self, left: Round) -> None:
        """Tell that a round has ended with so many rows left of the two sides."""
        self.n_steps += 1
        if self.context is not None:
            task = self.context.subcontext(task_name="round")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)
        if self.estimator.verbose:
            name = type(self.estimator).__name__
            print(f"[{name}] round {self.n_steps}: {left.n_pos:,} and {left.n_neg:,} rows left")  # noqa: T201
