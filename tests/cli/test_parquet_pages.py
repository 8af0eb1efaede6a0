"""Pages of Parquet files: how large they are, by their own headers, whoever wrote them."""

import io

import numpy as np
import pytest
from command_runs import complaint, run_here
from hypothesis import given
from hypothesis import strategies as st
from optional import package_or_skip

from sepc.cli.parquet_pages import memory_of

pa, pq = package_or_skip("pyarrow"), package_or_skip("pyarrow.parquet")

FEATURES = ["mean radius", "mean texture", "worst area"]
WAYS = {
    "as usual": {},
    "second version": {"data_page_version": "2.0"},
    "packed otherwise": {"compression": "gzip", "use_dictionary": False},
    "not packed": {"compression": "none", "use_dictionary": False},
    "with an index": {"write_page_index": True},
    "small pages": {"data_page_size": 2**12},
    "small row groups": {"row_group_size": 1_000},
}


class Chunk:
    """The metadata of a column chunk that is all there is."""

    data_page_offset, dictionary_page_offset = 0, None

    def __init__(self, data):
        self.total_compressed_size = len(data)


def chunks(path):
    described = pq.ParquetFile(path).metadata
    return [described.row_group(g).column(j) for g in range(described.num_row_groups) for j in range(2)]


@pytest.mark.parametrize("way", WAYS)
def test_a_chunk_takes_no_more_than_it_says_and_no_less_than_its_share(way, tmp_path):
    rng = np.random.default_rng(0)
    texts = [f"case {i}" * 20 for i in rng.permutation(30_000)]
    pq.write_table(pa.table({"x": rng.normal(size=30_000), "text": texts}), tmp_path / "t.parquet", **WAYS[way])
    with (tmp_path / "t.parquet").open("rb") as stream:
        for chunk in chunks(tmp_path / "t.parquet"):
            assert 0 < memory_of(stream, chunk) < chunk.total_uncompressed_size
            if way == "small row groups":
                assert memory_of(stream, chunk) > 0.9 * chunk.total_uncompressed_size


def test_a_page_of_zeros_counts_as_what_it_stands_for(tmp_path):
    zeros = pa.table({"x": np.zeros(10_000), "y": np.zeros(10_000)})
    pq.write_table(zeros, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    with (tmp_path / "t.parquet").open("rb") as stream:
        for chunk in chunks(tmp_path / "t.parquet"):
            assert chunk.total_compressed_size < 1_000
            assert memory_of(stream, chunk) > 80_000


def number(value):
    """A signed integer in the compact protocol."""
    value, digits = (value << 1) ^ (value >> 63), []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def test_headers_hold_more_than_we_read():
    """Truth values, texts, lists, maps and structures, as later versions of the format may have them."""
    more = b"\x11" + b"\x18\x03abc" + b"\x19\x25" + number(7) + number(-7) + b"\x1b\x01\x58" + number(1) + b"\x01a"
    more += b"\x1c\x15" + number(9) + b"\x00" + b"\x17" + bytes(8) + b"\x13\x05" + b"\x19\x21\x01\x02" + b"\x1b\x00"
    page = b"\x15" + number(0) + b"\x15" + number(5_000_000) + b"\x15" + number(3) + more + b"\x00" + b"zip"
    assert memory_of(io.BytesIO(page * 2), Chunk(page * 2)) == 5_000_000
    first = b"\x15" + number(2) + b"\x15" + number(70) + b"\x15" + number(0) + b"\x00"
    assert memory_of(io.BytesIO(first + page), Chunk(first + page)) == 5_000_070


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_end_in_an_answer_or_a_reason(data):
    try:
        assert memory_of(io.BytesIO(data), Chunk(data)) >= 0
    except ValueError as error:
        assert "page" in str(error)  # noqa: PT017


def test_pages_too_large_for_what_is_free(folder, wdbc, tmp_path, capsys, monkeypatch):
    wdbc[FEATURES].to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr("sepc.cli.parquet_table.free_bytes", lambda: 10_000)
    words = ["score", folder / "model.sepc", tmp_path / "t.parquet", "--output", tmp_path / "o.csv"]
    line = complaint(run_here(capsys, *words))
    assert "the pages of row group 1 would take some 1" in line
    assert "Write it with smaller pages or row groups." in line
    assert not (tmp_path / "o.csv").exists()
