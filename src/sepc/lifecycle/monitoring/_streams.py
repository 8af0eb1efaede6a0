"""Streams of rows: which monitor has seen which rows, so that merged monitors count none twice.

A monitor counts what it sees into its own stream. After a merge it holds the streams of the others too, as they were
at that time. When one of them is merged again, it replaces the earlier copy, and so adds only what is new.

A saved monitor may be loaded twice, and both copies may continue. Each monitor in memory therefore has a random token,
and a stream remembers whose updates it holds: a new segment starts wherever another monitor takes over. One stream is
the beginning of another if it ends within a segment that both share. Two streams with the same beginning and different
ends share rows that can no longer be separated, so they are not merged.
"""

from __future__ import annotations

import secrets
from functools import cached_property, reduce
from itertools import pairwise

from sepc.lifecycle.monitoring.state import Part, Tally, Windows
from sepc.records import MOST, part, parts, record, text, whole


def new_token() -> str:
    """A random token, different for every monitor."""
    return secrets.token_hex(8)


@record
class Segment:
    """Updates by one monitor.

    Attributes
    ----------
    token : str
        The token of the monitor.
    start : int
        How many updates of the stream came before.
    """

    token: str = text()
    start: int = whole()


@record
class Stream:
    """The rows of one stream.

    Attributes
    ----------
    windows : Windows
    n_updates : int
        Number of updates with rows or labels.
    segments : tuple of Segment
        Which monitors made the updates, in order; the first token is the name of the stream.
    """

    windows: Windows = part(Windows, is_inline=True)
    n_updates: int = whole()
    segments: tuple[Segment, ...] = parts(Segment)

    def flaw(self) -> str | None:
        """What is wrong with the segments, if anything: they must cover all updates, and none may be empty."""
        ends = [*(segment.start for segment in self.segments), self.n_updates]
        is_whole = ends[0] == 0 and all(start < end for start, end in pairwise(ends))
        return None if is_whole else "has segments that do not cover all updates"

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self.segments[0].token

    def add(self, tally: Tally, token: str) -> Stream:
        """The stream after an update by the monitor with this token."""
        goes_on = bool(self.segments) and self.segments[-1].token == token
        segments = self.segments if goes_on else (*self.segments, Segment(token, self.n_updates))
        return Stream(self.windows.add(tally), self.n_updates + 1, segments)

    def is_beginning_of(self, other: Stream) -> bool:
        """Whether the other stream has all updates of this one, perhaps followed by more."""
        n = len(self.segments)
        ends = (*(segment.start for segment in other.segments[1:]), other.n_updates)
        return other.segments[:n] == self.segments and self.n_updates <= ends[n - 1]


@record
class Streams:
    """The stream of a monitor, and those of monitors that were merged into it.

    Attributes
    ----------
    own : Stream
        What the monitor has seen itself.
    others : tuple of Stream
        What the others had seen when they were merged, sorted by name.
    """

    own: Stream = part(Stream)
    others: tuple[Stream, ...] = parts(Stream, default=())

    def flaw(self) -> str | None:
        """What is wrong with the streams, if anything."""
        names = [stream.name for stream in self.others if stream.segments]
        own_name = {self.own.name} if self.own.segments else set()
        if len(names) < len(self.others) or sorted(set(names) - own_name) != names:
            return "has streams that are unnamed, duplicated or out of order"
        n_seen = sum(stream.windows.total.n_seen for stream in (self.own, *self.others))
        return "has seen more rows than can be counted" if n_seen >= MOST else None

    @classmethod
    def empty(cls, n_regions: int, n_features: int) -> Streams:
        """The streams of a monitor before any rows."""
        return cls(Stream(Windows(Tally.empty(n_regions, n_features)), 0, ()))

    @cached_property
    def _windows_of_others(self) -> Windows | None:
        windows = [stream.windows for stream in self.others]
        return reduce(Windows.join, windows) if windows else None

    @cached_property
    def windows(self) -> Windows:
        """The windows of all streams together."""
        others = self._windows_of_others
        return self.own.windows if others is None else self.own.windows.join(others)

    @property
    def total(self) -> Tally:
        """All rows."""
        return self.windows.total

    def parts(self) -> tuple[Part, ...]:
        """Every window of all streams together, with its share of the level."""
        return self.windows.parts()

    def add(self, tally: Tally, token: str) -> Streams:
        """The streams after an update of the monitor's own one, by the monitor with this token."""
        return Streams(self.own.add(tally, token), self.others)

    def renew(self) -> Streams:
        """The streams with the full windows of the monitor's own one restarted; the others restart their own."""
        return Streams(Stream(self.own.windows.renew(), self.own.n_updates, self.own.segments), self.others)

    def merge(self, other: Streams) -> Streams:
        """The streams of both; of those with the same name, the longer one."""
        held = {stream.name: stream for stream in (self.own, *self.others) if stream.segments}
        for stream in (other.own, *other.others):
            if stream.segments:
                held[stream.name] = _longer(held.get(stream.name, stream), stream)
        mine = held.pop(self.own.name) if self.own.segments else self.own
        return Streams(mine, tuple(stream for _, stream in sorted(held.items())))


def _longer(first: Stream, second: Stream) -> Stream:
    if first.is_beginning_of(second):
        return second
    if second.is_beginning_of(first):
        return first
    raise ValueError(
        "Two of the monitors continue the same one (one is a copy, or a file was loaded twice), so they share rows "
        "that would count twice. Give every worker its own monitor, with fresh()."
    )
