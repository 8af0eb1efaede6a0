"""Commands that succeed: what they write is what the library says, from every kind of table."""

import gzip
import io
import json
import re
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from command_runs import command, complaint, run_here
from optional import package_or_skip
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import sepc.sql
from sepc import (
    SelectiveClassifier,
    SEPClassifier,
    StratifiedClassifier,
    TrustedClassifier,
    load,
    save,
)
from sepc.cli import export
from sepc.reporting.facts import importances_of
from sepc.sql.dialects import DIALECTS

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

FEATURES = ["mean radius", "mean texture", "worst area"]


def estimators(wdbc):
    X, y = wdbc[FEATURES][::2], wdbc["target"][::2].to_numpy()
    one = SEPClassifier().fit(X, y)
    strata = StratifiedClassifier(SEPClassifier(), by=["ward"]).fit(
        wdbc[[*FEATURES, "ward"]], wdbc["target"].to_numpy()
    )
    return {
        "sep": one,
        "counts": SEPClassifier(trust="counts").fit(X, y),
        "whole": SEPClassifier().fit(X, (y == "benign").astype(int)),
        "truth": SEPClassifier().fit(X, y == "benign"),
        "selective": SelectiveClassifier(FrozenEstimator(one), 0.1).fit(wdbc[FEATURES][1::2], wdbc["target"][1::2]),
        "trusted": TrustedClassifier(SEPClassifier(), cv=2).fit(X, y),
        "strata": strata,
        "selective strata": SelectiveClassifier(FrozenEstimator(strata), 0.2).fit(
            wdbc[[*FEATURES, "ward"]], wdbc["target"].to_numpy()
        ),
    }


KINDS = ["sep", "counts", "whole", "truth", "selective", "trusted", "strata", "selective strata"]


@pytest.fixture(scope="module")
def models(wdbc):
    return estimators(wdbc)


@pytest.mark.slow_cases("sep-csv")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_decisions(kind, suffix, models, wdbc, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 100)
    model = models[kind]
    save(model, tmp_path / "m.sepc")
    ran = run_here(
        capsys, "score", tmp_path / "m.sepc", folder / f"wdbc.{suffix}", "--output", tmp_path / f"out.{suffix}"
    )
    assert (ran.code, ran.err) == (0, "")
    found = getattr(pd, f"read_{suffix}")(tmp_path / f"out.{suffix}")
    decisions = model.decide(wdbc[model.feature_names_in_])
    assert f"569 rows, {np.count_nonzero(decisions.accepted)} accepted" in ran.out
    if hasattr(decisions, "to_frame"):
        wanted = decisions.to_frame()
        assert list(found.columns) == list(wanted.columns)
        for name in wanted:
            np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(wanted[name]), err_msg=name)
    else:
        np.testing.assert_array_equal(np.asarray(found["label"]), decisions.label)
        np.testing.assert_array_equal(found["stratum"], decisions.stratum)
        np.testing.assert_array_equal(found["p_benign"], decisions.probabilities[:, 0])
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == [f"out.{suffix}"]


def test_kept_columns_come_first_and_as_they_stand(folder, write_csv, capsys, tmp_path):
    table = write_csv(["nr", *FEATURES, "note"], ("007", 12, 15, 500, "a, b"), ("x", 13, 16, 600, "ü"))
    output = tmp_path / "out.csv"
    assert run_here(capsys, "score", folder / "model.sepc", table, "--output", output, "--copy", "note,nr").code == 0
    found = pd.read_csv(output, dtype=str)
    assert list(found.columns[:3]) == ["note", "nr", "label"]
    assert found["nr"].tolist() == ["007", "x"]
    assert found["note"].tolist() == ["a, b", "ü"]


def test_a_kept_column_cannot_be_called_as_a_decision(folder, write_csv, capsys, tmp_path):
    table = write_csv([*FEATURES, "trust"], (12, 15, 500, 1))
    words = ["score", folder / "model.sepc", table, "--output", tmp_path / "o.csv", "--copy", "trust"]
    assert "--copy names 'trust'" in complaint(run_here(capsys, *words))
    assert "has no column 'nr'" in complaint(run_here(capsys, *words[:-1], "nr"))


