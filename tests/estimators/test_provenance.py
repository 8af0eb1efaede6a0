"""What a fitted estimator says about how it was made."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mixed_tables import patients
from optional import package_or_skip
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from zoo import fitted_once

import sepc
from sepc.lifecycle import repair
from sepc.model_files import model_digest

X, Y = load_iris(return_X_y=True)
ODD = slice(1, None, 2)


@fitted_once
def iris():
    return sepc.SEPClassifier().fit(X[::2], Y[::2])


@fitted_once
def iris_trusted():
    return sepc.TrustedClassifier(LogisticRegression(max_iter=1000)).fit(X[::2], Y[::2])


def test_a_fit_says_which_rows_and_versions_it_had():
    made = iris().provenance_
    assert made.n_rows == 75
    assert made.rows == sepc.rows_digest(iris(), X[::2], Y[::2])
    assert made.rows != sepc.rows_digest(iris(), X[ODD], Y[ODD])
    assert [text.split()[0] for text in made.versions] == ["Python", "sepc", "numpy", "scipy", "scikit-learn"]
    assert f"numpy {np.__version__}" in made.versions
    assert made.parent == ""


def test_the_digest_depends_on_rows_and_labels_not_on_order_or_parameters():
    order = np.random.default_rng(0).permutation(75)
    other = sepc.SEPClassifier(trust="counts", fit_rows=30).fit(X[::2][order], Y[::2][order])
    assert other.provenance_.rows == iris().provenance_.rows
    wrong = Y[::2].copy()
    wrong[0] = 2
    assert sepc.rows_digest(iris(), X[::2], wrong) != iris().provenance_.rows


def test_weights_of_rows_count():
    weights = np.ones(75)
    weights[:5] = 2.0
    heavier = sepc.SEPClassifier().fit(X[::2], Y[::2], sample_weight=weights)
    assert heavier.provenance_.n_rows == 80
    twice = np.concatenate([X[::2], X[:10:2]]), np.concatenate([Y[::2], Y[:10:2]])
    assert heavier.provenance_.rows == sepc.rows_digest(iris(), *twice)


def test_missing_values_are_digested_as_missing():
    table, labels = patients(300, key=False)
    model = sepc.SEPClassifier().fit(table, labels)
    assert table.isna().any().any()
    assert model.provenance_.rows == sepc.rows_digest(model, table, labels)
    filled = table.copy()
    column = next(name for name in table if table[name].isna().any() and table[name].dtype.kind == "f")
    filled[column] = table[column].fillna(table[column].median())
    assert model.provenance_.rows != sepc.rows_digest(model, filled, labels)


@pytest.mark.quick_cases("*parquet*")
@pytest.mark.parametrize("kind", ["numbers", "categories"])
@pytest.mark.parametrize("where", ["parquet", "dask"])
def test_files_and_dask_give_the_digest_of_memory(where, kind, request, tmp_path):
    pd = package_or_skip("pandas")
    package_or_skip("pyarrow")
    if kind == "numbers":
        table, labels = pd.DataFrame(X, columns=list("abcd")), Y
    else:
        table, labels = patients(900, gaps=False, key=False)
        table = table.assign(stage=table["stage"].astype(str).astype("category"))
    expected = sepc.SEPClassifier().fit(table.to_numpy() if kind == "numbers" else table, labels).provenance_
    whole = table.assign(target=labels)
    if where == "parquet":
        for i, part in enumerate(np.array_split(np.random.default_rng(0).permutation(len(whole)), 3)):
            whole.iloc[part].to_parquet(tmp_path / f"{i}.parquet", index=False)
        given = tmp_path
    else:
        dd = package_or_skip("dask.dataframe")
        request.getfixturevalue("client")
        given = dd.from_pandas(whole, npartitions=3, sort=False)
    assert sepc.SEPClassifier().fit(given, "target").provenance_ == expected


def test_a_promise_says_which_rows_it_was_calibrated_on():
    selective = sepc.SelectiveClassifier(FrozenEstimator(iris()), max_risk=0.2).fit(X[ODD], Y[ODD])
    assert selective.provenance_.rows == sepc.rows_digest(iris(), X[ODD], Y[ODD])
    forest = RandomForestClassifier(random_state=0).fit(X[::2], Y[::2])
    around = sepc.SelectiveClassifier(FrozenEstimator(forest), max_risk=0.2).fit(X[ODD], Y[ODD])
    assert around.provenance_.rows == selective.provenance_.rows == sepc.rows_digest(around, X[ODD], Y[ODD])


def test_a_repair_names_its_rows_and_the_model_that_was_repaired():
    repaired = repair(iris(), X[ODD], Y[ODD], regions=[0], confidence=0.0)
    assert repaired.provenance_.rows == sepc.rows_digest(repaired, X[ODD], Y[ODD])
    assert repaired.provenance_.parent == model_digest(iris())
    again = repair(repaired, X[ODD], Y[ODD], regions=[1], confidence=0.0)
    assert again.provenance_.parent == model_digest(repaired) != model_digest(iris())
    assert sepc.RepairedClassifier(iris()).fit(X[::2], Y[::2]).provenance_ == iris().provenance_


def test_wrappers_say_which_rows_they_were_fitted_to():
    assert iris_trusted().provenance_.rows == sepc.rows_digest(iris_trusted(), X[::2], Y[::2])
    strata = np.column_stack([X, np.arange(len(X)) % 2])
    stratified = sepc.StratifiedClassifier(sepc.SEPClassifier(), by=[4]).fit(strata, Y)
    assert stratified.provenance_.rows == sepc.rows_digest(stratified, strata, Y)


def test_rows_that_are_not_numbers_have_no_digest_without_a_partition():
    pd = package_or_skip("pandas")

    table = pd.DataFrame({"a": ["x", "y", "z"]})
    constant = DummyClassifier().fit(table, [0, 1, 0])
    assert sepc.rows_digest(constant, table, [0, 1, 0]) == ""
    assert sepc.rows_digest(constant, np.ones((3, 1)), [0, 1, 0]) != ""


def test_a_source_folder_on_the_path_has_no_version_and_works(tmp_path):
    """Everything that is installed, but what says so of sepc."""
    packages, source = tmp_path / "packages", Path(sepc.__file__).parent
    packages.mkdir()
    for found in Path(np.__file__).parents[1].iterdir():
        if not found.name.lower().startswith(("sepc", "_sepc", "__editable")) and found.suffix != ".pth":
            (packages / found.name).symlink_to(found)
    (packages / "sepc").symlink_to(source)
    code = """if True:
        import sepc
        from sklearn.datasets import load_iris
        model = sepc.SEPClassifier(max_ellipsoids=2).fit(*load_iris(return_X_y=True))
        sepc.save(model, "model.sepc")
        page = sepc.report(model, *load_iris(return_X_y=True)).to_html()
        print(sepc.__version__, model.provenance_.versions[1], sepc.inspect("model.sepc").library, "0+unknown" in page)
    """
    ran = subprocess.run(
        [sys.executable, "-S", "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(packages)},
    )
    assert ran.stderr == ""
    assert ran.stdout == "0+unknown sepc 0+unknown sepc 0+unknown True\n"
