"""Features of any magnitude: the same decisions, or an error that names the feature and says what to do."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

from sepc import (
    Cause,
    RoutedClassifier,
    SelectiveClassifier,
    SEPClassifier,
    TrustedClassifier,
)

MODELS: dict[str, Any] = {
    "weights": SEPClassifier(),
    "counts": SEPClassifier(trust="counts"),
    "trusted": TrustedClassifier(SEPClassifier(trust="counts"), cv=2),
    "selective": SelectiveClassifier(SEPClassifier(), 0.1, random_state=0),
    "stratified": RoutedClassifier(SEPClassifier(), by=[]),
    "repaired": RoutedClassifier(SEPClassifier()),
}
MIXED = np.array([1e300, 1e-300, 1e300, 1e-300])


@cache
def rows():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, [1, 3, 20, 23]], y


def decided(model, scale):
    X, y = rows()
    return clone(model).fit(X[::2] * scale, y[::2]).decide(X[1::2] * scale)


@cache
def plainly_decided(name):
    return decided(MODELS[name], 1.0)


@pytest.mark.quick_cases(
    "weights-*", "counts-1e-300", "trusted-mixed", "selective-1e300", "stratified-1e-300", "repaired-mixed"
)
@pytest.mark.parametrize("scale", [1e300, 1e-300, MIXED], ids=["1e300", "1e-300", "mixed"])
@pytest.mark.parametrize("name", MODELS)
def test_decisions_do_not_see_the_magnitude(name, scale):
    plain, scaled = plainly_decided(name), decided(MODELS[name], scale)
    for column in ("label", "accepted", "cause", "region"):
        np.testing.assert_array_equal(getattr(scaled, column), getattr(plain, column))
    np.testing.assert_allclose(scaled.trust, plain.trust, rtol=0, atol=1e-10)
    assert re.findall(r"x\d", scaled[0].why()) == re.findall(r"x\d", plain[0].why())


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_without_standardisation_one_unit_serves_all_features(scale):
    plain, scaled = decided(SEPClassifier.as_published(), 1.0), decided(SEPClassifier.as_published(), scale)
    np.testing.assert_array_equal(scaled.label, plain.label)
    np.testing.assert_array_equal(scaled.trust, plain.trust)
    with pytest.raises(ValueError, match=r"'x1' varies by .*e-29\d and 'x0'"):
        decided(SEPClassifier(trust="published"), MIXED)


@pytest.mark.parametrize("scale", [1e-312, 1e-320, 4e304])
@pytest.mark.parametrize("model", [SEPClassifier(), SEPClassifier.as_published()], ids=["own", "published"])
def test_numbers_without_digits_or_beyond_range_are_refused_by_name(model, scale):
    X, y = rows()
    X = np.column_stack([X[:, 0], X[:, 1] * scale, X[:, 2:]])
    action = "Multiply" if scale < 1 else "Divide"
    with pytest.raises(ValueError, match=f"'x1' ranges from .* {action}"):
        model.fit(X, y)


@pytest.mark.slow_cases("selective")
@pytest.mark.slow_cases("trusted")
@pytest.mark.parametrize("name", ["weights", "counts", "trusted", "selective"])
def test_rows_at_the_end_of_all_numbers_are_unseen(name):
    X, y = rows()
    most = np.finfo(float).max
    far = np.concatenate([X[:2] * 1e303, -X[:2] * 1e303, [[most] * 4, [-most] * 4, [most, -most, most, -most]]])
    for scale in (1.0, 1e300, 1e-300):
        decisions = MODELS[name].fit(X * scale, y).decide(far)
        assert (decisions.cause == Cause.UNSEEN).all()
        assert np.isfinite(decisions.trust).all()
        assert all("nan" not in decisions[i].why() for i in range(len(far)))
