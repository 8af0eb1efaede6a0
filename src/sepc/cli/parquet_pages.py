"""How much memory the pages of a Parquet file take, by their own headers, before any of them is unpacked.

A page is unpacked as a whole, and a few bytes may stand for two gigabytes of zeros. The footer does not say how large
pages are, and need not be true. So the headers are read one after the other, as Parquet's reader would: each is a
structure in Thrift's compact protocol, followed by the packed page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

# Fields of a page header: what the page is, and its size unpacked and packed.
KIND, UNPACKED, PACKED = 1, 2, 3
DICTIONARY = 2

# Bytes of a header: nearly all are shorter than the first, and Parquet's reader takes no longer one than the last.
HEADER_BYTES = (2**8, 2**12, 2**16, 2**20, 2**24)

# Structures within structures; a page header has two.
DEEPEST = 8

# Types of the compact protocol.
NO_DATA, BYTE, INTEGERS, DOUBLE, TEXT, LISTS, MAP, STRUCTURE = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 11, 12


def memory_of(stream: IO[bytes], chunk: Any) -> int:
    """The most bytes that reading a column chunk takes at a time: its dictionary and its largest page.

    `chunk` is the metadata of a column in a row group. Raises a ValueError if a header makes no sense.
    """
    dictionary = largest = 0
    for kind, n_bytes in _pages(stream, chunk):
        if kind == DICTIONARY:
            dictionary = max(dictionary, n_bytes)
        else:
            largest = max(largest, n_bytes)
    return dictionary + largest


def _pages(stream: IO[bytes], chunk: Any) -> Iterator[tuple[int, int]]:
    """The kind of each page, and its size unpacked."""
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    place, end = start, start + chunk.total_compressed_size
    while place < end:
        fields, n_bytes = _header(stream, place)
        sizes = fields.get(UNPACKED, -1), fields.get(PACKED, -1)
        if min(sizes) < 0:
            raise ValueError("a page has no size")
        yield fields.get(KIND, -1), sizes[0]
        place += n_bytes + sizes[1]


def _header(stream: IO[bytes], place: int) -> tuple[dict[int, int], int]:
    """The numbers in the header at this place of the file, and its length."""
    for most in HEADER_BYTES:
        stream.seek(place)
        data = stream.read(most)
        reader = _Compact(data)
        try:
            return reader.structure(DEEPEST), reader.place
        except IndexError:
            if len(data) < most:
                break
    raise ValueError("a page header does not end")


class _Compact:
    """Reads the compact protocol; an IndexError means that the data end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def structure(self, deepest: int) -> dict[int, int]:
        """The integers of a structure by the number of their field; everything else is skipped."""
        if deepest == 0:
            raise ValueError("a page header is nested too deeply")
        numbers, field = {}, 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            if head & 15 in INTEGERS:
                numbers[field] = self._signed()
            else:
                self._skip(head & 15, deepest)
        return numbers

    def _skip(self, kind: int, deepest: int, *, in_list: bool = False) -> None:
        if kind in NO_DATA or kind == BYTE:
            # In a structure the type of a truth value is its value; in a list each takes a byte.
            self._advance(1 if in_list or kind == BYTE else 0)
        elif kind in INTEGERS:
            self._unsigned()
        elif kind == DOUBLE:
            self._advance(8)
        elif kind == TEXT:
            self._advance(self._unsigned())
        elif kind in LISTS:
            head = self._byte()
            self._skip_all([head & 15], self._unsigned() if head >> 4 == 15 else head >> 4, deepest)
        elif kind == MAP:
            size = self._unsigned()
            kinds = self._byte() if size else 0
            self._skip_all([kinds >> 4, kinds & 15], size, deepest)
        elif kind == STRUCTURE:
            self.structure(deepest - 1)
        else:
            raise ValueError("a page header has a field of unknown type")

    def _skip_all(self, kinds: list[int], size: int, deepest: int) -> None:
        # Each entry takes a byte at least, so more than there are bytes cannot be there.
        self._advance(0 if size <= len(self.data) else len(self.data))
        for _ in range(size):
            for kind in kinds:
                self._skip(kind, deepest - 1, in_list=True)

    def _advance(self, n: int) -> None:
        self.place += n
        if self.place > len(self.data):
            raise IndexError

    def _byte(self) -> int:
        value = self.data[self.place]
        self.place += 1
        return value

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a page header holds a number that is too long")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
