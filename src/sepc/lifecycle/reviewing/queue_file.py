"""Queue files: counts and open reviews, in the safe format of model files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np

from sepc._typing import FloatArray
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.io.reader import Reader
from sepc.io.values import labels_from, labels_to_node
from sepc.io.writer import Node, Writer
from sepc.lifecycle.located_rows import RowRegions, sep_models
from sepc.lifecycle.monitoring.monitor_file import fingerprint_of
from sepc.lifecycle.reviewing.pending_review import PendingReview
from sepc.lifecycle.reviewing.review_batch import Plan, Purpose, Review
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.lifecycle.reviewing.trust_bands import N_BEYOND, N_WITHIN, Bands
from sepc.model.sep_model import SEPModel
from sepc.records import MOST

BANDS = ("least_trust", "coverage", "claimed_risk")
COUNTS = ("n_labels", "n_errors", "log_now", "log_peak")

# Smaller shares and risks would make numbers overflow that are divided by them.
TINY = 1e-100


@dataclass(frozen=True, eq=False)
class QueueState:
    """What a queue remembers from one day to the next.

    Attributes
    ----------
    settings : dict
        The parameters of the queue, except model, rows and random state.
    evidence : Evidence or None
        None before the first rows.
    n_chosen : int
        How many reviews it has chosen.
    features : tuple of str
        The names of the features, as in the table that rows came in; empty if the model has no regions.
    begun : tuple of PendingReview
        Reviews with labels that are missing or not counted yet, in order.
    reviews : tuple of Review
        Open reviews.
    draws : dict
        The state of NumPy's PCG64 generator.
    """

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
    own = writer.under("queue")
    node: Node = {
        "model": _fingerprint(model),
        "settings": state.settings,
        "n_chosen": state.n_chosen,
        "features": list(state.features),
        "draws": _draws_to_node(state.draws),
        "target": None,
    }
    if state.evidence is not None:
        node["target"] = state.evidence.bands.target
        own.put(**{name: getattr(state.evidence.bands, name) for name in BANDS})
        own.put(**{name: getattr(state.evidence, name) for name in COUNTS})
    node["begun"] = [_pending_to_node(pending, own.under(f"begun/{i}")) for i, pending in enumerate(state.begun)]
    node["reviews"] = [_review_to_node(review, own.under(f"reviews/{i}")) for i, review in enumerate(state.reviews)]
    return encode(writer.arrays, {"library": f"sepc {version('sepc')}", "queue": node})


def queue_from_bytes(data: bytes, model: Any) -> QueueState:
    """Read the state of a queue, and check that it belongs to this model."""
    arrays, content = decode(data)
    if "queue" not in content:
        raise FormatError("The file holds no review queue; read models with sepc.load.")
    front = Reader(content, arrays)
    reader = front.part("queue")
    if reader.text("model") != _fingerprint(model):
        raise FormatError("The file belongs to a review queue for another model; give the model it was saved with.")
    settings, n_chosen = _settings_from(reader.part("settings")), reader.integer("n_chosen")
    evidence = _evidence_from(reader, settings) if reader.has("target") else None
    begun = tuple(_pending_from(part, evidence, n_chosen) for part in reader.parts("begun"))
    features = reader.texts("features")
    named = _named(model, features, reader)
    reviews = tuple(_review_from(part, evidence, n_chosen, named) for part in reader.parts("reviews"))
    _check_pairs(reader, begun, reviews)
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


def _named(model: Any, features: tuple[str, ...], reader: Reader) -> SEPModel | None:
    """The regions' model with features named as in the table; None if the queue saw no regions."""
    models = _models(model)
    if features and (not models or len(models[0].feature_names) != len(features)):
        raise reader.wrong("names more or fewer features than the model has")
    return replace(models[0], feature_names=features) if features else None


def _settings_from(reader: Reader) -> dict[str, Any]:
    shares = {name: reader.number(name, 0.0, 1.0) for name in ("max_risk", "confidence", "certify_share")}
    coverage = reader.number("coverage", 0.0, 1.0) if reader.has("coverage") else None
    if not (TINY < shares["max_risk"] < 1.0 and TINY < shares["confidence"] < 1.0) or coverage == 0.0:
        raise reader.wrong("has shares that no queue has")
    return {"budget": reader.integer("budget", 1), "coverage": coverage, **shares}


def _evidence_from(reader: Reader, settings: dict[str, Any]) -> Evidence:
    least = reader.floats("least_trust", None)
    n = len(least)
    if n > N_WITHIN + N_BEYOND:
        raise reader.wrong("has more bands of trust than a queue makes")
    coverage, claimed = reader.floats("coverage", n), reader.floats("claimed_risk", n)
    bands = Bands(least, coverage, claimed, reader.integer("target"))
    evidence = Evidence(
        bands, settings["max_risk"], settings["confidence"], *(reader.floats(name, n) for name in COUNTS)
    )
    nested = n > 0 and (np.diff(least) < 0.0).all() and (bands.share > TINY).all() and coverage[-1] == 1.0
    if not nested or bands.target >= n or (claimed <= TINY).any() or (claimed > 0.5).any():
        raise reader.wrong("has bands of trust that are none")
    counted = (evidence.n_errors >= 0.0).all() and (evidence.n_errors <= evidence.n_labels).all()
    if not counted or evidence.n_labels.max() >= MOST or (evidence.log_peak < evidence.log_now).any():
        raise reader.wrong("has more errors than labels, or evidence above its peak")
    if max(np.abs(evidence.log_now).max(), np.abs(evidence.log_peak).max()) > MOST:
        raise reader.wrong("has impossibly much evidence")
    return evidence


