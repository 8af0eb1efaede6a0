"""A Ctrl-C that Python would lose: it ignores exceptions in callbacks of weak references and in destructors."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Long enough for the callback to end.
SECONDS = 0.05


@contextmanager
def interrupts_come_again() -> Iterator[None]:
    """Context manager in which an interrupt that Python ignored is raised again a moment later."""
    before = sys.unraisablehook

    def again(ignored: Any) -> None:
        if ignored.exc_type is KeyboardInterrupt:
            threading.Timer(SECONDS, _interrupt_main_thread).start()
        else:
            before(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_main_thread() -> None:
    """Send a signal, which also ends sleep or a wait for input; Windows cannot send one to a single thread."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
