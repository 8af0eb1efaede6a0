"""Ask for recourse: what would have to change for a row, or for each row of a table, to be accepted with a label."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepc.decisions.decisions import Decisions, partition_behind
from sepc.estimators.base import DecidingClassifier, decide_rows
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.unwrapping import classifier_name, unwrap
from sepc.kernels.numeric import single_threaded
from sepc.model.edits import DROP_FEATURE
from sepc.recourses._relations import GivenRelation, given_relations
from sepc.recourses._searching import AnswerSearch
from sepc.recourses.given_limits import GivenLimits, given_limits
from sepc.recourses.given_row import Row
from sepc.recourses.many_rows import ask_each
from sepc.recourses.recourse import Answer, Recourse, as_rows
from sepc.wording import MOST_NAMES, check_number, listed, plain, shown

# Answers to look for, for one row and for each row of a table.
SEVERAL, ONE = 3, 1


def recourse(
    model: Any,
    row: Any,
    *,
    to: Any,
    cost: Mapping[Any, float] | None = None,
    fixed: Collection[Any] = (),
    bounds: Mapping[Any, Any] | None = None,
    direction: Mapping[Any, str] | None = None,
    min_trust: float | None = None,
    n_answers: int | None = None,
    relations: Sequence[Any] = (),
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], None] = False,
) -> Any:
    """Find counterfactuals: what would have to change for a row to be accepted with a label, and at what least cost.

    This is about the model, not about causes: it says which row the model would accept, not what happens if someone
    intervenes.

    Parameters
    ----------
    model : fitted classifier
        An `SEPClassifier`, or another estimator of this library with one partition of the features themselves.
    row : DataFrame, Series, dict or array
        One row without missing values, or a table: then every row is a question of its own, and rows with missing
        values are counted but not asked. Columns of text that were read as numbers or durations in training count as
        numbers: costs, bounds and answers are in the unit of the column (349.19 for "€ 349.19", minutes if all cells
        are minutes), and in seconds for ``timedelta``; the rows of answers hold ``timedelta`` again.
    to : object
        The label to get.
    cost : mapping of column to float, optional
        Relative cost of a change: 2.0 costs twice as much as 1.0, the default. A number costs that much per standard
        deviation, a category for any change; the cost of a row is the root of the sum of the squares.
    fixed : collection of columns
        Columns that must not change; dates never do.
    bounds : mapping of column to (low, high) or to a list of categories, optional
        What a column may become, with None for an open end. By default, what was seen in training.
    direction : mapping of column to "up" or "down", optional
        The only direction in which a number may change.
    min_trust : float, optional
        Require at least this trust in the label instead of acceptance by the model; 0 for the label alone.
    n_answers : int, optional
        How many different answers to look for: 3 by default, and 1 for each row of a table.
    relations : sequence of str, DataFrame, function or (column, function)
        What has to hold between columns. A text compares sums, as in ``"total = a + b"`` and
        ``"change(age) >= change(education)"``, or products, as in ``"bmi = weight / height^2"``, with ``=``, ``<=`` or
        ``>=``; ``"if job = 'none' then salary = 0"`` asks for it in some categories only. A DataFrame has the
        combinations that its columns can have. A function says of the rows of a table which can be; with the name of a
        column, it computes the column.
    n_jobs : int, optional
        Processes for the rows of a table, as in joblib.
    progress : bool or callable, default=False
        For a table: write how many rows are done to standard error, or call it with that number and the number of rows.

    Returns
    -------
    Recourse or RecourseTable
        A `Recourse` for one row, a `RecourseTable` for several.

    Raises
    ------
    TypeError
        If the model has no partition of the columns themselves.
    ValueError
        If a single row is not complete, or the label, a column, a limit or a relation is invalid.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import sepc
    >>> cancer = load_breast_cancer(as_frame=True)
    >>> X, y = cancer.data.iloc[:, :4], cancer.target_names[cancer.target]
    >>> clf = sepc.SEPClassifier().fit(X, y)
    >>> found = sepc.recourse(clf, X.iloc[[0]], to="benign", fixed=["mean texture"])
    >>> found.answers[0].decision.accepted
    True
    >>> print(found.why())
    To be accepted as 'benign' ...
    """
    if min_trust is not None:
        check_number("min_trust", min_trust, least=0, most=1)
    if n_answers is not None:
        check_number("n_answers", n_answers, least=1, whole=True)
    for name, limits in (("cost", cost), ("bounds", bounds), ("direction", direction)):
        if limits is not None and not isinstance(limits, Mapping):
            raise TypeError(f"{name} is {shown(limits)}; give a mapping of columns, such as {{'age': ...}}.")
    X = as_rows(row)
    question = Question(
        model,
        to,
        cost,
        (fixed,) if isinstance(fixed, str) else tuple(fixed),
        bounds,
        direction,
        min_trust,
        n_answers or (SEVERAL if len(X) == 1 else ONE),
        tuple(given_relations(relations)),
    )
    if len(X) == 1:
        return question.ask(X)
    decisions = decide_rows(model, X)
    partition = _partition(model, decisions)
    _check_label(decisions, to)
    return ask_each(question.ask, X, decisions, np.asarray(partition.missing.any(axis=1)), plain(to), n_jobs, progress)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked about a row; the attributes are the parameters of `recourse`."""

    model: Any
    to: Any
    cost: Mapping[Any, float] | None
    fixed: tuple[Any, ...]
    bounds: Mapping[Any, Any] | None
    direction: Mapping[Any, str] | None
    min_trust: float | None
    n_answers: int
    relations: tuple[GivenRelation, ...]

    @single_threaded
    def ask(self, X: Any) -> Recourse:
        """The recourse of a single row, given as a table or matrix."""
        decisions, to = decide_rows(self.model, X), self.to
        partition = _partition(self.model, decisions)
        _check_label(decisions, to)
        _check_complete(partition)
        decision = decisions[0]
        search = AnswerSearch(self.model, X, self._limits(partition, X), to, self.min_trust)
        is_trusted = decision.accepted if self.min_trust is None else decision.trust >= self.min_trust
        if decision.label == to and is_trusted and search.limits.allow(partition.rows)[0]:
            as_it_is = Answer(search.tables, partition.rows, decision, (), 0.0, 0.0)
            return Recourse(plain(to), decision, (as_it_is,), 0.0, (), ())
        is_reachable = np.isfinite(search.reached.bound)
        answers = tuple(search.answers(self.n_answers)) if is_reachable else ()
        blocking = () if is_reachable else tuple(limit.words for limit in search.blocking())
        loose = () if search.limits.relations is None else search.limits.relations.loose
        proof = search.reached.leaves
        return Recourse(plain(to), decision, answers, search.bound, proof, blocking, loose, search.accepting)

    def _limits(self, partition: SEPDecisions, X: Any) -> GivenLimits:
        asked = Row(partition.model, partition.rows[0], partition.preparation)
        fixed = (*self.fixed, *_dropped(partition))
        limits = given_limits(asked, self.cost, fixed, self.bounds, self.direction)
        return replace(limits, relations=self.relations, table=X)


