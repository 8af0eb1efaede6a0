"""The reference page gives every public name one address, and documents look no deeper than that."""

import importlib
import re
from dataclasses import fields
from pathlib import Path

import pytest

import sepc

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^   ~(sepc[\w.]+)$", PAGE, re.MULTILINE)
SUBPACKAGES = [
    f"sepc.{name}"
    for name in ("errors", "lifecycle", "lifecycle.sites", "plot", "onnx", "sql", "geometry", "results", "metrics")
]
PUBLIC = "sepc|sepc.(errors|geometry|results|lifecycle|lifecycle.sites|metrics|plot|onnx|sql|mlflow|spark|datasets)"
DOCUMENTS = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
    ROOT / "README.md",
    *sorted((ROOT / "src").rglob("*.py")),
]
IMPORT = re.compile(r"^\s*(?:>>> )?(?:from (sepc[\w.]*) import|import (sepc[\w.]*))", re.MULTILINE)


def test_the_top_level_is_what_most_people_need():
    needed = """
    RoutedClassifier SEPClassifier SelectiveClassifier TrustedClassifier
    Cause Costs Decision Decisions Edit decide
    Landscape Recourse RecourseTable Report compare enclose inspect load look read_table recourse report save
    """
    assert sorted(sepc.__all__) == sorted(needed.split())
    arrays, about = ["accepted", "cause", "label", "probabilities", "region", "trust"], ["by", "classes", "index"]
    public = {name for name in dir(sepc.Decisions) if not name.startswith("_")}
    public |= {field.name for field in fields(sepc.Decisions)}
    assert sorted(public) == sorted([*arrays, *about, "columns", "to_frame", "why"])


def test_every_public_name_is_listed_once():
    names = [f"sepc.{name}" for name in sepc.__all__]
    names += [f"{package}.{name}" for package in SUBPACKAGES for name in importlib.import_module(package).__all__]
    assert set(names) <= set(LISTED)
    assert len(LISTED) == len(set(LISTED))
    last = [name.rpartition(".")[2] for name in LISTED]
    # sepc.spark's, sepc.sql's and datasets' own
    assert sorted({name for name in last if last.count(name) > 1}) == ["decide", "export", "load"]


@pytest.mark.parametrize("name", LISTED)
def test_every_listed_name_is_at_its_address_and_documented(name):
    package, _, attribute = name.rpartition(".")
    if package in ("sepc.mlflow", "sepc.spark"):
        pytest.importorskip(package.removeprefix("sepc.").replace("spark", "pyspark"))
    assert re.fullmatch(PUBLIC, package)
    assert getattr(importlib.import_module(package), attribute).__doc__


def test_documents_use_public_addresses():
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(ROOT / "src"):
            text = "\n".join(line for line in text.splitlines() if line.lstrip().startswith(">>> "))
        for match in IMPORT.finditer(text):
            assert re.fullmatch(PUBLIC, match[1] or match[2]), f"{path}: {match[0]}"
