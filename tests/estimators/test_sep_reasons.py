"""Reasons: every number is recomputed from the training rows, and no reason is long or contradicts itself."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sepc
from sepc import Cause, SelectiveClassifier, SEPClassifier, TrustedClassifier
from sepc.columns.preparation import Preparation
from sepc.results import Rule
from sepc.wording import percent, quantity

pd = package_or_skip("pandas")

FEWEST = 5
NUMBER = r"-?[\d,]+(?:\.\d+)?(?:e-?\d+)?"


def loans(n=1500, seed=0):
    """A table with numbers, a number of few values and categories, whose labels overlap."""
    rng = np.random.default_rng(seed)
    income, children = rng.lognormal(8.0, 0.5, n).round(), rng.integers(0, 4, n)
    job = rng.choice(["clerk", "nurse", "driver"], n, p=[0.5, 0.3, 0.2])
    score = income / 4000 - 0.4 * children + (job == "nurse") + rng.normal(0.0, 0.7, n)
    table = pd.DataFrame({"income": income, "children": children, "age": rng.normal(45, 9, n).round(), "job": job})
    return table, np.where(score > 0.5, "repaid", "defaulted")


def halves(X, y):
    return X.iloc[::2].reset_index(drop=True), y[::2], X.iloc[1::2].reset_index(drop=True), y[1::2]


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, 20:28], np.where(y == 0, "malignant", "benign")


def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X[["alcohol", "color_intensity", "flavanoids"]], y.to_numpy()


SETS = {"cancer": cancer, "loans": loans, "wine": wine}


@pytest.fixture(scope="module", params=["cancer", "loans", "wine"])
def known(request):
    X, y, X_new, _ = halves(*SETS[request.param]())
    return X, y, SEPClassifier(max_ellipsoids=40).fit(X, y), X_new


@pytest.fixture(scope="module")
def decided(known):
    X, y, model, X_new = known
    decisions = model.decide(pd.concat([X_new, far_away(X_new)], ignore_index=True))
    return known, decisions, [decisions.why(i) for i in range(len(decisions))]


def far_away(X):
    """Some rows with their first number moved far away."""
    moved = X.iloc[:40].copy()
    name = moved.columns[0]
    moved[name] = moved[name].astype(float) + np.linspace(1.0, 20.0, len(moved)) * X[name].std()
    return moved


def training_rows(X, y, model: SEPClassifier) -> np.ndarray:
    """The rows that a model was fitted to, in which categories are encoded by what other rows say."""
    if model.encoding_ is None:
        return X.to_numpy(dtype=float)
    classes = np.unique(y, return_inverse=True)[1]
    columns = model.preparation_.columns
    cells = {own.name: X[own.name].astype(object if own.name == "job" else float).to_numpy() for own in columns}
    values = {own.name: own.read(cells[own.name]) for own in columns}
    return Preparation.fit(columns, values, classes, 1.0, model._settings().seed())[1]


class Recomputed:
    """What is usual for the cases of a label that are most like a row, by the training rows alone."""

    def __init__(self, X, y, model: SEPClassifier) -> None:
        self.X, self.y, self.model = X, y, model.model_
        rows = training_rows(X, y, model)[:, : len(self.model.shift)]
        self.standardized = (rows - self.model.shift) / self.model.scale
        self.inside = np.array([self.gauges(row) <= 1.0 + 1e-9 for row in self.standardized])

    def gauges(self, standardized):
        return np.array(
            [
                np.linalg.norm(root @ (standardized[self.model.placed] - center))
                for center, root in zip(self.model.centers, self.model.roots, strict=True)
            ]
        )

    def cases(self, label, row):
        own = self.y == label
        enough = [k for k in range(self.model.n_ellipsoids) if (own & self.inside[:, k]).sum() >= FEWEST]
        if not enough:
            return self.X[own]
        gauges = self.gauges((row[: len(self.model.shift)] - self.model.shift) / self.model.scale)
        return self.X[own & self.inside[:, min(enough, key=lambda k: gauges[k])]]

    def range(self, cases, feature) -> str:
        ordered = np.sort(cases[feature].to_numpy())
        low, high = (quantity(float(ordered[int(np.ceil(share * len(ordered))) - 1])) for share in (0.1, 0.9))
        return low if low == high else f"{low} to {high}"


# A term of a reason: its name, its value if there is one, what it adds, and what is said beside it.
TERM = re.compile(
    r"(?:^|, | and )(?:missing )?(its neighbourhood|[a-z_][a-z_ ]*?)(?: ([^ (),]+(?:,\d{3})*(?:\.\d+)?))? "
    r"\(([+-][\d.]+)(?:; ((?:[^()]|\([^()]*\))*))?\)"
)
UNUSUAL = re.compile(r"(?:: |, (?=[a-z_ ]+ [^(,]+ \()| and )([a-z_ ]+?) ([^ (),:]+(?:,\d+)*) \(([^()]+)\)")


class Told(NamedTuple):
    """A term as a reason tells it."""

    name: str
    value: str
    adds: float
    beside: str


def terms_told(reason: str, side: str) -> list[Told]:
    """The terms for the label ("For") or against it ("Against") that a reason names."""
    _, _, rest = reason.partition(f" {side} it: ")
    sentence = re.split(r"\)\. (?=[A-Z])|\)\.$", rest)[0] + ")"
    return [Told(own[1], own[2] or "", float(own[3]), own[4] or "") for own in TERM.finditer(sentence)] if rest else []


def all_told(reason: str) -> list[Told]:
    return terms_told(reason, "For") + terms_told(reason, "Against")


def unusual_told(reason: str) -> list[tuple[str, str, str]]:
    """Every unusual feature of a reason: its name and value, and what is said in brackets."""
    found = re.search(r"Unusual(: .*?\))\. ", reason)
    return UNUSUAL.findall(found[1]) if found else []


def sizes_of(decision) -> dict[str, float]:
    """The terms of a decision by column, with all ellipsoids and isolated rows together as its neighbourhood."""
    terms, sizes = decision.terms(), Counter()
    for j, value in zip(decision.model.column_of, terms.features.tolist(), strict=True):
        sizes[decision.model.feature_names[j]] += value
    return sizes | {"its neighbourhood": float(terms.ellipsoids.sum() + terms.isolated)}


def test_the_largest_terms_are_named_and_what_is_told_adds_up(decided):
    _, decisions, reasons = decided
    n_told, n_added, n_faded = 0, 0, 0
    for i in range(0, len(decisions), 3):
        decision, reason, terms = decisions[i], reasons[i], decisions[i].terms()
        sizes, told = sizes_of(decision), all_told(reason)
        best, worst = max(sizes, key=sizes.get), min(sizes, key=sizes.get)
        assert terms_told(reason, "For")[0].name == best, reason
        if not decision.accepted and sizes[worst] <= -0.005:
            assert terms_told(reason, "Against")[0].name == worst, reason
        for own in told:
            assert own.adds == pytest.approx(sizes[own.name], abs=0.0501), reason
        for side in ("For", "Against"):
            named = [abs(sizes[own.name]) for own in terms_told(reason, side)]
            assert named == sorted(named, reverse=True)
        covered = sum(abs(sizes[own.name]) for own in told) / sum(map(abs, sizes.values()))
        assert covered >= 0.7 or len(told) >= 5, reason
        n_told += len(told)
        others = re.search(
            r"(?:(?:The other \d+ (?:together )?|Its neighbourhood )([+-]\d+\.\d), a|A)n average case ([+-]\d+\.\d)",
            reason,
        )
        if others is not None:
            total = float(re.search(r"Log-odds against .*? ([+-][\d.]+)\.", reason)[1])
            assert total == pytest.approx(terms.log_odds, abs=0.0501)
            added = sum(own.adds for own in told) + sum(float(own) for own in others.groups() if own)
            assert added == pytest.approx(total, abs=0.05 * (len(told) + 3) + 1e-9)
            n_added += 1
        taken = re.search(r"takes ([\d.]+) of trust\.", reason)
        if taken is not None:
            alone = 1.0 / (1.0 + np.exp(-terms.log_odds)) if len(decisions.classes) == 2 else terms.probability
            assert float(taken[1]) == pytest.approx(alone - decision.trust, abs=1e-3)
            n_faded += 1
    assert n_told > 50
    assert n_added > 10
    assert n_faded > 0


def ends_of(span: str) -> tuple[float, float]:
    low, _, high = span.replace(",", "").partition(" to ")
    return float(low), float(high or low)


@pytest.mark.slow_cases("loans")
def test_every_value_and_every_usual_range_is_recomputed(decided):
    """And a value is nearer to what is usual for the label that it speaks for."""
    (X, y, model, X_new), decisions, reasons = decided
    rows = pd.concat([X_new, far_away(X_new)], ignore_index=True)
    recomputed, n_checked, n_ranges = Recomputed(X, y, model), 0, 0
    for i in range(0, len(decisions), 3):
        reason, decision = reasons[i], decisions[i]
        rival = decision.terms().runner_up
        for own in all_told(reason):
            if own.name == "its neighbourhood":
                continue
            assert own.name in X.columns, reason
            given = rows[own.name][i]
            assert own.value == (given if isinstance(given, str) else quantity(float(given))), reason
            if not own.beside:
                continue
            labels = sorted({decision.label, rival})
            told = dict(zip(labels, parts_by_label(own.beside, decision, rival), strict=True))
            for label in labels:
                cases = recomputed.cases(label, decisions.rows[i])
                if told[label].endswith(" %"):
                    assert told[label] == percent(float((cases[own.name] == given).mean()), 0), reason
                else:
                    assert told[label] == recomputed.range(cases, own.name), reason
            n_checked += 1
            if "%" in own.beside:
                continue
            order = (decision.label, rival) if own.adds > 0 else (rival, decision.label)
            (low, high), (rival_low, rival_high) = (ends_of(told[label]) for label in order)
            number = float(own.value.replace(",", ""))
            assert max(low - number, number - high, 0.0) <= max(rival_low - number, number - rival_high, 0.0), reason
            n_ranges += 1
    assert n_checked > 10
    assert n_ranges > 1


def parts_by_label(usual: str, decision, runner_up) -> list[str]:
    """What is said of each label, in the order of the labels: a range or a share."""
    told = {}
    for part in re.split(r", ", usual):
        share = re.fullmatch(r"((?:over |under )?[\d.]+ %) of (?:cases of )?(.+?)(?: cases)?(?: like it)?", part)
        span = re.fullmatch(rf"(?:cases )?(?:of )?(.+?):?(?: cases)?(?: like it)? ({NUMBER}(?: to {NUMBER})?)", part)
        label, text = (share[2], share[1]) if share else (span[1], span[2])
        told[label] = text
    assert set(told) == {str(decision.label), str(runner_up)}, usual
    return [told[str(label)] for label in sorted({decision.label, runner_up})]


def told_counts(cases: str) -> list[int]:
    """The counts of training cases that a part of a reason gives, the highest first."""
    found = re.findall(r"\d+", re.sub(r"(cases|\d) of \d", r"\1", cases.replace(",", "")))
    return sorted(map(int, found), reverse=True)


def test_trust_counts_and_the_group_that_tells_most_of_the_place_are_told_as_they_are(decided):
    (X, y, model, _), decisions, reasons = decided
    recomputed, n_checked = Recomputed(X, y, model), 0
    n_inside = [np.unique(y[inside], return_counts=True) for inside in recomputed.inside.T]
    for i in range(0, len(decisions), 5):
        reason, decision = reasons[i], decisions[i]
        trust = re.search(r"with trust (>? ?[\d.]+)", reason)[1]
        assert trust == "> 0.999" or float(trust) == pytest.approx(decision.trust, abs=5e-4)
        if decision.rule is not Rule.NEAREST or decision.place < decisions.model.n_ellipsoids:
            counts = told_counts(re.search(r"trust [^:]+: (.*?)\. ", f"{reason} ")[1])
            wanted = sorted((n for n in decision.counts.tolist() if n), reverse=True)
            assert counts == wanted or sum(wanted) == 1, reason
        gauges = recomputed.gauges(model.model_.standardize(decisions.rows[i : i + 1])[0])
        for own in (own for own in all_told(reason) if own.name == "its neighbourhood" and own.beside):
            relation, cases = re.fullmatch(r"(in|near|outside) (.*?) with .*", own.beside).groups()
            favoured = decision.label if own.adds > 0 else decision.terms().runner_up
            assert any(
                told_counts(cases) == sorted(counts.tolist(), reverse=True)
                and (gauge <= 1.0 + 1e-9) == (relation == "in")
                and (relation != "near" or gauge <= 2.0)
                and (labels[counts.argmax()] == favoured) == (relation != "outside")
                for gauge, (labels, counts) in zip(gauges, n_inside, strict=True)
            ), reason
            n_checked += 1
    assert n_checked or "job" in X


def test_a_single_case_is_told_with_the_nearest_group_behind_it():
    table, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y, X_new, _ = halves(table, np.where(labels == 0, "malignant", "benign"))
    fitted = SEPClassifier().fit(X, y)
    decisions, model, recomputed = fitted.decide(X_new), fitted.model_, Recomputed(X, y, fitted)
    n_checked = 0
    for i in np.flatnonzero(decisions.place >= model.n_ellipsoids).tolist():
        reason, decision = decisions.why(i), decisions[i]
        behind = re.search(r": beside a single (.*); the nearest (.*) group has ([^.]+)\. ", reason)
        if behind is None:
            is_lost = len(reason.split()) > 40
            assert decision.cause is not Cause.ACCEPTED or decision.counts_label != decision.label or is_lost, reason
            continue
        assert (behind[1], behind[2]) == (f"{decision.label} training case", decision.label)
        assert "alone, it would be" not in reason
        gauges = recomputed.gauges((decisions.rows[i] - model.shift) / model.scale)
        inside = [recomputed.inside[y == label].sum(axis=0) for label in model.classes]
        is_of_label = model.classes[np.argmax(inside, axis=0)] == decision.label
        counts = np.array(inside)[:, np.where(is_of_label, gauges, np.inf).argmin()].tolist()
        assert told_counts(behind[3]) == sorted((n for n in counts if n), reverse=True), reason
        n_checked += 1
    assert n_checked > 3


def test_what_is_unusual_lies_outside_what_is_told(decided):
    (X, _, _, X_new), decisions, reasons = decided
    rows = pd.concat([X_new, far_away(X_new)], ignore_index=True)
    n_checked = 0
    for i in np.flatnonzero(decisions.cause == Cause.UNSEEN).tolist():
        for name, value, usual in unusual_told(reasons[i]):
            span = re.search(rf"({NUMBER})(?: to ({NUMBER}))?$", usual)
            if span is None:
                continue
            low, high = (float(end.replace(",", "")) for end in (span[1], span[2] or span[1]))
            given = float(rows[name][i])
            assert not low < given < high or value in span.groups(), reasons[i]
            if usual.startswith("all "):
                assert (quantity(float(X[name].min())), quantity(float(X[name].max()))) == (span[1], span[2])
            n_checked += 1
    assert n_checked >= 5


def test_no_reason_is_long_or_contradicts_itself(decided):
    _, decisions, reasons = decided
    lines, n_said = decisions.why(brief=True), 0
    assert decisions.why() == reasons
    assert lines[3] == decisions[3].why(brief=True) == decisions.why(3, brief=True)
    for i, (reason, line, decision) in enumerate(zip(reasons, lines, decisions, strict=True)):
        assert len(reason.split()) <= 80, reason
        assert ("far from all training cases" in reason) == (decision.cause is Cause.UNSEEN), reason
        assert ("Not accepted" in reason) == (not decision.accepted)
        assert "llipsoid" not in reason
        assert decision.accepted or f"({decision.cause.name})" in reason
        is_thin = decision.cause is Cause.THIN and decision.rule is Rule.NEAREST
        assert is_thin or "outside all groups" not in reason
        assert len(line.split()) <= 30
        assert (f"Not accepted ({decision.cause.name})." in line) == (not decision.accepted)
        if i % 10 == 0:
            sizes = sizes_of(decision)
            assert f": {max(sizes, key=sizes.get)}" in line
        said = re.search(r"By (the cases around it|that case) alone, it would be ('\w+'|\d)\.", reason)
        if said is not None:
            assert said[2].strip("'") == str(decision.counts_label) != str(decision.label)
            assert (said[1] == "that case") == ("a single" in reason[: said.start()]), reason
            n_said += 1
        for own in all_told(reason):
            for first, second in re.findall(r"([\d.]+) % of [^,()]+, ([\d.]+) % of", own.beside):
                assert float(first) * 1.5 >= float(second), own
    assert n_said or not (decisions.counts_label != decisions.label).any()
    assert np.median([len(reason.split()) for reason in reasons]) <= 60


def test_nothing_is_usual_beside_a_value_that_nobody_has(known):
    _, _, model, X_new = known
    if "children" not in X_new:
        return
    decisions = model.decide(X_new.assign(children=2.5))
    reasons = [decisions.why(i) for i in range(0, len(decisions), 5)]
    assert any("children 2.5" in reason for reason in reasons if "Unusual: " in reason)
    told = [own for reason in reasons for own in all_told(reason) if own.name == "children"]
    assert told
    assert not any(own.beside for own in told)


def test_missing_values_are_named_and_one_to_fetch_is(known):
    _, _, model, X_new = known
    numbers = [name for name in X_new if X_new[name].dtype.kind in "if"]
    gone = X_new.astype(dict.fromkeys(numbers, float)).copy()
    gone.loc[::2, numbers[0]] = np.nan
    gone.loc[1::2, numbers[1]] = np.nan
    decisions, n_checked = model.decide(gone), 0
    for i in range(0, len(decisions), 4):
        reason, name = decisions.why(i), numbers[i % 2]
        assert f"{name} is missing." in reason or "1 value is missing." in reason, reason
        assert all(own.value == "" for own in all_told(reason) if own.name == name), reason
        if decisions[i].cause is Cause.MISSING:
            share = re.search(rf"Fetch {name}(?:: (\d+) of 20 likely values would settle the case)?\.", reason)
            assert int(share[1] or 0) == round(20 * decisions[i].ask_for()[0][1])
            n_checked += 1
    assert n_checked or "income" not in numbers


def test_values_are_those_that_went_into_a_pipeline_if_there_is_a_way_back():
    class Squared(StandardScaler):
        inverse_transform = property()

    X, y, X_new, _ = halves(*cancer())
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), SEPClassifier()).fit(X, y)
    decisions, plain = sepc.decide(pipeline, X_new), SEPClassifier().fit(X, y).decide(X_new)
    assert pipeline[-1].decide(pipeline[:-1].transform(X_new)).why(0) != decisions.why(0)
    told = [(i, own) for i in range(0, len(decisions), 10) for own in all_told(decisions.why(i))]
    assert len(told) > 10
    for i, own in told:
        if own.name == "its neighbourhood":
            assert f"{own.beside}" in plain.why(i)  # groups have the same names
        elif own.value:
            assert own.value == quantity(float(X_new[own.name][i]))
    decisions = sepc.decide(make_pipeline(Squared(), SEPClassifier()).fit(X, y), X_new)
    bare = [own for i in range(20) for own in all_told(decisions.why(i))]
    assert any(own.name.startswith("worst ") for own in bare)
    assert not any(re.search(r"\d", own.value) or (own.beside and own.name != "its neighbourhood") for own in bare)


@pytest.mark.slow_cases("trusted")
@pytest.mark.parametrize("kind", ["counts", "published", "trusted", "selective", "stratified"])
def test_other_models_and_wrappers_have_reasons_and_keep_within_the_length(kind):
    X, y, X_new, _ = halves(*(cancer() if kind in ("counts", "published") else loans(800)))
    if kind == "trusted":
        numbers = ["income", "children", "age"]
        X, X_new = X[numbers], X_new[numbers]
    wrappers: dict[str, Any] = {
        "trusted": TrustedClassifier(LogisticRegression()),
        "selective": SelectiveClassifier(SEPClassifier(), max_risk=0.1),
        "stratified": sepc.RoutedClassifier(SEPClassifier(), by=["job"]),
    }
    model = wrappers.get(kind) or SEPClassifier(trust=kind)
    decisions = model.fit(X, y).decide(X_new)
    reasons = [decisions.why(i) for i in range(0, len(decisions), 5)]
    assert max(len(reason.split()) for reason in reasons) <= 80
    own = " separates it from", 1 / 3
    said, share = {"trusted": ("For '", 0.9), "counts": own, "published": own}.get(kind, ("For it: ", 0.9))
    assert sum(said in reason for reason in reasons) > share * len(reasons)


def test_a_single_class_and_a_single_row_have_reasons():
    X = np.vstack([np.random.default_rng(0).normal(size=(30, 2)), [[9.0, 9.0]]])
    lonely = SEPClassifier().fit(X, np.repeat(["a", "b"], [30, 1]))
    assert lonely.decide(X[-1:]).why(0).startswith("'b' with trust") or "'a'" in lonely.decide(X[-1:]).why(0)
    alone = SEPClassifier().fit(X[:30], np.repeat("a", 30))
    assert alone.decide(X[:1]).why(0).startswith("'a' with trust")
    assert "Unusual: x0 900" in alone.decide(np.array([[900.0, 0.0]])).why(0)


def test_hostile_names_neither_break_lines_nor_lengths():
    X, y = wine()
    table = X.rename(columns={"alcohol": "a\nb\x1b[31m", "flavanoids": "word " * 40})
    decisions = SEPClassifier().fit(table, [f"label {'x ' * 30}{c}" for c in y]).decide(table)
    for i in range(0, len(decisions), 10):
        assert "\n" not in decisions.why(i)
        assert "\x1b" not in decisions.why(i)
