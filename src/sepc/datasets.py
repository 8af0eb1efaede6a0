"""Public data sets used in examples, tests and benchmarks, read from a local folder; nothing is downloaded.

The environment variable `SEPC_DATA_HOME` names the folder. It holds one CSV file for each data set, plain or gzipped,
with a header row, the class in the column `target`, and empty cells where values are missing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

HOME_VARIABLE = "SEPC_DATA_HOME"
TARGET = "target"
ENDINGS = (".csv", ".csv.gz")


@dataclass(frozen=True)
class Origin:
    """Where a data set comes from, and how large it is.

    Attributes
    ----------
    source : str
        The data set's name in its archive, and its creators.
    n_rows, n_features : int
    nominal : tuple of str
        Features whose numbers are category codes.
    """

    source: str
    n_rows: int
    n_features: int
    nominal: tuple[str, ...] = ()


ORIGINS: dict[str, Origin] = {
    "adult": Origin(
        "UCI Adult / Census Income (B. Becker, R. Kohavi), file adult.data without the rows that contain '?'",
        30_162,
        14,
    ),
    "australian_credit": Origin(
        "UCI Statlog (Australian Credit Approval) (R. Quinlan)",
        690,
        14,
        ("a01", "a04", "a05", "a06", "a08", "a09", "a11", "a12"),
    ),
    "banknote_authentication": Origin("UCI Banknote Authentication (V. Lohweg)", 1_372, 4),
    "blood_transfusion": Origin("UCI Blood Transfusion Service Center (I-Cheng Yeh)", 748, 4),
    "covertype": Origin("UCI Covertype (J. A. Blackard, Colorado State University)", 581_012, 54),
    "ecoli": Origin("UCI Ecoli (K. Nakai), without the sequence name", 336, 7),
    "electricity": Origin(
        "OpenML 151, Electricity / Elec2 (M. Harries; normalised version by J. Gama)", 45_312, 8, ("day",)
    ),
    "german_credit_numeric": Origin(
        "UCI Statlog (German Credit Data) (H. Hofmann), file german.data-numeric", 1_000, 24
    ),
    "glass": Origin("UCI Glass Identification (B. German), without the row number", 214, 9),
    "haberman": Origin("UCI Haberman's Survival (S. Haberman)", 306, 3),
    "heart_cleveland": Origin(
        "UCI Heart Disease, processed Cleveland data (A. Janosi, W. Steinbrunn, M. Pfisterer, R. Detrano), "
        "with target 1 for the published values 1 to 4",
        303,
        13,
        ("sex", "cp", "fbs", "restecg", "exang", "slope", "thal"),
    ),
    "htru2": Origin("UCI HTRU2 (R. Lyon)", 17_898, 8),
    "ilpd": Origin("UCI ILPD, Indian Liver Patient Dataset (B. Ramana, N. Venkateswarlu)", 583, 10),
    "ionosphere": Origin("UCI Ionosphere (V. Sigillito, S. Wing, L. Hutton, K. Baker)", 351, 34),
    "letter": Origin("UCI Letter Recognition (D. Slate)", 20_000, 16),
    "magic_gamma_telescope": Origin("UCI MAGIC Gamma Telescope (R. Bock)", 19_020, 10),
    "mammographic_masses": Origin("UCI Mammographic Mass (M. Elter)", 961, 5),
    "page_blocks": Origin("UCI Page Blocks Classification (D. Malerba)", 5_473, 10),
    "parkinsons": Origin("UCI Parkinsons (M. Little), without the recording name", 195, 22),
    "pendigits": Origin(
        "UCI Pen-Based Recognition of Handwritten Digits (E. Alpaydin, F. Alimoglu), training and test parts",
        10_992,
        16,
    ),
    "phoneme": Origin("OpenML 1489, ELENA project / ROARS Phoneme (D. Van Cappel, Thomson-Sintra)", 5_404, 5),
    "satimage": Origin("UCI Statlog (Landsat Satellite) (A. Srinivasan), training and test parts", 6_435, 36),
    "segment": Origin("UCI Statlog (Image Segmentation) (Vision Group, University of Massachusetts)", 2_310, 19),
    "shuttle": Origin("UCI Statlog (Shuttle) (NASA, J. Catlett), training and test parts", 58_000, 9),
    "skin_segmentation": Origin("UCI Skin Segmentation (R. Bhatt, A. Dhall)", 245_057, 3),
    "sonar": Origin("UCI Connectionist Bench (Sonar, Mines vs. Rocks) (T. Sejnowski, R. Gorman)", 208, 60),
    "spambase": Origin("UCI Spambase (M. Hopkins, E. Reeber, G. Forman, J. Suermondt)", 4_601, 57),
    "vehicle": Origin("UCI Statlog (Vehicle Silhouettes) (P. Mowforth, B. Shepherd, Turing Institute)", 846, 18),
    "vertebral_column_2c": Origin("UCI Vertebral Column (G. Barreto, A. Neto), two-class version", 310, 6),
    "wine_quality_red": Origin(
        "UCI Wine Quality, red (P. Cortez, A. Cerdeira, F. Almeida, T. Matos, J. Reis)", 1_599, 11
    ),
    "wine_quality_white": Origin(
        "UCI Wine Quality, white (P. Cortez, A. Cerdeira, F. Almeida, T. Matos, J. Reis)", 4_898, 11
    ),
    "yeast": Origin("UCI Yeast (K. Nakai), without the sequence name", 1_484, 8),
}


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table and the class of each of its rows.

    Attributes
    ----------
    name : str
    features : DataFrame of shape (n, d)
        Numbers stay numbers and text stays text; missing values are NaN.
    target : array of shape (n,)
        Integers or text, as published.
    origin : Origin
    """

    name: str
    features: pd.DataFrame
    target: NDArray[Any]
    origin: Origin

    @property
    def numeric(self) -> pd.DataFrame:
        """The quantitative features: neither text nor category codes."""
        return self.features.drop(columns=list(self.categorical))

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the features that are not quantitative."""
        text = self.features.select_dtypes(exclude="number").columns
        return tuple(name for name in self.features.columns if name in self.origin.nominal or name in text)

    def __repr__(self) -> str:
        (n, d), n_classes = self.features.shape, len(np.unique(self.target))
        return f"<Dataset {self.name}: {n:,} rows, {d:,} features, {n_classes:,} classes>"


def load(name: str) -> Dataset:
    """Read a data set from the folder named by `SEPC_DATA_HOME`.

    Parameters
    ----------
    name : str
        One of `ORIGINS`.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the data set is not in the folder. The message says where it comes from.
    ValueError
        If there is no data set of this name.

    Examples
    --------
    >>> from sepc import datasets
    >>> data = datasets.load("vertebral_column_2c")  # doctest: +SKIP
    >>> data.features.shape, data.target[:2]  # doctest: +SKIP
    ((310, 6), array(['Abnormal', 'Abnormal'], dtype='<U8'))
    >>> datasets.ORIGINS["vertebral_column_2c"].source
    'UCI Vertebral Column (G. Barreto, A. Neto), two-class version'
    """
    if name not in ORIGINS:
        raise ValueError(f"There is no data set {name!r}. The names are {', '.join(ORIGINS)}.")
    path = _file_of(name)
    if path is None:
        raise FileNotFoundError(_how_to_get(name))
    # Only empty cells are missing: the text 'NA' or 'None' would be a category.
    table = _pandas().read_csv(path, keep_default_na=False, na_values=[""])
    target = table.pop(TARGET).to_numpy()
    return Dataset(name, table, target if target.dtype.kind == "i" else target.astype(np.str_), ORIGINS[name])


def names() -> tuple[str, ...]:
    """Names of the data sets in the folder; `ORIGINS` lists all known ones."""
    return tuple(name for name in ORIGINS if _file_of(name) is not None)


def _home() -> Path | None:
    named = os.environ.get(HOME_VARIABLE)
    return Path(named) if named else None


def _file_of(name: str) -> Path | None:
    home = _home()
    paths = [home / (name + ending) for ending in ENDINGS] if home else []
    return next((path for path in paths if path.is_file()), None)


def _how_to_get(name: str) -> str:
    origin, home = ORIGINS[name], _home()
    files = " or ".join(name + ending for ending in ENDINGS)
    reason = f"{HOME_VARIABLE} is not set" if home is None else f"there is no {files} in {home} ({HOME_VARIABLE})"
    return (
        f"Data set {name!r} was not found: {reason}. "
        f"It has {origin.n_rows:,} rows and {origin.n_features} features and comes from {origin.source}. "
        f"Save it as {files}, with a header row and the class in a last column {TARGET!r}, "
        f"and set {HOME_VARIABLE} to the folder."
    )


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Reading a data set needs pandas; install it with 'pip install pandas'.") from error
    return pd
