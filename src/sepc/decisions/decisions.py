"""`Decisions`, the result of every estimator's `decide`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.deferred import defer, deferrable_column
from sepc.decisions.frames import column_of_names, frame_of
from sepc.decisions.kinds import Cause, Rule, verdict, verdict_in_brief
from sepc.decisions.letter import Grounds, Handling, Letter, Words, letter_about
from sepc.decisions.row_wise import SHARED, RowView, RowWise, given_fields, replace_columns
from sepc.decisions.sentences import Reason, Sentence, join_sentences
from sepc.wording import decimal, percent, shown

if TYPE_CHECKING:
    import pandas as pd

# Special region numbers: an unseen combination of ellipsoids, and a model without regions.
NEW_COMBINATION = -1
NO_REGIONS = -2

# Columns that hold members of an enum, as numbers.
KINDS: dict[str, type[Rule] | type[Cause]] = {"cause": Cause, "rule": Rule}

D = TypeVar("D", bound="Decisions")

# Rows shown in a summary.
N_SHOWN = 5


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Decisions(ShownAsCard, RowWise["Decision"]):
    """Decisions on rows, as arrays with one entry per row.

    Index with an integer to get one `Decision`; with a slice, a mask or an array of positions to get fewer `Decisions`.

    Attributes
    ----------
    label : array
        The predicted labels.
    trust : array of float
        The probability that the label is right; NaN if the model gives none.
    accepted : array of bool
        Whether to use the label; where False, the model abstains and a person should decide.
    cause : array of `Cause`
        Why a row was not accepted; `Cause.ACCEPTED` where it was.
    probabilities : (n, C) array of float
        Probabilities of the classes, in the order of `classes`; NaN if the model gives none.
    region : array of int
        The number of the region the row lies in; -1 for a combination of ellipsoids not seen in training, -2 if the
        model has no regions.
    classes : (C,) array
        The labels that the model knows.
    index : pandas.Index or None
        The index of the DataFrame given to `decide`; for one Series, its name.
    by : str
        The name of the model that made the decisions.
    """

    classes: NDArray[Any] = field(metadata=SHARED)
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    cause: IntArray = deferrable_column()
    probabilities: FloatArray
    region: IntArray
    index: Any = None
    by: str = field(default="", metadata=SHARED)

    def _single(self) -> Decision:
        """The only decision, as single values."""
        return Decision(self)

    @overload
    def why(self, i: int, *, brief: bool = False) -> str: ...

    @overload
    def why(self, i: None = None, *, brief: bool = False) -> list[str]: ...

    def why(self, i: int | None = None, *, brief: bool = False) -> str | list[str]:
        """The reasons for the decision on row `i`, in a few sentences; without `i`, those for all rows, as a list.

        With `brief`, each is one line: the strongest reason for the label, the strongest against it, and the verdict.
        """
        if i is not None:
            return self[[int(i)]].why(brief=brief)[0]
        pairs = zip(self._reasons(), self._verdicts(), strict=True)
        if brief:
            causes = (Cause(cause) for cause in self.cause)
            return [reason.brief + verdict_in_brief(cause) for (reason, _), cause in zip(pairs, causes, strict=True)]
        return [join_sentences([*reason.sentences, verdict]) for reason, verdict in pairs]

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with the index of the DataFrame given to `decide`.

        Causes and rules are names; column ``p_a`` holds the probability of class ``a``.
        """
        named = {name: column_of_names(KINDS[name], v) if name in KINDS else v for name, v in self.columns().items()}
        return frame_of(named, self.index)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns of `to_frame` as arrays, with causes and rules as numbers."""
        common = ("label", "trust", "accepted", "cause", "region")
        columns: dict[str, Any] = {name: getattr(self, name) for name in common} | self._extra_columns()
        return columns | {f"p_{label}": self.probabilities[:, i] for i, label in enumerate(self.classes)}

    def _with_feature_names(self, features: Sequence[str], restore: Any = None) -> Self:
        """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
        return self

    def _extra_columns(self) -> dict[str, Any]:
        """Columns that are specific to this class of decisions."""
        return {}

    def _reasons(self) -> list[Reason]:
        """The reasons for every decision, without the verdicts."""
        by = f", by {self.by}" if self.by else ""
        trusts = ["no trust" if np.isnan(trust) else f"trust {decimal(trust)}" for trust in self.trust]
        heads = [f"{shown(label)} with {trust}{by}." for label, trust in zip(self.label, trusts, strict=True)]
        return [Reason((Sentence(head),), head) for head in heads]

    def _grounds(self, words: Words) -> Grounds:
        """The grounds of the only decision, for a letter, in these words."""
        return Grounds()

    def _verdicts(self) -> list[Sentence]:
        """Why each row was not accepted, and what would settle it; empty if it was."""
        return [verdict(Cause(cause)) for cause in self.cause]

    def _card(self) -> Card:
        n, n_accepted = len(self), int(np.sum(self.accepted))
        facts = [("accepted", _share(n_accepted, n))]
        facts += [
            (f"not accepted: {cause.name}", _share(n_of, n))
            for cause in Cause
            if cause is not Cause.ACCEPTED and (n_of := int(np.sum(self.cause == cause)))
        ]
        least = np.argsort(self.trust, kind="stable")[:N_SHOWN]
        rows = tuple(self._line(int(i)) for i in least)
        title = f"Decisions on {n:,} row{'' if n == 1 else 's'}{f' by {self.by}' if self.by else ''}"
        head = ("least trusted", "label", "trust", "cause") if rows else ()
        return Card(title, tuple(facts), head, rows)

    def _line(self, i: int) -> tuple[str, ...]:
        name = str(i if self.index is None else self.index[i])
        return name, str(self.label[i]), decimal(self.trust[i]), Cause(self.cause[i]).name


