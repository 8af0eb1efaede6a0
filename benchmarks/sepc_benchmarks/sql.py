"""Whether databases decide as the model in Python does, whatever names are, how fast, and how long the statement is.

Models are fitted on at most 3,000 rows of seven data sets, one with categories. They decide on 100,000 rows drawn from
all of them: a fifth as they are, most with their numbers moved by 0.05 to 0.3 standard deviations, 5 % by 3 and 1 % by
1,000. A row is "near a boundary" if its gauge in some ellipsoid is within 1e-9 of 1, or its trust within 1e-9 of the
least that is accepted. "names" decides on 2,000 rows of each set again after every column and every label got a name
that looks like SQL. "throughput" is a Parquet file of phoneme's rows, drawn in the same way, decided by DuckDB,
`sepc score` and ONNX Runtime, each on one thread, from file to file. "sizes" are statements for ten features of magic.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

import sepc.onnx
import sepc.sql
from sepc import SEPClassifier
from sepc import save as save_model
from sepc.model.membership import squared_radii
from sepc_benchmarks import datasets
from sepc_benchmarks.databases import DuckDB, Postgres, SQLite, postgres_programs, postgres_server
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.onnx_parity import FIT_ROWS, SHARES, STEPS, run, session_of
from sepc_benchmarks.score_command import timed

SETS = ("banknote_authentication", "phoneme", "glass", "magic_gamma_telescope", "pendigits", "segment", "adult")
ROWS, HOSTILE_ROWS, FILE_ROWS, SIZE_ROWS = 100_000, 2000, 10_000_000, 10_000
GROUP_ROWS = 2**18
COUNTS = (15, 40, 150)
# Rows to fit so many ellipsoids on.
SIZE_FIT_ROWS = 9000
# With more ellipsoids, PostgreSQL compiles for minutes.
MOST_COMPILED = 40
NEAR = 1e-9
OUTPUTS = ("label", "region", "cause", "accepted")
HOSTILE = (
    '"; DROP TABLE t; --',
    "it's /* so */ `odd`",
    "line\nbreak \\' \\",
    "ü 漢字 %s {x} $1 :name ?",
    "' OR 1 = 1 --",
)


def read(name: str, n_most: int) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Rows and labels to fit on, and all rows."""
    data = datasets.load(name)
    rows, labels = data.features, np.asarray(data.target)
    chosen = np.random.default_rng(0).permutation(len(rows))[:n_most]
    return rows.iloc[chosen], labels[chosen], rows


def drawn(rows: pd.DataFrame, n: int, seed: int = 1) -> pd.DataFrame:
    """Rows as they are or with their numbers moved."""
    rng = np.random.default_rng(seed)
    some = rows.iloc[rng.integers(len(rows), size=n)].reset_index(drop=True)
    numbers = rows.select_dtypes("number").astype(np.float64)
    steps = rng.choice(STEPS, p=SHARES, size=(n, 1)) * rng.standard_normal((n, numbers.shape[1]))
    moved = some[numbers.columns].astype(np.float64) + steps * numbers.std().to_numpy()
    return some.assign(**{name: moved[name] for name in numbers})