@pytest.mark.parametrize("kind", ["sep", "strata"])
def test_rows_with_empty_cells_are_left_undecided(kind, models, wdbc, tmp_path, capsys):
    model = models[kind]
    save(model, tmp_path / "m.sepc")
    table = wdbc.copy()
    table.loc[[3, 8], "worst area"] = np.nan
    table.to_parquet(tmp_path / "holes.parquet")
    words = ["score", tmp_path / "m.sepc", tmp_path / "holes.parquet", "--output", tmp_path / "out.parquet", "--json"]
    assert json.loads(run_here(capsys, *words, "--missing", "leave").out)["left_undecided"] == 2
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["label"].isna().to_numpy().nonzero()[0].tolist() == [3, 8]
    assert not found["accepted"][[3, 8]].any()
    assert found["accepted"].dtype == bool
    decided = model.decide(wdbc[model.feature_names_in_].drop([3, 8]))
    np.testing.assert_array_equal(found["trust"].dropna(), decided.trust)


def test_a_table_in_which_every_row_has_an_empty_cell(folder, write_csv, capsys, tmp_path):
    table = write_csv(FEATURES, ("", 15, 500), (12, "", 500))
    words = ["score", folder / "model.sepc", table, "--output", tmp_path / "o.csv", "--missing", "leave", "--json"]
    counts = json.loads(run_here(capsys, *words).out)
    assert (counts["rows"], counts["accepted"], counts["left_undecided"]) == (2, 0, 2)
    assert pd.read_csv(tmp_path / "o.csv")["label"].isna().all()


def forms(text):
    """The same table written in other ways, and the options to read it."""
    return {
        "mark.csv": ("﻿".encode() + text.encode(), []),
        "semicolon.csv": (text.replace(",", ";").encode(), ["--separator", ";"]),
        "tab.tsv": (text.replace(",", "\t").encode(), []),
        "latin.csv": (text.encode("latin-1"), ["--encoding", "latin-1"]),
        "packed.csv.gz": (gzip.compress(text.encode()), []),
        "windows.csv": (text.replace("\n", "\r\n").encode(), []),
        "odd.data": (text.encode(), ["--format", "csv"]),
        "unfinished.csv": (text.rstrip("\n").encode(), []),
    }