def refuse(decisions: D, rows: BoolArray, cause: Cause) -> D:
    """The same decisions, with these rows rejected for this cause."""
    refusing = defer(partial(_refused_for, cause), rows, given_fields(decisions)["cause"])
    return replace_columns(decisions, accepted=decisions.accepted & ~rows, cause=refusing)


def rename_features(decisions: D, features: Sequence[str], restore: Any = None) -> D:
    """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
    return decisions._with_feature_names(features, restore)


def _refused_for(cause: Cause, refused: BoolArray, otherwise: IntArray) -> IntArray:
    return np.where(refused, int(cause), otherwise)


def _share(n: int, n_all: int) -> str:
    return f"{n:,} ({percent(n / n_all)})" if n_all else f"{n:,}"


@dataclass(frozen=True, eq=False, repr=False)
class Decision(ShownAsCard, RowView):
    """The decision on one row; its attributes are those of `Decisions`, as single values."""

    _kinds = KINDS
    _only: Decisions

    def why(self, *, brief: bool = False) -> str:
        """The reasons in a few sentences; with `brief`, in one line."""
        return self._only.why(brief=brief)[0]

    def letter(
        self,
        *,
        organisation: str,
        model: str,
        contact: str,
        person: str = "",
        reference: str = "",
        decided: str = "",
        labels: Mapping[Any, str] | None = None,
        columns: Mapping[str, str] | None = None,
        recourse: Any = None,
        review: str | None = None,
        reviewer: str = "",
        date: str | None = None,
    ) -> Letter:
        """A one-page letter to the person that the decision is about, in plain words.

        It says what was decided and by what, which of their values counted for and against it, what would have to
        change, whether a person reviews it, and whom to ask.

        Parameters
        ----------
        organisation, model : str
            Who decides, and the name of the model.
        contact : str
            Whom to ask: a name, an address, a phone number.
        person, reference : str, optional
            The name of the person, and the reference number of the case.
        decided : str, optional
            What was decided, in words; by default, the label.
        labels : mapping of labels to str, optional
            Labels in words, such as ``{1: "heart disease"}``.
        columns : mapping of columns to str, optional
            Columns in words, such as ``{"chol": "cholesterol in mg/dl"}``.
        recourse : Recourse, optional
            What `sepc.recourse` found for this row, to say what would have to change.
        review : {"asked", "will", "did"}, optional
            Whether a person reviews it on request, will review it before anything is decided, or has reviewed it. By
            default "asked" if the decision is accepted, else "will".
        reviewer : str, optional
            Who reviews it.
        date : str, optional
            Today by default.

        Returns
        -------
        Letter
            ``print`` it, or use ``to_text`` and ``to_html``, with a template of your own if you like.

        Raises
        ------
        ValueError
            If `review` is none of these, or `recourse` is about another row.
        """
        words = Words(labels or {}, columns or {})
        handling = Handling(organisation, model, contact, person, reference, decided, review, reviewer, date)
        return letter_about(self, self._only._grounds(words), handling, words, recourse)

    def __repr__(self) -> str:
        return f"Decision({shown(self.label)}, trust {decimal(self.trust)}, {self.cause.name})"

    def _card(self) -> Card:
        facts = [("label", str(self.label)), ("trust", decimal(self.trust))]
        facts.append(("accepted", "yes" if self.accepted else f"no: {self.cause.meaning} ({self.cause.name})"))
        facts += [("region", str(self.region))] if self.region >= NEW_COMBINATION else []
        return Card("Decision", tuple(facts), note=self.why())


def positions_of(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """The position of each label among the classes; -1 for an unknown label."""
    order = np.argsort(classes, kind="stable")
    place = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    return np.where(classes[order][place] == labels, order[place], -1)


def probability_of(probabilities: FloatArray, place: IntArray) -> FloatArray:
    """The probability of the class at each position; 0 for an unknown class (-1)."""
    return np.where(place >= 0, probabilities[np.arange(len(place)), place], 0.0)
