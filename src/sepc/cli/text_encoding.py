"""CSV in encodings other than UTF-8: detected where none is given, and transcoded to UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO

# Byte order marks, longest first: that of UTF-32 begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

# The number of first bytes that show a wide encoding without a mark: most letters then have a zero byte on one side.
SHOWN_BYTES = 512

# Bytes transcoded at a time.
CHUNK_BYTES = 2**18


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, however it is spelt."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def wide_encoding(first: bytes) -> str | None:
    """The encoding of text with two or four bytes for each letter, judging by its first bytes; None for any other.

    Examples
    --------
    >>> wide_encoding("id,label".encode("utf-16")), wide_encoding("id,label".encode("utf-16-be"))
    ('utf-16', 'utf-16-be')
    >>> wide_encoding(b"id,label") is None
    True
    """
    marked = next((name for mark, name in MARKS.items() if first.startswith(mark)), None)
    if marked is not None:
        return marked
    first = first[: min(len(first), SHOWN_BYTES) // 4 * 4]
    if not first:
        return None
    zeros = [first[j::4].count(0) / (len(first) // 4) for j in range(4)]
    for name, pattern in (("utf-32-le", "0111"), ("utf-32-be", "1110"), ("utf-16-le", "0101"), ("utf-16-be", "1010")):
        if all((share > 0.5) == (sign == "1") for share, sign in zip(zeros, pattern, strict=True)):
            return name
    return None


class AsUtf8(io.BufferedReader):
    """A stream of text in any encoding, read as UTF-8."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        import pyarrow as pa

        recoded = pa.transcoding_input_stream(pa.PythonFile(stream, "r"), encoding, "utf-8")
        super().__init__(recoded, CHUNK_BYTES)
        self._stream = stream

    def tell(self) -> int:
        """How far the original stream has been read."""
        return self._stream.tell()
