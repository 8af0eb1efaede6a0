"""Coverage-guided fuzzing of `load`, with atheris: anything but a model or a `FormatError` ends it with a traceback.

Every other input is signed anew where that can be done, so that the fuzzer gets behind the digest.
"""

import sys

import atheris

with atheris.instrument_imports(include=["sepc"]):
    import numpy as np

    from sepc import FormatError
    from sepc.io import container
    from sepc.model_files import from_bytes


def signed(data: bytes) -> bytes:
    """The same arrays and description with a digest that fits, or the data as they are."""
    text = container._document_text(data)
    document = container._parsed(text)
    return container.encode(container.parse_tensors(data), document["content"])


def try_one(data: bytes) -> None:
    if data[:1] and data[0] % 2:
        try:
            data = signed(data[1:])
        except Exception:  # noqa: BLE001  # no file that could be signed
            data = data[1:]
    try:
        model = from_bytes(data)
    except FormatError:
        return
    except ValueError as error:
        if "is not ours" not in str(error):
            raise
        return
    with np.errstate(all="ignore"):
        model.decide(np.zeros((2, model.n_features_in_)))


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()
