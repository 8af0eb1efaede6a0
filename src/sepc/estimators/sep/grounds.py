"""The reasons for a decision, worded for the person it is about: values next to what is usual, without log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc.decisions.letter import Grounds, Words
from sepc.estimators.sep.named_terms import NamedTerms, known_columns
from sepc.estimators.sep.row_phrases import RowPhrases, missing_columns
from sepc.wording import name_of

# The most values to name for the label, and against it.
MOST_FOR, MOST_AGAINST = 5, 3
# Terms below this share of the largest are not worth naming.
LEAST_SHARE = 0.1


def grounds_of(decisions: Any, words: Words) -> Grounds:
    """The reasons for a single decision, in these words; `decisions` are `SEPDecisions` on one row."""
    model = decisions.model
    missing = (*missing_columns(model, decisions.missing[0]), *_empty_categories(decisions))
    if model.usual is None or model.weights is None or len(model.classes) == 1:
        return Grounds(missing=missing)
    phrases = RowPhrases(model, model.usual, decisions.rows)
    terms = NamedTerms(decisions.terms(), phrases)
    known = known_columns(decisions.missing, model.column_of)[0]
    all_known = [term for term in terms.largest(0) if term.feature is None or known[term.feature]]
    owners = [int(np.searchsorted(model.classes, label)) for label in (decisions.label[0], terms.terms.runner_up[0])]
    sides = []
    for sign, most in ((1.0, MOST_FOR), (-1.0, MOST_AGAINST)):
        least = LEAST_SHARE * max((abs(term.value) for term in all_known), default=0.0)
        chosen = [term.feature for term in all_known if sign * term.value >= least][:most]
        sides.append(tuple(_point(phrases, j, owners if sign > 0.0 else owners[::-1], words) for j in chosen))
    in_favour, against = sides
    return Grounds(in_favour, against, missing)


def _empty_categories(decisions: Any) -> list[str]:
    """Names of categorical columns that are missing."""
    if decisions.preparation is None:
        return []
    categories = zip(decisions.preparation.categories, decisions.empty[0], strict=True)
    return [name_of(column) for column, is_empty in categories if is_empty]


def _point(phrases: RowPhrases, j: int | None, owners: list[int], words: Words) -> str:
    """A value next to what is usual for the label it favours and for the other one, where that explains it."""
    favoured, other = (words.label(phrases.model.classes[owner]) for owner in owners)
    if j is None:
        return f"overall, your values resemble earlier cases with {favoured} more than cases with {other}"
    value = words.about(phrases.value(0, j), phrases.name(j))
    if phrases.shows(0, j, *owners) <= 0:
        return value
    (usual, is_share), (rival, _) = (phrases.usual_among(0, j, owner) for owner in owners)
    if not usual or not rival or usual == rival:
        return value
    if is_share:
        return f"{value} ({usual} of similar earlier cases with {favoured} had this, and {rival} of those with {other})"
    return f"{value} (usually {usual} in similar earlier cases with {favoured}, and {rival} in those with {other})"
