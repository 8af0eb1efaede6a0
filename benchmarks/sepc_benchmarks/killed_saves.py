"""Is a file always a whole model, if processes that save to it are killed at random moments? A minute.

Two processes save different models to the same name, again and again. Each time, one of them is killed (SIGKILL) after
a random time and started again. What is left of a save that did not finish is a temporary file, which is counted.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_moons

import sepc
from sepc.model_files import to_bytes
from sepc_benchmarks.measure import Parts, Tables

N_KILLS = 200
# The longest that a process saves before it is killed, as a multiple of the time of one save.
MOST_SAVES = 4.0


def two_models() -> tuple[Any, Any]:
    """Two models whose files differ in length."""
    X, y = make_moons(600, noise=0.35, random_state=0)
    one, other = (sepc.SEPClassifier(trust="counts", n_impure=n).fit(X, y) for n in (1, 0.2))
    return one, other


def save_forever(model: Any, path: Path) -> None:
    """What a process does until it is killed."""
    while True:
        sepc.save(model, path)


def attack(folder: Path, n_kills: int, seed: int = 0) -> dict[str, Any]:
    """Kill one of two writers after the other; return what was found in the file after each kill."""
    rng, models, path = np.random.default_rng(seed), two_models(), folder / "model.sepc"
    names = {to_bytes(model): name for model, name in zip(models, ("first", "second"), strict=True)}
    started = time.perf_counter()
    sepc.save(models[0], path)
    one_save = time.perf_counter() - started
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=save_forever, args=(model, path), daemon=True) for model in models]
    for writer in writers:
        writer.start()
    found: Counter[str] = Counter()
    for _ in range(n_kills):
        time.sleep(rng.uniform(0.0, MOST_SAVES * one_save))
        which = int(rng.integers(2))
        os.kill(writers[which].pid or 0, signal.SIGKILL)
        writers[which].join()
        data = path.read_bytes()
        found[names.get(data, "neither")] += 1
        if data in names:
            sepc.load(path)
        writers[which] = context.Process(target=save_forever, args=(models[which], path), daemon=True)
        writers[which].start()
    for writer in writers:
        writer.kill()
        writer.join()
    left = len(list(folder.iterdir())) - 1
    return {"kills": n_kills, **{name: found[name] for name in ("first", "second", "neither")}, "unfinished": left}


def parts(smallest: bool) -> Parts:
    return {"kills": lambda: kills(10 if smallest else N_KILLS)}


def kills(n_kills: int) -> Tables:
    with tempfile.TemporaryDirectory() as folder:
        return {"kills": [attack(Path(folder), n_kills)]}
