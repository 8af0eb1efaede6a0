"""What is proved of a model's monotone features, checked against the weights it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc.cards import Card, ShownAsCard
from sepc.model.sep_model import SEPModel
from sepc.model.standalone import UP
from sepc.wording import MOST_NAMES, counted, listed, plain, shown

# Computed probabilities follow the proof up to this much, from the rounding of exponentials.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Proof:
    """That a feature can only raise, or only lower, the log-odds of a label against every other label.

    Attributes
    ----------
    feature : str
    direction : str
        "up" or "down".
    label : object
        The label whose log-odds are meant.
    holds : bool
        Whether the weights of the model agree, step by step; False only after an edit that bends the curve back.
    """

    feature: str
    direction: str
    label: Any
    holds: bool

    def __str__(self) -> str:
        verb = "lowers" if self.direction == "up" else "raises"
        if not self.holds:
            return f"No longer proved, after an edit: that a larger {shown(self.feature)} never {verb} the log-odds."
        return (
            f"A larger {shown(self.feature)} never {verb} the log-odds of {shown(self.label)} against any other label, "
            "whatever the other values of the row."
        )


@dataclass(frozen=True, repr=False)
class Proofs(ShownAsCard, Sequence[Proof]):
    """What is proved of a model, feature by feature, and what follows; `print` shows it in words.

    Attributes
    ----------
    proofs : tuple of Proof
    alone : tuple of str
        Standalone features without a direction.
    """

    proofs: tuple[Proof, ...]
    alone: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.proofs)

    def __getitem__(self, i: Any) -> Any:
        return self.proofs[i]

    @property
    def consequences(self) -> tuple[str, ...]:
        """What follows for probabilities, labels, acceptance and missing values, and what does not, in sentences."""
        proved = [proof for proof in self.proofs if proof.holds]
        if not proved:
            return ()
        label = shown(proved[0].label)
        return (
            f"So when such a feature changes in favour of {label} and nothing else changes, the probability of {label} "
            f"never falls, near training rows or far from them: how far a row lies from them does not depend on such a "
            f"feature. Computed probabilities follow this to {ROUNDING:g}.",
            f"A row labelled {label} then keeps this label, and stays accepted if it was.",
            "All this holds where other values are missing, too: they are imputed without regard to such a feature.",
            f"Where such a feature is missing itself, it is imputed, and the probability of {label} lies between those "
            "for its smallest and its largest value; nothing is proved about what happens once it is known.",
            "Nothing is proved about changes of several columns at once, about what causes what, or about models that "
            "wrap this one, repair its regions or calibrate it.",
        )

    def __str__(self) -> str:
        alone = [f"Standalone, in no direction: {listed(map(shown, self.alone), MOST_NAMES)}."] if self.alone else []
        lines = [*map(str, self.proofs), *self.consequences, *alone]
        return "\n".join(lines or ["Nothing is proved: no feature is monotone."])

    def _card(self) -> Card:
        rows = tuple(
            (proof.feature, proof.direction, str(plain(proof.label)), "proved" if proof.holds else "no longer")
            for proof in self.proofs
        )
        title = f"Proofs for {counted(len(rows), 'monotone feature')}"
        head = ("feature", "larger values", "log-odds of", "") if rows else ()
        return Card(title, (), head, rows, "In words, with what follows: print(proofs)")


def proofs_of(model: SEPModel) -> Proofs:
    """What the weights of a model prove of its monotone features."""
    alone = model.alone
    if alone is None:
        return Proofs(())
    pairs = list(zip(alone.features.tolist(), alone.directions.tolist(), strict=True))
    label = plain(model.classes[alone.towards])
    proofs = tuple(
        Proof(model.feature_names[j], "up" if direction == UP else "down", label, _holds(model, j, direction))
        for j, direction in pairs
        if direction != 0
    )
    return Proofs(proofs, tuple(model.feature_names[j] for j, direction in pairs if direction == 0))


def _holds(model: SEPModel, j: int, direction: int) -> bool:
    """Whether the curve of a feature goes in this direction for a class against every other, line and steps each."""
    assert model.weights is not None
    assert model.alone is not None
    (_, levels), lines = model.weights.curves[j], model.weights.lines[j]
    others = np.delete(np.arange(len(model.classes)), model.alone.towards)
    steps = np.diff(levels[model.alone.towards] - levels[others], axis=1)
    slopes = lines[model.alone.towards] - lines[others]
    return bool((direction * slopes >= 0.0).all() and (direction * steps >= 0.0).all())
