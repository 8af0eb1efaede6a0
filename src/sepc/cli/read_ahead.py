"""Read the next item of an iterator while the current one is in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

END = object()


def read_ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items; a thread fetches the next one in advance.

    Nothing waits for that thread: it may be blocked on a silent pipe, and an interrupt must still end the program.
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
    except BaseException as error:  # noqa: BLE001 - raised again by `read_ahead`
        ready.put(error)
