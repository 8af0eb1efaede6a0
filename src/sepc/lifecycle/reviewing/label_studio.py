"""Reviews for other programs: tasks of Label Studio, and a query strategy of scikit-activeml."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import FloatArray, IntArray
from sepc.columns.table import column_names
from sepc.lifecycle.reviewing.batch import Purpose, Review
from sepc.lifecycle.rows import decide_in_memory
from sepc.wording import counted, json_value, plain, with_counts

if TYPE_CHECKING:
    from sepc.lifecycle.reviewing.queue import ReviewQueue


CHOICES, TABLE = "label", "row"


class Labelled(NamedTuple):
    """Labels that people gave."""

    positions: IntArray
    labels: NDArray[Any]

    def __repr__(self) -> str:
        counts = f": {with_counts(*np.unique(self.labels, return_counts=True))}" if len(self.labels) else ""
        return f"<Labels of {counted(len(self.labels), 'row')}{counts}>"


def label_config(classes: ArrayLike) -> str:
    """The labelling interface of a Label Studio project: the reason, the row as a table, and the classes.

    Parameters
    ----------
    classes : array
        The labels to choose from, for instance ``model.classes_``.
    """
    choices = "".join(f"<Choice value={quoteattr(str(label))}/>" for label in json_value(classes))
    return (
        f'<View><Text name="why" value="$why"/><Table name="{TABLE}" value="${TABLE}"/>'
        f'<Choices name="{CHOICES}" toName="{TABLE}" choice="single" required="true">{choices}</Choices></View>'
    )


def to_label_studio(
    review: Review, X: Any, *, names: Sequence[str] | None = None, hide_model: bool = False
) -> list[dict[str, Any]]:
    """Tasks to import into Label Studio, in the order of the review; ``json.dump`` writes them.

    Parameters
    ----------
    review : Review
    X : array or DataFrame
        The rows that were given to `choose`.
    names : sequence of str, optional
        Names of the features; by default the columns of a DataFrame, or x0, x1 and so on.
    hide_model : bool, default=False
        Hide the model's label and trust from the people who label, so as not to bias them.

    Returns
    -------
    list of dict
        Tasks with the row, the reason and the model's label as a prediction.
    """
    names = list(names) if names is not None else _names(X)
    return [_task(review, i, _row(X, int(review.positions[i])), names, hide_model) for i in range(len(review))]


def from_label_studio(annotations: Any, classes: ArrayLike, *, review: Review | None = None) -> Labelled:
    """Read labels from a JSON export of Label Studio.

    The most frequent label of a task counts; tasks that are skipped, unlabelled or tied are left out.

    Parameters
    ----------
    annotations : list of dict, str or path
        The exported tasks, or the file that holds them.
    classes : array
        The possible labels, as the model gives them.
    review : Review, optional
        Read only the tasks of this review; needed if the project holds several reviews.

    Returns
    -------
    Labelled
        For ``queue.learn(review, labels, positions)``.

    Raises
    ------
    ValueError
        If a task is not in the expected format, has an unknown label, or belongs to another review than the others.
    """
    if isinstance(annotations, str | Path):
        annotations = json.loads(Path(annotations).read_text(encoding="utf-8"))
    if not isinstance(annotations, Sequence) or not all(isinstance(task, Mapping) for task in annotations):
        raise ValueError("The annotations are not a list of tasks; export them from Label Studio as JSON.")
    known = {str(label): label for label in json_value(classes)}
    labels = {}
    for task in _of_one_review(annotations, review):
        label = _label_of(task)
        if label is None:
            continue
        if label not in known:
            raise ValueError(f"Task {task.get('id')} is labelled {label!r}; the labels are {', '.join(known)}.")
        labels[_about(task)["position"]] = known[label]
    return Labelled(np.array(list(labels), dtype=np.int64), np.array(list(labels.values())))


def _task(review: Review, i: int, row: Sequence[Any], names: Sequence[str], hide_model: bool) -> dict[str, Any]:
    values = {name: _cell(value) for name, value in zip(names, row, strict=True)}
    about = {
        "position": int(review.positions[i]),
        "review": review.number,
        "purpose": Purpose(review.purpose[i]).name,
        "band": int(review.band[i]),
    }
    if review.region is not None:
        about["region"] = int(review.region[i])
    why = "Please label this row." if hide_model else review.why(i)
    task: dict[str, Any] = {"data": {TABLE: values, "why": why, "sepc": about}}
    if not hide_model:
        choice = {"choices": [str(plain(review.label[i]))]}
        result = {"from_name": CHOICES, "to_name": TABLE, "type": "choices", "value": choice}
        task["predictions"] = [{"model_version": "sepc", "score": float(review.trust[i]), "result": [result]}]
    return task


def _label_of(task: Mapping[str, Any]) -> str | None:
    """The label that most people gave."""
    try:
        return _majority([_choice(given) for given in task["annotations"] if not given.get("was_cancelled")])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"Task {task.get('id')} has annotations that are not in Label Studio's format.") from error


def _choice(annotation: Mapping[str, Any]) -> str | None:
    chosen = [
        result["value"]["choices"] for result in annotation.get("result", ()) if result.get("from_name") == CHOICES
    ]
    return chosen[0][0] if chosen and chosen[0] else None


def _majority(labels: Sequence[str | None]) -> str | None:
    """The most frequent label; None if there is none, or a tie."""
    counts = Counter(label for label in labels if label is not None).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def _of_one_review(tasks: Sequence[Mapping[str, Any]], review: Review | None) -> list[Mapping[str, Any]]:
    """The tasks of this review, or all if they belong to one: positions mean other rows in another review."""
    numbers = [_about(task)["review"] for task in tasks]
    if review is None and len(set(numbers)) > 1:
        several = ", ".join(str(number) for number in sorted(set(numbers)))
        raise ValueError(f"These tasks belong to the reviews {several}; choose one with the parameter review.")
    return [task for task, number in zip(tasks, numbers, strict=True) if review is None or number == review.number]


def _about(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata that `to_label_studio` wrote into a task."""
    if "annotations" not in task:
        raise ValueError(f"Task {task.get('id')} has no list of annotations; export as JSON, not as JSON-MIN.")
    data = task.get("data")
    about = data.get("sepc") if isinstance(data, Mapping) else None
    if not isinstance(about, Mapping) or not all(_is_count(about.get(name)) for name in ("position", "review")):
        raise ValueError(f"Task {task.get('id')} was not written by to_label_studio: it has no position.")
    return about


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _names(X: Any) -> list[str]:
    return (
        [str(name) for name in column_names(X)] if hasattr(X, "columns") else [f"x{j}" for j in range(np.shape(X)[1])]
    )


