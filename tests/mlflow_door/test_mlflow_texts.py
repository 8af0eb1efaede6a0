"""Amounts, percentages, dates and durations that are text are served by MLflow as they are decided in memory."""

import numpy as np
import pytest
from mixed_tables import texts_of_all_kinds
from optional import package_or_skip

from sepc import SEPClassifier

mlflow, pd = package_or_skip("mlflow"), package_or_skip("pandas")
door = package_or_skip("sepc.mlflow")

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]  # MLflow's own warnings


@pytest.fixture(scope="module")
def fitted():
    return SEPClassifier().fit(*texts_of_all_kinds())


@pytest.fixture(scope="module")
def loaded(fitted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts") / "model"
    door.save_model(fitted, folder, X=texts_of_all_kinds()[0])
    return mlflow.pyfunc.load_model(str(folder))


def assert_answers_alike(loaded, model, given, rows):
    answered, decided = loaded.predict(given), model.decide(rows)
    np.testing.assert_array_equal(answered["label"], decided.label)
    np.testing.assert_array_equal(answered["trust"], decided.trust)


def test_answers_are_those_of_the_model_and_what_cannot_be_read_is_a_gap(fitted, loaded):
    rows, _ = texts_of_all_kinds(60, seed=1)
    types = {one.name: one.type.name for one in loaded.metadata.get_input_schema()}
    assert types == dict.fromkeys(rows.columns, "string")
    written = rows.assign(span=rows["span"].astype(str))
    assert_answers_alike(loaded, fitted, written, rows)
    seconds = [f"{own:.0f} sec" for own in rows["span"].dt.total_seconds()]
    assert_answers_alike(loaded, fitted, rows.assign(span=seconds), rows)
    odd = written.assign(price="on request", day="soon")
    assert_answers_alike(loaded, fitted, odd, odd)


def test_the_example_that_is_kept_can_be_answered(fitted, loaded):
    example = loaded.input_example
    assert example["span"][0].endswith(" sec")
    assert_answers_alike(loaded, fitted, example, texts_of_all_kinds()[0][: len(example)])
