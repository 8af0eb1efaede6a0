"""MLflow: log, load and serve models as pyfunc models, from the safe model file and without pickle."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.columns.kinds import Kind
from sepc.columns.table import column_names, column_of, is_table
from sepc.decisions.decisions import frame_of
from sepc.decisions.kinds import Cause, names_of
from sepc.errors import ForeignModelError
from sepc.estimators.base import decide_rows
from sepc.estimators.unwrapping import column_kinds
from sepc.model_files import load, save
from sepc.reporting.card import model_card
from sepc.wording import version_of

if TYPE_CHECKING:
    import pandas as pd

MODEL_FILE = "model.sepc"
CARD_FILE = "model_card.md"
N_EXAMPLE_ROWS = 5
NEEDED = ("sepc", "numpy", "scipy", "scikit-learn", "pandas")

# MLflow's types of columns, by NumPy kind; anything else is a string.
COLUMN_TYPES = {"b": "boolean", "i": "long", "u": "long", "f": "double", "M": "datetime"}


def log_model(estimator: Any, name: str = "model", *, X: Any, y: Any = None, **options: Any) -> Any:
    """Log a fitted estimator to the active run, with a signature, an input example and a model card.

    Parameters
    ----------
    estimator : SEPClassifier, or a wrapper of one
        Fitted; it must not contain models of other libraries, since these are not part of the file.
    name : str
        Name of the model.
    X : array or DataFrame
        Rows as the served model will get them. They define the signature: the type of each column, which is text if it
        is neither a number nor a date. Columns with missing values, and those that the model leaves out, are
        optional. The first rows become the input example.
    y : array, optional
        Labels of `X`, if these are held-out rows; the model card then reports the model's performance on them.
    **options
        Passed to ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Returns
    -------
    mlflow.models.model.ModelInfo

    Raises
    ------
    TypeError
        If the estimator contains a model of another library.

    Examples
    --------
    >>> import sepc.mlflow  # doctest: +SKIP
    >>> info = sepc.mlflow.log_model(classifier, X=X_test, y=y_test)  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(X_test)  # doctest: +SKIP
    """
    mlflow = _mlflow()
    with tempfile.TemporaryDirectory() as folder:
        written = _write(estimator, Path(folder), X)
        card = Path(folder) / CARD_FILE
        card.write_text(model_card(estimator, X if y is not None else None, y), encoding="utf-8")
        info = mlflow.pyfunc.log_model(name=name, **written, **options)
        mlflow.log_artifact(str(card))
    return info


def save_model(estimator: Any, path: str | Path, *, X: Any, **options: Any) -> None:
    """Write a folder for ``mlflow models serve``; `estimator` and `X` are as in `log_model`, options go to MLflow."""
    mlflow = _mlflow()
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(path=str(path), **_write(estimator, Path(folder), X), **options)


def load_model(uri: str) -> Any:
    """Load the estimator itself, not a pyfunc, from a model that was logged or saved."""
    from mlflow.artifacts import download_artifacts

    _mlflow()
    return load(next(Path(download_artifacts(uri)).rglob(MODEL_FILE)))


def _write(estimator: Any, folder: Path, X: Any) -> dict[str, Any]:
    """Write the model file and return the arguments for MLflow."""
    save(estimator, folder / MODEL_FILE)
    try:
        load(folder / MODEL_FILE)
    except ForeignModelError as error:
        raise TypeError(f"Models of other libraries cannot be served by sepc.mlflow: {error}") from error
    table = _with_names(X, estimator)
    example = table[:N_EXAMPLE_ROWS]
    return {
        "loader_module": "sepc.mlflow",
        "data_path": str(folder / MODEL_FILE),
        "signature": _signature(table, answers(estimator, example), column_kinds(estimator)),
        "input_example": example,
        "pip_requirements": [f"{name}=={version_of(name)}" for name in NEEDED],
    }


def _with_names(X: Any, estimator: Any) -> pd.DataFrame:
    """Rows as a DataFrame, with the model's feature names, or x0, x1 and so on."""
    if is_table(X):
        return frame_of({str(name): _to_mlflow_type(X, name) for name in column_names(X)})
    values = np.asarray(X, dtype=np.float64)
    names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(values.shape[1])])
    return frame_of({str(name): values[:, j] for j, name in enumerate(names)})


def _to_mlflow_type(X: Any, name: Any) -> Any:
    """A column in a type that MLflow knows; it has none for durations, which become text such as "90.500000 sec"."""
    values = np.asarray(X[name])
    if values.dtype.kind == "m":
        seconds = (values / np.timedelta64(1, "s")).tolist()
        return np.array([f"{value:.6f} sec" if value == value else None for value in seconds], dtype=object)
    return values if values.dtype.kind in COLUMN_TYPES else column_of(X, name)


def _signature(table: pd.DataFrame, answered: pd.DataFrame, kinds: Mapping[str, Kind]) -> Any:
    """The columns by name and type; those with missing values, and those that the model leaves out, are optional."""
    from mlflow.models import ModelSignature, infer_signature
    from mlflow.types import ColSpec, Schema

    columns: list[Any] = []
    for name in table.columns:
        is_needed = kinds.get(name) is not Kind.LEFT_OUT and not table[name].isna().any()
        columns.append(ColSpec(COLUMN_TYPES.get(table[name].dtype.kind, "string"), name, required=is_needed))
    return ModelSignature(Schema(columns), infer_signature(answered).inputs)


def answers(estimator: Any, rows: pd.DataFrame) -> pd.DataFrame:
    """The output of a served model: label, trust, accepted and cause."""
    names = getattr(estimator, "feature_names_in_", None)
    decisions = decide_rows(estimator, rows.to_numpy() if names is None else _complete(rows, names))
    causes = names_of(Cause, decisions.cause)
    label, trust, accepted = (np.asarray(getattr(decisions, name)) for name in ("label", "trust", "accepted"))
    return frame_of({"label": label, "trust": trust, "accepted": accepted, "cause": causes})


def _complete(rows: pd.DataFrame, names: Any) -> pd.DataFrame:
    """The rows with all columns of the model; the values of a column that was not given are missing."""
    return rows.reindex(columns=[*names, *(name for name in rows.columns if name not in names)])


class Served:
    """The model that MLflow's pyfunc calls."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Decisions on rows, as a DataFrame."""
        return answers(self.estimator, _with_names(model_input, self.estimator))


def _load_pyfunc(path: str) -> Served:
    """Called by MLflow to load a model."""
    file = Path(path)
    return Served(load(file / MODEL_FILE if file.is_dir() else file))


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise ImportError("sepc.mlflow needs MLflow: pip install sepc[mlflow]") from error
    return mlflow
