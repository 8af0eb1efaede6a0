"""Tables and models that the tests of the command share."""

import csv
import json
from functools import partial

import pytest
from command_runs import complaint, run_here
from optional import package_or_skip
from sklearn.datasets import load_breast_cancer

pa, pd = package_or_skip("pyarrow"), package_or_skip("pandas")

FEATURES = ["mean radius", "mean texture", "worst area"]


@pytest.fixture(scope="session")
def wdbc():
    """A small table: an identifier, three features, a ward and the label."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = X[FEATURES].copy()
    table.insert(0, "id", [f"case {i}" for i in range(len(X))])
    table["ward"] = [("north", "south")[i % 2] for i in range(len(X))]
    table["target"] = ["malignant" if one == 0 else "benign" for one in y]
    return table


@pytest.fixture(scope="session")
def folder(tmp_path_factory, wdbc):
    """A directory with the table as CSV and as Parquet, and models of it."""
    from sepc import SEPClassifier, save

    place = tmp_path_factory.mktemp("tables")
    wdbc.to_csv(place / "wdbc.csv", index=False)
    wdbc.to_parquet(place / "wdbc.parquet", index=False)
    save(SEPClassifier().fit(wdbc[FEATURES][::2], wdbc["target"][::2].to_numpy()), place / "model.sepc")
    return place


@pytest.fixture
def write_csv(tmp_path):
    """Write rows to a CSV file and give its name."""
    pytest.importorskip("pyarrow", reason="pyarrow reads tables")

    def write(*rows, name="table.csv", **options):
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, **options).writerows(rows)
        return path

    return write


@pytest.fixture
def run(capsys):
    """Run the command in this process."""
    return partial(run_here, capsys)


@pytest.fixture
def refused(run):
    """Run a command that is refused; the only line that it says."""
    return lambda *words, code=2: complaint(run(*words), code)


@pytest.fixture
def facts(run):
    """Run a command; what it says as JSON."""
    return lambda *words: json.loads(run(*words, "--json").out)
