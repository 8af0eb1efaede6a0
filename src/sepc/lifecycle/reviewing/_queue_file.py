"""Queue files: counts and open reviews, in the safe format of model files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.errors import FormatError
from sepc.io.codec import Node, Reader, Writer, labels_from, labels_to_node, record_from, record_to_node
from sepc.io.container import decode, encode
from sepc.lifecycle.monitoring.monitor import fingerprint_of
from sepc.lifecycle.reviewing.batch import TINY, Plan, Purpose, Review
from sepc.lifecycle.reviewing.certificate import N_PER_BET, Evidence
from sepc.lifecycle.rows import RowRegions, sep_models
from sepc.model.sep_model import SEPModel
from sepc.records import floats, ints, record, whole
from sepc.views.outcomes import is_right
from sepc.wording import version_of

RIGHT, WRONG, OPEN = 0, 1, -1


@record
class PendingReview:
    """The labels of a review so far, in the order in which its rows were drawn.

    Labels count in that order, one bet at a time, so that it does not matter when each arrives: if a hard case takes
    long, easier ones drawn after it must not count without it. A review is pending from the moment it is drawn.

    Attributes
    ----------
    number : int
        Number of the review.
    band : (n,) array
        The bands of the rows drawn to certify; rows to decide come after these.
    drawn : (H,) array
        The probabilities of the bands when these rows were drawn.
    outcome : (m,) array
        For each row of the review: RIGHT (0) or WRONG (1) for the model's label, or OPEN (-1) while the true label is
        missing.
    n_counted : int
        How many of the rows drawn to certify have been counted.
    """

    number: int = whole(1)
    band: IntArray = ints("n", below="H")
    drawn: FloatArray = floats("H", low=0.0)
    outcome: IntArray = ints("m", low=OPEN, high=WRONG, name="found")
    n_counted: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the draws or the labels, if anything."""
        least, total = self.drawn.min(initial=1.0, where=self.drawn > 0.0), self.drawn.sum()
        if len(self.drawn) == 0 or least < TINY or total > 1.0 + 1e-9:
            return "has draws that are not probabilities"
        is_counted = self.n_counted <= len(self.band) <= len(self.outcome)
        if not is_counted or (self.outcome[: self.n_counted] == OPEN).any():
            return "counts labels that it does not have"
        return None

    @classmethod
    def of(cls, review: Review) -> PendingReview:
        """A review before its first label."""
        certify = review.purpose == Purpose.CERTIFY
        return cls(review.number, review.band[certify], review.plan.drawn, np.full(len(review), OPEN), 0)

    @property
    def is_complete(self) -> bool:
        """Whether no row is open."""
        return not (self.outcome == OPEN).any()

    @property
    def n_known(self) -> int:
        """How many labels have arrived."""
        return int((self.outcome != OPEN).sum())

    @property
    def n_waiting(self) -> int:
        """How many labels of rows drawn to certify have arrived but are not counted yet."""
        return int((self.outcome[self.n_counted : len(self.band)] != OPEN).sum())

    @property
    def is_counted(self) -> bool:
        """Whether all rows drawn to certify have been counted."""
        return self.n_counted == len(self.band)

    def with_labels(self, known: BoolArray, wrong: BoolArray, complete: bool) -> PendingReview:
        """Add labels; the first label of a row stays. If `complete`, rows without a label count as wrong."""
        outcome = np.where((self.outcome == OPEN) & known, np.where(wrong, WRONG, RIGHT), self.outcome)
        return replace(self, outcome=np.where((outcome == OPEN) & complete, WRONG, outcome))

    def count(self, evidence: Evidence) -> tuple[PendingReview, Evidence]:
        """Count, in whole bets, all labels up to the first open row; return the review and the evidence after that."""
        n = len(self.band)
        n_ready = int(np.argmax(np.append(self.outcome[:n] == OPEN, True)))
        if n_ready < n:
            n_ready -= n_ready % N_PER_BET
        ready = slice(self.n_counted, n_ready)
        after = evidence.after(self.band[ready], self.outcome[:n][ready] == WRONG, self.drawn)
        return replace(self, n_counted=n_ready), after


def compare_labels(review: Review, labels: ArrayLike, positions: ArrayLike | None) -> tuple[BoolArray, BoolArray]:
    """For each row of a review, whether it has a label, and whether that label shows that the model is wrong."""
    given = _in_order(review, np.asarray(labels, dtype=object), positions)
    known = np.array([label is not None and label == label for label in given], dtype=bool)
    wrong = np.zeros(len(given), dtype=bool)
    wrong[known] = ~is_right(review.label[known], given[known])
    return known, wrong