def asked(engine: Any, model: Any, rows: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """What a database says of rows, in their order, and the seconds it took."""
    engine.create("t", rows.assign(row_number=np.arange(len(rows))))
    statement = sepc.sql.export(model, engine.dialect, "t")
    started = time.perf_counter()
    said = engine.ask(statement)
    return said.sort_values("row_number", ignore_index=True), time.perf_counter() - started


def near_boundary(model: SEPClassifier, rows: pd.DataFrame, trust: np.ndarray) -> np.ndarray:
    own, given = model.model_, model.decide(rows).given_rows
    gauges = np.sqrt(squared_radii(own.standardize(given), own.centers, own.roots))
    return (np.abs(gauges - 1.0) <= NEAR).any(axis=1) | (np.abs(trust - model.min_trust) <= NEAR)


def compared(said: pd.DataFrame, expected: pd.DataFrame, near: np.ndarray) -> dict[str, Any]:
    """How often the two differ away from boundaries, how often there, and by how much their trusts do."""
    differs = {name: said[f"sepc_{name}"].to_numpy() != expected[name].to_numpy() for name in OUTPUTS}
    apart = np.abs(said["sepc_trust"].to_numpy(dtype=np.float64) - expected["trust"].to_numpy())
    return {
        **{f"{name} differs": int((wrong & ~near).sum()) for name, wrong in differs.items()},
        "differ near a boundary": int((np.any(list(differs.values()), axis=0) & near).sum()),
        "largest difference of trust": float(apart.max()),
    }


def parity(engines: list[Any], names: tuple[str, ...], n_fit: int, n: int) -> Iterator[dict[str, Any]]:
    for name in names:
        X, y, every = read(name, n_fit)
        model = SEPClassifier().fit(X, y)
        rows = drawn(every, n)
        decisions = model.decide(rows)
        expected, near = decisions.to_frame(), near_boundary(model, rows, decisions.trust)
        head = {"data": name, "features": X.shape[1], "classes": len(model.classes_)}
        head |= {"ellipsoids": model.model_.n_ellipsoids, "rows": n, "near a boundary": int(near.sum())}
        for engine in engines:
            said, seconds = asked(engine, model, rows)
            yield head | {"database": engine.dialect} | compared(said, expected, near) | {"rows/s": n / seconds}
            print(name, engine.dialect, file=sys.stderr, flush=True)


def hostile(engines: list[Any], names: tuple[str, ...], n_fit: int, n: int) -> Iterator[dict[str, Any]]:
    """The same rows under plain names and under hostile ones."""
    for engine in engines:
        n_differ = n_columns = n_texts = 0
        for name in names:
            X, y, every = read(name, n_fit)
            rows = drawn(every, n)
            columns = {column: f"{HOSTILE[i % len(HOSTILE)]} {i}" for i, column in enumerate(X)}
            # In the order of the plain ones, since ties go to the first.
            labels = {label: f"{i} {HOSTILE[i % len(HOSTILE)]}" for i, label in enumerate(np.unique(y))}
            plain, _ = asked(engine, SEPClassifier().fit(X, y), rows)
            odd_labels = np.array([labels[label] for label in y], dtype=object)
            odd, _ = asked(
                engine, SEPClassifier().fit(X.rename(columns=columns), odd_labels), rows.rename(columns=columns)
            )
            differs = odd["sepc_label"].to_numpy() != plain["sepc_label"].map(labels).to_numpy()
            for own in ("sepc_region", "sepc_cause", "sepc_accepted", "sepc_trust"):
                differs |= odd[own].to_numpy() != plain[own].to_numpy()
            n_differ, n_columns, n_texts = (
                n_differ + int(differs.sum()),
                n_columns + len(columns),
                n_texts + len(labels),
            )
        head = {"database": engine.dialect, "sets": len(names), "columns renamed": n_columns, "labels renamed": n_texts}
        yield head | {"rows": n * len(names), "rows that differ": n_differ}


def throughput(folder: Path, n_fit: int, n: int) -> list[dict[str, Any]]:
    X, y, every = read("phoneme", n_fit)
    model = SEPClassifier().fit(X, y)
    data, saved = folder / "rows.parquet", folder / "model.sepc"
    save_model(model, saved)
    with pq.ParquetWriter(data, pa.Table.from_pandas(drawn(every, 1)).schema) as writer:
        for start in range(0, n, GROUP_ROWS):
            writer.write_table(pa.Table.from_pandas(drawn(every, min(GROUP_ROWS, n - start), seed=start)))
    command = [sys.executable, "-m", "sepc", "score", str(saved), str(data)]
    command += ["--output", str(folder / "command.parquet"), "--quiet"]
    ways: dict[str, Callable[[], object]] = {
        "DuckDB": lambda: by_duckdb(model, data, folder / "duckdb.parquet"),
        "sepc score": lambda: timed(command),
        "ONNX Runtime": lambda: by_onnx(model, data, folder / "onnx.parquet"),
    }
    records: list[dict[str, Any]] = []
    for way, decide in ways.items():
        started = time.perf_counter()
        decide()
        seconds = time.perf_counter() - started
        records.append({"way": way, "rows": n, "seconds": seconds, "rows/s": n / seconds})
        print(way, seconds, file=sys.stderr, flush=True)
    for record in records:
        record["of sepc score"] = record["rows/s"] / records[1]["rows/s"]
    return records


def by_duckdb(model: SEPClassifier, data: Path, output: Path) -> None:
    engine = DuckDB()
    engine.connection.execute("SET threads = 1")
    engine.connection.execute(f"CREATE VIEW t AS SELECT * FROM '{data}'")
    engine.connection.execute(f"COPY ({sepc.sql.export(model, 'duckdb', 't')}) TO '{output}' (FORMAT parquet)")
    engine.connection.close()


def by_onnx(model: SEPClassifier, data: Path, output: Path) -> None:
    sepc.onnx.export(model, output.with_suffix(".onnx"))
    session = session_of(str(output.with_suffix(".onnx")))
    writer: Any = None
    for group in pq.ParquetFile(data).iter_batches(GROUP_ROWS, use_threads=False):
        said = run(session, np.column_stack([group[name].to_numpy() for name in model.feature_names_in_]))
        table = pa.Table.from_batches([group])
        for name in ("label", "trust", "accepted", "cause", "region"):
            table = table.append_column(name, pa.array(said[name]))
        writer = writer or pq.ParquetWriter(output, table.schema)
        writer.write_table(table)
    writer.close()


def sizes(engines: list[Any], counts: tuple[int, ...], n_fit: int, n: int) -> Iterator[dict[str, Any]]:
    X, y, every = read("magic_gamma_telescope", n_fit)
    rows = drawn(every, n)
    for count in counts:
        model = SEPClassifier(0, max_ellipsoids=count).fit(X, y)
        head = {"ellipsoids": model.model_.n_ellipsoids, "sets": len(model.model_.table.counts)}
        for engine in engines:
            compiled = ("off", "on") if count <= MOST_COMPILED else ("off",)
            settings = compiled if engine.dialect == "postgres" else ("",)
            for jit in settings:
                if jit:
                    engine.connection.execute(f"SET jit = {jit}")
                yield head | measured_size(engine, model, rows, f"{engine.dialect}{f', jit {jit}' if jit else ''}")
                print(count, engine.dialect, jit, file=sys.stderr, flush=True)
        yield head | {"database": "spark", "kB": len(sepc.sql.export(model, "spark", "t").encode()) / 1e3}


def measured_size(engine: Any, model: SEPClassifier, rows: pd.DataFrame, name: str) -> dict[str, Any]:
    statement = sepc.sql.export(model, engine.dialect, "t")
    engine.create("t", rows.assign(row_number=0).head(0))
    started = time.perf_counter()
    engine.ask(statement)
    planned = time.perf_counter() - started
    _, seconds = asked(engine, model, rows)
    size = len(statement.encode()) / 1e3
    return {"database": name, "kB": size, "s, no rows": planned, f"s, {len(rows):,} rows": seconds}


def main() -> None:
    options = arguments(__doc__)
    warnings.simplefilter("ignore")
    sizes_of = (FIT_ROWS, ROWS, HOSTILE_ROWS, FILE_ROWS, SIZE_FIT_ROWS, SIZE_ROWS)
    n_fit, n, n_hostile, n_file, n_sized, n_size = (200, 500, 200, 3000, 200, 200) if options.smallest else sizes_of
    names, counts = (SETS[:1], COUNTS[:1]) if options.smallest else (SETS, COUNTS)
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        engines: list[Any] = [DuckDB(), SQLite()]
        if postgres_programs() is not None:
            engines.append(Postgres(stack.enter_context(postgres_server())))
            engines[-1].connection.execute("SET jit = off")
        for engine in engines:
            stack.callback(engine.connection.close)
        results = {
            "parity": list(parity(engines, names, n_fit, n)),
            "names": list(hostile(engines, names, n_fit, n_hostile)),
            "throughput": throughput(Path(folder), n_fit, n_file),
            "sizes": list(sizes(engines, counts, n_sized, n_size)),
        }
    for title, records in results.items():
        show(title, records)
    save(options.output, results)


if __name__ == "__main__":
    main()
