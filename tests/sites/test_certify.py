"""Promises from the counts of sites: those that pooled rows would give, kept for all together and for each."""

import numpy as np
import pytest
from few_sites import GivenTrust, rows, shared_model
from monte_carlo import exceeds
from sklearn.frozen import FrozenEstimator

import sepc
from sepc import SelectiveClassifier
from sepc.errors import FormatError
from sepc.lifecycle.sites import Ledger, certify, count_site

CONFIDENCE = 0.9


def counts_of(n_sites, seed=1, **settings):
    X, y = rows(seed)
    parts = np.array_split(np.arange(800, len(y)), n_sites)
    return [count_site(shared_model(), X[part], y[part], site=f"site {i}", **settings) for i, part in enumerate(parts)]


@pytest.mark.parametrize("n_sites", [1, 3, 20])
def test_exact_counts_give_the_promise_of_pooled_rows(n_sites):
    X, y = rows(1)
    pooled = SelectiveClassifier(FrozenEstimator(shared_model()), 0.05).fit(X[800:], y[800:])
    found = certify(shared_model(), counts_of(n_sites, smallest=1), max_risk=0.05)
    assert found.model().promise_.controls == pooled.promise_.controls
    assert found.together.covered
    assert found.model().promise_.risk_bound == pooled.promise_.risk_bound
    assert (found.model().decide(X[800:]).accepted == pooled.decide(X[800:]).accepted).all()


def test_exact_counts_by_label_give_the_promises_of_pooled_rows():
    X, y = rows(1)
    risks = {0: 0.05, 1: 0.08}
    pooled = SelectiveClassifier(FrozenEstimator(shared_model()), risks).fit(X[800:], y[800:])
    found = certify(shared_model(), counts_of(4, smallest=1, by_label=True), max_risk=risks)
    assert found.model().promise_.controls == pooled.promise_.controls
    assert found.model().summary().startswith(pooled.summary())


def test_rounding_accepts_less_and_says_so():
    exact, rounded = (certify(shared_model(), counts_of(3, smallest=n), max_risk=0.04) for n in (1, 5))
    assert rounded.together.threshold >= exact.together.threshold
    assert "rounded" in rounded.summary()
    assert "rounded" not in exact.summary()
    assert rounded.together.controls[None].loss >= 3 * 4


def test_groups_have_promises_of_their_own():
    X, y = rows(1)
    ward = np.where(X[:, 0] > 0, "a", "b")
    parts = np.array_split(np.arange(800, len(y)), 3)
    counts = [
        count_site(shared_model(), X[part], y[part], site=f"s{i}", by="ward", groups={"ward": ward[part]}, smallest=1)
        for i, part in enumerate(parts)
    ]
    model = certify(shared_model(), counts, max_risk=0.08).model()
    pooled = SelectiveClassifier(FrozenEstimator(shared_model()), 0.08, by="ward")
    pooled.fit(X[800:], y[800:], groups={"ward": ward[800:]})
    assert model.promise_.controls == pooled.promise_.controls
    groups = {"ward": ward[800:]}
    assert (model.decide(X[800:], groups=groups).accepted == pooled.decide(X[800:], groups=groups).accepted).all()
    assert {key: harm.is_shown for key, harm in model.promise_.groups.no_harm.items()} == {
        key: harm.is_shown for key, harm in pooled.promise_.groups.no_harm.items()
    }


def test_rows_of_a_group_that_a_site_does_not_name_count_as_wrong():
    X, y = rows(1)
    parts = np.array_split(np.arange(800, len(y)), 2)
    names = [np.full(len(parts[0]), "a"), np.full(len(parts[1]), "b")]
    names[1][:3] = "a"
    counts = [
        count_site(shared_model(), X[part], y[part], site=f"s{i}", by="ward", groups={"ward": name})
        for i, (part, name) in enumerate(zip(parts, names, strict=True))
    ]
    assert counts[1].groups == ["b"]
    both, alone = (certify(shared_model(), some, max_risk=0.08).together for some in (counts, counts[:1]))
    assert both.controls["a"].tried_loss >= alone.controls["a"].tried_loss
    assert both.controls["a"].n_rows == alone.controls["a"].n_rows + 4