def _in_order(review: Review, labels: NDArray[Any], positions: ArrayLike | None) -> NDArray[Any]:
    """Labels in the order of the review; None where there is none."""
    if positions is None:
        if len(labels) != len(review):
            raise ValueError(
                f"There are {len(labels):,} labels for {len(review):,} rows; pass positions to say which rows."
            )
        return labels
    where = np.asarray(positions)
    if len(where) != len(labels):
        raise ValueError(f"There are {len(labels):,} labels and {len(where):,} positions; each label needs one.")
    unknown = np.setdiff1d(where, review.positions)
    if len(unknown):
        raise ValueError(f"Row {unknown[0]} is not in this review.")
    given = dict(zip(where.tolist(), labels, strict=True))
    return np.array([given.get(position) for position in review.positions.tolist()], dtype=object)


@dataclass(frozen=True, eq=False)
class QueueState:
    """What a queue stores from one day to the next."""

    settings: dict[str, Any]
    evidence: Evidence | None
    n_chosen: int
    features: tuple[str, ...]
    begun: tuple[PendingReview, ...]
    reviews: tuple[Review, ...]
    draws: dict[str, Any]


def queue_to_bytes(state: QueueState, model: Any) -> bytes:
    """The state of a queue for this model as bytes."""
    writer = Writer()
    queue = writer.under("queue")
    node: Node = {
        "model": _fingerprint(model),
        "settings": state.settings,
        "n_chosen": state.n_chosen,
        "features": list(state.features),
        "draws": _draws_to_node(state.draws),
        "begun": [record_to_node(pending, queue.under(f"begun/{i}")) for i, pending in enumerate(state.begun)],
        "reviews": [_review_to_node(review, queue.under(f"reviews/{i}")) for i, review in enumerate(state.reviews)],
    }
    node |= {"target": None} if state.evidence is None else record_to_node(state.evidence, queue)
    return encode(writer.arrays, {"library": f"sepc {version_of('sepc')}", "queue": node})


def queue_from_bytes(data: bytes, model: Any) -> QueueState:
    """Read the state of a queue, and check that it belongs to this model."""
    arrays, content = decode(data)
    if "queue" not in content:
        raise FormatError("The file is not a review queue; read models with sepc.load.")
    front = Reader(content, arrays)
    reader = front.part("queue")
    if reader.text("model") != _fingerprint(model):
        raise FormatError("The file belongs to a review queue for another model; give the model it was saved with.")
    settings, n_chosen = _settings_from(reader.part("settings")), reader.integer("n_chosen")
    promised = {name: settings[name] for name in ("max_risk", "confidence")}
    evidence = record_from(Evidence, reader, **promised) if reader.has("target") else None
    n_bands = 0 if evidence is None else len(evidence.bands)
    begun = tuple(record_from(PendingReview, part, {"H": n_bands}) for part in reader.parts("begun"))
    features = reader.texts("features")
    named = _named_model(model, features, reader)
    reviews = tuple(_review_from(part, evidence, named) for part in reader.parts("reviews"))
    _check_pairs(reader, begun, reviews, n_chosen)
    draws = _draws_from(reader.part("draws"))
    if set(arrays) - front.used:
        raise FormatError(f"The file holds an array that no queue has: {sorted(set(arrays) - front.used)[0][:80]!r}.")
    return QueueState(settings, evidence, n_chosen, features, begun, reviews, draws)


def _fingerprint(model: Any) -> str:
    """A hash of the model's regions; empty if it has none."""
    models = _models(model)
    return fingerprint_of(models) if models else ""


def _models(model: Any) -> list[SEPModel]:
    try:
        return sep_models(model)
    except TypeError:
        return []


def _named_model(model: Any, features: tuple[str, ...], reader: Reader) -> SEPModel | None:
    """The model that defines the regions, with features named as in the table; None if there are no regions."""
    models = _models(model)
    if features and (not models or len(models[0].feature_names) != len(features)):
        raise reader.wrong("names more or fewer features than the model has")
    return replace(models[0], feature_names=features) if features else None


def _settings_from(reader: Reader) -> dict[str, Any]:
    shares = {name: reader.number(name, 0.0, 1.0) for name in ("max_risk", "confidence", "certify_share")}
    coverage = reader.number("coverage", 0.0, 1.0) if reader.has("coverage") else None
    if not (TINY < shares["max_risk"] < 1.0 and TINY < shares["confidence"] < 1.0) or coverage == 0.0:
        raise reader.wrong("has shares out of range")
    return {"budget": reader.integer("budget", 1), "coverage": coverage, **shares}


