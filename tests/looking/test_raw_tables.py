"""Tables as people export them: what becomes of every column is what a careful person would want, or said to differ."""

import numpy as np
import pytest
from optional import package_or_skip

from sepc import SEPClassifier
from sepc.errors import LeftOutWarning

package_or_skip("pandas")

N_TABLES = 20
SEEDS = (0, 1)


@pytest.fixture
def raw():
    """The benchmark that makes the tables."""
    from sepc_benchmarks import raw_tables

    return raw_tables


def test_differences_are_said_and_no_others(raw):
    tables = raw.raw_tables()
    assert len(tables) == N_TABLES
    assert [(own.ours is not None, own.declared != own.careful) for own in tables] == [
        (bool(own.difference), bool(own.difference)) for own in tables
    ]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("i", range(N_TABLES))
def test_what_becomes_of_a_table(i, seed, raw):
    own = raw.raw_tables()[i]
    made = own.make(np.random.default_rng(seed))
    assert raw.outcome(made) == own.declared, own.holds
    read = {column.name: column.read(made.table[column.name].to_numpy(dtype=object)) for column in raw.columns(made)}
    for name, meant in made.meant.items():
        np.testing.assert_array_equal(read[name], np.asarray(meant), err_msg=name)


@pytest.mark.quick_cases("0", "5", "10", "15")
@pytest.mark.parametrize("i", range(N_TABLES))
@pytest.mark.filterwarnings("ignore:Labels that look like others")
def test_every_table_can_be_fitted_and_decided_on(i, raw, recwarn):
    made = raw.raw_tables()[i].make(np.random.default_rng(0))
    known = np.array([label is not None for label in made.y])
    classifier = SEPClassifier().fit(made.table[known], np.asarray(made.y[known], dtype=str))
    said = [str(own.message) for own in recwarn if own.category is LeftOutWarning]
    assert len(said) <= 1
    left_out = [own.name for own in classifier.preparation_.columns if own.why] if said else []
    assert all(repr(name) in said[0] for name in left_out)
    assert len(classifier.decide(made.table[:20])) == 20
