"""Parquet files are read block by block, give the model of the same blocks in memory, and say where they are broken."""

import numpy as np
import pytest
from optional import package_or_skip
from same_model import assert_same_model, draw, fitted_on_blocks

from sepc import SEPClassifier
from sepc.lifecycle import rows_digest
from sepc.points import streams

pa = package_or_skip("pyarrow")
pq, pd = package_or_skip("pyarrow.parquet"), package_or_skip("pandas")
NAMES = ("width", "height", "depth")
N, GROUP = 2400, 400


@pytest.fixture(autouse=True)
def _files_are_large(monkeypatch):
    """Files that a fit would read into memory are read block by block."""
    monkeypatch.setattr("sepc.estimators.sep.estimator.rows_for_fit", lambda file, y, forced: (file, y))


def table(X, y, names=NAMES):
    return pa.table({**{name: X[:, j] for j, name in enumerate(names)}, "target": y})


@pytest.fixture
def rows():
    return draw(N)


@pytest.fixture
def file(rows, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table(*rows), path, row_group_size=GROUP)
    return path


def classifier(**options):
    return SEPClassifier(n_impure=0.05, max_ellipsoids=4, **options)


def quick():
    """A classifier that hardly needs time."""
    return SEPClassifier(trust="counts", max_ellipsoids=1)


def test_a_file_and_a_folder_give_the_model_of_their_rows(file, rows, tmp_path):
    """Also with empty files and row groups."""
    X, y = rows
    wanted = fitted_on_blocks(classifier(), [X], [y])
    fitted = classifier().fit(str(file), "target")
    assert_same_model(fitted, wanted)
    assert fitted.feature_names_in_.tolist() == list(NAMES)
    assert fitted.provenance_.rows == rows_digest(fitted, pd.DataFrame(X, columns=NAMES), y)
    (tmp_path / "parts").mkdir()
    with pq.ParquetWriter(tmp_path / "parts" / "b.parquet", table(X, y).schema) as writer:
        for part in (np.arange(400), np.arange(0), np.arange(400, 1000)):
            writer.write_table(table(X[part], y[part]))
    pq.write_table(table(X[:0], y[:0]), tmp_path / "parts" / "a.parquet")
    pq.write_table(table(X[1000:], y[1000:]), tmp_path / "parts" / "c.parquet", row_group_size=700)
    assert_same_model(classifier().fit(tmp_path / "parts", "target"), wanted)


def test_more_cells_than_a_block_holds_are_read_in_several(monkeypatch, tmp_path):
    monkeypatch.setattr(streams, "BLOCK_CELLS", 8 * 1_250)
    d, n, sizes = 8, 1_320, [1_250, 70]
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(n, d)).astype(np.int8)
    y = X[:, 0] + rng.integers(0, 3, n) > 3
    names = [f"x{j}" for j in range(d)]
    pq.write_table(table(X, y, names), tmp_path / "x.parquet", row_group_size=sizes[0])
    options = {"fit_rows": 300, "random_state": 3, "trust": "counts", "max_ellipsoids": 2, "n_impure": 0.2}
    fitted = SEPClassifier(**options).fit(tmp_path / "x.parquet", "target")
    wanted = fitted_on_blocks(SEPClassifier(**options), np.split(X, sizes[:1]), np.split(y, sizes[:1]))
    np.testing.assert_array_equal(fitted.model_.centers, wanted.model_.centers)
    np.testing.assert_array_equal(fitted.model_.table.counts, wanted.model_.table.counts)
    assert fitted.model_.table.counts.sum() == n


@pytest.mark.parametrize("kind", ["int64", "int8", "float32", "bool", "uint16"])
def test_columns_of_all_kinds_of_numbers_are_read(kind, rows, tmp_path):
    X, y = rows
    column = (X[:, 0] > 0) if kind == "bool" else np.abs(10 * X[:, 0]).astype(kind)
    pq.write_table(table(X, y).set_column(1, "height", pa.array(column)), tmp_path / "x.parquet")
    fitted = quick().fit(tmp_path / "x.parquet", "target")
    read = pd.DataFrame(np.column_stack([X[:, 0], column.astype(float), X[:, 2]]), columns=NAMES)
    assert fitted.provenance_.rows == rows_digest(fitted, read, y)
    holes = pa.array([None, *column[1:].tolist()])
    pq.write_table(table(X, y).set_column(1, "height", holes), tmp_path / "y.parquet")
    with pytest.raises(ValueError, match=r"'height' .* in row 0 of row group 0"):
        quick().fit(tmp_path / "y.parquet", "target")


