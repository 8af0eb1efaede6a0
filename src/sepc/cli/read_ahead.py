"""The next item of a long iteration, made while the last one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

END = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next one always being made by another thread.

    Nobody waits for that thread: it may be stuck in a pipe that gives nothing, and an interrupt must end the program.
    """
    ready: Queue[Any] = Queue(1)
    is_over = Event()
    Thread(target=_fill, args=(items, ready, is_over), daemon=True).start()
    try:
        while (item := ready.get()) is not END:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_over.set()
        with suppress(Empty):
            ready.get_nowait()


def _fill(items: Iterator[Any], ready: Queue[Any], is_over: Event) -> None:
    try:
        for item in items:
            ready.put(item)
            if is_over.is_set():
                return
        ready.put(END)
    except BaseException as error:  # noqa: BLE001 - it is raised again where the items are used
        ready.put(error)
