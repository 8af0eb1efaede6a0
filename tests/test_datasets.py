"""Every data set is what its table says, and a missing one explains itself."""

import sys

import pytest

from sepc import datasets

N_CATEGORICAL = {"adult": 8, "australian_credit": 8, "electricity": 1, "heart_cleveland": 7, "ilpd": 1}


@pytest.fixture
def small_home(monkeypatch, tmp_path):
    """A folder with one made-up file under a known name."""
    (tmp_path / "haberman.csv").write_text("age,name,code,target\n1,a,x,yes\n,NA,y,no\n")
    monkeypatch.setenv(datasets.HOME_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.mark.slow_cases("covertype")
@pytest.mark.parametrize("name", datasets.ORIGINS)
def test_file_is_what_the_table_says(name, home):
    if name not in datasets.names():
        pytest.skip(f"{name} is not in the folder")
    data, origin = datasets.load(name), datasets.ORIGINS[name]
    assert data.features.shape == (origin.n_rows, origin.n_features)
    assert data.target.shape == (origin.n_rows,)
    assert data.target.dtype.kind in "iU"
    assert len(data.categorical) == N_CATEGORICAL.get(name, 0)
    assert all(dtype.kind in "if" for dtype in data.numeric.dtypes)


@pytest.mark.parametrize(
    ("name", "n_missing"),
    [("heart_cleveland", {"ca": 4, "thal": 2}), ("ilpd", {"albumin_globulin_ratio": 4}), ("haberman", {})],
)
def test_empty_cells_are_missing(name, n_missing, home):
    missing = datasets.load(name).features.isna().sum()
    assert missing[missing > 0].to_dict() == n_missing


def test_only_empty_cells_are_missing(small_home):
    data = datasets.load("haberman")
    assert data.features["age"].isna().tolist() == [False, True]
    assert data.features["name"].tolist() == ["a", "NA"]
    assert data.target.tolist() == ["yes", "no"]
    assert list(data.numeric) == ["age"]


def test_names_are_those_in_the_folder(small_home):
    (small_home / "unknown.csv").touch()
    (small_home / "yeast.csv.gz").touch()
    assert datasets.names() == ("haberman", "yeast")


def test_what_is_missing_is_explained(small_home, monkeypatch):
    with pytest.raises(FileNotFoundError, match="phoneme.csv.gz .* OpenML 1489"):
        datasets.load("phoneme")
    with pytest.raises(ValueError, match="'titanic'"):
        datasets.load("titanic")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="pandas"):
            datasets.load("haberman")
    monkeypatch.delenv(datasets.HOME_VARIABLE)
    assert datasets.names() == ()
    with pytest.raises(FileNotFoundError, match="SEPC_DATA_HOME .*310 rows and 6 features"):
        datasets.load("vertebral_column_2c")
