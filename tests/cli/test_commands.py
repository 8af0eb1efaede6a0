"""Commands that succeed: what they write is what the library says, from every kind of table."""

import gzip
import io
import re
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from command_runs import command
from optional import package_or_skip
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import sepc.sql
from sepc import Landscape, RoutedClassifier, SelectiveClassifier, SEPClassifier, TrustedClassifier, load, save

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

FEATURES = ["mean radius", "mean texture", "worst area"]
KINDS = ["sep", "counts", "whole", "truth", "selective", "trusted", "strata", "selective strata"]


@pytest.fixture(scope="module")
def models(wdbc):
    X, y = wdbc[FEATURES][::2], wdbc["target"][::2].to_numpy()
    warded, labels = wdbc[[*FEATURES, "ward"]], wdbc["target"].to_numpy()
    one, strata = SEPClassifier().fit(X, y), RoutedClassifier(SEPClassifier(), by=["ward"]).fit(warded, labels)
    return {
        "sep": one,
        "counts": SEPClassifier(trust="counts").fit(X, y),
        "whole": SEPClassifier().fit(X, (y == "benign").astype(int)),
        "truth": SEPClassifier().fit(X, y == "benign"),
        "selective": SelectiveClassifier(FrozenEstimator(one), 0.1).fit(wdbc[FEATURES][1::2], wdbc["target"][1::2]),
        "trusted": TrustedClassifier(SEPClassifier(), cv=2).fit(X, y),
        "strata": strata,
        "selective strata": SelectiveClassifier(FrozenEstimator(strata), 0.2).fit(warded, labels),
        "no names": SEPClassifier().fit(X.to_numpy(), y),
    }


@pytest.mark.parametrize(("kind", "suffix"), list(zip(KINDS, ["csv", "parquet"] * 4, strict=True)))
def test_scores_are_the_decisions(kind, suffix, models, wdbc, folder, tmp_path, run, monkeypatch):
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 100)
    model = models[kind]
    save(model, tmp_path / "m.sepc")
    ran = run("score", tmp_path / "m.sepc", folder / f"wdbc.{suffix}", "--output", tmp_path / f"out.{suffix}")
    assert (ran.code, ran.err) == (0, "")
    found = getattr(pd, f"read_{suffix}")(tmp_path / f"out.{suffix}")
    decisions = model.decide(wdbc[model.feature_names_in_])
    assert f"569 rows, {np.count_nonzero(decisions.accepted)} accepted" in ran.out
    wanted = decisions.to_frame()
    assert list(found.columns) == list(wanted.columns)
    for name in wanted:
        np.testing.assert_array_equal(np.asarray(found[name]), np.asarray(wanted[name]), err_msg=name)
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == [f"out.{suffix}"]


def test_kept_columns_come_first_and_as_they_stand(folder, write_csv, run, refused, tmp_path):
    table = write_csv(["nr", *FEATURES, "note", "trust"], ("007", 12, 15, 500, "a, b", 1), ("x", 13, 16, 600, "ü", 2))
    output = tmp_path / "out.csv"
    words = ["score", folder / "model.sepc", table, "--output", output, "--copy"]
    assert run(*words, "note,nr").code == 0
    found = pd.read_csv(output, dtype=str)
    assert list(found.columns[:3]) == ["note", "nr", "label"]
    assert found["nr"].tolist() == ["007", "x"]
    assert found["note"].tolist() == ["a, b", "ü"]
    assert "names 'trust'" in refused(*words, "trust")
    assert "no column 'number'" in refused(*words, "number")


@pytest.mark.parametrize("kind", ["sep", "strata"])
def test_rows_with_empty_cells_are_left_undecided(kind, models, wdbc, tmp_path, facts):
    model = models[kind]
    save(model, tmp_path / "m.sepc")
    table = wdbc.copy()
    table.loc[[3, 8], "worst area"] = np.nan
    table.to_parquet(tmp_path / "holes.parquet")
    words = ["score", tmp_path / "m.sepc", tmp_path / "holes.parquet", "--missing", "leave"]
    assert facts(*words, "--output", tmp_path / "out.parquet")["left_undecided"] == 2
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["label"].isna().to_numpy().nonzero()[0].tolist() == [3, 8]
    assert not found["accepted"][[3, 8]].any()
    assert found["accepted"].dtype == bool
    decided = model.decide(wdbc[model.feature_names_in_].drop([3, 8]))
    np.testing.assert_array_equal(found["trust"].dropna(), decided.trust)
    table[2:4].assign(**{"mean texture": np.nan}).to_parquet(tmp_path / "holes.parquet")
    counts = facts(*words, "--output", tmp_path / "out.csv")
    assert (counts["rows"], counts["accepted"], counts["left_undecided"]) == (2, 0, 2)
    assert pd.read_csv(tmp_path / "out.csv")["label"].isna().all()


