"""Importances: the mean size of the terms of training rows, by column."""

from __future__ import annotations

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris, make_classification
from sklearn.feature_selection import SelectFromModel

from sepc import SEPClassifier

pd = package_or_skip("pandas")


def sizes(model: SEPClassifier, X) -> dict[str, float]:
    """The mean size of the term of each column, by the terms of decisions on two classes."""
    terms = model.decide(X).terms()
    names, by_column = model.model_.feature_names, np.zeros(terms.features.shape)
    np.add.at(by_column.T, model.model_.column_of, terms.features.T)
    return {names[j]: float(np.abs(by_column[:, j]).mean()) for j in np.unique(model.model_.column_of)}


def test_they_are_the_mean_sizes_of_the_terms_of_training_rows():
    X, y = make_classification(800, 6, n_informative=3, n_redundant=0, random_state=0)
    model = SEPClassifier().fit(X, y)
    assert model.feature_importances_ == pytest.approx(list(sizes(model, X).values()), rel=0.1, abs=0.01)


def test_a_column_of_categories_has_one_and_one_that_is_left_out_has_none():
    rng = np.random.default_rng(0)
    job = rng.choice(["clerk", "nurse", "driver"], 900, p=[0.6, 0.3, 0.1])
    table = pd.DataFrame({"no": rng.permutation(900), "income": rng.normal(size=900), "job": job})
    y = np.where(table["income"] + 2.0 * (job == "nurse") + rng.normal(size=900) > 0.5, "yes", "no")
    with pytest.warns(match="'no'"):
        model = SEPClassifier().fit(table, y)
    own = dict(zip(table, model.feature_importances_.tolist(), strict=True))
    wanted = sizes(model, table)
    assert own["no"] == 0.0
    assert own["job"] == pytest.approx(wanted["job"], rel=0.05)
    assert own["income"] == pytest.approx(wanted["income"], rel=0.1)


def test_with_three_classes_a_column_of_three_categories_has_one_too():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(50.0, 9.0, 150), "ward": rng.choice(["north", "south", "east"], 150)})
    y = np.where(table["ward"] == "north", "a", np.where(table["age"] > 50.0, "b", "c"))
    model = SEPClassifier().fit(table, y)
    assert len(model.model_.feature_names) == 3, "the category is not encoded by two numbers, so this tests nothing"
    assert model.feature_importances_.shape == (2,)
    assert (model.feature_importances_ > 0.5).all()


def test_several_classes_and_selection_by_scikit_learn():
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, np.random.default_rng(0).normal(size=len(X))])
    model = SEPClassifier().fit(X, y)
    assert model.feature_importances_[:4].max() > 5.0 * model.feature_importances_[4]
    assert 1 <= SelectFromModel(model, prefit=True).transform(X).shape[1] < 5


def test_without_weights_there_are_none():
    X, y = load_iris(return_X_y=True)
    model = SEPClassifier(trust="counts").fit(X, y)
    assert not hasattr(model, "feature_importances_")
    with pytest.raises(AttributeError, match="no importances"):
        _ = model.feature_importances_
