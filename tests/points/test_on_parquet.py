"""Parquet files are read block by block, give the model of the same blocks in memory, and say where they are broken."""

import weakref

import numpy as np
import pytest
from optional import package_or_skip
from same_model import assert_same_model, draw, fitted_on_blocks

from sepc import SEPClassifier
from sepc.points import on_parquet
from sepc.points.in_memory import BlockPoints
from sepc.points.reductions import Moments

pa = package_or_skip("pyarrow")
pq = package_or_skip("pyarrow.parquet")
NAMES = ("width", "height", "depth")
N, GROUP = 6000, 1000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of at most 2000 rows, and fits in passes over them."""
    monkeypatch.setattr(on_parquet, "BLOCK_CELLS", 6000)
    monkeypatch.setattr(SEPClassifier, "_local_rows", 1000)


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
    return SEPClassifier(n_impure=0.05, max_ellipsoids=8, **options)


def on_blocks(X, y, n_blocks=3, **options):
    return fitted_on_blocks(classifier(**options), np.array_split(X, n_blocks), np.array_split(y, n_blocks))


@pytest.mark.slow
def test_a_file_gives_the_model_of_its_blocks(file, rows):
    fitted = classifier().fit(str(file), "target")
    assert_same_model(fitted, on_blocks(*rows))
    assert fitted.feature_names_in_.tolist() == list(NAMES)


@pytest.mark.slow
def test_a_folder_gives_the_model_of_its_files(rows, tmp_path):
    X, y = rows
    for i, part in enumerate(np.array_split(np.arange(N), 3)):
        pq.write_table(table(X[part], y[part]), tmp_path / f"part-{i}.parquet")
    assert_same_model(classifier().fit(tmp_path, "target"), on_blocks(X, y))


@pytest.mark.slow  # on every change, test_sep_collections.py draws the same sample
def test_fit_rows_draws_the_same_sample_as_in_blocks(file, rows):
    options = {"fit_rows": 1500, "random_state": 3}
    fitted = classifier(**options).fit(file, "target")
    assert_same_model(fitted, on_blocks(*rows, **options))
    assert fitted.model_.class_counts.sum() == N
    assert fitted.model_.table.counts.sum() == N


def test_fit_rows_reads_the_file_three_times(file, monkeypatch):
    read = []
    reading = on_parquet.ParquetSource.rows
    monkeypatch.setattr(on_parquet.ParquetSource, "rows", lambda self, i: read.append(i) or reading(self, i))
    classifier(fit_rows=1500).fit(file, "target")
    # The block after the last that is asked for may have been begun.
    assert 9 <= len(read) <= 10


@pytest.mark.slow
def test_empty_files_and_row_groups_change_nothing(rows, tmp_path):
    X, y = rows
    with pq.ParquetWriter(tmp_path / "b.parquet", table(X, y).schema) as writer:
        for part in (np.arange(1000), np.arange(0), np.arange(1000, 3000)):
            writer.write_table(table(X[part], y[part]))
    pq.write_table(table(X[:0], y[:0]), tmp_path / "a.parquet")
    pq.write_table(table(X[3000:], y[3000:]), tmp_path / "c.parquet", row_group_size=2000)
    whole, classes, labels, _ = on_parquet.labelled_points(tmp_path, "target")
    assert (whole.n_points, labels.tolist()) == (N, ["a", "b"])
    np.testing.assert_array_equal(whole.gather(N), X)
    np.testing.assert_array_equal(classes[1].gather(N), X[y == "b"])
    assert classifier().fit(tmp_path, "target").model_.class_counts.tolist() == [(y == "a").sum(), (y == "b").sum()]


@pytest.mark.parametrize("kind", ["int64", "int8", "float32", "bool", "uint16"])
def test_columns_of_all_kinds_of_numbers_are_read(kind, rows, tmp_path):
    X, y = rows
    column = (X[:, 0] > 0) if kind == "bool" else np.abs(10 * X[:, 0]).astype(kind)
    pq.write_table(table(X, y).set_column(1, "height", pa.array(column)), tmp_path / "x.parquet")
    whole = on_parquet.labelled_points(tmp_path / "x.parquet", "target")[0]
    np.testing.assert_array_equal(whole.gather(N), np.column_stack([X[:, 0], column.astype(float), X[:, 2]]))
    holes = pa.array([None, *column[1:].tolist()])
    pq.write_table(table(X, y).set_column(1, "height", holes), tmp_path / "y.parquet")
    with pytest.raises(ValueError, match=r"Feature 'height' is empty, NaN or infinite in row 0 of row group 0"):
        on_parquet.labelled_points(tmp_path / "y.parquet", "target")[0].gather(N)


@pytest.mark.parametrize(
    "labels",
    [np.arange(N) % 3, np.arange(N) % 2 == 0, np.array(["no", "yes", "perhaps"])[np.arange(N) % 3]],
    ids=["int", "bool", "text"],
)
def test_labels_of_all_kinds(labels, rows, tmp_path):
    target = pa.array(labels).dictionary_encode() if labels.dtype.kind == "U" else pa.array(labels)
    pq.write_table(table(rows[0], labels).set_column(3, "target", target), tmp_path / "x.parquet", row_group_size=700)
    _, classes, labels_read, _ = on_parquet.labelled_points(tmp_path / "x.parquet", "target")
    assert labels_read.tolist() == sorted(set(labels.tolist()))
    for points, label in zip(classes, labels_read, strict=True):
        np.testing.assert_array_equal(points.gather(N), rows[0][labels == label])


def test_a_corrupt_row_group_is_named(file):
    start = pq.ParquetFile(file).metadata.row_group(3).column(1).data_page_offset
    content = bytearray(file.read_bytes())
    content[start : start + 60] = b"\xff" * 60
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"row group 3 of .*rows\.parquet cannot be read: ") as error:
        classifier().fit(file, "target")
    assert "\n" not in str(error.value)


def test_what_is_no_parquet_file_is_told(tmp_path):
    (tmp_path / "x.parquet").write_text("width,height\n1,2\n")
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read as Parquet: "):
        classifier().fit(tmp_path / "x.parquet", "target")
    with pytest.raises(ValueError, match=r"nowhere\.parquet cannot be read as Parquet: "):
        classifier().fit(tmp_path / "nowhere.parquet", "target")


@pytest.mark.parametrize("cell", [None, np.nan, np.inf])
def test_cells_without_a_number_are_named(cell, rows, tmp_path):
    column = [*rows[0][:, 1]]
    column[4321] = cell
    broken = table(*rows).set_column(1, "height", pa.array(column, pa.float64()))
    pq.write_table(broken, tmp_path / "x.parquet", row_group_size=GROUP)
    message = r"Feature 'height' is empty, NaN or infinite in row 321 of row group 4 of .*x\.parquet\. Fill"
    with pytest.raises(ValueError, match=message):
        classifier().fit(tmp_path / "x.parquet", "target")


def test_sums_that_overflow_are_no_reason_to_complain(rows, tmp_path):
    X = np.abs(rows[0]) * 1e307
    pq.write_table(table(X, rows[1]), tmp_path / "x.parquet")
    np.testing.assert_array_equal(on_parquet.labelled_points(tmp_path / "x.parquet", "target")[0].gather(N), X)


def test_what_cannot_be_fitted_is_told_in_their_words(file, rows, tmp_path):
    X, y = rows
    with pytest.raises(ValueError, match=r"no column 'label'; its columns are 'width', 'height', 'depth' and 'target'"):
        classifier().fit(file, "label")
    with pytest.raises(ValueError, match="y must be the name of the label column"):
        classifier().fit(file, y)
    pq.write_table(table(X[:0], y[:0]), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"empty\.parquet has no rows"):
        classifier().fit(tmp_path / "empty.parquet", "target")
    holes = pa.array([*y[:1017], None, *y[1018:]])
    pq.write_table(table(X, y).set_column(3, "target", holes), tmp_path / "holes.parquet", row_group_size=GROUP)
    with pytest.raises(
        ValueError, match=r"Column 'target' has 1 missing label, the first in row 17 of row group 1 .*holes\.parquet"
    ):
        classifier().fit(tmp_path / "holes.parquet", "target")


@pytest.mark.slow
def test_more_than_two_classes_and_processes(rows, tmp_path):
    X, _ = rows
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    pq.write_table(table(X, y), tmp_path / "x.parquet", row_group_size=2000)
    assert_same_model(classifier(n_jobs=2).fit(tmp_path / "x.parquet", "target"), on_blocks(X, y))


def test_few_blocks_are_in_memory_at_a_time(file, monkeypatch):
    whole = on_parquet.labelled_points(file, "target")[0]
    assert isinstance(whole, BlockPoints)
    alive, most = [], 0
    reading = on_parquet.ParquetSource.rows

    def counted(self, i):
        nonlocal most
        block = reading(self, i)
        alive.append(weakref.ref(block))
        most = max(most, sum(reference() is not None for reference in alive))
        return block

    monkeypatch.setattr(on_parquet.ParquetSource, "rows", counted)
    for _ in range(3):
        whole.reduce(Moments())
    assert len(alive) >= 9
    assert most <= 2