def test_the_promise_goes_through_a_file_names_its_sites_and_is_lost_by_a_refit(tmp_path):
    found = certify(shared_model(), counts_of(3), max_risk=0.05)
    sepc.save(found.model(), tmp_path / "all.sepc")
    again = sepc.load(tmp_path / "all.sepc")
    assert again.summary() == found.model().summary()
    assert "site 0, site 1 and site 2" in again.summary()
    assert "site 1" in found.model("site 1").summary()
    with pytest.raises(ValueError, match="'elsewhere'"):
        found.model("elsewhere")
    X, y = rows(1)
    refitted = found.model().fit(X[800:], y[800:])
    assert refitted.promise_.sites == ()
    assert "mix" not in refitted.summary()


def test_counts_that_do_not_belong_together_are_refused():
    (one, other), (X, y) = counts_of(2), rows(2)
    another = sepc.SEPClassifier(trust="counts").fit(X[:300], y[:300])
    for model, counts, options, said in (
        (shared_model(), [one, one], {}, "twice"),
        (another, [one, other], {}, "different model"),
        (shared_model(), [], {}, "no counts"),
        (shared_model(), [one], {"max_risk": {0: 0.1}}, "by label"),
    ):
        with pytest.raises(ValueError, match=said):
            certify(model, counts, **options)


def test_levels_of_later_sites_add_up_to_at_most_the_whole(tmp_path):
    counts = counts_of(8)
    ledger, spent, sets = Ledger(), 0.0, 0.0
    for n, one in enumerate(counts, start=1):
        ledger = certify(shared_model(), counts[:n], max_risk=0.05, ledger=ledger).ledger
        spent += ledger.share_of_site(one)
        sets += ledger.share_of_set(counts[:n])
    assert max(spent, sets) < 1.0
    again = certify(shared_model(), counts[::-1], max_risk=0.05, ledger=ledger)
    assert again.ledger == ledger  # the same counts spend nothing
    assert again.by_site["site 0"].confidence == 1.0 - 0.05 / 2
    ledger.save(tmp_path / "ledger.json")
    assert Ledger.load(tmp_path / "ledger.json") == ledger


@pytest.mark.parametrize("text", ["{", "{}", '{"format": "sepc-site-ledger-1", "sites": ["a", "a"], "sets": []}'])
def test_a_wrong_ledger_is_refused(text, tmp_path):
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(FormatError, match=r"ledger\.json"):
        Ledger.load(tmp_path / "ledger.json")


def test_differing_sites_are_found_and_named():
    random = np.random.default_rng(0)
    counts = []
    for site, rate in (("good", 0.01), ("bad", 0.12), ("other", 0.01)):
        trust = random.uniform(0.9, 1.0, 600)
        wrong = random.random(600) < rate
        counts.append(count_site(GivenTrust(), trust[:, None], 1 - wrong.astype(int), site=site, digest="d"))
    found = certify(GivenTrust(), counts, max_risk=0.08, digest="d")
    assert found.p_value < 0.01
    assert found.highest == "bad"
    assert "bad" in found.without_promise
    assert "differ" in found.summary()


@pytest.mark.parametrize("smallest", [1, 5])
def test_promises_are_kept_for_all_and_for_each_site(smallest):
    """Sites of unequal size and error rate; the promise for all is about their mix, the others are simultaneous."""
    random, n_draws = np.random.default_rng(0), 40
    sizes, factors = np.array([2400, 1000, 600]), np.array([0.8, 1.0, 2.0])
    most, broken, broken_any, n_made = 0.05, 0, 0, 0
    for _ in range(n_draws):
        counts = []
        for i, (n, factor) in enumerate(zip(sizes, factors, strict=True)):
            trust = random.uniform(0.5, 1.0, n)
            right = random.random(n) >= factor * (1.0 - trust) * 0.5
            counts.append(
                count_site(GivenTrust(), trust[:, None], right.astype(int), site=str(i), smallest=smallest, digest="d")
            )
        found = certify(GivenTrust(), counts, max_risk=most, confidence=CONFIDENCE, digest="d")
        threshold = found.together.threshold
        n_made += np.isfinite(threshold)
        broken += np.isfinite(threshold) and true_risk(threshold, factors) @ sizes / sizes.sum() > most
        own = [found.by_site[str(i)].threshold for i in range(3)]
        broken_any += any(np.isfinite(t) and true_risk(t, factors[i : i + 1])[0] > most for i, t in enumerate(own))
    assert n_made > n_draws / 2
    assert not exceeds(broken, n_draws, 1.0 - CONFIDENCE)
    assert not exceeds(broken_any, n_draws, 1.0 - CONFIDENCE)


def true_risk(threshold, factors):
    """The mean of factor * (1 - trust) / 2 over trust uniform above the threshold."""
    low = max(threshold, 0.5)
    return factors * (1.0 - low) / 4.0