def _row(X: Any, position: int) -> Sequence[Any]:
    if hasattr(X, "iloc"):
        return list(X.iloc[position])
    return X.row(position) if hasattr(X, "row") else list(X[position])


def _cell(value: Any) -> Any:
    """A cell as a JSON value; types that JSON does not know, such as dates, become text."""
    value = json_value(value)
    return value if isinstance(value, int | float | str | list | None) else str(value)


def query_strategy(queue: ReviewQueue, *, missing_label: Any = np.nan, random_state: Any = None) -> Any:
    """A query strategy of scikit-activeml that asks for the same labels as `queue`.

    Its ``query(X, y, batch_size=...)`` first learns the labels in `y` of the rows it asked for before; `queue` then has
    the certificate. Queries count in order: a missing label holds up all later ones. `X` must stay the same from one
    query to the next, as usual in pool-based active learning.

    Parameters
    ----------
    queue : ReviewQueue
        Its `budget` is replaced by `batch_size`.
    missing_label : scalar, str, NaN or None
        The value in `y` that means an unknown label.
    random_state : int, RandomState or None
        For scikit-activeml; the queue uses its own random state.

    Returns
    -------
    skactiveml.base.SingleAnnotatorPoolQueryStrategy
    """
    return _strategy_class()(queue, missing_label=missing_label, random_state=random_state)


@cache
def _strategy_class() -> type:
    try:
        from skactiveml.base import SingleAnnotatorPoolQueryStrategy
        from skactiveml.utils import is_labeled
    except ImportError as error:
        raise ImportError("query_strategy needs scikit-activeml: pip install scikit-activeml") from error

    class CertifyingQueryStrategy(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
        """Ask for labels that certify rows, by a `ReviewQueue`."""

        def __init__(self, queue: Any, missing_label: Any = np.nan, random_state: Any = None) -> None:
            super().__init__(missing_label=missing_label, random_state=random_state)
            self.queue = queue

        def query(
            self, X: Any, y: Any, candidates: Any = None, batch_size: int = 1, return_utilities: bool = False
        ) -> Any:
            """Positions in `X` of the rows to label and, on request, the utility of each row."""
            X, y, candidates, batch_size, return_utilities = self._validate_data(
                X, y, candidates, batch_size, return_utilities, reset=True
            )
            rows, where = self._transform_candidates(candidates, X, y, enforce_mapping=True)
            self._learn(y)
            review, trust = self.queue.choose(rows, n_rows=batch_size), decide_in_memory(self.queue.model, rows).trust
            picked = _fill_up(review.positions, trust, batch_size)
            self._asked = [*self._waiting(), (review, where[review.positions])]
            chosen = where[picked]
            return (chosen, _utilities(review, trust, picked, where, len(X))) if return_utilities else chosen

        def _waiting(self) -> list[tuple[Review, IntArray]]:
            return getattr(self, "_asked", [])

        def _learn(self, y: NDArray[Any]) -> None:
            """Learn completed reviews in order, up to the first with a missing label."""
            known, waiting = is_labeled(y, missing_label=self.missing_label_), self._waiting()
            while waiting and known[waiting[0][1]].all():
                review, positions = waiting[0]
                self.queue.learn(review, y[positions])
                waiting = waiting[1:]
            self._asked = waiting

    return CertifyingQueryStrategy


def _fill_up(positions: IntArray, trust: FloatArray, n: int) -> IntArray:
    """Exactly `n` rows: those of the queue, filled up with the least trusted of the others."""
    least_trusted = np.argsort(trust, kind="stable")
    others = least_trusted[~np.isin(least_trusted, positions)]
    return np.concatenate([positions, others[: n - len(positions)]])


def _utilities(review: Review, trust: FloatArray, picked: IntArray, where: IntArray, n_rows: int) -> FloatArray:
    """For each pick, the probability of drawing each row, or 1 - trust; NaN for rows already picked or labelled."""
    band = review.plan.bands.of(trust)
    likely = (review.plan.drawn / np.maximum(np.bincount(band, minlength=len(review.plan.bands)), 1))[band]
    utilities = np.full((len(picked), n_rows), np.nan)
    for i in range(len(picked)):
        certifies = i < len(review) and review.purpose[i] == Purpose.CERTIFY
        utilities[i, where] = likely if certifies else 1.0 - trust
        utilities[i, where[picked[:i]]] = np.nan
    return utilities
