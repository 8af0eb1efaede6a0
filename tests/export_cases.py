"""Models whose exports must decide as they do in Python, each awkward in its own way, and rows to decide."""

import warnings

import cases
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

from sepc import Cause, Costs, Edit, SelectiveClassifier, SEPClassifier
from sepc.results import Rule

SIGNED = {"author": "A. Wu", "reason": "a reason", "date": "2026-05-04"}
KINDS = tuple(cases.KINDS)
PROMISES = {"all rows": 0.2, "each label": {0: 0.3, 1: 0.2}, "a label": {1: 0.2}, "none": 1e-6}


def rows_around(X, n, farthest=1e9):
    """Training rows as they are, moved a little, moved a lot, and far away."""
    rng = np.random.default_rng(0)
    steps = rng.choice([0.0, 0.01, 0.1, 0.5, 3.0, 100.0, farthest], size=(n, 1))
    return X[rng.integers(len(X), size=n)] + steps * rng.standard_normal((n, X.shape[1])) * (X.std(axis=0) + 1e-3)


def beside(X):
    """Rows, and those one step beside them."""
    return np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])


@fitted_once
def of_kind(name):
    """A model of rows of an awkward kind."""
    X, y = cases.KINDS[name](np.random.default_rng(1), 150, 3), np.arange(150) % 2
    X[y == 1] += 0.8 * X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SEPClassifier().fit(X, y), rows_around(X, 1500)


@fitted_once
def with_promise(name):
    """A promise of each kind, about a model that is fitted with it or before it."""
    X, y = make_moons(800, noise=0.3, random_state=0)
    if name in PROMISES or name == "cost":
        max_risk = PROMISES.get(name, Costs(np.ones((2, 2)) - np.eye(2), 0.3))
        model = SelectiveClassifier(SEPClassifier(), max_risk, random_state=0).fit(X[:500], y[:500])
    elif name == "frozen":
        model = SelectiveClassifier(FrozenEstimator(SEPClassifier().fit(X[:250], y[:250])), 0.2).fit(X[250:], y[250:])
    else:
        frozen = FrozenEstimator(SEPClassifier().fit(X[:400], 2 * y[:400]))
        max_risk = {0: 0.3, 2: 0.3} if name == "each label, one unknown" else 0.3
        model = SelectiveClassifier(frozen, max_risk).fit(X[400:], np.where(np.arange(400) % 40, 2 * y[400:], 1))
        assert model.classes_.tolist() == [0, 1, 2]
    assert model.decide(X).accepted.any() == (name != "none")
    return model, rows_around(X, 1000)


def every_rule_and_cause():
    X, y = load_wine(return_X_y=True)
    model, rows = SEPClassifier(min_trust=0.8, random_state=0).fit(X[:, :6], y), rows_around(X[:, :6], 3000)
    decided = model.decide(rows)
    assert set(decided.rule) >= {Rule.SINGLE, Rule.SHARED, Rule.NEAREST}
    assert set(decided.cause) == {Cause.ACCEPTED, Cause.OVERLAP, Cause.UNSEEN, Cause.THIN}
    return model, rows


def sets_never_seen():
    X, y = make_moons(1000, noise=0.35, random_state=0)
    model, rows = SEPClassifier(0, max_ellipsoids=500).fit(X, y), rows_around(X, 5000)
    assert model.model_.n_ellipsoids > 52, "more than a word has bits"
    decided = model.decide(rows)
    assert set(decided.rule[decided.region == -1]) >= {Rule.SHARED, Rule.UNION}
    return model, rows


def flat():
    X = np.random.default_rng(0).standard_normal((200, 4))
    X[:, 3] = X[:, 0] - X[:, 1]
    model = SEPClassifier().fit(X, X[:, 2] > 0.3)
    assert len(model.model_.stack.rough)
    return model, np.vstack([X, rows_around(X, 1000)])


def isolated(n=8, d=5, farthest=1e9):
    X = np.random.default_rng(0).standard_normal((n, d))
    model = SEPClassifier(min_trust=0.6).fit(X, np.arange(n) % 2)
    assert model.model_.n_ellipsoids == 0
    return model, np.vstack([X, rows_around(X, 1000, farthest)])


