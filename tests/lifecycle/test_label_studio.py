"""Tasks for Label Studio and labels out of its annotations."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from optional import package_or_skip
from sklearn.datasets import make_blobs
from zoo import fitted_once

from sepc import SEPClassifier
from sepc.lifecycle import ReviewQueue, from_label_studio, label_config, to_label_studio

# Four of twelve tasks that were imported into Label Studio 1.23.2, annotated by its API (one was skipped) and exported.
EXPORTED = Path(__file__).with_name("label_studio_export.json")

pandas = package_or_skip("pandas")

X, NUMBERS = make_blobs(1500, centers=[[0, 0], [4, 0]], random_state=0)
Y = np.array(["good", 'bad "<&>"'])[NUMBERS]


@fitted_once
def shared_model():
    return SEPClassifier().fit(X[:1000], Y[:1000])


def reviewed(n=6):
    queue = ReviewQueue(shared_model(), n, coverage=0.8, certify_share=0.5, random_state=0)
    return queue, queue.choose(X[1000:])


def annotated(tasks, labels):
    """What Label Studio 1.23 exports of these tasks, cut down to what is read and a little more."""
    for number, (task, label) in enumerate(zip(tasks, labels, strict=True), start=1):
        names = {"origin": "manual", "to_name": "row", "from_name": "label"}
        result = {"id": "x", "type": "choices", "value": {"choices": [label]}, **names}
        annotation = {"id": 7 * number, "completed_by": 1, "result": [result], "was_cancelled": False}
        yield {"id": 40 + number, "inner_id": number, "data": task["data"], "annotations": [annotation], "drafts": []}


def test_labels_go_round_by_way_of_json():
    queue, review = reviewed()
    truth = Y[1000:][review.positions]
    tasks = json.loads(json.dumps(to_label_studio(review, X[1000:])))
    exported = json.loads(json.dumps(list(annotated(tasks, truth))[::-1]))
    found = from_label_studio(exported, shared_model().classes_)
    assert found.positions.tolist() == review.positions[::-1].tolist()
    assert found.labels.tolist() == truth[::-1].tolist()
    certificate = queue.learn(review, found.labels, found.positions)
    assert certificate.n_labels == 3
    assert certificate.n_errors == int((review.label != truth)[:3].sum())


def test_reads_what_label_studio_exported():
    found = from_label_studio(EXPORTED, ["good", 'bad "<&>"'])
    assert found.positions.tolist() == [73, 497, 220]
    assert found.labels.tolist() == ['bad "<&>"', "good", "good"]


def test_numbers_come_back_as_numbers(tmp_path):
    model = SEPClassifier().fit(X[:1000], NUMBERS[:1000])
    review = ReviewQueue(model, 4, random_state=0).choose(X[1000:])
    file = tmp_path / "export.json"
    file.write_text(json.dumps(list(annotated(to_label_studio(review, X[1000:]), ["1", "0", "1", "1"]))))
    found = from_label_studio(file, model.classes_)
    assert found.labels.tolist() == [1, 0, 1, 1]
    assert found.labels.dtype.kind == "i"


def test_a_task_has_the_row_the_reason_and_the_label_of_the_model():
    _, review = reviewed()
    task = to_label_studio(review, X[1000:], names=["income", "age"])[5]
    row = X[1000:][review.positions[5]]
    assert task["data"]["row"] == {"income": row[0], "age": row[1]}
    assert task["data"]["why"] == review.why(5)
    assert task["data"]["sepc"]["purpose"] == "DECIDE"
    (prediction,) = task["predictions"]
    assert prediction["score"] == review.trust[5]
    assert prediction["result"][0]["value"] == {"choices": [review.label[5]]}


def test_the_model_can_be_hidden():
    _, review = reviewed()
    for task in to_label_studio(review, X[1000:], hide_model=True):
        assert "predictions" not in task
        assert "trust" not in task["data"]["why"]


def test_frames_give_their_names_and_missing_values():
    _, review = reviewed()
    frame = pandas.DataFrame(X[1000:], columns=["a", "b"])
    frame["kind"] = "k"
    frame.loc[frame.index[review.positions[0]], "b"] = np.nan
    task = json.loads(json.dumps(to_label_studio(review, frame), allow_nan=False))[0]
    assert task["data"]["row"] == {"a": X[1000:][review.positions[0], 0], "b": None, "kind": "k"}


def test_config_has_every_class_in_the_names_that_tasks_use():
    _, review = reviewed()
    view = ET.fromstring(label_config(shared_model().classes_))
    choices = view.find("Choices")
    assert [one.get("value") for one in choices] == shared_model().classes_.tolist()
    result = to_label_studio(review, X[1000:])[0]["predictions"][0]["result"][0]
    assert (choices.get("name"), choices.get("toName")) == (result["from_name"], result["to_name"])
    assert view.find("Table").get("name") == result["to_name"]


def test_skipped_and_disputed_tasks_are_left_out_and_most_win():
    _, review = reviewed()
    exported = list(annotated(to_label_studio(review, X[1000:]), ["good"] * 6))
    exported[0]["annotations"][0]["was_cancelled"] = True
    exported[1]["annotations"] = []
    exported[2]["annotations"][0]["result"] = []
    other = {"result": [{"from_name": "label", "value": {"choices": ['bad "<&>"']}}], "was_cancelled": False}
    exported[3]["annotations"].append(other)
    exported[4]["annotations"] += [other, other]
    found = from_label_studio(exported, shared_model().classes_)
    assert found.positions.tolist() == review.positions[4:].tolist()
    assert found.labels.tolist() == ['bad "<&>"', "good"]


def test_tasks_of_several_reviews_are_told_apart():
    queue, first = reviewed()
    second = queue.choose(X[1000:])
    exported = [
        *annotated(to_label_studio(first, X[1000:]), ["good"] * 6),
        *annotated(to_label_studio(second, X[1000:]), ['bad "<&>"'] * 6),
    ]
    for review, label in [(first, "good"), (second, 'bad "<&>"')]:
        found = from_label_studio(exported, shared_model().classes_, review=review)
        assert found.positions.tolist() == review.positions.tolist()
        assert found.labels.tolist() == [label] * 6
    with pytest.raises(ValueError, match="reviews 1, 2"):
        from_label_studio(exported, shared_model().classes_)


def test_strange_tasks_and_labels_are_refused():
    _, review = reviewed()
    tasks = to_label_studio(review, X[1000:])
    shortened = [{"id": 3, "label": "good"} | task["data"] for task in tasks]
    strange = json.loads(json.dumps(list(annotated(tasks, ["good"] * 6))))
    del strange[0]["data"]["sepc"]
    for exported, said in (
        (shortened, "JSON-MIN"),
        (list(annotated(tasks, ["ugly"] * 6)), "'ugly'"),
        (strange, "to_label_studio"),
    ):
        with pytest.raises(ValueError, match=said):
            from_label_studio(exported, shared_model().classes_)


ODD = (None, 3, "x", [], {}, [3], [None], {"a": 1})


@pytest.mark.parametrize("path", [(), ("annotations",), ("annotations", 0), ("annotations", 0, "result"), ("data",)])
def test_annotations_that_are_malformed_are_told_in_plain_words(path):
    _, review = reviewed()
    for value in ODD:
        exported = list(annotated(to_label_studio(review, X[1000:]), ["good"] * 6))
        node, *inner = [exported, 0, *path]
        for name in inner[:-1]:
            node = node[name]
        node[inner[-1]] = value
        try:
            told = f"{len(from_label_studio(exported, shared_model().classes_).labels)} tasks"
        except ValueError as error:
            told = str(error).lower()
        assert "task" in told
        assert told != "6 tasks"