def _pending_to_node(pending: PendingReview, writer: Writer) -> Node:
    writer.put(band=pending.band, drawn=pending.drawn, found=pending.outcome)
    return {"number": pending.number, "n_counted": pending.n_counted}


def _pending_from(reader: Reader, evidence: Evidence | None, n_chosen: int) -> PendingReview:
    drawn = _drawn_from(reader, evidence)
    outcome = reader.ints("found", None, low=-1, below=2)
    begun = PendingReview(
        number=_number_from(reader, n_chosen),
        band=reader.ints("band", None, below=len(drawn)),
        drawn=drawn,
        outcome=outcome,
        n_counted=reader.integer("n_counted"),
    )
    if not begun.n_counted <= len(begun.band) <= len(outcome) or (outcome[: begun.n_counted] == -1).any():
        raise reader.wrong("counts labels that it does not have")
    return begun


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


def _review_from(reader: Reader, evidence: Evidence | None, n_chosen: int, model: SEPModel | None) -> Review:
    positions, drawn = reader.ints("positions", None), _drawn_from(reader, evidence)
    n, n_certify, classes = len(positions), reader.integer("n_certify"), labels_from(reader.part("classes"))
    aim = reader.integer("aim") if reader.has("aim") else None
    if evidence is None or n_certify > n or len(np.unique(positions)) < n or (aim is not None and aim >= len(drawn)):
        raise reader.wrong("is no review of this queue")
    n_more = reader.number("n_more", 0.0) if reader.has("n_more") else np.inf
    regions = _regions_from(reader, n, model) if reader.value("has_regions", bool) else None
    reader.take(n * classes.itemsize)
    return Review(
        positions=positions,
        purpose=np.repeat([Purpose.CERTIFY, Purpose.DECIDE], [n_certify, n - n_certify]),
        label=classes[reader.ints("label", n, below=len(classes))],
        trust=_shares_from(reader, "trust", n),
        band=reader.ints("band", n, below=len(drawn)),
        regions=regions,
        decisions=None,
        plan=Plan(evidence.bands, aim, drawn, n_more, evidence.max_risk),
        number=_number_from(reader, n_chosen),
    )


def _regions_from(reader: Reader, n: int, model: SEPModel | None) -> RowRegions:
    if model is None:
        raise reader.wrong("has regions, and its queue saw none")
    n_regions = len(model.table.counts) + model.n_places
    numbers = reader.ints("region", n, low=-1, below=n_regions)
    return RowRegions.of(numbers, _shares_from(reader, "region_share", n), model)


def _check_pairs(reader: Reader, begun: tuple[PendingReview, ...], reviews: tuple[Review, ...]) -> None:
    """Raise unless the reviews with missing labels are open, and only these."""
    numbers, pending = [review.number for review in reviews], {one.number: one for one in begun}
    in_order = all(first.number < second.number for first, second in pairwise(begun))
    still_open = [one.number for one in begun if not one.is_complete]
    if not in_order or numbers != still_open:
        raise reader.wrong("has open reviews that do not match their labels")
    for review in reviews:
        own, certify = pending[review.number], review.purpose == Purpose.CERTIFY
        if len(own.outcome) != len(review) or not np.array_equal(own.band, review.band[certify]):
            raise reader.wrong("has labels that do not match the rows of their review")


def _shares_from(reader: Reader, name: str, n: int) -> FloatArray:
    shares = reader.floats(name, n)
    if n and (shares.min() < 0.0 or shares.max() > 1.0):
        raise reader.wrong(f"has a {name} that is not between 0 and 1")
    return shares


def _number_from(reader: Reader, n_chosen: int) -> int:
    number = reader.integer("number", 1)
    if number > n_chosen:
        raise reader.wrong("is a review that was never chosen")
    return number


def _drawn_from(reader: Reader, evidence: Evidence | None) -> FloatArray:
    if evidence is None:
        raise reader.wrong("is a review of a queue without bands")
    drawn = reader.floats("drawn", len(evidence.bands))
    if (drawn < 0.0).any() or drawn[drawn > 0.0].min(initial=1.0) < TINY or drawn.sum() > 1.0 + 1e-9:
        raise reader.wrong("has draws that are no probabilities")
    return drawn


def _draws_to_node(draws: dict[str, Any]) -> Node:
    if draws["bit_generator"] != "PCG64":
        raise TypeError(f"Draws by {draws['bit_generator']} cannot be saved; give random_state as a whole number.")
    inner = {name: str(draws["state"][name]) for name in ("state", "inc")}
    return inner | {"has_uint32": draws["has_uint32"], "uinteger": draws["uinteger"]}


def _draws_from(reader: Reader) -> dict[str, Any]:
    texts = {name: reader.text(name) for name in ("state", "inc")}
    if not all(text.isascii() and text.isdigit() and len(text) < 40 for text in texts.values()):
        raise reader.wrong("has draws that no generator makes")
    inner = {name: int(text) for name, text in texts.items()}
    has, rest = reader.integer("has_uint32"), reader.integer("uinteger")
    if max(inner.values()) >= 2**128 or inner["inc"] % 2 == 0 or has > 1 or rest >= 2**32:
        raise reader.wrong("has draws that no generator makes")
    return {"bit_generator": "PCG64", "state": inner, "has_uint32": has, "uinteger": rest}