@pytest.mark.parametrize("name", list(forms("")))
def test_csv_is_read_however_it_is_written(name, folder, wdbc, tmp_path, capsys):
    data, options = forms(wdbc.rename(columns={"ward": "größe"}).to_csv(index=False))[name]
    (tmp_path / name).write_bytes(data)
    words = ["score", folder / "model.sepc", tmp_path / name, *options, "--copy", "größe", "--output"]
    assert run_here(capsys, *words, tmp_path / "out.csv").err == ""
    found = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(found["trust"], load(folder / "model.sepc").decide(wdbc[FEATURES]).trust)
    assert found["größe"].tolist() == wdbc["ward"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_standard_input_and_output(suffix, folder, wdbc, capsys, monkeypatch):
    given = io.TextIOWrapper(io.BytesIO((folder / f"wdbc.{suffix}").read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    ran = run_here(capsys, "score", folder / "model.sepc", "-", "--format", suffix, "--output", "-", "--copy", "id")
    found = pd.read_csv(io.StringIO(ran.out))
    np.testing.assert_array_equal(found["trust"], load(folder / "model.sepc").decide(wdbc[FEATURES]).trust)
    assert "Written" not in ran.out


def test_a_pipe_that_nobody_reads(folder):
    table = (folder / "wdbc.csv").read_text()
    long = table + table.partition("\n")[2] * 300
    words = shlex.join(command("score", folder / "model.sepc", "-", "--output", "-"))
    script = f"{words} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], input=long, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [done.stdout.splitlines()[0], "141"]
    assert "trust" in done.stdout


def test_a_model_without_names_takes_columns_in_order(wdbc, folder, tmp_path, capsys):
    save(SEPClassifier().fit(wdbc[FEATURES].to_numpy(), wdbc["target"].to_numpy()), tmp_path / "m.sepc")
    words = ["score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv"]
    assert "3 features without names" in complaint(run_here(capsys, *words))
    assert run_here(capsys, *words, "--features", ",".join(FEATURES)).code == 0
    assert "names 1 columns" in complaint(run_here(capsys, *words, "--features", "mean radius"))


def test_a_model_around_anothers(wdbc, folder, tmp_path, capsys):
    inner = LogisticRegression(max_iter=5000).fit(wdbc[FEATURES], wdbc["target"])
    save(SelectiveClassifier(FrozenEstimator(inner), 0.2).fit(wdbc[FEATURES], wdbc["target"]), tmp_path / "m.sepc")
    ran = run_here(capsys, "score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv")
    told = complaint(ran)
    assert "wraps a model from another library, sklearn.linear_model._logistic.LogisticRegression," in told
    assert "sepc.load(path, estimator=...)" in told


FITS: dict[str, Any] = {
    "plain": ([], SEPClassifier),
    "promise": (["--max-risk", "0.1", "--confidence", "0.9"], SelectiveClassifier),
    "groups": (["--max-risk", "0.2", "--promise-by", "ward"], SelectiveClassifier),
    "strata": (["--by", "ward"], StratifiedClassifier),
    "options": (
        ["--n-impure", "0.05", "--trust", "counts", "--min-trust", "0.8", "--fit-rows", "300"],
        SEPClassifier,
    ),
}


@pytest.mark.quick_cases("plain-csv", "promise-parquet", "groups-csv", "strata-parquet", "options-*")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", list(FITS))
def test_fits_are_those_of_the_library(kind, suffix, folder, wdbc, tmp_path, capsys):
    options, wanted = FITS[kind]
    drop = "id" if kind in ("strata", "groups") else "id,ward"
    words = ["fit", folder / f"wdbc.{suffix}", "--target", "target", "--drop", drop, "--output", tmp_path / "m.sepc"]
    ran = run_here(capsys, *words, *options, "--json")
    assert (ran.code, ran.err) == (0, "")
    facts = json.loads(ran.out)
    model = load(tmp_path / "m.sepc")
    assert type(model) is wanted
    assert facts["rows"] == 569
    assert facts["classes"] == [{"label": "benign", "rows": 357}, {"label": "malignant", "rows": 212}]
    assert facts["features"] == list(model.feature_names_in_)
    if kind == "plain":
        again = SEPClassifier(random_state=0).fit(wdbc[FEATURES], wdbc["target"].to_numpy())
        np.testing.assert_array_equal(model.decide(wdbc[FEATURES]).trust, again.decide(wdbc[FEATURES]).trust)
        assert facts["ellipsoids"] == len(again.ellipsoids_)
    if kind == "groups":
        assert model.by == "ward"
        assert set(model.controls_) | set(model.groups_.small) == set(wdbc["ward"])
        ran = run_here(capsys, "score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv")
        assert ran.code == 0
    if kind == "promise":
        assert facts["promise"] == model.summary().splitlines()
        assert "with 90 % confidence" in facts["promise"][0]
    if kind == "options":
        assert (model.n_impure, model.trust, model.min_trust, model.fit_rows) == (0.05, "counts", 0.8, 300)


@pytest.mark.parametrize("labels", [["ja", "nein"], [3, 7], ["true", "false"], [0.0, 1.0]])
def test_labels_of_every_kind(labels, write_csv, tmp_path, capsys):
    rng = np.random.default_rng(0)
    which = rng.integers(2, size=80)
    rows = rng.normal(size=(80, 2)) + 3.0 * which[:, None]
    table = write_csv(["größe", "数値", "y"], *[(*row, labels[k]) for row, k in zip(rows.tolist(), which, strict=True)])
    assert run_here(capsys, "fit", table, "--target", "y", "--output", tmp_path / "m.sepc").code == 0
    model = load(tmp_path / "m.sepc")
    assert list(model.feature_names_in_) == ["größe", "数値"]
    assert {str(label).lower() for label in model.classes_.tolist()} == {str(label) for label in labels}


def test_the_account_of_a_fit(folder, tmp_path, capsys):
    words = ["fit", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward", "--output", tmp_path / "m.sepc"]
    told = run_here(capsys, *words, "--test-size", "0.25").out
    assert re.search(r"427 rows; labels: benign \(2\d\d\), malignant \(1\d\d\)\n3 features: 3 numbers\n", told)
    assert "On 142 rows held out:" in told
    assert f"Written to {tmp_path / 'm.sepc'}" in told
    assert run_here(capsys, *words, "--quiet").out == ""


def test_fit_warns_of_a_rare_class_that_accepted_rows_miss(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(5_000, 2)), rng.normal(size=(50, 2)) + 1.5])
    labels = np.repeat(["common", "odd"], [5_000, 50])
    pd.DataFrame(rows, columns=["a", "b"]).assign(kind=labels).to_csv(tmp_path / "rare.csv", index=False)
    words = ["fit", tmp_path / "rare.csv", "--target", "kind", "--test-size", "0.3", "--output", tmp_path / "m.sepc"]
    told = {bool(more): run_here(capsys, *words, *more).out for more in ([], ["--class-weight", "balanced"])}
    assert re.search(r"^Found: [\d,]+ of [\d,]+ of common and \d+ of \d+ of odd\.$", told[False], re.MULTILINE)
    assert "'odd' (18 rows) is missed: of its" in told[False]
    assert "for example with --class-weight balanced" in told[False]
    assert "is missed" not in told[True]
    found, n_rare = map(int, re.search(r"and (\d+) of (\d+) of odd", told[True]).groups())
    assert found >= 0.8 * n_rare


def test_rows_with_empty_cells_can_be_dropped(wdbc, tmp_path, capsys):
    table = wdbc[[*FEATURES, "target"]].copy()
    table.loc[3, "worst area"] = np.nan
    table.loc[9, "target"] = None
    table.to_csv(tmp_path / "holes.csv", index=False)
    words = ["fit", tmp_path / "holes.csv", "--target", "target", "--output", tmp_path / "m.sepc", "--missing", "drop"]
    assert "567 rows (2 rows with empty cells left out)" in run_here(capsys, *words).out


def test_numbers_that_first_look_whole(write_csv, tmp_path, capsys):
    """Types are told from the first rows, but a fraction long after them is no surprise."""
    rows = [(i % 50, i % 2) for i in range(300_000)]
    rows[299_999] = (0.5, 1)
    table = write_csv(["x", "y"], *rows)
    words = ["fit", table, "--target", "y", "--output", tmp_path / "m.sepc", "--fit-rows", "200", "--n-impure", "0.6"]
    assert "300,000 rows" in run_here(capsys, *words).out


def test_explained_rows_are_those_asked_for(folder, wdbc, capsys):
    model = load(folder / "model.sepc")
    words = ["explain", folder / "model.sepc", folder / "wdbc.parquet"]
    decisions = model.decide(wdbc[FEATURES])
    ran = run_here(capsys, *words, "--row", "12", "--row", "1")
    assert ran.out == f"Row 12: {decisions[11].why()}\n\nRow 1: {decisions[0].why()}\n"
    found = json.loads(run_here(capsys, *words, "--worst", "3", "--json").out)
    assert [one["trust"] for one in found] == np.sort(decisions.trust)[:3].tolist()
    assert all(one["why"] == decisions[one["row"] - 1].why() for one in found)
    assert "has 569 rows; there is no row 570" in complaint(run_here(capsys, *words, "--row", "570"))


@pytest.mark.slow
def test_a_command_that_wants_no_more_of_a_table_ends_well(folder, tmp_path):
    """Threads still read the table when the row is explained; many such runs once ended in an abort, or never."""
    cells = np.random.default_rng(0).normal([14.0, 19.0, 880.0], [3.0, 4.0, 500.0], size=(20_000, 3)).round(4)
    lines = "\n".join(f"{a},{b},{c}" for a, b, c in cells.tolist())
    with gzip.open(tmp_path / "long.csv.gz", "wt", compresslevel=1) as file:
        file.write("\n".join([",".join(FEATURES), *([lines] * 50), ""]))
    words = [sys.executable, "-m", "sepc.cli", "explain", folder / "model.sepc", tmp_path / "long.csv.gz", "--row", "1"]
    for _ in range(2):
        ran = subprocess.run(words, capture_output=True, text=True, timeout=30)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_a_row_is_explained_whatever_the_others_lack(folder, write_csv, capsys):
    table = write_csv(FEATURES, ("", 15, 500), (12, 15, 500))
    words = ["explain", folder / "model.sepc", table, "--row"]
    assert run_here(capsys, *words, "2").out.startswith("Row 2: 'benign' with trust")
    assert run_here(capsys, *words, "1").out.startswith("Row 1: 'benign' with trust")


def test_landscape(folder, wdbc, capsys):
    from sepc import Landscape

    words = ["landscape", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward"]
    found = Landscape(wdbc[FEATURES], wdbc["target"].to_numpy(), random_state=0)
    assert run_here(capsys, *words).out == f"{found.summary()}\n"
    facts = json.loads(run_here(capsys, *words, "--json").out)
    assert facts["n_ellipsoids"] == found.figures.n_ellipsoids
    assert facts["feature_names"] == FEATURES


def test_report_of_a_new_model(folder, tmp_path, capsys):
    words = ["report", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward"]
    assert "--text" in complaint(run_here(capsys, *words))
    ran = run_here(capsys, *words, "--text", "--title", "Wards")
    assert ran.out.startswith("Wards\n")
    assert "171 held-out rows" in ran.out
    written, verdict = run_here(capsys, *words, "--output", tmp_path / "r.html").out.splitlines()
    assert written == f"Written to {tmp_path / 'r.html'}"
    assert verdict in " ".join(ran.out.split())
    assert (tmp_path / "r.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_a_report_that_contradicts_trust_says_so_in_the_terminal_too(models, wdbc, folder, tmp_path, capsys):
    save(models["sep"], tmp_path / "m.sepc")
    spoilt = wdbc.copy()
    spoilt.loc[::3, "target"] = wdbc["target"].to_numpy()[::-1][::3]
    spoilt.to_csv(tmp_path / "spoilt.csv", index=False)
    words = ["--target", "target", "--model", tmp_path / "m.sepc", "--output", tmp_path / "r.html"]
    assert "Warning: Do not rely on trust" in run_here(capsys, "report", tmp_path / "spoilt.csv", *words).out
    assert "Warning" not in run_here(capsys, "report", folder / "wdbc.csv", *words).out


@pytest.mark.parametrize("kind", ["sep", "selective strata"])
def test_report_of_a_model_file(kind, models, folder, tmp_path, capsys):
    save(models[kind], tmp_path / "m.sepc")
    words = ["report", folder / "wdbc.parquet", "--target", "target", "--model", tmp_path / "m.sepc", "--json"]
    ran = run_here(capsys, *words)
    assert ran.err == ""
    assert json.loads(ran.out)["estimator"] == type(models[kind]).__name__


def test_report_of_a_model_without_names(wdbc, folder, tmp_path, capsys):
    save(SEPClassifier().fit(wdbc[FEATURES].to_numpy(), wdbc["target"].to_numpy()), tmp_path / "m.sepc")
    words = ["report", folder / "wdbc.csv", "--target", "target", "--model", tmp_path / "m.sepc", "--text"]
    assert "3 features without names" in complaint(run_here(capsys, *words))
    assert "names 1 columns" in complaint(run_here(capsys, *words, "--features", "mean radius"))
    assert run_here(capsys, *words, "--features", ",".join(FEATURES)).code == 0


def test_inspect(folder, capsys):
    assert "classes: benign, malignant" in run_here(capsys, "inspect", folder / "model.sepc").out
    found = json.loads(run_here(capsys, "inspect", folder / "model.sepc", "--json").out)
    assert found["model"]["kind"] == "SEPClassifier"


def test_inspect_tells_what_matters_as_fit_does(folder, models, tmp_path, capsys):
    sizes = json.loads(run_here(capsys, "inspect", folder / "model.sepc", "--json").out)["importances"]
    assert dict(importances_of(load(folder / "model.sepc"))) == pytest.approx(sizes)
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    first = next(iter(sizes))
    told = run_here(capsys, "inspect", folder / "model.sepc").out
    assert f"Most important columns, by their mean absolute term: {first} {sizes[first]:.2f}" in told
    save(models["strata"], tmp_path / "s.sepc")
    assert "What matters most" not in run_here(capsys, "inspect", tmp_path / "s.sepc").out


def test_export(folder, models, tmp_path, capsys):
    pytest.importorskip("onnx")
    output = tmp_path / "m.onnx"
    facts = json.loads(run_here(capsys, "export", folder / "model.sepc", "--output", output, "--json").out)
    assert facts["bytes"] == output.stat().st_size > 1000
    save(models["strata"], tmp_path / "s.sepc")
    complaint(run_here(capsys, "export", tmp_path / "s.sepc", "--output", tmp_path / "s.onnx"))
    assert not (tmp_path / "s.onnx").exists()


def test_export_as_sql(folder, models, tmp_path, capsys):
    output = tmp_path / "m.sql"
    words = ["export", folder / "model.sepc", "--output", output, "--dialect", "duckdb", "--table", "a b", "t;"]
    facts = json.loads(run_here(capsys, *words, "--json").out)
    assert facts["bytes"] == output.stat().st_size
    assert output.read_text(encoding="utf-8") == sepc.sql.export(load(folder / "model.sepc"), "duckdb", ("a b", "t;"))
    save(models["strata"], tmp_path / "s.sepc")
    words = ["export", tmp_path / "s.sepc", "--output", tmp_path / "s.sql", "--dialect", "duckdb", "--table", "t"]
    assert "cannot be exported to SQL" in complaint(run_here(capsys, *words))
    assert not (tmp_path / "s.sql").exists()


@pytest.mark.parametrize("options", [["--dialect", "duckdb"], ["--table", "t"], []])
def test_export_as_sql_needs_a_dialect_and_a_table(folder, tmp_path, capsys, options):
    ran = run_here(capsys, "export", folder / "model.sepc", "--output", tmp_path / "m.sql", *options)
    assert "--dialect and --table are for SQL" in complaint(ran)
    if options:
        ran = run_here(capsys, "export", folder / "model.sepc", "--output", tmp_path / "m.onnx", *options)
        assert "--dialect and --table are for SQL" in complaint(ran)


def test_the_command_knows_every_dialect():
    assert set(export.DIALECTS) == set(DIALECTS)


def test_an_unexpected_error_is_one_line_too(folder, capsys, monkeypatch):
    monkeypatch.setattr("sepc.model_files.inspect", lambda path, key: {}["nothing"])
    line = complaint(run_here(capsys, "inspect", folder / "model.sepc"), code=1)
    assert "KeyError: 'nothing' (a bug in sepc; set SEPC_TRACEBACK=1" in line
    monkeypatch.setenv("SEPC_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run_here(capsys, "inspect", folder / "model.sepc")


def test_warnings_are_one_line_each(write_csv, tmp_path, capsys):
    table = write_csv(["x", "flat", "y"], *[(i + 40 * (i % 2), 1, i % 2) for i in range(40)])
    words = ["fit", table, "--target", "y", "--output", tmp_path / "m.sepc", "--quiet"]
    ran = run_here(capsys, *words)
    assert ran.code == 0
    assert ran.err == (
        "sepc: warning: columns left out, because they do not look usable as features: 'flat' (a constant). "
        "To use one anyway, give --use flat.\n"
    )
    ran = run_here(capsys, *words, "--use", "flat")
    assert ran.err.startswith("sepc: warning: Feature 'flat' is constant")
    assert ran.err.count("\n") == 1


def test_help_imports_no_library():
    code = (
        "import sys\nfrom sepc.cli import main\nassert main(['fit', '--help']) == 0\nassert main(['--help']) == 0\n"
        "print([name for name in ('numpy', 'sklearn', 'pyarrow', 'pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_kinds_of_trust_are_those_of_the_library():
    from sepc.cli import fitting
    from sepc.model.sep_model import TRUSTS

    assert fitting.TRUSTS == TRUSTS  # listed twice, so that help imports no NumPy


def test_version_and_no_pyarrow(folder, capsys, monkeypatch):
    assert run_here(capsys, "--version").out.startswith("sepc 0.")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    line = complaint(run_here(capsys, "explain", folder / "model.sepc", folder / "wdbc.csv"), code=1)
    assert 'pip install "sepc[table]"' in line


@pytest.mark.slow
def test_the_installed_command(folder):
    words = [sys.executable, "-m", "sepc.cli", "inspect", folder / "model.sepc", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["library"].startswith("sepc ")
