"""Tables that would take all memory or never end: one readable line, before the memory is asked for."""

import gzip
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_runs import Ran, complaint
from optional import package_or_skip
from warm_python import warm_python

from sepc import SEPClassifier

pa, pd = package_or_skip("pyarrow"), package_or_skip("pandas")
pq = package_or_skip("pyarrow.parquet")

FEATURES = ["mean radius", "mean texture", "worst area"]
HEADER = (",".join([*FEATURES, "target"]) + "\n").encode()

# The command, and after its own line the most memory that it took, in kilobytes. Python's own `resource` would count
# what the process that started it had taken before. It ends as the command does, without waiting for threads that read:
# pyarrow's would end the process with SIGABRT if Python finished before them.
MEASURED = (
    "import os, re, sys, sepc.cli; code = sepc.cli.main(sys.argv[1:]); status = open('/proc/self/status').read(); "
    "sys.stderr.write(re.search(r'VmHWM:\\s+(\\d+)', status)[1]); "
    "sys.stdout.flush(); sys.stderr.flush(); os._exit(code)"
)


def measured(*words):
    """Run the command in a process of its own; what it said, and the most megabytes that it took."""
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells how much memory a process took")
    words = [*warm_python(), "-c", MEASURED, *map(str, words)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    said, _, kilobytes = done.stderr.rpartition("\n")
    assert kilobytes.isdigit(), (done.returncode, done.stderr)
    return Ran(done.returncode, done.stdout, f"{said}\n"), int(kilobytes) / 1024


def words_of(command, folder, data, tmp_path):
    if command == "fit":
        return ["fit", data, "--target", "target", "--output", tmp_path / "m.sepc"]
    return ["score", folder / "model.sepc", data, "--output", tmp_path / "out.csv"]


def write_bomb(path: Path, first: bytes, repeated: bytes) -> Path:
    """Three gigabytes in three megabytes: an archive of many equal parts."""
    part = gzip.compress(repeated * (16 * 2**20 // len(repeated)))
    path.write_bytes((gzip.compress(first) if first else b"") + part * 192)
    assert path.stat().st_size < 4e6
    return path


BOMBS = {
    "zeros": (b"", b"\0", "is not CSV"),
    "one line": (b"", b"0", "the header does not end within 4 MB"),
    "commas": (b"", b",", "the header does not end within 4 MB"),
    "a row without end": (HEADER, b"0", "a row does not end within 1 MB"),
    "a quote without end": (HEADER + b'1,2,"', b"0\n", "a row does not end within 1 MB"),
    "empty lines": (HEADER, b"\n", "has a header but no rows"),
}


@pytest.mark.slow  # on every change, an archive ends long after its header
@pytest.mark.parametrize(("kind", "command"), [*((kind, "fit") for kind in BOMBS), ("a row without end", "score")])
def test_an_archive_of_three_gigabytes(kind, command, folder, tmp_path):
    first, repeated, said = BOMBS[kind]
    bomb = write_bomb(tmp_path / "bomb.csv.gz", first, repeated)
    ran, megabytes = measured(*words_of(command, folder, bomb, tmp_path))
    assert said in complaint(ran)
    assert megabytes < 400
    assert [path.name for path in tmp_path.iterdir()] == ["bomb.csv.gz"]


@pytest.mark.slow
def test_an_archive_of_zstandard(tmp_path, folder):
    bomb = tmp_path / "bomb.csv.zst"
    bomb.write_bytes(pa.compress(HEADER + b"0" * 2**30, "zstd", asbytes=True))
    ran, megabytes = measured(*words_of("fit", folder, bomb, tmp_path))
    assert "1 MB" in complaint(ran)
    assert megabytes < 400
    bomb.write_bytes(bomb.read_bytes()[:1000])
    assert "bomb.csv.zst" in complaint(measured(*words_of("fit", folder, bomb, tmp_path))[0])
    bomb.write_bytes(b"p,y\n1,a\n")
    assert "bomb.csv.zst cannot" in complaint(measured(*words_of("fit", folder, bomb, tmp_path))[0])


@pytest.mark.slow_cases("parquet-score")
@pytest.mark.parametrize("command", ["fit", "score"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_hundred_thousand_columns(suffix, command, folder, tmp_path):
    n, path = {"csv": 100_000, "parquet": 20_001}[suffix], tmp_path / f"wide.{suffix}"
    names = [*(f"c{j}" for j in range(n - 1)), "target"]
    if suffix == "csv":
        path.write_text(",".join(names) + "\n" + (",".join("1" * n) + "\n") * 3)
    else:
        pq.write_table(pa.Table.from_arrays([pa.array([1.0, 2.0])] * n, names=names), path)
    ran, megabytes = measured(*words_of(command, folder, path, tmp_path))
    assert f"has {n:,} columns; sepc reads at most 20,000" in complaint(ran)
    assert megabytes < 400


@pytest.mark.parametrize(
    ("encoding", "command"),
    [("utf-16", "fit"), ("utf-16-le", "score"), ("utf-16-be", "score"), ("utf-32", "score"), ("utf-32-le", "fit")],
)
def test_wide_encodings_are_read_without_being_told(encoding, command, folder, tmp_path, wdbc, run):
    path = tmp_path / "wide.csv"
    path.write_bytes(wdbc[[*FEATURES, "target"]].to_csv(index=False).encode(encoding))
    words = words_of(command, folder, path, tmp_path)
    for given in ([], ["--encoding", encoding]):
        told = run(*words, *given)
        assert (told.code, told.err) == (0, "")
        assert "569 rows" in told.out


def test_bytes_that_are_no_text_in_the_encoding_given(folder, tmp_path, wdbc, refused):
    text = wdbc[[*FEATURES, "target"]].to_csv(index=False)
    (tmp_path / "cut.csv").write_bytes(text.encode("utf-16")[:-1])
    words = words_of("score", folder, tmp_path / "cut.csv", tmp_path)
    assert "utf-16" in refused(*words, "--encoding", "utf-16")


def test_an_archive_that_ends_long_after_its_header(folder, tmp_path, refused):
    rng = np.random.default_rng(0)
    rows = b"".join(b"%.9f,%.9f,%.9f,benign\n" % tuple(row) for row in rng.normal(size=(200_000, 3)))
    packed = gzip.compress(HEADER + rows, 1)
    (tmp_path / "cut.csv.gz").write_bytes(packed[: -len(packed) // 8])
    words = words_of("score", folder, tmp_path / "cut.csv.gz", tmp_path)
    assert "cut.csv.gz cannot" in refused(*words)


@pytest.mark.parametrize(("command", "suffix"), [("landscape", "csv"), ("fit", "csv.gz"), ("report", "parquet")])
def test_a_table_too_large_for_the_memory(command, suffix, tmp_path, refused):
    n, path = 400_000, tmp_path / f"long.{suffix}"
    table = pd.DataFrame({"x": np.arange(n) % 1000, "target": np.arange(n) % 2})
    table.to_parquet(path) if suffix == "parquet" else table.to_csv(path, index=False)
    words = [command, path, "--target", "target", "--max-memory", "0.05"]
    words += [] if command == "landscape" else ["--output", tmp_path / "out.html"]
    assert "0.05 GB are allowed by --max-memory" in refused(*words)
    assert "gigabytes" in refused(*words, "--max-memory", "0")


def test_what_is_free_bounds_a_fit(tmp_path, refused):
    """A footer may claim any number of rows; a table that this machine cannot hold is refused unread."""
    one = pa.table({"x": pa.array(np.zeros(2**20)), "target": pa.array(np.zeros(2**20, dtype=np.int8))})
    parts: list = []
    pq.write_table(one, tmp_path / "part.parquet", metadata_collector=parts)
    parts[0].set_file_path("part.parquet")
    pq.write_metadata(one.schema, tmp_path / "claims.parquet", parts * 10_000)
    words = ["fit", tmp_path / "claims.parquet", "--target", "target", "--output", tmp_path / "m.sepc"]
    words += ["--test-size", "0.5"]
    line = refused(*words)
    assert "10,485,760,000 rows of 1 feature" in line
    assert "1,573 GB" in line
    assert "are free" in line


@pytest.mark.parametrize("command", ["fit", "score"])
def test_text_that_a_file_repeats_from_a_dictionary(command, folder, tmp_path):
    numbers = {name: np.ones(2_000) for name in FEATURES}
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000, dtype=np.int32)), pa.array(["x" * 10**6]))
    pq.write_table(pa.table(numbers | {"target": text}), tmp_path / "text.parquet", store_schema=False)
    assert pq.read_schema(tmp_path / "text.parquet").field("target").type == pa.string()
    copied = ["--copy", "target"] if command == "score" else []
    ran, megabytes = measured(*words_of(command, folder, tmp_path / "text.parquet", tmp_path), *copied)
    assert "256 MB" in complaint(ran)
    assert megabytes < 400


def test_lists_are_no_columns(folder, tmp_path, wdbc, refused):
    table = wdbc[FEATURES].assign(readings=[[1.0, 2.0]] * len(wdbc))
    table.to_parquet(tmp_path / "lists.parquet")
    words = words_of("score", folder, tmp_path / "lists.parquet", tmp_path)
    assert "'readings' holds lists" in refused(*words, "--copy", "readings")


def test_rows_of_a_few_bytes_are_decided_some_at_a_time(folder, tmp_path, monkeypatch, run):
    """A block of the file may hold a million of them."""
    sizes, decide = [], SEPClassifier.decide

    def noted(model, X, **more):
        sizes.append(len(X))
        return decide(model, X, **more)

    monkeypatch.setattr(SEPClassifier, "decide", noted)
    (tmp_path / "short.csv").write_bytes(HEADER.replace(b",target", b"") + b"1,2,3\n" * 300_000)
    assert run(*words_of("score", folder, tmp_path / "short.csv", tmp_path)).code == 0
    assert sum(sizes) == 300_000
    assert max(sizes) <= 2**17
