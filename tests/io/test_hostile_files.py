"""Hostile files: refused, or a model that works; a small part of `sepc_benchmarks.hostile_files`."""

import json
import pickle
import struct
import time

import numpy as np
import pytest
from safetensors.numpy import save as lay_out
from sklearn.datasets import make_moons

import sepc
from sepc import SEPClassifier
from sepc.errors import FormatError
from sepc.io.container import canonical, decode, encode
from sepc.model_files import from_bytes, to_bytes


@pytest.fixture(scope="module")
def model():
    X, y = make_moons(150, noise=0.3, random_state=0)
    return SEPClassifier().fit(X, y)


@pytest.fixture
def parts(model):
    """Arrays and description of a file, to be tampered with and signed anew."""
    return decode(to_bytes(model))


@pytest.fixture
def hostile(monkeypatch, tmp_path):
    """The benchmark, in a folder where it may leave a file that crashes."""
    monkeypatch.chdir(tmp_path)
    return pytest.importorskip("sepc_benchmarks.hostile_files")


def outcomes(hostile, name, target, n_files, seed):
    """What came of damaged and of forged files, most of which must be refused; damage is never taken for a model."""
    damaged, forged = (hostile.attack(name, target, how, n_files, seed) for how in ("damaged", "forged"))
    assert damaged["another"] == 0
    assert damaged["refused"] > 0.75 * n_files
    assert forged["refused"] > 0.5 * n_files
    return damaged, forged


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # other models may overflow where they decide
def test_files_of_a_classifier_damaged_and_forged_are_refused_or_work(model, hostile):
    target = hostile.of_model(model, np.random.default_rng(0).standard_normal((5, 2)))
    _, forged = outcomes(hostile, "SEPClassifier", target, 18, seed=100)
    assert forged["refused"] < 18


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_files_of_every_kind_damaged_and_forged_are_refused_or_work(hostile):
    n_working = 0
    for i, (name, target) in enumerate(hostile.targets().items()):
        _, forged = outcomes(hostile, name, target, 120, seed=100 + i)
        n_working += 120 - forged["refused"]
    assert n_working > 60


def test_a_flipped_bit_is_noticed(model):
    data = bytearray(to_bytes(model))
    data[-3] ^= 1
    with pytest.raises(FormatError, match="damaged: its SHA-256"):
        from_bytes(bytes(data))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("roots", lambda a: a * 0, "singular"),
        ("counts", lambda a: a + 1, "does not match its number of training rows"),
        ("memberships", lambda a: a[::-1], "not in order"),
        ("memberships", lambda a: np.zeros_like(a), "not in order"),
        ("is_terminal", lambda a: (a.view(np.uint8) + 2).view(bool), "not booleans"),
        ("scale", lambda a: -a, "not positive"),
        ("scale", lambda a: a * 1e-310, "too large for its features"),
        ("weights/n_knots", lambda a: a + 1, "number of knots"),
        ("weights/knots", lambda a: a[::-1], "do not ascend"),
        ("weights/knots", lambda a: np.append(a[1], a[1:]), "do not ascend"),
        ("row_kinds/quantiles", lambda a: a[:, ::-1], "do not ascend"),
        ("row_kinds/quantiles", lambda a: a[:, :0], "or none"),
        ("row_kinds/covariances", lambda a: -a, "impossible means or covariances"),
        ("row_kinds/covariances", lambda a: a * 1e-12, "impossible means or covariances"),
        ("row_kinds/covariances", lambda a: a + [[0, 1e-3], [0, 0]], "impossible means or covariances"),
        ("row_kinds/class_rows", lambda a: a * 0, "components without rows"),
        ("usual/ellipsoid", lambda a: np.full_like(a, -1), "missing, repeated or not in order"),
        ("usual/owner", lambda a: a[::-1], "missing, repeated or not in order"),
        ("usual/n_rows", lambda a: a * 0, "too few rows"),
        ("usual/ranges", lambda a: a[:, :, ::-1], "do not ascend"),
        ("usual/overall", lambda a: a[:, ::-1], "do not ascend"),
        ("usual/n_levels", lambda a: a + 1, "levels that do not match"),
        ("usual/category_counts", lambda a: np.ones((len(a), 1), dtype=np.int64), "categories that do not match"),
    ],
)
def test_signed_files_with_arrays_that_make_no_sense(parts, name, change, message):
    arrays, content = parts
    path = f"model/model/{name}"
    with pytest.raises(FormatError, match=message):
        from_bytes(encode(arrays | {path: change(arrays[path])}, content))