def _partition(model: Any, decisions: Decisions) -> SEPDecisions:
    """Where the row lies in the partition behind a model; raises if there is none, or it is not accessible."""
    inside = unwrap(model)
    if inside.before:
        raise TypeError(
            f"Recourse cannot go back through the steps before {classifier_name(model)}: give it a classifier that was "
            "fitted to the table itself; an SEPClassifier standardises, and takes categories and missing values."
        )
    partition: SEPDecisions | None = partition_behind(decisions)
    name = classifier_name(model)
    if not isinstance(inside.classifier, DecidingClassifier):
        raise TypeError(
            f"Recourse searches the ellipsoids of a partition, which {name} lacks. Wrap it: fit "
            f"TrustedClassifier({name}(...)) to the training rows, and ask for recourse from that."
        )
    if partition is None:
        raise TypeError(
            f"Recourse searches the ellipsoids of one partition, and this {name} has none, or several; ask an "
            "SEPClassifier, such as that of a single stratum, or a TrustedClassifier around another library's model."
        )
    if getattr(inside.classifier, "transformer", None) is not None:
        raise TypeError(
            f"The partition of this {name} sees only what its transformer makes of the columns, and recourse is about "
            "the columns themselves; fit it without a transformer."
        )
    return partition


def _check_complete(partition: SEPDecisions) -> None:
    if partition.missing.any():
        model = partition.model
        names = [model.feature_names[j] for j in np.unique(model.column_of[partition.missing[0]])]
        raise ValueError(f"Missing values: {listed(map(shown, names), MOST_NAMES)}. Recourse needs a complete row.")


def _dropped(partition: SEPDecisions) -> list[str]:
    """Columns that an edit of the model dropped: to change them would change nothing."""
    edits = () if partition.model.edits is None else partition.model.edits.made
    return [str(edit.feature) for edit in edits if edit.kind == DROP_FEATURE]


def _check_label(decisions: Decisions, to: Any) -> None:
    if to not in decisions.classes.tolist():
        known = listed(map(shown, decisions.classes), MOST_NAMES)
        raise ValueError(f"There is no label {shown(to)}; the labels are {known}.")
