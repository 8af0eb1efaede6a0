"""Coverage-guided fuzzing of all files, with atheris: anything but a `FormatError` or something that works ends it.

It starts from a file of every kind. Half of its inputs are changed with care and signed anew, as in
`sepc_benchmarks.mutations`, so that the fuzzer gets behind the digest; the other half are changed by atheris.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["sepc"]):
    import numpy as np
    from sepc_benchmarks.hostile_files import Target, inspected, targets
    from sepc_benchmarks.mutations import forged

    from sepc.errors import ForeignModelError, FormatError
    from sepc.io.container import decode
    from sepc.model_files import from_bytes

EVERY = targets()
FOLDER = Path(tempfile.mkdtemp())


def mutated(data: bytes, max_size: int, seed: int) -> bytes:
    """The next input: the same file forged and signed anew, or other bytes."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        try:
            spoilt = forged(*decode(data), rng, 1)
        except FormatError:
            spoilt = None
        if spoilt is not None and len(spoilt) <= max_size:
            return spoilt
    return bytes(atheris.Mutate(data, max_size))


def use_model(model: object) -> None:
    model.decide(np.zeros((2, model.n_features_in_)))[0].why()
    repr(model)


def try_one(data: bytes) -> None:
    readers = [Target(b"", from_bytes, use_model), EVERY["Monitor"], EVERY["ReviewQueue"]]
    inspected(data, FOLDER / "input.sepc")
    for target in readers:
        try:
            loaded = target.read(data)
        except (FormatError, ForeignModelError):
            continue
        with np.errstate(all="ignore"):
            target.use(loaded)


if __name__ == "__main__":
    for i, target in enumerate(EVERY.values()):
        (FOLDER / f"{i}.sepc").write_bytes(target.data)
    atheris.Setup([*sys.argv, str(FOLDER)], try_one, custom_mutator=mutated)
    atheris.Fuzz()
