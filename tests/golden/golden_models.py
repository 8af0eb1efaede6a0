"""What models decide, and the sums behind it."""

from __future__ import annotations

from typing import Any

import golden_data as data
import numpy as np
import pandas as pd
from addresses import public
from record import decided, scenario

import sepc
from sepc import Edit, SEPClassifier


def on_others(model: Any, name: str, n: int = 40) -> dict[str, Any]:
    X = data.rows_of(name, 1500)[2][:n]
    return decided(model.decide(X), getattr(model, "min_trust", None))


@scenario
def two_classes() -> Any:
    model = data.model_of("vertebral_column_2c")
    return {
        "decisions": on_others(model, "vertebral_column_2c"),
        "importances": model.feature_importances_,
        "rows_used": model.rows_used_,
        "ellipsoids": len(model.ellipsoids_),
        "regions": model.apply(data.rows_of("vertebral_column_2c")[2][:40]),
    }


@scenario
def four_classes() -> Any:
    model = data.model_of("vehicle")
    return {"decisions": on_others(model, "vehicle"), "importances": model.feature_importances_}


@scenario
def many_rare_classes() -> Any:
    return on_others(data.model_of("ecoli"), "ecoli")


@scenario
def gaps_and_categories() -> Any:
    return on_others(data.model_of("adult"), "adult")


@scenario
def gaps_in_numbers() -> Any:
    return on_others(data.model_of("mammographic_masses"), "mammographic_masses")


@scenario
def mixed_columns() -> Any:
    model, X = data.loan_model(), data.loans()[2]
    return {
        "decisions": decided(model.decide(X[:60]), model.min_trust),
        "importances": model.feature_importances_,
        "preparation": model.preparation_.summary(),
        "out_of_fold": model.out_of_fold_[:20],
    }


@scenario
def by_counts() -> Any:
    return on_others(data.model_of("vertebral_column_2c", trust="counts"), "vertebral_column_2c")


@scenario
def as_published() -> Any:
    X, y, others, _ = data.rows_of("vertebral_column_2c")
    model = SEPClassifier.as_published(n_impure=5).fit(X, y)
    return {"decisions": decided(model.decide(others[:40]), model.min_trust), "ellipsoids": len(model.ellipsoids_)}


@scenario
def monotone() -> Any:
    X, y, others, _ = data.rows_of("vertebral_column_2c")
    names = list(X.columns)
    model = SEPClassifier(monotone={names[0]: 1, names[-1]: 1}, monotone_for=np.unique(y)[-1]).fit(X, y)
    return {"decisions": decided(model.decide(others[:40]), model.min_trust), "proofs": str(model.proofs())}


@scenario
def weights_of_classes() -> Any:
    X, y, others, _ = data.rows_of("ilpd")
    model = SEPClassifier(class_weight="balanced").fit(X, y)
    return decided(model.decide(others[:40]), model.min_trust)


@scenario
def few_features() -> Any:
    X, y, others, _ = data.rows_of("german_credit_numeric")
    model = SEPClassifier(max_features=6, features_alone=[X.columns[1]], max_ellipsoids=8).fit(X, y)
    return {"decisions": decided(model.decide(others[:40]), model.min_trust), "importances": model.feature_importances_}


@scenario
def far_and_unseen_values() -> Any:
    model, X = data.loan_model(), data.loans()[2][:6].copy()
    X["housing"] = X["housing"].astype(object)
    X.loc[0, "income"], X.loc[1, "housing"], X.loc[2, "opened"] = 1e9, "boat", pd.Timestamp("2060-01-01")
    X.loc[3, ["income", "housing"]] = [np.nan, None]
    found = model.decide(X)
    return {"decisions": decided(found, model.min_trust), "why": [found[i].why() for i in range(len(X))]}


@scenario
def plain_arrays() -> Any:
    X, y, others, _ = data.rows_of("vertebral_column_2c")
    model = SEPClassifier(max_ellipsoids=5).fit(X.to_numpy(), y)
    found = model.decide(others.to_numpy()[:40])
    return {"decisions": decided(found, model.min_trust), "why": found[0].why()}


@scenario
def one_row_as_a_dict() -> Any:
    found = data.loan_model().decide(data.loans()[2].iloc[0].to_dict())
    return {"decisions": decided(found), "why": found[0].why()}


@scenario
def terms() -> Any:
    found = data.loan_model().decide(data.loans()[2][:5])
    return [{"terms": found[i].terms(), "largest": str(found[i].terms().largest(3))} for i in range(5)]


@scenario
def terms_of_four_classes() -> Any:
    found = data.model_of("vehicle").decide(data.rows_of("vehicle", 1500)[2][:3])
    return [str(found[i].terms()) for i in range(3)]


@scenario
def edited() -> Any:
    model = data.loan_model().edited(
        Edit.flatten("income", 40_000, 60_000),
        Edit.shift("months_employed", 0, 12, by=0.2, label="default"),
        Edit.drop_feature("amount"),
        author="A",
        reason="few rows",
        date="2026-01-02",
    )
    X = data.loans()[2][:30]
    return {"decisions": decided(model.decide(X), model.min_trust), "edits": [str(edit) for edit in model.edits_]}


@scenario
def trusted_boosting() -> Any:
    X = data.rows_of("vertebral_column_2c")[2][:30]
    found = data.trusted().decide(X)
    return {"decisions": decided(found, 0.95), "why": [found[i].why() for i in range(3)]}


@scenario
def stratified() -> Any:
    X = data.loans()[2][["months_employed", "housing", "amount"]][:40]
    found = data.stratified().decide(X)
    return {
        "decisions": decided(found, 0.95),
        "why": [found[i].why() for i in range(3)],
        "strata": data.stratified().strata_.to_frame().astype(str).to_dict("list"),
    }


@scenario
def repaired() -> Any:
    X, _ = data.cube()
    model = data.repaired_cube()
    found = model.decide(X[2500:2540])
    return {"decisions": decided(found, 0.95), "summary": model.summary(), "why": [found[i].why() for i in range(3)]}


@scenario
def anything_that_classifies() -> Any:
    X, _ = data.cube()
    found = sepc.decide(data.logistic(), X[2000:2020], min_trust=0.9)
    return {"decisions": decided(found, 0.9), "why": found[0].why()}


@scenario
def suspects() -> Any:
    X, y, _, _ = data.loans()
    found = public("suspects")(data.loan_model(), y)
    return {"text": str(found), "rows": found.to_frame().astype(str).head(10).to_dict("list")}


@scenario
def enclosing_ellipsoid() -> Any:
    found = sepc.enclose(data.rows_of("vertebral_column_2c")[0].to_numpy())
    return {"center": found.ellipsoid.center, "root": found.ellipsoid.root, "gap_below": bool(found.gap < 1e-6)}
