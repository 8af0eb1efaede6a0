"""A last row of totals is named, and other last rows are not."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier
from sepc.looking.findings import Severity

pd = package_or_skip("pandas")

N = 60


def sales(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "shop": rng.choice(["north", "south", "west"], N),
            "sold": rng.integers(1, 50, N),
            "price": rng.lognormal(3, 1, N).round(2),
        }
    )


def with_total(table, **cells):
    return pd.concat([table, pd.DataFrame([cells])], ignore_index=True)


def totals(table):
    return [own.seen for own in sepc.look(table) if "the last of" in own.seen]


@pytest.mark.parametrize("word", ["Total", "TOTAL:", " sum", "Grand total", "Summe", "Toplam"])
def test_a_row_that_is_called_total_and_holds_a_sum(word):
    own = sales()
    table = with_total(own, shop=word, sold=own["sold"].sum(), price=None)
    (found,) = [found for found in sepc.look(table) if found.about == "rows"]
    assert found.severity is Severity.WRONG
    assert found.seen.startswith(f"the last of 61 rows holds the sum of column 'sold' ('{word}")


def test_sums_without_a_word_and_as_text():
    own = sales()
    table = with_total(own, shop=None, sold=own["sold"].sum(), price=own["price"].sum())
    assert totals(table) == ["the last of 61 rows holds the sums of 2 columns: 'sold' and 'price'"]
    texts = table.assign(price=[f"€ {x:,.2f}" for x in table["price"]])
    assert totals(texts) == totals(table)
    ids = with_total(own.assign(shop=[f"K-{i:04}" for i in range(N)]), shop="Total", sold=own["sold"].sum())
    assert "('Total' in column 'shop')" in totals(ids)[0]


def test_rows_that_are_no_total():
    own = sales()
    assert totals(own) == []
    assert totals(with_total(own, shop="Total", sold=7, price=3.0)) == []
    assert totals(with_total(own, shop="west", sold=own["sold"].sum(), price=3.0)) == []
    rare = pd.DataFrame({f"x{j}": np.eye(N)[j] + np.eye(N)[-1] for j in range(5)})
    assert totals(rare) == []
    assert totals(own[:0]) == []


def test_a_fit_warns_of_a_row_of_totals_where_it_was_called():
    own = sales()
    table = with_total(own, shop="Total", sold=own["sold"].sum(), price=own["price"].sum())
    with pytest.warns(UserWarning, match="last of 61 rows") as caught:
        SEPClassifier().fit(table, np.arange(N + 1) % 2)
    assert [own.filename for own in caught] == [__file__]
    SEPClassifier().fit(own, np.arange(N) % 2)
