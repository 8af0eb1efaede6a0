"""How to speak of the features that a table is made into."""

from __future__ import annotations

from sepc.columns.kinds import Kind
from sepc.columns.preparation import Preparation
from sepc.model.usual import FeatureKind, Spoken
from sepc.wording import name_of


def spoken_features(preparation: Preparation) -> tuple[Spoken, ...]:
    """How to speak of each feature of a prepared table."""
    kinds = {column.name: column.kind for column in preparation.columns}
    return tuple(_spoken(preparation, kinds[origin], origin, name) for origin, name in preparation.features)


def _spoken(preparation: Preparation, kind: Kind, origin: str, feature: str) -> Spoken:
    if feature != origin:
        return Spoken(FeatureKind.PART)
    if kind is Kind.CATEGORY:
        values = preparation.categories[origin].values
        return Spoken(FeatureKind.CATEGORY, tuple("missing" if value is None else name_of(value) for value in values))
    return Spoken(FeatureKind.DATE if kind is Kind.DATE else FeatureKind.NUMBER)
