"""Every data set is what its table says, and a missing one explains itself."""

import sys

import numpy as np
import pytest
from sepc_benchmarks import datasets

# Rows of each class, largest class first.
CLASSES = {
    "adult": {"<=50K": 22654, ">50K": 7508},
    "australian_credit": {0: 383, 1: 307},
    "banknote_authentication": {0: 762, 1: 610},
    "blood_transfusion": {0: 570, 1: 178},
    "covertype": {2: 283301, 1: 211840, 3: 35754, 7: 20510, 6: 17367, 5: 9493, 4: 2747},
    "ecoli": {"cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imL": 2, "imS": 2},
    "electricity": {"DOWN": 26075, "UP": 19237},
    "german_credit_numeric": {1: 700, 2: 300},
    "glass": {2: 76, 1: 70, 7: 29, 3: 17, 5: 13, 6: 9},
    "haberman": {1: 225, 2: 81},
    "heart_cleveland": {0: 164, 1: 139},
    "htru2": {0: 16259, 1: 1639},
    "ilpd": {1: 416, 2: 167},
    "ionosphere": {"g": 225, "b": 126},
    "letter": None,  # 26 classes, see below
    "magic_gamma_telescope": {"g": 12332, "h": 6688},
    "mammographic_masses": {0: 516, 1: 445},
    "page_blocks": {1: 4913, 2: 329, 5: 115, 4: 88, 3: 28},
    "parkinsons": {1: 147, 0: 48},
    "pendigits": {2: 1144, 4: 1144, 0: 1143, 1: 1143, 7: 1142, 6: 1056, 3: 1055, 5: 1055, 8: 1055, 9: 1055},
    "phoneme": {0: 3818, 1: 1586},
    "satimage": {1: 1533, 7: 1508, 3: 1358, 5: 707, 2: 703, 4: 626},
    "segment": dict.fromkeys(("brickface", "cement", "foliage", "grass", "path", "sky", "window"), 330),
    "shuttle": {1: 45586, 4: 8903, 5: 3267, 3: 171, 2: 50, 7: 13, 6: 10},
    "skin_segmentation": {2: 194198, 1: 50859},
    "sonar": {"M": 111, "R": 97},
    "spambase": {0: 2788, 1: 1813},
    "vehicle": {"bus": 218, "saab": 217, "opel": 212, "van": 199},
    "vertebral_column_2c": {"Abnormal": 210, "Normal": 100},
    "wine_quality_red": {5: 681, 6: 638, 7: 199, 4: 53, 8: 18, 3: 10},
    "wine_quality_white": {6: 2198, 5: 1457, 7: 880, 8: 175, 4: 163, 3: 20, 9: 5},
    "yeast": {"CYT": 463, "NUC": 429, "MIT": 244, "ME3": 163, "ME2": 51, "ME1": 44, "EXC": 35, "VAC": 30}
    | {"POX": 20, "ERL": 5},
}
N_CATEGORICAL = {"adult": 8, "australian_credit": 8, "electricity": 1, "heart_cleveland": 7, "ilpd": 1}


@pytest.fixture
def small_home(monkeypatch, tmp_path):
    """A folder with one made-up file under a known name."""
    (tmp_path / "haberman.csv").write_text("age,name,code,target\n1,a,x,yes\n,NA,y,no\n")
    monkeypatch.setenv(datasets.HOME_VARIABLE, str(tmp_path))
    return tmp_path


def test_every_name_has_its_classes_here():
    assert set(CLASSES) == set(datasets.ORIGINS)
    assert len(CLASSES) == 32


@pytest.mark.slow_cases("covertype")
@pytest.mark.parametrize("name", CLASSES)
def test_file_is_what_the_table_says(name, home):
    if name not in datasets.names():
        pytest.skip(f"{name} is not in the folder")
    data, origin = datasets.load(name), datasets.ORIGINS[name]
    assert data.features.shape == (origin.n_rows, origin.n_features)
    assert "target" not in data.features
    assert data.target.shape == (origin.n_rows,)
    assert data.target.dtype.kind in "iU"
    classes = dict(zip(*(column.tolist() for column in np.unique(data.target, return_counts=True)), strict=True))
    if name == "letter":
        assert "".join(classes) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        assert (min(classes.values()), max(classes.values())) == (734, 813)
    else:
        assert classes == CLASSES[name]
    assert len(data.categorical) == N_CATEGORICAL.get(name, 0)
    assert list(data.numeric) == [column for column in data.features if column not in data.categorical]
    assert all(dtype.kind in "if" for dtype in data.numeric.dtypes)


@pytest.mark.parametrize(
    ("name", "n_missing"),
    [("heart_cleveland", {"ca": 4, "thal": 2}), ("ilpd", {"albumin_globulin_ratio": 4}), ("haberman", {})],
)
def test_empty_cells_are_missing(name, n_missing, home):
    missing = datasets.load(name).features.isna().sum()
    assert missing[missing > 0].to_dict() == n_missing


def test_text_stays_text(home):
    adult = datasets.load("adult")
    assert adult.features["workclass"].iloc[0] == "State-gov"
    assert "workclass" in adult.categorical
    assert list(adult.numeric)[:2] == ["age", "fnlwgt"]


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
