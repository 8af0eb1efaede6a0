"""Progress of a fit, reported to scikit-learn's callbacks (from version 1.9), to listeners, and on screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from sepc.partition.sequence import Round

__all__ = ["CallbackSupport", "Progress", "listen_to_rounds", "with_callbacks"]

Listener = Callable[[Round], None]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


# Set by `listen_to_rounds`; a context variable, so that fits in other threads are not affected.
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("_listeners", default=())


@contextmanager
def listen_to_rounds(listener: Listener) -> Iterator[None]:
    """Context manager: calls `listener` with the rows left after every round of every partition.

    This lets a program follow a fit without knowing the estimator: partitions inside a `SelectiveClassifier` or a
    `StratifiedClassifier` are reported as well, one after the other. Fits in other threads or processes, as with
    `n_jobs`, are not. From version 1.9, scikit-learn's callbacks do the same for one estimator.

    Parameters
    ----------
    listener : callable
        Called with a `Round`, whose `n_pos` and `n_neg` are the rows left on the two sides. An exception it raises ends
        the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> rows_left = []
    >>> with listen_to_rounds(lambda left: rows_left.append(left.n_pos + left.n_neg)):
    ...     classifier = SEPClassifier().fit(*load_iris(return_X_y=True))
    >>> len(rows_left) == sum(len(partition.rows_left) for partition in classifier.history_)
    True
    """
    before = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(before)


class Progress:
    """Reports every round of one fit.

    Parameters
    ----------
    estimator : estimator
        Calls its callbacks and the listeners of `listen_to_rounds`; prints a line if it is `verbose`.
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
        """Report the end of a round, and the rows left on the two sides."""
        self.n_steps += 1
        if self.context is not None:
            task = self.context.subcontext(task_name="round")
            task.call_on_fit_task_begin(estimator=self.estimator)
            task.call_on_fit_task_end(estimator=self.estimator)
        for listener in _listeners.get():
            listener(left)
        if self.estimator.verbose:
            name = type(self.estimator).__name__
            print(f"[{name}] round {self.n_steps}: {left.n_pos:,} and {left.n_neg:,} rows left")  # noqa: T201