def isolated_twice():
    X = np.repeat(np.random.default_rng(0).standard_normal((15, 8)), 3, axis=0)
    model = SEPClassifier().fit(X, np.arange(len(X)) % 2)
    assert len(np.unique(model.model_.isolated, axis=0)) < len(model.model_.isolated)
    return model, np.vstack([X, rows_around(X, 1000, 1e4)])


def one_class(d):
    X = np.random.default_rng(0).standard_normal((60, d))
    return SEPClassifier().fit(X, np.zeros(60, dtype=int)), rows_around(X, 1000)


def equally_likely(n_classes):
    X = np.tile(np.random.default_rng(0).standard_normal((60, 2)), (n_classes, 1))
    model, rows = SEPClassifier().fit(X, np.repeat(np.arange(n_classes), 60)), np.vstack([X, rows_around(X, 1000)])
    np.testing.assert_allclose(model.decide(rows).trust, 1.0 / n_classes, atol=1e-9)
    assert (model.predict(rows) == 0).all()
    return model, rows


def tiny_numbers():
    X = 1e-9 * (1.0 + np.random.default_rng(0).random((80, 1)))
    return SEPClassifier().fit(X, X[:, 0] > 1.5e-9), np.linspace(0.0, 4e-9, 500)[:, None]


def on_knots():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(1e3, 1.0, 200), rng.integers(0, 2, 200), rng.exponential(1e-6, 200)])
    model = SEPClassifier().fit(X, X[:, 0] + X[:, 1] > 1e3 + rng.standard_normal(200))
    assert model.model_.weights.n_knots[[0, 2]].min() > 0
    return model, beside(X)


def deviation_nearly_one(scale):
    X = np.random.default_rng(0).standard_normal((200, 1))
    X = (X - X.mean()) / X.std() * scale + 1e-7
    return SEPClassifier().fit(X, X[:, 0] > np.random.default_rng(1).standard_normal(200)), beside(X)


def many_features():
    X, y = load_breast_cancer(return_X_y=True)
    return SEPClassifier(min_trust=0.9, class_weight="balanced").fit(X[:, 2::4], y), rows_around(X[:, 2::4], 1000)


def many_classes():
    X, y = load_digits(return_X_y=True)
    X = X[:, 18:50:4]
    model = SEPClassifier(min_trust=0.9).fit(X[:600], y[:600])
    assert min(len(model.model_.isolated), model.model_.n_ellipsoids) > 0
    return model, rows_around(X, 1000)


def edited():
    X, y = load_wine(return_X_y=True)
    X = X[:, :4]
    edits = Edit.clip("x0", most=0.3, label=0), Edit.flatten("x1", 1, 2), Edit.drop_feature("x3")
    return SEPClassifier(min_trust=0.8).fit(X, y).edited(*edits, **SIGNED), rows_around(X, 1000)


MADE = {
    "every rule and cause": every_rule_and_cause,
    "sets never seen": sets_never_seen,
    "flat": flat,
    "isolated": isolated,
    "fewer rows than features": lambda: isolated(14, 20, 1e4),
    "isolated twice": isolated_twice,
    "one class of one feature": lambda: one_class(1),
    "one class of two features": lambda: one_class(2),
    "two equally likely": lambda: equally_likely(2),
    "three equally likely": lambda: equally_likely(3),
    "tiny numbers": tiny_numbers,
    "on knots": on_knots,
    "deviation 1 + 1e-10": lambda: deviation_nearly_one(1.0 + 1e-10),
    "deviation 1 + 3e-4": lambda: deviation_nearly_one(1.0 + 3e-4),
    "many features": many_features,
    "many classes": many_classes,
    "edited": edited,
}


@fitted_once
def made(name):
    """A model of this name, and rows to decide."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MADE[name]()


@fitted_once
def with_labels(*names):
    """A model of three flowers with these names, and its rows; of two names, the second is for one flower."""
    X, y = load_iris(return_X_y=True)
    return SEPClassifier().fit(X, np.array(names)[y if len(names) == 3 else (y == 1).astype(int)]), X
