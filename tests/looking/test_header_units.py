"""Units in names of columns change nothing, and are compared with those of the values."""

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier
from sepc.errors import LeftOutWarning

pd = package_or_skip("pandas")

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(70, 9, 200).round(1)


def found(name, written):
    table = pd.DataFrame({name: [written.format(x) for x in NUMBERS], "x": RNG.random(200)})
    return [own.seen for own in sepc.look(table) if own.seen.startswith("its name says")]


@pytest.mark.parametrize(
    ("name", "written"),
    [("weight (kg)", "{} lb"), ("income [EUR]", "$ {}"), ("took (h)", "{} min"), ("height (cm)", "{} in")],
)
def test_another_unit_is_a_finding(name, written):
    (seen,) = found(name, written)
    assert seen.startswith("its name says '")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        *(("weight (kg)", "{} kg"), ("weight (Kg)", "{}"), ("income [EUR]", "€ {}"), ("share (%)", "{}%")),
        *(("price (net)", "€ {}"), ("took (hours)", "{} h"), ("weight", "{} lb"), ("weight (t0)", "{} kg")),
    ],
)
def test_the_same_unit_or_none_is_none(name, written):
    assert found(name, written) == []


def test_a_fit_warns_of_a_unit_in_the_header():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"height (cm)": [f"{x:.1f} in" for x in rng.normal(68, 4, 100)], "x": rng.normal(size=100)})
    with pytest.warns(LeftOutWarning, match="says 'cm'") as caught:
        SEPClassifier().fit(table, rng.integers(2, size=100))
    assert len(caught) == 1
