"""The last step of the search exchanges some changes for others: against trying every such exchange."""

from functools import cache
from itertools import chain, combinations, product

import numpy as np
from loans import asked_row
from optional import package_or_skip

import sepc
from sepc.recourses import improving
from sepc.recourses.given_limits import given_limits
from sepc.recourses.judging import Deciding
from sepc.recourses.tables import Tables
from sepc.recourses.targets import Target

pd = package_or_skip("pandas")

LETTERS = list("pqrst")


@cache
def cases():
    """Two numbers, and five columns of categories that count more or less."""
    rng = np.random.default_rng(2)
    n = 400
    table = pd.DataFrame({"amount": rng.gamma(3.0, 1.5, n), "months": rng.integers(6, 60, n)})
    score = 0.5 * table["amount"] + table["months"] / 15
    for i in range(5):
        codes = rng.integers(0, 5, n)
        table[f"c{i}"] = np.array(LETTERS, dtype=object)[codes]
        score += (0.3 + 0.2 * i) * rng.permutation(5)[codes] / 2
    middle = score.median()
    labels = np.where(score + 0.3 * rng.standard_normal(n) > middle, "late", "paid")
    return table, sepc.SEPClassifier(min_trust=0.8).fit(table, labels)


def late(n):
    table, model = cases()
    return [table.iloc[[i]] for i in np.flatnonzero(model.predict(table) == "late")[:n]]


def target_of(row):
    model = cases()[1]
    limits = given_limits(asked_row(model, row), None, (), None, None).limits()
    deciding = Deciding(model, "paid", None, Tables(row, limits, model.preparation_))
    owner = model.classes_.tolist().index("paid")
    return Target(limits, owner, np.flatnonzero(limits.model.owners == owner), deciding.judge)


def exchanged(limits, row):
    """A row with any category in one column, and with any of the other changes taken back."""
    columns = [limits.n_features + choice.column for choice in limits.choices]
    changed = np.flatnonzero(row != limits.row)
    changed = changed[(changed >= limits.n_features) | np.isin(changed, limits.free)]
    kept = list(chain.from_iterable(combinations(changed.tolist(), n) for n in range(len(changed) + 1)))
    rows = np.tile(limits.row, (len(columns) * len(LETTERS) * len(kept), 1))
    for one, (column, code, names) in zip(rows, product(columns, range(len(LETTERS)), kept), strict=True):
        one[list(names)] = row[list(names)]
        one[column] = code
    return limits.encode_categories(rows)


def cheapest_exchanges(n=8):
    """For rows of training, made cheaper as answers to others: the cheapest exchange, as a share of the cost."""
    table, model = cases()
    decisions = model.decide(table)
    shares = []
    for row, i in zip(late(n), np.flatnonzero(decisions.accepted & (decisions.label == "paid")), strict=False):
        target = target_of(row)
        better = improving.improve(target, decisions.rows[i])
        assert target.candidates(better[np.newaxis]).is_it.all()
        tried = target.candidates(exchanged(target.limits, better))
        shares.append(tried.costs[tried.is_it].min() / target.limits.costs(better[np.newaxis])[0])
    return np.array(shares)


def test_no_exchange_makes_an_answer_cheaper():
    assert cheapest_exchanges().min() >= (1.0 - improving.WORTH) / improving.DEARER


def test_without_the_last_step_some_would(monkeypatch):
    """Else the test above would show nothing."""
    monkeypatch.setattr(improving, "MOST_EXCHANGES", 0)
    assert cheapest_exchanges().min() < 0.95
