import pytest
import record

ALL = record.scenarios()


def test_every_stored_answer_has_its_scenario():
    assert {name for subject in record.SUBJECTS for name in record.stored(subject)} == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_answers_as_it_did(name, home):
    kept = record.stored(name.partition(".")[0])[name]
    found = record.answer(ALL[name])
    assert not list(record.differences(kept, found, 1e-7))
