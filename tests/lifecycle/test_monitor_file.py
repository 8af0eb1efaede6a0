"""The file of a monitor: it goes on as if it had never stopped, and damaged or foreign files are refused."""

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_moons

import sepc
from sepc.errors import FormatError
from sepc.io.container import decode, encode
from sepc.lifecycle import Monitor

pd = package_or_skip("pandas")


def moons(n, seed):
    return make_moons(n, noise=0.2, random_state=seed)


@pytest.fixture(scope="module")
def model():
    return sepc.SEPClassifier().fit(*moons(500, 0))


@pytest.fixture
def monitor(model):
    watching = Monitor(model, *moons(1000, 1))
    X, y = moons(1500, 2)
    watching.update(X + [0.0, 1.0], 1 - y)
    assert watching.alarms
    return watching


def test_a_saved_monitor_goes_on(monitor, model, tmp_path):
    monitor.save(tmp_path / "watch.sepc")
    again = Monitor.load(tmp_path / "watch.sepc", model)
    assert again.alarms == monitor.alarms
    assert again.to_bytes() == monitor.to_bytes()
    X, y = moons(2000, 3)
    assert again.update(X, y) == monitor.update(X, y)
    pd.testing.assert_frame_equal(again.evidence(), monitor.evidence())
    np.testing.assert_array_equal(again.decide(X).cause, monitor.decide(X).cause)


def test_an_alarm_about_all_rows_is_kept(model):
    watching, (X, _) = Monitor(model, *moons(3000, 1)), moons(2000, 14)
    assert next(told for i in range(20) if (told := watching.update(X[i::20] + [0.2, 0.0])))[0].region == -2
    assert Monitor.from_bytes(watching.to_bytes(), model).alarms == watching.alarms


def test_the_model_may_come_from_a_file(monitor, model, tmp_path):
    sepc.save(model, tmp_path / "model.sepc")
    again = Monitor.from_bytes(monitor.to_bytes(), sepc.load(tmp_path / "model.sepc"))
    assert again.to_bytes() == monitor.to_bytes()


def test_the_file_is_small(monitor, model):
    assert len(monitor.to_bytes()) < 1_000 + 8 * 4 * (len(model.regions_) + 1) * (3 + 2 * 2) + 1_000 * len(
        monitor.alarms
    )


def test_another_model_is_refused(monitor):
    with pytest.raises(ValueError, match="monitor of another model"):
        Monitor.from_bytes(monitor.to_bytes(), sepc.SEPClassifier().fit(*moons(500, 9)))


def test_the_file_of_a_model_is_refused(model, tmp_path):
    sepc.save(model, tmp_path / "model.sepc")
    with pytest.raises(FormatError, match="is not a monitor"):
        Monitor.load(tmp_path / "model.sepc", model)


def test_a_monitor_is_no_model(monitor, tmp_path):
    monitor.save(tmp_path / "watch.sepc")
    with pytest.raises(FormatError, match="model is missing"):
        sepc.load(tmp_path / "watch.sepc")


def test_a_file_from_before_columns_were_named_still_loads(monitor, model):
    old = changed(monitor.to_bytes(), lambda arrays, node: [alarm.pop("columns") for alarm in node["alarms"]])
    loaded = Monitor.from_bytes(old, model)
    assert [alarm.columns for alarm in loaded.alarms] == [()] * len(monitor.alarms)
    assert [alarm.moved for alarm in loaded.alarms] == [alarm.moved for alarm in monitor.alarms]


def test_a_column_that_the_model_does_not_have_is_refused(monitor, model):
    with pytest.raises(FormatError, match="names a feature that the model does not have"):
        Monitor.from_bytes(
            changed(monitor.to_bytes(), lambda arrays, node: node["alarms"][0]["columns"][0].update(name="x9")), model
        )


def changed(data, change):
    """The bytes of a file whose contents were changed and whose digest is right again."""
    arrays, content = decode(data)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(arrays, content["monitor"])
    return encode(arrays, content)


CHANGES = {
    "impossible scale or confidence": lambda arrays, node: node.update(confidence=1.0),
    "not watched": lambda arrays, node: node["alarms"][0].update(region=10_000),
    "something that is not watched": lambda arrays, node: node["alarms"][0].update(kind="share", region=-2),
    "more rows than there are in total": lambda arrays, node: arrays["monitor/own/latest/0/labelled"].__setitem__(
        0, 9_999
    ),
    "more rows above a cut than rows": lambda arrays, node: arrays["monitor/own/total/beyond"].__setitem__(
        (0, 0), 9_999
    ),
    "does not have": lambda arrays, node: node["alarms"][0].update(moved=[{"name": "x9", "shift": 1.0}]),
    "do not cover all updates": lambda arrays, node: node["own"].update(segments=[]),
    "has segments that do not cover all updates": lambda arrays, node: node["own"]["segments"].append(
        {"token": "b", "start": 1}
    ),
    "streams that are unnamed, duplicated": lambda arrays, node: (
        node["others"].append(node["own"])
        or arrays.update({name.replace("/own/", "/others/0/"): array for name, array in arrays.items()})
    ),
    "more errors": lambda arrays, node: arrays["monitor/own/total/errors"].__setitem__(0, 10_000),
    "out of range": lambda arrays, node: arrays["monitor/reference/rows"].__setitem__(0, -1),
    "array that no monitor has": lambda arrays, node: arrays.update(more=np.zeros(1)),
    "NaN": lambda arrays, node: arrays["monitor/own/total/sums"].__setitem__((0, 0), np.nan),
}


@pytest.mark.parametrize("told", CHANGES)
def test_contents_that_no_monitor_has_are_refused(monitor, model, told):
    with pytest.raises(FormatError, match=told):
        Monitor.from_bytes(changed(monitor.to_bytes(), CHANGES[told]), model)


def test_damaged_bytes_are_refused(monitor, model):
    data = bytearray(monitor.to_bytes())
    data[-5] ^= 1
    with pytest.raises(FormatError, match="damaged"):
        Monitor.from_bytes(bytes(data), model)
