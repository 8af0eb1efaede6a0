"""Tables in batches: little memory, rows counted through, and what is told of cells that are no numbers."""

import numpy as np
import pytest
from optional import package_or_skip

from sepc.cli.column_reading import array_of
from sepc.cli.messages import InputError
from sepc.cli.rows import open_table, read_ahead
from sepc.cli.source import Source
from sepc.cli.tables import ColumnType

pa = package_or_skip("pyarrow")


def matrix(batch, names):
    """The columns as numbers, of shape (n, d)."""
    source = Source("table", "csv")
    return np.column_stack(
        [array_of(source, name, batch.columns[name], ColumnType.NUMBER, batch.first_row) for name in names]
    )


def numbers(names):
    return dict.fromkeys(names, ColumnType.NUMBER)


def write_parquet(path, n, row_group_size):
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=n) for j in range(8)}
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size, use_dictionary=False)
    return np.column_stack(list(columns.values()))


@pytest.mark.parametrize("row_group_size", [5_000, 70_000, 800_000])
def test_parquet_is_never_held_as_a_whole(row_group_size, tmp_path, monkeypatch):
    """Arrow's own default keeps every byte it has read until the end."""
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 2**14)
    rows = write_parquet(tmp_path / "long.parquet", 800_000, row_group_size)
    names, done, most, before = [f"x{j}" for j in range(8)], 0, 0, pa.total_allocated_bytes()
    with open_table(Source(str(tmp_path / "long.parquet"), "parquet")) as table:
        for batch in table.batches(names, numbers(names)):
            assert batch.first_row == done + 1
            np.testing.assert_array_equal(matrix(batch, names), rows[done : done + batch.n_rows])
            done += batch.n_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert (done, table.n_rows) == (800_000, 800_000)
    assert most < rows.nbytes / 2


def test_csv_is_never_held_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("sepc.cli.csv_table.BLOCK_BYTES", 2**18)
    path, n = tmp_path / "long.csv", 1_000_000
    path.write_text("a,b\n" + "".join(f"{i},{i % 7}.5\n" for i in range(n)))
    done, most, before = 0, 0, pa.total_allocated_bytes()
    with open_table(Source(str(path), "csv")) as table:
        for batch in table.batches(["b", "a"], numbers("ab")):
            assert matrix(batch, ["a"])[0, 0] == done == batch.first_row - 1
            done += batch.n_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert done == n
    assert most < n * 16 / 2


def test_cells_of_several_lines(tmp_path):
    (tmp_path / "lines.csv").write_text('a,note\n1,"one\ntwo"\n2,"three"\n')
    with open_table(Source(str(tmp_path / "lines.csv"), "csv")) as table:
        (batch,) = table.batches(["note", "a"], numbers("a"))
    assert batch.columns["note"].to_pylist() == ["one\ntwo", "three"]


def test_truth_values_and_decimals_are_numbers(tmp_path):
    import decimal

    import pyarrow.parquet as pq

    columns = {"a": [True, False], "b": [decimal.Decimal("1.5"), None], "c": pa.array([1, 2], pa.uint8())}
    pq.write_table(pa.table(columns), tmp_path / "kinds.parquet")
    with open_table(Source(str(tmp_path / "kinds.parquet"), "parquet")) as table:
        assert all(table.kind_of(name) is ColumnType.NUMBER for name in "abc")
        (batch,) = table.batches(list("abc"), numbers("abc"))
    np.testing.assert_array_equal(matrix(batch, list("abc")), [[1.0, 1.5, 1.0], [0.0, np.nan, 2.0]])


def test_what_another_thread_reads_comes_in_order_and_its_errors_come_through():
    def items():
        yield from range(5)
        raise InputError("the end")

    found = []
    with pytest.raises(InputError, match="the end"):
        found.extend(read_ahead(items()))
    several = read_ahead(iter(range(1000)))
    assert [next(several) for _ in range(3)] == [0, 1, 2]
    several.close()


def test_duplicates_that_nobody_asks_for_do_no_harm(tmp_path):
    (tmp_path / "twice.csv").write_text("a,x,x\n1,2,3\n")
    with open_table(Source(str(tmp_path / "twice.csv"), "csv")) as table:
        (batch,) = table.batches(["a"], numbers("a"))
    assert matrix(batch, ["a"]).tolist() == [[1.0]]