def test_kinds_and_arrays_that_are_not_known(parts):
    arrays, content = parts
    with pytest.raises(FormatError, match="'extra'"):
        from_bytes(encode(arrays | {"extra": np.zeros(3)}, content))
    content["model"]["kind"] = "os.system"
    with pytest.raises(FormatError, match="os.system"):
        from_bytes(encode(arrays, content))


def nested(depth):
    X, y = make_moons(80, noise=0.3, random_state=0)
    model = SEPClassifier(trust="counts", max_ellipsoids=2)
    for _ in range(depth):
        model = sepc.SelectiveClassifier(model, 0.3, random_state=0)
    return model.fit(X, y)


def test_wrappers_do_not_nest_without_end():
    assert from_bytes(to_bytes(nested(2))).summary()
    arrays, content = decode(to_bytes(nested(1)))
    for _ in range(8):
        content["model"] = content["model"] | {"estimator": {"ours": content["model"]}}
        content = json.loads(json.dumps(content))
    with pytest.raises(FormatError):
        from_bytes(encode(arrays, content))


def with_text(text):
    return bytes(lay_out({"a": np.zeros(2)}, {"sepc": text}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "too short"),
        (b"short", "too short"),
        (struct.pack("<Q", 2**60) + b"{}", "claims"),
        (struct.pack("<Q", 2) + b"{}", "not a sepc model"),
        (struct.pack("<Q", 4) + b"\xff\xfe\xfd\xfc", "not JSON"),
        (struct.pack("<Q", 100_000) + b"[" * 100_000, "not JSON"),
        (struct.pack("<Q", 8 * 2**20) + b"[],{}," * 2**20 + b" " * 2**21, "more than 300,000 parts"),
        (bytes(lay_out({"a": np.zeros(2)})), "not a sepc model"),
        (bytes(lay_out({"a": np.zeros(2)}, {"sepc": "{}", "more": ""})), "the single entry"),
        (with_text("{}"), "does not have the entries"),
        (with_text("[" * 900 + "]" * 900), "nested deeper|not JSON"),
        (with_text('{"content":{},"format":NaN,"sha256":""}'), "NaN is not a finite number"),
        (with_text('{"content":{},"format":1e999,"sha256":""}'), "1e999 is not a finite number"),
        (with_text('{"content":{},"content":{},"format":2,"sha256":""}'), "repeated"),
        (with_text('{"content": {}, "format":2,"sha256":""}'), "not in the form that sepc writes"),
        (with_text(canonical({"content": {}, "format": "1", "sha256": ""})), "must be an integer"),
        (with_text(canonical({"content": {}, "format": 2, "sha256": ""})), "damaged"),
        (with_text(canonical({"content": {}, "format": 99, "sha256": ""})), "format 99.*reads 2. Upgrade sepc"),
        (with_text(canonical({"content": {}, "format": 1, "sha256": ""})), "format 1.*reads 2. Fit and save it again"),
        (with_text('{"content":{},"format":' + "9" * 5000 + ',"sha256":""}'), "not JSON"),
    ],
)
def test_what_is_no_model_file_is_told_so(data, message, tmp_path):
    started = time.process_time()
    path = tmp_path / "bad.sepc"
    path.write_bytes(data)
    for read in (sepc.load, sepc.inspect):
        with pytest.raises(FormatError, match=message):
            read(path)
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(("length", "message"), [(2**40, "1,099,511,627,776"), (2, "exceeds")])
def test_a_huge_header_and_a_huge_file_are_not_even_read(length, message, tmp_path):
    path = tmp_path / "huge.sepc"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", length) + b"{}")
        file.truncate(2**41)  # a sparse file
    with pytest.raises(FormatError, match=message):
        sepc.load(path)


def test_no_pickle_is_read(model, tmp_path):
    path = tmp_path / "model.sepc"
    path.write_bytes(pickle.dumps(model))
    with pytest.raises(FormatError, match="not a sepc model"):
        sepc.load(path)
