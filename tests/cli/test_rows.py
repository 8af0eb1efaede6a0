"""The reader of rows: features, labels and copied columns of the same rows, with their numbers."""

from argparse import Namespace

import numpy as np
import pytest
from optional import package_or_skip

from sepc.cli.column_reading import Features
from sepc.cli.messages import InputError
from sepc.cli.rows import RowReader, open_table
from sepc.cli.source import Source
from sepc.cli.tables import ColumnType

package_or_skip("pyarrow")

OPTIONS = Namespace(quiet=True, max_memory=None)
FEATURES = Features({"x": ColumnType.NUMBER, "code": ColumnType.TEXT}, categories={"code": ["007", "A"]})


@pytest.fixture
def source(tmp_path):
    lines = [f"{i:03d},{i}.5,{'7' if i % 2 else 'A'},{'yes' if i % 3 else ''}\n" for i in range(100)]
    (tmp_path / "rows.csv").write_text("id,x,code,label\n" + "".join(lines))
    return Source(str(tmp_path / "rows.csv"), "csv")


@pytest.mark.parametrize("ahead", [False, True])
def test_every_part_of_a_batch_is_of_the_same_rows(source, ahead, monkeypatch):
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 30)
    done = 0
    with open_table(source) as table:
        rows = RowReader(table, FEATURES, "label", np.array(["no", "yes"]), ["id"])
        with rows.batches(OPTIONS, ahead=ahead) as batches:
            for batch in batches:
                numbers = range(done, done + batch.n_rows)
                assert (batch.first_row, batch.last_row) == (done + 1, done + batch.n_rows)
                assert batch.columns["id"].to_pylist() == [f"{i:03d}" for i in numbers]
                arrays = rows.arrays(batch)
                assert arrays["x"].tolist() == [i + 0.5 for i in numbers]
                assert arrays["code"].tolist() == ["007" if i % 2 else "A" for i in numbers]
                assert rows.labels(batch).tolist() == ["yes" if i % 3 else None for i in numbers]
                done += batch.n_rows
    assert done == 100


def test_labels_are_as_they_are_written_or_those_of_a_model(source):
    with open_table(source) as table:
        written = RowReader(table, FEATURES, "code")
        of_model = RowReader(table, FEATURES, "x", np.array([1, 2]))
        with written.batches(OPTIONS) as batches:
            assert written.labels(next(batches))[:2].tolist() == ["A", "7"]
        with pytest.raises(InputError, match="not measurements"):
            of_model.labels(next(table.batches(["x"], {})))


def test_columns_beside_the_features_must_be_there(source):
    with open_table(source) as table, pytest.raises(InputError, match="no column 'labels'; .* Did you mean 'label'"):
        RowReader(table, FEATURES, "labels")


def test_a_table_too_large_for_the_memory_is_refused_only_where_it_is_held(source):
    options = Namespace(quiet=True, max_memory=1e-6)
    with open_table(source) as table:
        rows = RowReader(table, FEATURES)
        with pytest.raises(InputError, match="--max-memory"), rows.batches(options, in_memory=True):
            pass
        with rows.batches(options) as batches:
            assert sum(batch.n_rows for batch in batches) == 100


def test_no_more_is_read_once_nobody_wants_more(source, monkeypatch):
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 10)
    with open_table(source) as table:
        with RowReader(table, FEATURES).batches(OPTIONS, ahead=True) as batches:
            assert next(batches).last_row == 10
        assert next(batches, None) is None
