"""The bill of materials of a model, checked against the published schema of CycloneDX."""

import hashlib
import json

import pytest
from optional import package_or_skip
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from zoo import fitted_once

import sepc
import sepc.lifecycle
from sepc.cli import main
from sepc.lifecycle import repair
from sepc.model_files import model_digest

X, Y = load_iris(return_X_y=True)
ODD = slice(1, None, 2)


@fitted_once
def iris():
    return sepc.SEPClassifier().fit(X[::2], Y[::2])


@fitted_once
def promised():
    return sepc.SelectiveClassifier(FrozenEstimator(iris()), max_risk=0.2).fit(X[ODD], Y[ODD])


@fitted_once
def around_forest():
    forest = RandomForestClassifier(random_state=0).fit(X[::2], Y[::2])
    return sepc.TrustedClassifier(FrozenEstimator(forest)).fit(X[::2], Y[::2])


@fitted_once
def repaired():
    return repair(promised(), X[ODD], Y[ODD], regions=[0], confidence=0.0)


@pytest.fixture(scope="module")
def flaws():
    """What the strict schema of CycloneDX 1.6 finds wrong with a bill."""
    validation = package_or_skip("cyclonedx.validation.json")
    package_or_skip("jsonschema")
    schema = package_or_skip("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    return lambda bill: validator.validate_str(json.dumps(bill))


@pytest.mark.parametrize("model", [iris, promised, around_forest, repaired], ids=lambda model: model.__name__)
def test_bills_are_valid(model, flaws):
    assert flaws(sepc.lifecycle.bill_of_materials(model())) is None
    assert flaws(sepc.lifecycle.bill_of_materials(model(), X[ODD], Y[ODD], name="flowers")) is None


def test_bills_name_their_parts_and_those_of_the_first_release_are_valid(flaws, request):
    path = request.config.rootpath / "tests" / "io" / "fixtures" / "0.1.0" / "classifier.sepc"
    assert flaws(sepc.lifecycle.bill_of_materials(sepc.load(path))) is None
    names = [part["name"] for part in sepc.lifecycle.bill_of_materials(around_forest())["components"]]
    assert "sklearn.ensemble._forest.RandomForestClassifier" in names
    bill = sepc.lifecycle.bill_of_materials(iris())
    assert sepc.lifecycle.bill_of_materials(sepc.SEPClassifier().fit(X[::2], Y[::2])) == bill
    bill["metadata"]["component"]["modelCard"]["modelParameters"]["approach"]["type"] = "guessing"
    assert flaws(bill) is not None


def test_a_bill_says_what_the_model_was_made_from(tmp_path):
    sepc.save(promised(), tmp_path / "model.sepc")
    bill = sepc.lifecycle.bill_of_materials(promised(), X[ODD], Y[ODD])
    component = bill["metadata"]["component"]
    assert component["hashes"][0]["content"] == hashlib.sha256((tmp_path / "model.sepc").read_bytes()).hexdigest()
    assert component["version"] == model_digest(promised())
    assert component["pedigree"]["ancestors"][0]["version"] == model_digest(iris())
    card = component["modelCard"]
    digests = [data["contents"]["properties"][1]["value"] for data in card["modelParameters"]["datasets"]]
    assert digests == [iris().provenance_.rows, promised().provenance_.rows]
    figures = {metric["type"]: metric["value"] for metric in card["quantitativeAnalysis"]["performanceMetrics"]}
    assert f"| accuracy | {figures['accuracy']} |" in sepc.lifecycle.model_card(promised(), X[ODD], Y[ODD])
    properties = {entry["name"]: entry["value"] for entry in component["properties"]}
    assert promised().summary().splitlines()[0] in properties["sepc:promise"]
    assert properties["sepc:parameter:confidence"] == "0.95"
    assert {part["name"] for part in bill["components"]} == {"Python", "sepc", "numpy", "scipy", "scikit-learn"}


def test_the_command_prints_a_valid_bill(tmp_path, capsys, flaws):
    sepc.save(iris(), tmp_path / "flowers.sepc")
    assert main(["inspect", str(tmp_path / "flowers.sepc"), "--bill"]) == 0
    bill = json.loads(capsys.readouterr().out)
    assert bill["metadata"]["component"]["name"] == "flowers"
    assert flaws(bill) is None
