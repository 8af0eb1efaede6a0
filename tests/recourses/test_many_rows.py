"""Recourse for every row of a table: as for each alone, in parallel, with progress and a summary by group."""

import numpy as np
import pytest
from loans import loans, model_of_loans
from optional import package_or_skip

import sepc

pd = package_or_skip("pandas")


def rows(n=8):
    table = loans()[0].iloc[100 : 100 + n].copy()
    table.iloc[1, table.columns.get_loc("rate")] = np.nan
    return table


def test_each_row_is_asked_as_it_would_be_alone():
    table, seen = rows(), []
    found = sepc.recourse(
        model_of_loans(), table, to="paid", fixed=["rate"], progress=lambda done, n: seen.append((done, n))
    )
    frame = found.to_frame()
    assert frame.index.equals(table.index)
    assert seen == sorted(seen)
    assert seen[-1] == (8, 8)
    assert frame["outcome"].iloc[1] == "missing values"
    assert set(frame["outcome"]) >= {"accepted already", "answer found"}
    for i in {*range(len(table))} - {1}:
        alone = sepc.recourse(model_of_loans(), table.iloc[[i]], to="paid", fixed=["rate"], n_answers=1)
        assert frame["bound"].iloc[i] == alone.bound
        if alone.answers:
            assert frame["cost"].iloc[i] == alone.answers[0].cost
            words = [change.words for change in alone.answers[0].changes]
            assert frame["changes"].iloc[i] == "; ".join(words)
            assert (found.changes()["row"] == i).sum() == len(words)
    for wrong, message in (("sex", "no column 'sex'"), (["a", 2], "2 values for 8 rows")):
        with pytest.raises(ValueError, match=message):
            found.summary(by=wrong)


def test_summaries_count_every_row_once():
    table = rows(10)
    found = sepc.recourse(model_of_loans(), table, to="paid", fixed=["home"], min_trust=0.5)
    frame = found.to_frame()
    for by in ("home", ["home", "purpose"], table["home"].to_numpy(), None):
        summary = found.summary(by=by)
        assert summary["rows"].sum() == len(table)
        assert summary["accepted already"].sum() == (frame["outcome"] == "accepted already").sum()
        n_found = (summary["with an answer"].fillna(0.0) * summary["asked"]).sum()
        assert n_found == pytest.approx((frame["outcome"] == "answer found").sum())
    own = frame[(table["home"] == "own").to_numpy() & (frame["outcome"] == "answer found").to_numpy()]
    summary = found.summary(by="home").set_index("group")
    if len(own):
        assert summary.loc["own", "median cost"] == pytest.approx(own["cost"].median())


@pytest.mark.slow
def test_two_processes_find_what_one_finds():
    table = rows(12)
    one, two = (sepc.recourse(model_of_loans(), table, to="paid", n_jobs=n).to_frame() for n in (1, 2))
    assert one.equals(two)


def test_columns_of_types_with_gaps_take_what_the_search_tries():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=200), "n": pd.array(rng.integers(0, 4, 200), dtype="Int64")})
    table["b"] = pd.array(rng.choice([True, False, None], 200), dtype="boolean")
    y = np.where(table["a"] + table["b"].fillna(False) + 0.3 * table["n"].astype(float) > 0.8, "p", "q")
    small = sepc.SEPClassifier(trust="counts", max_ellipsoids=4)
    model = sepc.TrustedClassifier(small, partition=sepc.SEPClassifier(max_ellipsoids=4), cv=2).fit(table, y)
    assert len(sepc.recourse(model, table[y == "q"][:3], to="p")) == 3