FORMS: dict[str, Any] = {
    "mark.csv": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "semicolon.csv --separator ;": lambda text: text.replace(",", ";").encode(),
    "tab.tsv": lambda text: text.replace(",", "\t").encode(),
    "latin.csv --encoding latin-1": lambda text: text.encode("latin-1"),
    "packed.csv.gz": lambda text: gzip.compress(text.encode()),
    "windows.csv": lambda text: text.replace("\n", "\r\n").encode(),
    "odd.data --format csv": lambda text: text.encode(),
    "unfinished.csv": lambda text: text.rstrip("\n").encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_csv_is_read_however_it_is_written(form, folder, wdbc, tmp_path, run):
    name, *options = form.split()
    (tmp_path / name).write_bytes(FORMS[form](wdbc.rename(columns={"ward": "größe"}).to_csv(index=False)))
    words = ["score", folder / "model.sepc", tmp_path / name, *options, "--copy", "größe", "--output"]
    assert run(*words, tmp_path / "out.csv").err == ""
    found = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_array_equal(found["trust"], load(folder / "model.sepc").decide(wdbc[FEATURES]).trust)
    assert found["größe"].tolist() == wdbc["ward"].tolist()


def test_standard_input_and_output(folder, wdbc, run, refused, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((folder / "wdbc.csv").read_bytes())))
    words = ["score", folder / "model.sepc", "-", "--output", "-", "--copy", "id"]
    ran = run(*words)
    found = pd.read_csv(io.StringIO(ran.out))
    np.testing.assert_array_equal(found["trust"], load(folder / "model.sepc").decide(wdbc[FEATURES]).trust)
    assert "Written" not in ran.out
    for form in ("parquet", "excel"):
        assert "Only CSV" in refused(*words, "--format", form)


def test_a_pipe_that_nobody_reads(folder):
    table = (folder / "wdbc.csv").read_text()
    long = table + table.partition("\n")[2] * 40
    words = shlex.join(command("score", folder / "model.sepc", "-", "--output", "-"))
    script = f"{words} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], input=long, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [done.stdout.splitlines()[0], "141"]
    assert "trust" in done.stdout


def test_a_model_without_names_takes_columns_in_order(models, folder, tmp_path, run, refused):
    save(models["no names"], tmp_path / "m.sepc")
    for words in (
        ["score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv"],
        ["report", folder / "wdbc.csv", "--target", "target", "--model", tmp_path / "m.sepc", "--text"],
    ):
        assert "without names" in refused(*words)
        assert "names 1" in refused(*words, "--features", "mean radius")
        assert run(*words, "--features", ",".join(FEATURES)).code == 0


def test_a_model_around_anothers(wdbc, folder, tmp_path, refused):
    inner = LogisticRegression(max_iter=5000).fit(wdbc[FEATURES], wdbc["target"])
    save(SelectiveClassifier(FrozenEstimator(inner), 0.2).fit(wdbc[FEATURES], wdbc["target"]), tmp_path / "m.sepc")
    told = refused("score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv")
    assert "sklearn.linear_model._logistic.LogisticRegression," in told
    assert "sepc.load(path, estimator=...)" in told


FITS: dict[str, Any] = {
    "plain": ([], SEPClassifier),
    "promise": (["--max-risk", "0.1", "--confidence", "0.9"], SelectiveClassifier),
    "groups": (["--max-risk", "0.2", "--promise-by", "ward"], SelectiveClassifier),
    "strata": (["--by", "ward"], RoutedClassifier),
    "options": (
        ["--n-impure", "0.05", "--trust", "counts", "--min-trust", "0.8", "--fit-rows", "300"],
        SEPClassifier,
    ),
}


