"""Tables in batches: little memory, rows counted through, and cells of every type of number."""

import decimal

import numpy as np
import pytest
from optional import package_or_skip

from sepc import SEPClassifier, load, save
from sepc.cli.rows import read_ahead

pa, pd = package_or_skip("pyarrow"), package_or_skip("pandas")
pq = package_or_skip("pyarrow.parquet")
pa_csv = package_or_skip("pyarrow.csv")

N = 800_000
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model of three numbers."""
    folder, rng = tmp_path_factory.mktemp("batches"), np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=NAMES)
    save(SEPClassifier(trust="counts").fit(X, np.where(X["a"] > 0.0, "yes", "no")), folder / "m.sepc")
    return folder


@pytest.fixture(scope="module")
def long():
    rng = np.random.default_rng(0)
    return pa.table({name: rng.normal(size=N) for name in NAMES})


@pytest.mark.parametrize("row_group_size", [None, 5_000, 70_000, N])
def test_a_table_is_never_held_as_a_whole(row_group_size, place, long, tmp_path, run, monkeypatch):
    """What Arrow holds when the last row is decided; its own default keeps every byte of Parquet until the end."""
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 2**14)
    path = tmp_path / ("long.csv" if row_group_size is None else "long.parquet")
    if row_group_size is None:
        pa_csv.write_csv(long, path)
    else:
        pq.write_table(long, path, row_group_size=row_group_size, use_dictionary=False)
    decide, held, before = SEPClassifier.decide, [], pa.total_allocated_bytes()

    def noted(model, X, **more):
        held.append(pa.total_allocated_bytes() - before)
        return decide(model, X, **more)

    monkeypatch.setattr(SEPClassifier, "decide", noted)
    told = run("explain", place / "m.sepc", path, "--row", N)
    last = pd.DataFrame({name: [long[name][N - 1].as_py()] for name in NAMES})
    assert told.out == f"Row {N:,}: {load(place / 'm.sepc').decide(last).why(0)}\n"
    assert held[0] < long.nbytes / 2


def test_cells_of_every_kind(place, tmp_path, run):
    """Truth values, decimals and small integers are numbers, cells may have lines, and twins that none asks for."""
    columns = {"a": [True, False], "b": [decimal.Decimal("1.5"), None], "c": pa.array([1, 2], pa.uint8())}
    pq.write_table(pa.table(columns), tmp_path / "kinds.parquet")
    (tmp_path / "kinds.csv").write_text('a,note,b,x,c,x\n1,"one\ntwo",1.5,5,1,5\n0,"three",,5,2,5\n')
    rows = pd.DataFrame({"a": [1.0, 0.0], "b": [1.5, np.nan], "c": [1.0, 2.0]})
    wanted = load(place / "m.sepc").decide(rows).trust
    for name, more in (("kinds.parquet", []), ("kinds.csv", ["--copy", "note"])):
        words = ["score", place / "m.sepc", tmp_path / name, "--output", tmp_path / "out.parquet", *more]
        assert run(*words).code == 0
        found = pd.read_parquet(tmp_path / "out.parquet")
        np.testing.assert_array_equal(found["trust"], wanted)
    assert found["note"].tolist() == ["one\ntwo", "three"]


def test_what_another_thread_reads_comes_in_order_and_its_errors_come_through():
    def items():
        yield from range(5)
        raise ValueError("the end")

    ahead = read_ahead(items())
    assert [next(ahead) for _ in range(5)] == list(range(5))
    with pytest.raises(ValueError, match="end"):
        next(ahead)
    several = read_ahead(iter(range(1000)))
    assert [next(several) for _ in range(3)] == [0, 1, 2]
    several.close()
