"""What is released holds what it should; `make test-wheel` installs it and runs the tests."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

pytest.importorskip("build")

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IN_ARCHIVE = {
    *("src", "tests", "changelog.d", "docs", "examples", "benchmarks", "tools", "Makefile", "pyproject.toml"),
    *(".gitignore", "constraints.txt", "constraints-oldest.txt", "constraints-release.txt", "PKG-INFO"),
    *("CHANGELOG.md", "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"),
}


WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"


def build(source, folder, *options):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive and the wheel made from it."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    (archive,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return archive, wheel


def files_of(folder):
    """Every file of ours below a folder of the repository, by its path there."""
    found = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file()}
    return {name for name in found if not re.search(r"cache(__)?/", name) and not name.endswith(".pyc")}


def test_the_wheel_has_a_bill_of_materials(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = [name for name in wheel.namelist() if ".dist-info/sboms/" in name]
        bill = json.loads(wheel.read(name))
        records = wheel.read(next(name for name in wheel.namelist() if name.endswith("/RECORD"))).decode()
    assert name.endswith("/sboms/sepc.cdx.json")
    assert name in records
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    own = bill["metadata"]["component"]
    assert own["purl"] == own["bom-ref"] == f"pkg:pypi/sepc@{Version(PROJECT['version'])}"
    assert own["licenses"] == [{"expression": PROJECT["license"]}]
    needed = {Requirement(text).name: Requirement(text).specifier for text in PROJECT["dependencies"]}
    listed = {part["name"]: SpecifierSet(part["properties"][0]["value"]) for part in bill["components"]}
    assert listed == needed
    assert [part["purl"] for part in bill["components"]] == [f"pkg:pypi/{name}" for name in listed]
    (edges,) = bill["dependencies"]
    assert edges == {"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in bill["components"]]}


def test_the_wheel_is_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in files_of("src/sepc")}
    assert "sepc/py.typed" in names
    assert not [name for name in names if Path(name).suffix not in {".py", ".typed"} and "documents/page." not in name]


def test_the_wheel_says_what_it_needs(built):
    with zipfile.ZipFile(built[1]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(wheel.read(name))
        licences = [name for name in wheel.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
    assert (metadata["Name"], metadata["Version"]) == ("sepc", PROJECT["version"])
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert licences
    required = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    always = {str(one) for one in required if one.marker is None}
    assert always == {str(Requirement(text)) for text in PROJECT["dependencies"]}


def test_the_archive_holds_sources_tests_and_documents(built):
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames() if "__pycache__" not in name}
    assert {name.partition("/")[0] for name in names} == IN_ARCHIVE
    for folder in ("src", "tests", "examples"):
        assert files_of(folder) <= names


def test_the_wheel_of_the_archive_is_the_wheel_of_the_tree(built, tmp_path):
    build(ROOT, tmp_path, "--wheel")
    (direct,) = tmp_path.glob("*.whl")
    assert digest(direct) == digest(built[1])


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_oldest_versions_are_the_lower_bounds():
    lines = [line.partition("#")[0].strip() for line in (ROOT / "constraints-oldest.txt").read_text().splitlines()]
    pinned = dict(line.split("==") for line in lines if line)
    for requirement in map(Requirement, PROJECT["dependencies"]):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        assert Version(pinned[requirement.name]) == Version(bound.version), requirement.name


def test_all_is_every_extra():
    extras = PROJECT["optional-dependencies"]
    combined = [Requirement(text) for text in extras["all"]]
    assert {requirement.name for requirement in combined} == {"sepc"}
    assert set().union(*(requirement.extras for requirement in combined)) == set(extras) - {"all"}


def test_classifiers_name_versions_of_python_that_are_tested():
    """A new version is tried by the workflow first; it is named here when that has passed."""
    named = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if "Python :: 3." in text]
    (tested,) = re.findall(r"^        python: (\[.*\])\n    steps:", WORKFLOW.read_text(), re.MULTILINE)
    assert named
    assert json.loads(tested)[: len(named)] == named
