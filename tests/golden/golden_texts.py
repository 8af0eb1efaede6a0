"""Texts that a person reads: reasons, reports, cards, letters, findings."""

from __future__ import annotations

import re
from typing import Any

import golden_data as data
import numpy as np
from addresses import public
from record import scenario

import sepc
from sepc import Landscape


@scenario
def reasons() -> Any:
    found = data.loan_model().decide(data.loans()[2][:15])
    return {"why": found.why(), "brief": [found.why(i, brief=True) for i in range(5)], "shown": str(found)}


@scenario
def reasons_by_counts() -> Any:
    X = data.rows_of("vertebral_column_2c")[2][:10]
    return data.model_of("vertebral_column_2c", trust="counts").decide(X).why()


@scenario
def reasons_of_promises() -> Any:
    return data.selective_loans().decide(data.loans()[2][:10]).why()


@scenario
def report_with_labels() -> Any:
    X, y, others, labels = data.loans()
    return str(sepc.report(data.loan_model(), others, labels, X_train=X, y_train=y, title="Loans", by="housing"))


@scenario
def report_without_labels() -> Any:
    return str(sepc.report(data.loan_model(), data.loans()[2]))


@scenario
def report_of_a_promise() -> Any:
    _, _, others, labels = data.loans()
    return str(sepc.report(data.selective_loans(), others, labels))


@scenario
def report_of_another_model() -> Any:
    X, y = data.cube()
    return str(sepc.report(data.logistic(), X[1000:1600], y[1000:1600]))


@scenario
def report_as_numbers() -> Any:
    X, y, others, labels = data.rows_of("vehicle", 1500)
    found = sepc.report(data.model_of("vehicle"), others, labels).to_dict()
    return {name: value for name, value in found.items() if len(str(value)) < 4000}


@scenario
def report_as_a_page() -> Any:
    _, _, others, labels = data.loans()
    page = sepc.report(data.loan_model(), others, labels).to_html()
    body = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", "", page)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


@scenario
def card() -> Any:
    _, _, others, labels = data.loans()
    return public("model_card")(data.loan_model(), others, labels)


@scenario
def shown_at_a_prompt() -> Any:
    model = data.loan_model()
    return {
        name: str(getattr(model, name))
        for name in ("ellipsoids_", "history_", "regions_", "rows_used_", "provenance_", "preparation_")
    }


@scenario
def letter() -> Any:
    found = data.loan_model().decide(data.loans()[2][:1])
    sender = {"organisation": "Bank", "model": "Loans 2", "contact": "desk@example.org"}
    return str(found[0].letter(**sender, person="A. Person", reference="7"))


@scenario
def landscape() -> Any:
    X, y, _, _ = data.rows_of("vehicle", 900)
    found = Landscape(X, y)
    return {"summary": found.summary(), "figures": found.to_dict()}


@scenario
def bill_of_materials() -> Any:
    found = public("bill_of_materials")(data.loan_model(), name="loans")
    return sorted(str(part.get("name")) for part in found["components"])


@scenario
def recourse() -> Any:
    X = data.loans()[2]
    model = data.loan_model()
    refused = X[model.predict(X) == "default"].iloc[0]
    found = sepc.recourse(model, refused, to="paid", fixed=["opened"], direction={"months_employed": "up"})
    return {"why": found.why(), "bound": found.bound, "answers": found.to_frame().astype(str).to_dict("list")}


@scenario
def recourse_of_many() -> Any:
    X = data.cube()[0][1000:1020]
    found = sepc.recourse(data.cube_model(), X, to="good")
    return {"summary": found.summary(), "answers": found.to_frame().astype(str).to_dict("list")}


@scenario
def metrics() -> Any:
    from sepc import metrics

    rng = np.random.default_rng(0)
    trust = rng.random(300)
    right = rng.random(300) < trust
    names = ("augrc", "aurc", "auroc", "brier", "ece", "excess_aurc")
    return {name: getattr(metrics, name)(right, trust) for name in names} | {
        "coverage_at_risk": metrics.coverage_at_risk(right, trust, 0.1),
        "risk_at_coverage": metrics.risk_at_coverage(right, trust, 0.5),
    }
