"""Reasons: every number is recomputed from the training rows, and no reason is long or contradicts itself."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

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
from sepc.columns.table import exact_column_of
from sepc.model.names import names_of, region_name
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
    return X, y, SEPClassifier().fit(X, y), X_new


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
    values = {column.name: column.read(exact_column_of(X, column.name)) for column in columns}
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
                np.linalg.norm(root @ (standardized - center))
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
UNUSUAL = re.compile(r"(?:: |, (?=[a-z_ ]+ [^(,]+ \()| and )([a-z_ ]+?) ([^ (),:]+) \(([^()]+)\)")


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


def test_the_largest_terms_are_named_and_every_number_is_theirs(decided):
    _, decisions, reasons = decided
    n_checked = 0
    for i in range(0, len(decisions), 3):
        decision, reason = decisions[i], reasons[i]
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
        n_checked += len(told)
    assert n_checked > 50


def test_a_reason_adds_up(decided):
    _, decisions, reasons = decided
    n_checked = 0
    for i in range(0, len(decisions), 3):
        others = re.search(
            r"(?:The other \d+ (?:together )?([+-]\d+\.\d), a|A)n average case ([+-]\d+\.\d)", reasons[i]
        )
        if others is None:
            continue
        told = [own.adds for own in all_told(reasons[i])]
        total = float(re.search(r"Log-odds against .*? ([+-][\d.]+)\.", reasons[i])[1])
        assert total == pytest.approx(decisions[i].terms().log_odds, abs=0.0501)
        added = sum(told) + sum(float(own) for own in others.groups() if own)
        assert added == pytest.approx(total, abs=0.05 * (len(told) + 3) + 1e-9)
        n_checked += 1
    assert n_checked > 10


def test_what_distance_takes_is_the_rest_of_trust(decided):
    _, decisions, reasons = decided
    taken = [
        (i, re.search(r"Its distance from training cases takes ([\d.]+) of trust\.", own))
        for i, own in enumerate(reasons)
    ]
    found = [(i, float(own[1])) for i, own in taken if own]
    assert found
    for i, loss in found[::3]:
        terms = decisions[i].terms()
        alone = 1.0 / (1.0 + np.exp(-terms.log_odds)) if len(decisions.classes) == 2 else terms.probability
        assert loss == pytest.approx(alone - decisions.trust[i], abs=1e-3)


@pytest.mark.slow_cases("loans")
def test_every_value_and_every_usual_range_is_recomputed(decided):
    (X, y, model, X_new), decisions, reasons = decided
    rows = pd.concat([X_new, far_away(X_new)], ignore_index=True)
    recomputed, n_checked = Recomputed(X, y, model), 0
    for i in range(0, len(decisions), 3):
        reason, decision = reasons[i], decisions[i]
        runner_up = decision.terms().runner_up
        for own in all_told(reason):
            if own.name == "its neighbourhood":
                continue
            assert own.name in X.columns, reason
            given = rows[own.name][i]
            assert own.value == (given if isinstance(given, str) else quantity(float(given))), reason
            if not own.beside:
                continue
            for label, told in zip(
                sorted({decision.label, runner_up}), parts_by_label(own.beside, decision, runner_up), strict=True
            ):
                cases = recomputed.cases(label, decisions.rows[i])
                if told.endswith(" %"):
                    assert told == percent(float((cases[own.name] == given).mean()), 0), reason
                else:
                    assert told == recomputed.range(cases, own.name), reason
            n_checked += 1
    assert n_checked > 10


def test_the_group_that_counts_most_for_the_place_is_told_as_it_is(decided):
    (X, y, model, _), decisions, reasons = decided
    recomputed, n_checked = Recomputed(X, y, model), 0
    names = names_of(model.model_).ellipsoids
    for i in range(0, len(decisions), 3):
        for own in (own for own in all_told(reasons[i]) if own.name == "its neighbourhood" and own.beside):
            relation, cases, name = re.fullmatch(r"(in|near|outside) (.*?) with (.*)", own.beside).groups()
            k = names.index(name)
            gauge = recomputed.gauges(model.model_.standardize(decisions.rows[i : i + 1])[0])[k]
            assert (gauge <= 1.0 + 1e-9) == (relation == "in"), reasons[i]
            assert relation != "near" or gauge <= 2.0
            inside = np.unique(y[recomputed.inside[:, k]], return_counts=True)
            assert told_counts(cases) == sorted(inside[1].tolist(), reverse=True)
            mostly, rival = inside[0][inside[1].argmax()], decisions[i].terms().runner_up
            favoured = decisions.label[i] if own.adds > 0 else rival
            assert (mostly == favoured) == (relation != "outside"), reasons[i]
            n_checked += 1
    assert n_checked or "job" in X


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


def test_trust_and_counts_are_those_of_the_decision(decided):
    _, decisions, reasons = decided
    for i in range(0, len(decisions), 5):
        reason, decision = reasons[i], decisions[i]
        trust = re.search(r"with trust (>? ?[\d.]+)", reason)[1]
        assert trust == "> 0.999" or float(trust) == pytest.approx(decision.trust, abs=5e-4)
        if decision.rule is not Rule.NEAREST or decision.place < decisions.model.n_ellipsoids:
            counts = told_counts(re.search(r"trust [^:]+: (.*?)\. ", f"{reason} ")[1])
            wanted = sorted((n for n in decision.counts.tolist() if n), reverse=True)
            assert counts == wanted or sum(wanted) == 1, reason


def told_counts(cases: str) -> list[int]:
    """The counts of training cases that a part of a reason gives, the highest first."""
    return sorted(
        map(int, re.findall(r"\d+", re.sub(r"(cases|\d) of \d", r"\1", cases.replace(",", "")))), reverse=True
    )


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


def test_another_label_by_counts_is_said_of_the_cases_told_before(decided):
    _, decisions, reasons = decided
    n_said = 0
    for i, reason in enumerate(reasons):
        said = re.search(r"By (the cases around it|that case) alone, it would be ('\w+'|\d)\.", reason)
        if said is None:
            continue
        assert said[2].strip("'") == str(decisions.counts_label[i])
        assert decisions.counts_label[i] != decisions.label[i]
        assert (said[1] == "that case") == ("a single" in reason[: said.start()]), reason
        n_said += 1
    assert n_said or not (decisions.counts_label != decisions.label).any()


def test_outside_all_groups_is_said_of_thin_rows_alone(decided):
    _, decisions, reasons = decided
    thin = [i for i in np.flatnonzero(decisions.cause == Cause.THIN) if decisions.rule[i] == Rule.NEAREST]
    assert all(": outside all groups" in reasons[i] or ": " not in reasons[i].partition(". ")[0] for i in thin)
    assert not any("outside all groups" in reasons[i] for i in range(len(reasons)) if i not in thin)


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
    for reason, decision in zip(reasons, decisions, strict=True):
        assert len(reason.split()) <= 80, reason
        assert ("far from all training cases" in reason) == (decision.cause is Cause.UNSEEN), reason
        assert ("Not accepted" in reason) == (not decision.accepted)
        assert "times its size" not in reason
        assert "llipsoid" not in reason
        assert decision.accepted or f"({decision.cause.name})" in reason
    assert np.median([len(reason.split()) for reason in reasons]) <= 60


def test_all_reasons_at_once_are_those_of_each_row(decided):
    _, decisions, reasons = decided
    assert decisions.why() == reasons
    lines = decisions.why(brief=True)
    assert lines[3] == decisions[3].why(brief=True) == decisions.why(3, brief=True)
    for i, line in enumerate(lines):
        sizes = sizes_of(decisions[i]) if i % 10 == 0 else {}
        assert not sizes or f": {max(sizes, key=sizes.get)}" in line
        assert len(line.split()) <= 30
        assert (f"Not accepted ({Cause(decisions.cause[i]).name})." in line) == (not decisions.accepted[i])


def test_nothing_is_usual_beside_a_value_that_nobody_has(known):
    _, _, model, X_new = known
    if "children" not in X_new:
        pytest.skip("only for the table of loans")
    decisions = model.decide(X_new.assign(children=2.5))
    reasons = [decisions.why(i) for i in range(0, len(decisions), 5)]
    assert any("children 2.5" in reason for reason in reasons if "Unusual: " in reason)
    told = [own for reason in reasons for own in all_told(reason) if own.name == "children"]
    assert told
    assert not any(own.beside for own in told)


def test_no_value_is_a_reason_for_a_label_that_has_it_less_often(decided):
    n_checked = 0
    for own in (own for reason in decided[2] for own in all_told(reason)):
        for first, second in re.findall(r"([\d.]+) % of [^,()]+, ([\d.]+) % of", own.beside):
            assert float(first) * 1.5 >= float(second), own
            n_checked += 1
    assert n_checked or "job" not in decided[0][0]


def ends_of(span: str) -> tuple[float, float]:
    low, _, high = span.replace(",", "").partition(" to ")
    return float(low), float(high or low)


def test_a_value_is_nearer_to_what_is_usual_for_the_label_that_it_speaks_for(decided):
    _, decisions, reasons = decided
    n_checked = 0
    for i, reason in enumerate(reasons):
        label, rival = decisions.label[i], decisions[i].terms().runner_up
        for own in all_told(reason):
            if own.name == "its neighbourhood" or not own.beside or "%" in own.beside:
                continue
            told = dict(zip(sorted({label, rival}), parts_by_label(own.beside, decisions[i], rival), strict=True))
            favoured, other = (label, rival) if own.adds > 0 else (rival, label)
            (low, high), (rival_low, rival_high) = ends_of(told[favoured]), ends_of(told[other])
            number = float(own.value.replace(",", ""))
            apart = max(low - number, number - high, 0.0)
            rival_apart = max(rival_low - number, number - rival_high, 0.0)
            assert apart <= rival_apart, reason
            n_checked += 1
    assert n_checked > 3


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


def test_values_are_those_that_went_into_a_pipeline():
    X, y, X_new, _ = halves(*cancer())
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), SEPClassifier()).fit(X, y)
    decisions = sepc.decide(pipeline, X_new)
    assert pipeline[-1].decide(pipeline[:-1].transform(X_new)).why(0) != decisions.why(0)
    told = [(i, own) for i in range(0, len(decisions), 10) for own in all_told(decisions.why(i)) if own.value]
    assert len(told) > 10
    for i, own in told:
        assert own.value == quantity(float(X_new[own.name][i]))


def test_names_of_regions_are_in_the_units_that_went_into_a_pipeline():
    X, y, X_new, _ = halves(*cancer())
    pipeline = make_pipeline(StandardScaler(), SEPClassifier()).fit(X, y)
    model = sepc.decide(pipeline, X_new).model
    plain = SEPClassifier().fit(X, y).model_
    names = [names_of(own).ellipsoids for own in (model, plain)]
    assert names[0] == names[1]
    isolated = len(plain.table.counts) + plain.n_ellipsoids
    assert region_name(model, isolated) == region_name(plain, isolated)


def test_values_without_a_way_back_are_not_told():
    class Squared(StandardScaler):
        inverse_transform = property()

    X, y, X_new, _ = halves(*cancer())
    decisions = sepc.decide(make_pipeline(Squared(), SEPClassifier()).fit(X, y), X_new)
    told = [own for i in range(20) for own in all_told(decisions.why(i))]
    assert any(own.name.startswith("worst ") for own in told)
    assert not any(re.search(r"\d", own.value) or (own.beside and own.name != "its neighbourhood") for own in told)


@pytest.mark.parametrize("trust", ["counts", "published"])
def test_models_without_weights_have_reasons_too(trust):
    X, y, X_new, _ = halves(*cancer())
    decisions = SEPClassifier(trust=trust).fit(X, y).decide(X_new)
    reasons = [decisions.why(i) for i in range(len(decisions))]
    assert max(len(reason.split()) for reason in reasons) <= 60
    assert sum(" separates it from" in reason for reason in reasons) > len(reasons) / 3


@pytest.mark.slow_cases("trusted")
@pytest.mark.parametrize("wrapped", ["trusted", "selective", "stratified"])
def test_wrappers_keep_within_the_length(wrapped):
    X, y, X_new, _ = halves(*loans(800))
    if wrapped == "trusted":
        numbers = ["income", "children", "age"]
        X, X_new = X[numbers], X_new[numbers]
        model = TrustedClassifier(LogisticRegression()).fit(X, y)
    elif wrapped == "selective":
        model = SelectiveClassifier(SEPClassifier(), max_risk=0.1).fit(X, y)
    else:
        model = sepc.StratifiedClassifier(SEPClassifier(), by=["job"]).fit(X, y)
    decisions = model.decide(X_new)
    reasons = [decisions.why(i) for i in range(0, len(decisions), 5)]
    assert max(len(reason.split()) for reason in reasons) <= 80
    subject = "For '" if wrapped == "trusted" else "For it: "
    assert sum(subject in reason for reason in reasons) > 0.9 * len(reasons)


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
