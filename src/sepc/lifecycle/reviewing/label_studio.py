"""Reviews as tasks of Label Studio, and its annotations as labels: plain JSON, without its packages."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import IntArray
from sepc.lifecycle.reviewing.review_batch import Purpose, Review
from sepc.plain_values import json_value, plain
from sepc.wording import counted, with_counts

CHOICES, TABLE = "label", "row"


class Labelled(NamedTuple):
    """What people said.

    Attributes
    ----------
    positions : array of int
        Positions of the rows among those given to `choose`.
    labels : array
    """

    positions: IntArray
    labels: NDArray[Any]

    def __repr__(self) -> str:
        said = f": {with_counts(*np.unique(self.labels, return_counts=True))}" if len(self.labels) else ""
        return f"<Labels of {counted(len(self.labels), 'row')}{said}>"


def label_config(classes: ArrayLike) -> str:
    """The labelling interface for a project of Label Studio: the reason, the row as a table, and the classes.

    Parameters
    ----------
    classes : array
        The labels to choose from, for instance ``model.classes_``.
    """
    choices = "".join(f"<Choice value={quoteattr(str(one))}/>" for one in json_value(classes))
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
        Keep the model's label and trust from the people who label, who might lean towards it.

    Returns
    -------
    list of dict
        With the row, the reason and the model's own label as a prediction.
    """
    names = list(names) if names is not None else _names(X)
    return [_task(review, i, _row(X, int(review.positions[i])), names, hide_model) for i in range(len(review))]


def from_label_studio(annotations: Any, classes: ArrayLike, *, review: Review | None = None) -> Labelled:
    """Labels out of what Label Studio exports as JSON.

    Of several annotations of a task the most frequent label counts; a task that was skipped, not labelled, or labelled
    differently by equally many people is left out.

    Parameters
    ----------
    annotations : list of dict, str or path
        The exported tasks, or the file that holds them.
    classes : array
        The labels that may come back, in the type that the model gives them.
    review : Review, optional
        Read the tasks of this review only; needed if the project holds those of several.

    Returns
    -------
    Labelled
        For ``queue.learn(review, labels, positions)``.
    """
    if isinstance(annotations, str | Path):
        annotations = json.loads(Path(annotations).read_text(encoding="utf-8"))
    known = {str(one): one for one in json_value(classes)}
    found = {}
    for task in _of_one_review(annotations, review):
        label = _agreed([_choice(one) for one in task["annotations"] if not one.get("was_cancelled")])
        if label is None:
            continue
        if label not in known:
            raise ValueError(f"Task {task.get('id')} is labelled {label!r}; the labels are {', '.join(known)}.")
        found[int(_about(task)["position"])] = known[label]
    return Labelled(np.array(list(found), dtype=np.int64), np.array(list(found.values())))


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


def _choice(annotation: Mapping[str, Any]) -> str | None:
    chosen = [one["value"]["choices"] for one in annotation.get("result", ()) if one.get("from_name") == CHOICES]
    return chosen[0][0] if chosen and chosen[0] else None


def _agreed(said: Sequence[str | None]) -> str | None:
    """The most frequent label; None if there is none, or no single one."""
    counts = Counter(one for one in said if one is not None).most_common(2)
    if not counts or (len(counts) > 1 and counts[0][1] == counts[1][1]):
        return None
    return counts[0][0]


def _of_one_review(tasks: Sequence[Mapping[str, Any]], review: Review | None) -> list[Mapping[str, Any]]:
    """The tasks of this review, or all if they are of one: the same position is another row on another day."""
    numbers = [_about(task)["review"] for task in tasks]
    if review is None and len(set(numbers)) > 1:
        several = ", ".join(str(one) for one in sorted(set(numbers)))
        raise ValueError(f"These tasks are of the reviews {several}; say of which one to read labels, by review.")
    return [task for task, one in zip(tasks, numbers, strict=True) if review is None or one == review.number]


def _about(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """What to_label_studio wrote of a task for itself."""
    if "annotations" not in task:
        raise ValueError(f"Task {task.get('id')} has no list of annotations; export as JSON, not as JSON-MIN.")
    about: Mapping[str, Any] = task.get("data", {}).get("sepc", {})
    if "position" not in about or "review" not in about:
        raise ValueError(f"Task {task.get('id')} was not written by to_label_studio: it has no position.")
    return about


def _names(X: Any) -> list[str]:
    return [str(one) for one in X.columns] if hasattr(X, "columns") else [f"x{j}" for j in range(np.shape(X)[1])]


def _row(X: Any, position: int) -> Sequence[Any]:
    if hasattr(X, "iloc"):
        return list(X.iloc[position])
    return X.row(position) if hasattr(X, "row") else list(X[position])


def _cell(value: Any) -> Any:
    """A cell of a table as JSON holds it; what JSON does not know, such as a date, as text."""
    value = json_value(value)
    return value if isinstance(value, int | float | str | list | None) else str(value)