@pytest.mark.parametrize(("kind", "suffix"), list(zip(FITS, ["csv", "parquet"] * 3, strict=False)))
def test_fits_are_those_of_the_library(kind, suffix, folder, wdbc, tmp_path, run, facts):
    options, wanted = FITS[kind]
    drop = "id" if kind in ("strata", "groups") else "id,ward"
    words = ["fit", folder / f"wdbc.{suffix}", "--target", "target", "--drop", drop, "--output", tmp_path / "m.sepc"]
    told = facts(*words, *options)
    model = load(tmp_path / "m.sepc")
    assert type(model) is wanted
    assert told["rows"] == 569
    assert told["classes"] == [{"label": "benign", "rows": 357}, {"label": "malignant", "rows": 212}]
    assert told["features"] == list(model.feature_names_in_)
    if kind == "plain":
        again = SEPClassifier(random_state=0).fit(wdbc[FEATURES], wdbc["target"].to_numpy())
        np.testing.assert_array_equal(model.decide(wdbc[FEATURES]).trust, again.decide(wdbc[FEATURES]).trust)
        assert told["ellipsoids"] == len(again.ellipsoids_)
    if kind == "groups":
        assert model.by == "ward"
        assert set(model.promise_.controls) | set(model.promise_.groups.small) == set(wdbc["ward"])
        assert run("score", tmp_path / "m.sepc", folder / "wdbc.csv", "--output", tmp_path / "o.csv").code == 0
    if kind == "promise":
        assert told["promise"] == model.summary().splitlines()
        assert "90 %" in told["promise"][0]
    if kind == "options":
        assert (model.n_impure, model.trust, model.min_trust, model.fit_rows) == (0.05, "counts", 0.8, 300)


@pytest.mark.parametrize("labels", [["ja", "nein"], [3, 7], ["true", "false"], [0.0, 1.0]])
def test_labels_of_every_kind(labels, write_csv, tmp_path, run):
    rng = np.random.default_rng(0)
    which = rng.integers(2, size=80)
    rows = rng.normal(size=(80, 2)) + 3.0 * which[:, None]
    table = write_csv(["größe", "数値", "y"], *[(*row, labels[k]) for row, k in zip(rows.tolist(), which, strict=True)])
    assert run("fit", table, "--target", "y", "--output", tmp_path / "m.sepc").code == 0
    model = load(tmp_path / "m.sepc")
    assert list(model.feature_names_in_) == ["größe", "数値"]
    assert {str(label).lower() for label in model.classes_.tolist()} == {str(label) for label in labels}


def test_the_account_of_a_fit(folder, wdbc, tmp_path, run):
    words = ["fit", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward", "--output", tmp_path / "m.sepc"]
    told = run(*words, "--test-size", "0.25").out
    assert re.search(r"427 rows; labels: benign \(2\d\d\), malignant \(1\d\d\)\n3 features: 3 numbers\n", told)
    assert "142 rows" in told
    assert f"Written to {tmp_path / 'm.sepc'}" in told
    assert run(*words, "--quiet").out == ""
    table = wdbc.copy()
    table.loc[3, "worst area"] = np.nan
    table.loc[9, "target"] = None
    table.to_csv(tmp_path / "holes.csv", index=False)
    assert "567 rows (2 rows" in run("fit", tmp_path / "holes.csv", *words[2:], "--missing", "drop").out


def test_fit_warns_of_a_rare_class_that_accepted_rows_miss(tmp_path, run):
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(5_000, 2)), rng.normal(size=(50, 2)) + 1.5])
    labels = np.repeat(["common", "odd"], [5_000, 50])
    pd.DataFrame(rows, columns=["a", "b"]).assign(kind=labels).to_csv(tmp_path / "rare.csv", index=False)
    words = ["fit", tmp_path / "rare.csv", "--target", "kind", "--test-size", "0.3", "--output", tmp_path / "m.sepc"]
    told = {bool(more): run(*words, *more).out for more in ([], ["--class-weight", "balanced"])}
    assert re.search(r"^Found: [\d,]+ of [\d,]+ of common and \d+ of \d+ of odd\.$", told[False], re.MULTILINE)
    assert "'odd' (18 rows) is missed" in told[False]
    assert "--class-weight balanced" in told[False]
    assert "is missed" not in told[True]
    found, n_rare = map(int, re.search(r"and (\d+) of (\d+) of odd", told[True]).groups())
    assert found >= 0.8 * n_rare