def _review_to_node(review: Review, writer: Writer) -> Node:
    classes, code = np.unique(review.label, return_inverse=True)
    writer.put(positions=review.positions, band=review.band, trust=review.trust, label=code, drawn=review.plan.drawn)
    if review.regions is not None:
        writer.put(region=review.regions.number, region_share=review.regions.share)
    return {
        "number": review.number,
        "n_certify": int((review.purpose == Purpose.CERTIFY).sum()),
        "classes": labels_to_node(classes),
        "has_regions": review.regions is not None,
        "aim": review.plan.aim,
        "n_more": review.plan.n_more if np.isfinite(review.plan.n_more) else None,
    }


def _review_from(reader: Reader, evidence: Evidence | None, model: SEPModel | None) -> Review:
    positions, n_certify = reader.ints("positions", None), reader.integer("n_certify")
    if evidence is None or n_certify > len(positions) or len(np.unique(positions)) < len(positions):
        raise reader.wrong("is not a review of this queue")
    n, n_bands, classes = len(positions), len(evidence.bands), labels_from(reader.part("classes"))
    aim = reader.integer("aim", below=n_bands) if reader.has("aim") else None
    n_more = reader.number("n_more", 0.0) if reader.has("n_more") else np.inf
    regions = _regions_from(reader, n, model) if reader.value("has_regions", bool) else None
    reader.take(n * classes.itemsize)
    return Review(
        positions=positions,
        purpose=np.repeat([Purpose.CERTIFY, Purpose.DECIDE], [n_certify, n - n_certify]),
        label=classes[reader.ints("label", n, below=len(classes))],
        trust=reader.floats("trust", n, low=0.0, high=1.0),
        band=reader.ints("band", n, below=n_bands),
        regions=regions,
        decisions=None,
        plan=Plan(evidence.bands, aim, reader.floats("drawn", n_bands), n_more, evidence.max_risk),
        number=reader.integer("number", 1),
    )


def _regions_from(reader: Reader, n: int, model: SEPModel | None) -> RowRegions:
    if model is None:
        raise reader.wrong("has regions, but its queue has none")
    n_regions = len(model.table.counts) + model.n_places
    numbers = reader.ints("region", n, low=-1, below=n_regions)
    return RowRegions.of(numbers, reader.floats("region_share", n, low=0.0, high=1.0), model)


def _check_pairs(reader: Reader, begun: tuple[PendingReview, ...], reviews: tuple[Review, ...], n_chosen: int) -> None:
    """Raise unless the reviews with missing labels are open, and only these."""
    numbers, pending = [review.number for review in reviews], {one.number: one for one in begun}
    if max([*numbers, *pending], default=0) > n_chosen:
        raise reader.wrong("has a review that was never chosen")
    in_order = all(first.number < second.number for first, second in pairwise(begun))
    still_open = [one.number for one in begun if not one.is_complete]
    if not in_order or numbers != still_open:
        raise reader.wrong("has open reviews that do not match their labels")
    for review in reviews:
        labels, certify = pending[review.number], review.purpose == Purpose.CERTIFY
        same_draws = np.array_equal(labels.drawn, review.plan.drawn)
        if (
            not same_draws
            or len(labels.outcome) != len(review)
            or not np.array_equal(labels.band, review.band[certify])
        ):
            raise reader.wrong("has labels or draws that do not match those of their review")


def _draws_to_node(draws: dict[str, Any]) -> Node:
    if draws["bit_generator"] != "PCG64":
        raise TypeError(f"The generator {draws['bit_generator']} cannot be saved; give random_state as a whole number.")
    inner = {name: str(draws["state"][name]) for name in ("state", "inc")}
    return inner | {"has_uint32": draws["has_uint32"], "uinteger": draws["uinteger"]}


def _draws_from(reader: Reader) -> dict[str, Any]:
    texts = {name: reader.text(name) for name in ("state", "inc")}
    if not all(text.isascii() and text.isdigit() and len(text) < 40 for text in texts.values()):
        raise reader.wrong("has an impossible generator state")
    inner = {name: int(text) for name, text in texts.items()}
    has, rest = reader.integer("has_uint32"), reader.integer("uinteger")
    if max(inner.values()) >= 2**128 or inner["inc"] % 2 == 0 or has > 1 or rest >= 2**32:
        raise reader.wrong("has an impossible generator state")
    return {"bit_generator": "PCG64", "state": inner, "has_uint32": has, "uinteger": rest}
