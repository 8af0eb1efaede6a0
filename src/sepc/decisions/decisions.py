"""`Decisions`, the result of every estimator's `decide`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.kinds import Cause, Reason, Rule, Sentence, join_sentences, names_of, verdict, verdict_in_brief
from sepc.decisions.letter import Grounds, Handling, Letter, Words, letter_about
from sepc.wording import decimal, percent, shown

if TYPE_CHECKING:
    import pandas as pd


One = TypeVar("One")
Rows = TypeVar("Rows", bound="RowWise[Any]")

# Metadata of a field that all rows share.
SHARED = {"shared": True}


class RowWise(Generic[One]):
    """Mixin for frozen dataclasses of arrays, one of them `label`: length, indexing and filtering.

    An integer gives one row; a slice, a mask or an array of positions gives fewer rows. Fields that are `SHARED` or
    None stay as they are.
    """

    label: NDArray[Any]

    def _single(self) -> One:
        """The only row, as single values."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.label)

    def __iter__(self) -> Iterator[One]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, chosen: int | np.integer[Any]) -> One: ...

    @overload
    def __getitem__(self, chosen: slice | NDArray[Any] | list[Any]) -> Self: ...

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, int | np.integer):
            return self[[int(chosen)]]._single()
        rows = chosen if isinstance(chosen, slice) else np.asarray(chosen)
        if not isinstance(rows, slice) and rows.size == 0:
            rows = rows.astype(np.int64)
        shared = _shared_fields(type(self))
        by_row = {name: values for name, values in given_fields(self).items() if name not in shared}
        return replace_columns(self, **{name: values[rows] for name, values in by_row.items() if values is not None})


def given_fields(rows: Any) -> dict[str, Any]:
    """The fields as they were given; None for one that is not yet found."""
    given = vars(rows)
    return {name: given[name] for name in _field_names(type(rows))}


def replace_columns(rows: Rows, /, **changes: Any) -> Rows:
    """The same rows with some fields replaced, like `dataclasses.replace`; what is not yet found stays so."""
    replaced = object.__new__(type(rows))
    vars(replaced).update(given_fields(rows) | changes)
    return replaced


# Names of all fields of a class, and of those that all rows share. Looking through them takes longer than taking a row.
_field_names: Callable[[Any], tuple[str, ...]] = cache(lambda kind: tuple(f.name for f in fields(kind)))
_shared_fields: Callable[[Any], frozenset[str]] = cache(
    lambda kind: frozenset(f.name for f in fields(kind) if "shared" in f.metadata)
)


class RowView:
    """One row of a `RowWise`: the same attributes, as single values."""

    _kinds: ClassVar[Mapping[str, type]] = {}
    _only: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_only":
            raise AttributeError(name)
        value = getattr(self._only, name)
        if value is None or name in _shared_fields(type(self._only)):
            return value
        if callable(value):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        single = value[0]
        if name in self._kinds:
            return self._kinds[name](single)
        return single.item() if isinstance(single, np.generic) else single


# For a field that is found on first access.
LATER: Any = None


class FoundOnAccess:
    """A field that may be given as `LATER`, and is then found on first access by the method `_find_` and its name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, rows: Any, owner: type | None = None) -> Any:
        if rows is None:
            raise AttributeError(self._name)  # This way dataclasses see a field without a default.
        values = vars(rows)
        if values[self._name] is None:
            values[self._name] = getattr(rows, f"_find_{self._name}")()
        return values[self._name]

    def __set__(self, rows: Any, column: Any) -> None:
        vars(rows)[self._name] = column


# Types of cells that are numbers or missing, and the largest whole number up to which doubles are exact.
PLAIN_NUMBERS = {float, int, bool, type(None), np.float64, np.int64, np.bool_}
LARGEST_EXACT = 2**53


def frame_of(columns: Mapping[str, Any], index: Any = None) -> pd.DataFrame:
    """The columns as a pandas DataFrame; raises an ImportError with advice if pandas is not installed."""
    pandas = _pandas()
    try:
        return pandas.DataFrame(dict(columns), index=index)
    except UnicodeEncodeError:  # text with half of a surrogate pair, which pandas holds only as objects
        cells = [np.asarray(values) for values in columns.values()]
        series = [pandas.Series(one, dtype=object if one.dtype.kind in "OU" else None, index=index) for one in cells]
        frame = pandas.DataFrame(dict(enumerate(series)), index=index)
        return frame.set_axis(pandas.Index(list(columns), dtype=object), axis=1)


def frame_of_rows(rows: Sequence[Sequence[Any]], names: Sequence[Any], index: Any = None) -> pd.DataFrame:
    """Rows of cells as a pandas DataFrame; of doubles if all are numbers or None, which is much faster."""
    pandas, doubles = _pandas("Rows given as dicts need"), doubles_of(rows)
    if doubles is not None:
        return pandas.DataFrame(doubles, columns=pandas.Index(names, dtype=object), index=index)
    return frame_of({name: [row[j] for row in rows] for j, name in enumerate(names)}, index)


def doubles_of(rows: Sequence[Sequence[Any]]) -> FloatArray | None:
    """Rows of cells as doubles, with NaN for None; None if some cell is not a number that a double can hold."""
    types = {type(cell) for row in rows for cell in row}
    if not types <= PLAIN_NUMBERS:
        return None
    if int in types and any(type(cell) is int and abs(cell) > LARGEST_EXACT for row in rows for cell in row):
        return None
    return np.array(rows, dtype=np.float64)


def index_of(X: Any) -> Any:
    """The index of a pandas DataFrame; None for any other table."""
    index = getattr(X, "index", None)
    return index if hasattr(X, "columns") and hasattr(index, "get_indexer") else None


def column_of_names(kind: type[Rule] | type[Cause], values: ArrayLike) -> Any:
    """Names of rules or causes as a column of strings; fast, since pandas converts each name only once."""
    names = _pandas().Series(names_of(kind, list(kind)))
    return names.array.take(np.searchsorted(list(kind), np.asarray(values)))


def _pandas(what: str = "to_frame needs") -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(f"{what} pandas: pip install pandas") from error
    return pd


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
    cause: IntArray = cast(Any, FoundOnAccess())
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

    @property
    def _partition_behind(self) -> Any:
        return None

    @property
    def _weighed_behind(self) -> Any:
        return None

    @property
    def _routed_behind(self) -> Any:
        return None

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
    if not rows.any():
        return decisions
    refusing = np.where(rows, int(cause), decisions.cause)
    return replace_columns(decisions, accepted=decisions.accepted & ~rows, cause=refusing)


def partition_behind(decisions: Decisions) -> Any:
    """The decisions of the one partition that defines the regions; None if there is none, or several."""
    return decisions._partition_behind


def weighed_behind(decisions: Decisions) -> Any:
    """The decisions of the partition that the labels themselves come from; None if they come from elsewhere."""
    return decisions._weighed_behind


def routed_behind(decisions: Decisions) -> Any:
    """The decisions with models of their own for some rows; None if there are none."""
    return decisions._routed_behind


def rename_features(decisions: D, features: Sequence[str], restore: Any = None) -> D:
    """The same decisions, with these feature names in their reasons, and values converted by `restore`."""
    return decisions._with_feature_names(features, restore)


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