@pytest.mark.parametrize(
    "labels",
    [np.arange(N) % 3, np.arange(N) % 2 == 0, np.array(["no", "yes", "perhaps"])[np.arange(N) % 3]],
    ids=["int", "bool", "text"],
)
def test_labels_of_all_kinds(labels, rows, tmp_path):
    target = pa.array(labels).dictionary_encode() if labels.dtype.kind == "U" else pa.array(labels)
    pq.write_table(table(rows[0], labels).set_column(3, "target", target), tmp_path / "x.parquet", row_group_size=700)
    fitted = quick().fit(tmp_path / "x.parquet", "target")
    assert fitted.classes_.tolist() == sorted(set(labels.tolist()))
    assert fitted.provenance_.rows == rows_digest(fitted, pd.DataFrame(rows[0], columns=NAMES), labels)


def test_a_corrupt_row_group_is_named(file):
    start = pq.ParquetFile(file).metadata.row_group(3).column(1).data_page_offset
    content = bytearray(file.read_bytes())
    content[start : start + 60] = b"\xff" * 60
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"row group 3 of .*rows\.parquet") as error:
        quick().fit(file, "target")
    assert "\n" not in str(error.value)


def with_column(rows, j, name, cells, kind=None):
    return table(*rows).set_column(j, name, pa.array(cells, kind))


@pytest.mark.parametrize("cell", [None, np.nan, np.inf])
def test_cells_without_a_number_are_named(cell, rows, tmp_path):
    column = [*rows[0][:, 1]]
    column[1600] = cell
    broken = with_column(rows, 1, "height", column, pa.float64())
    pq.write_table(broken, tmp_path / "x.parquet", row_group_size=GROUP)
    with pytest.raises(ValueError, match=r"'height' .* in row 0 of row group 4 of .*x\.parquet"):
        quick().fit(tmp_path / "x.parquet", "target")


def test_sums_that_overflow_are_no_reason_to_complain(rows, tmp_path):
    X = np.abs(rows[0]) * 1e307
    pq.write_table(table(X, rows[1]), tmp_path / "x.parquet")
    assert quick().fit(tmp_path / "x.parquet", "target").model_.table.counts.sum() == N


def test_what_cannot_be_fitted_is_told_in_their_words(file, rows, tmp_path):
    X, y = rows
    (tmp_path / "text.parquet").write_text("width,height\n1,2\n")
    pq.write_table(table(X[:0], y[:0]), tmp_path / "empty.parquet")
    pq.write_table(
        with_column(rows, 3, "target", [*y[:417], None, *y[418:]]), tmp_path / "holes.parquet", row_group_size=GROUP
    )
    for path, target, said in (
        (file, "label", r"'label'; its columns are 'width', 'height', 'depth' and 'target'"),
        (file, y, "name of the label column"),
        (tmp_path / "text.parquet", "target", r"text\.parquet cannot be read as Parquet"),
        (tmp_path / "nowhere.parquet", "target", r"nowhere\.parquet cannot be read as Parquet"),
        (tmp_path / "empty.parquet", "target", r"empty\.parquet has no rows"),
        (tmp_path / "holes.parquet", "target", r"'target' has 1 missing label, .* row 17 of row group 1 .*holes"),
    ):
        with pytest.raises(ValueError, match=said):
            quick().fit(path, target)


@pytest.mark.slow
def test_more_than_two_classes_and_processes(rows, tmp_path):
    X, _ = rows
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    pq.write_table(table(X, y), tmp_path / "x.parquet", row_group_size=2000)
    fitted = classifier(n_jobs=2).fit(tmp_path / "x.parquet", "target")
    assert_same_model(fitted, fitted_on_blocks(classifier(), [X], [y]))
