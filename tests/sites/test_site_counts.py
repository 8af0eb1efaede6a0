"""What leaves a site: counts that are right, that can be read again, and from which no small count can be inferred."""

import itertools
import json

import numpy as np
import pytest
from few_sites import rows, shared_model

from sepc.errors import FormatError, TrainingRowsWarning
from sepc.lifecycle.sites import SiteCounts, count_site

SMALLEST = 5


def counted(**settings):
    X, y = rows(1)
    return count_site(shared_model(), X[800:2000], y[800:2000], site="north", **settings)


def test_counts_are_those_of_the_rows_rounded_down_and_read_again(tmp_path):
    """By the rule that is attacked below, and exact if asked for."""
    X, y = rows(1)
    decisions = shared_model().decide(X[800:2000])
    right = decisions.label == y[800:2000]
    exact, rounded = counted(smallest=1, by_label=True), counted(by_label=True)
    for cell, low in zip(exact.cells, rounded.cells, strict=True):
        own = decisions.label == cell.label
        for threshold, n_right, n_wrong in zip(exact.thresholds, cell.right, cell.wrong, strict=True):
            accepted = own & (decisions.trust >= threshold)
            assert (n_right, n_wrong) == (np.sum(accepted & right), np.sum(accepted & ~right))
        assert rounded_down(cell.right.tolist()) == tuple(low.right.tolist())
        assert rounded_down(cell.wrong.tolist()) == tuple(low.wrong.tolist())
    rounded.save(tmp_path / "north.json")
    again = SiteCounts.load(tmp_path / "north.json")
    assert again.to_json() == rounded.to_json()
    assert again.digest == rounded.digest


def test_small_groups_are_not_named():
    X, y = rows(1)
    ward = np.where(np.arange(1200) < 4, "rare", np.where(np.arange(1200) % 2, "a", "b"))
    again = count_site(shared_model(), X[800:2000], y[800:2000], site="n", by="ward", groups={"ward": ward})
    assert again.groups == ["a", "b"]
    assert "rare" not in again.to_json()


# The attack: list everything that could have led to what was published, and look for sets of rows whose number is
# then known to be at least one and less than the smallest count.


def increments(series):
    return [later - first for first, later in itertools.combinations([0, *series], 2)]


def possible(published, rule, most, n_thresholds):
    """All cumulative counts up to `most` that the rule publishes like this."""
    every = itertools.combinations_with_replacement(range(most + 1), n_thresholds)
    return [series for series in every if rule(series) == published]


def finds_small_count(candidates):
    """Whether some set of rows (an interval of thresholds, of right rows, wrong rows or both) must be small."""
    right, wrong = (np.array([increments(series) for series in one]) for one in candidates)
    lows = [right.min(axis=0), wrong.min(axis=0)]
    highs = [right.max(axis=0), wrong.max(axis=0)]
    lows.append(lows[0] + lows[1])
    highs.append(highs[0] + highs[1])
    return any(((low >= 1) & (high < SMALLEST)).any() for low, high in zip(lows, highs, strict=True))


def rounded_down(series):
    return tuple(n - n % SMALLEST for n in series)


def small_cells_hidden(series):
    """A common rule that fails: hide the steps below the smallest count, and publish the others and the total."""
    steps = np.diff([0, *series])
    return (*(int(step) if step >= SMALLEST or step == 0 else -1 for step in steps), series[-1])


@pytest.mark.parametrize("rule", [rounded_down, small_cells_hidden])
def test_no_small_count_can_be_inferred(rule):
    most, random = 14, np.random.default_rng(0)
    found = 0
    for _ in range(40):
        drawn = [tuple(sorted(random.integers(0, most - 4, size=3).tolist())) for _ in range(2)]
        candidates = [possible(rule(series), rule, most, 3) for series in drawn]
        assert all(series in some for series, some in zip(drawn, candidates, strict=True))
        found += finds_small_count(candidates)
    assert (found == 0) if rule is rounded_down else (found > 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda node: node.update(format="other"), "format"),
        (lambda node: node.update(site=""), "name its site"),
        (lambda node: node.update(smallest=0), "smallest"),
        (lambda node: node.update(thresholds=[0.5, 0.9]), "thresholds"),
        (lambda node: node["cells"][0].update(right=[5]), "for each threshold"),
        (lambda node: node["cells"][0]["wrong"].__setitem__(-1, 3), "rounded"),
        (lambda node: node["cells"][0]["wrong"].__setitem__(0, 10**6), "fall"),
        (lambda node: node["cells"][0]["wrong"].__setitem__(-1, True), "for each threshold"),
        (lambda node: node["cells"][0].update(label={}), "neither a label"),
        (lambda node: node.update(cells=[]), "no cells"),
    ],
)
def test_impossible_counts_are_refused(change, words, tmp_path):
    node = json.loads(counted().to_json())
    change(node)
    (tmp_path / "x.json").write_text(json.dumps(node))
    with pytest.raises(FormatError, match=words):
        SiteCounts.load(tmp_path / "x.json")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_not_counts_is_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(FormatError, match="counts"):
        SiteCounts.load(tmp_path / "x.json")


def test_training_rows_are_noticed_and_wrong_arguments_refused():
    X, y = rows(1)
    with pytest.warns(TrainingRowsWarning):
        count_site(shared_model(), X[:1200], y[:1200], site="north")
    with pytest.raises(ValueError, match="name"):
        count_site(shared_model(), X[800:], y[800:], site="")
    with pytest.raises(ValueError, match="smallest is 0"):
        counted(smallest=0)