def test_explained_rows_are_those_asked_for(folder, wdbc, write_csv, run, facts, refused):
    words = ["explain", folder / "model.sepc", folder / "wdbc.parquet"]
    decisions = load(folder / "model.sepc").decide(wdbc[FEATURES])
    ran = run(*words, "--row", "12", "--row", "1")
    assert ran.out == f"Row 12: {decisions[11].why()}\n\nRow 1: {decisions[0].why()}\n"
    found = facts(*words, "--worst", "3")
    assert [one["trust"] for one in found] == np.sort(decisions.trust)[:3].tolist()
    assert all(one["why"] == decisions[one["row"] - 1].why() for one in found)
    assert "row 570" in refused(*words, "--row", "570")
    words[2] = write_csv(FEATURES, ("", 15, 500), (12, 15, 500))  # whatever other rows lack
    for row in "12":
        assert run(*words, "--row", row).out.startswith(f"Row {row}: 'benign'")


@pytest.mark.slow
def test_a_command_that_wants_no_more_of_a_table_ends_well(folder, tmp_path):
    """Threads still read the table when the row is explained; many such runs once ended in an abort, or never."""
    cells = np.random.default_rng(0).normal([14.0, 19.0, 880.0], [3.0, 4.0, 500.0], size=(20_000, 3)).round(4)
    lines = "\n".join(f"{a},{b},{c}" for a, b, c in cells.tolist())
    with gzip.open(tmp_path / "long.csv.gz", "wt", compresslevel=1) as file:
        file.write("\n".join([",".join(FEATURES), *([lines] * 50), ""]))
    words = [sys.executable, "-m", "sepc", "explain", folder / "model.sepc", tmp_path / "long.csv.gz", "--row", "1"]
    for _ in range(2):
        ran = subprocess.run(words, capture_output=True, text=True, timeout=30)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_landscape(folder, wdbc, run, facts):
    words = ["landscape", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward"]
    found = Landscape(wdbc[FEATURES], wdbc["target"].to_numpy(), random_state=0)
    assert run(*words).out == f"{found.summary()}\n"
    told = facts(*words)
    assert told["n_ellipsoids"] == found.figures.n_ellipsoids
    assert told["feature_names"] == FEATURES


def test_report_of_a_new_model(folder, tmp_path, run, refused):
    words = ["report", folder / "wdbc.csv", "--target", "target", "--drop", "id,ward"]
    assert "--text" in refused(*words)
    ran = run(*words, "--text", "--title", "Wards")
    assert ran.out.startswith("Wards\n")
    assert "171 held-out" in ran.out
    written, verdict = run(*words, "--output", tmp_path / "r.html").out.splitlines()
    assert written == f"Written to {tmp_path / 'r.html'}"
    assert verdict in " ".join(ran.out.split())
    assert (tmp_path / "r.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_reports_of_model_files(models, wdbc, folder, tmp_path, run, facts):
    """One that contradicts trust says so in the terminal too."""
    spoilt = wdbc.copy()
    spoilt.loc[::3, "target"] = wdbc["target"].to_numpy()[::-1][::3]
    spoilt.to_csv(tmp_path / "spoilt.csv", index=False)
    words = ["--target", "target", "--model", folder / "model.sepc", "--output", tmp_path / "r.html"]
    assert "Warning: " in run("report", tmp_path / "spoilt.csv", *words).out
    assert "Warning" not in run("report", folder / "wdbc.csv", *words).out
    save(models["selective strata"], tmp_path / "m.sepc")
    told = facts("report", folder / "wdbc.parquet", *words[:3], tmp_path / "m.sepc")
    assert told["estimator"] == "SelectiveClassifier"


def test_inspect_tells_what_matters(folder, models, tmp_path, run, facts):
    told, found = (tell("inspect", folder / "model.sepc") for tell in (run, facts))
    assert found["model"]["kind"] == "SEPClassifier"
    assert "classes: benign, malignant" in told.out
    model, sizes = load(folder / "model.sepc"), found["importances"]
    assert sizes == pytest.approx(dict(zip(FEATURES, model.feature_importances_, strict=True)))
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    first = next(iter(sizes))
    assert f": {first} {sizes[first]:.2f}" in told.out
    save(models["strata"], tmp_path / "s.sepc")
    assert "What matters most" not in run("inspect", tmp_path / "s.sepc").out


def test_exports(folder, models, tmp_path, facts, refused):
    pytest.importorskip("onnx")
    save(models["strata"], tmp_path / "s.sepc")
    for name, options in (("m.onnx", []), ("m.sql", ["--dialect", "duckdb", "--table", "a b", "t;"])):
        told = facts("export", folder / "model.sepc", "--output", tmp_path / name, *options)
        assert told["bytes"] == (tmp_path / name).stat().st_size > 1000
        refused("export", tmp_path / "s.sepc", "--output", tmp_path / f"s.{name}", *options)
        assert not (tmp_path / f"s.{name}").exists()
    written = (tmp_path / "m.sql").read_text(encoding="utf-8")
    assert written == sepc.sql.export(load(folder / "model.sepc"), "duckdb", ("a b", "t;"))
    dialect, table = ["--dialect", "duckdb"], ["--table", "t"]
    for name, given in (("m.sql", []), ("m.sql", dialect), ("m.sql", table), ("m.onnx", dialect), ("m.onnx", table)):
        assert "for SQL" in refused("export", folder / "model.sepc", "--output", tmp_path / name, *given)


def test_choices_are_those_of_the_library(folder, refused, tmp_path):
    """They are listed twice, so that help imports no NumPy."""
    model = load(folder / "model.sepc")
    export = ["export", folder / "model.sepc", "--output", tmp_path / "m.sql", "--table", "t", "--dialect", "none"]
    fit = ["fit", folder / "wdbc.csv", "--target", "target", "--output", tmp_path / "m.sepc", "--trust", "none"]
    for words, attempt in (
        (export, lambda: sepc.sql.export(model, "none", "t")),
        (fit, lambda: SEPClassifier(trust="none").fit([[0.0], [1.0]], [0, 1])),
    ):
        with pytest.raises(ValueError, match="none") as error:
            attempt()
        choices = re.search(r"choose from ([^)]*)", refused(*words))[1]
        assert {*re.findall(r"\w+", choices), "none"} == set(re.findall(r"'(\w+)'", str(error.value)))


def test_an_unexpected_error_is_one_line_too(folder, run, refused, monkeypatch):
    monkeypatch.setattr("sepc.model_files.inspect", lambda path, key: {}["nothing"])
    line = refused("inspect", folder / "model.sepc", code=1)
    assert "KeyError: 'nothing' (a bug" in line
    assert "SEPC_TRACEBACK=1" in line
    monkeypatch.setenv("SEPC_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run("inspect", folder / "model.sepc")


def test_warnings_are_one_line_each(write_csv, tmp_path, run):
    table = write_csv(["x", "flat", "y"], *[(i + 40 * (i % 2), 1, i % 2) for i in range(40)])
    words = ["fit", table, "--target", "y", "--output", tmp_path / "m.sepc", "--quiet"]
    for more, said in (([], "'flat' (a constant)"), (["--use", "flat"], "'flat' is constant")):
        ran = run(*words, *more)
        assert ran.code == 0
        assert ran.err.startswith("sepc: warning: ")
        assert said in ran.err
        assert ran.err.count("\n") == 1


def test_help_has_examples_and_imports_no_library(run):
    code = (
        "import sys\nfrom sepc.cli import main\nassert main(['fit', '--help']) == 0\nassert main(['--help']) == 0\n"
        "print([name for name in ('numpy', 'sklearn', 'pyarrow', 'pandas', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for name in ("monitor", "review", "audit", "repair"):
        out = run(name, "--help").out
        assert f"  sepc {name} model.sepc" in out
        assert "exit code" in out


def test_version_and_no_pyarrow(folder, run, refused, monkeypatch):
    assert run("--version").out.startswith("sepc 0.")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert '"sepc[table]"' in refused("explain", folder / "model.sepc", folder / "wdbc.csv", code=1)
