"""Decisions as columns of a DataFrame."""

import pytest
from optional import package_or_skip

from sepc.decisions.frames import column_of_names
from sepc.decisions.kinds import Cause, Rule

pd = package_or_skip("pandas")


@pytest.mark.parametrize("kind", [Rule, Cause])
def test_every_name_stands_for_its_own_value(kind):
    members = [*kind, *reversed(kind)]
    column = pd.Series(column_of_names(kind, [int(member) for member in members]))
    assert column.tolist() == [member.name for member in members]
    assert column.dtype == pd.Series(["text"]).dtype
