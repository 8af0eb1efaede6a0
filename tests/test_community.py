"""What a stranger meets first: forms for issues, the guides at the root, and how to cite."""

import re
import tomllib
from pathlib import Path

import pytest
from optional import package_or_skip

from sepc.cli import main

ROOT = Path(__file__).parents[1]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
REQUEST = ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md"
GUIDES = [ROOT / name for name in ("CONTRIBUTING.md", "CODE_OF_CONDUCT.md")]
NAMING = [*GUIDES, REQUEST, *FORMS]
# What make puts there, and a file that several folders have.
MADE = {"dist/", "state.py"}
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:md|toml|txt|py|yml|cff)|Makefile")
# The keys that GitHub takes, by the type of a field: those it needs, and those it allows.
ATTRIBUTES = {
    "markdown": ({"value"}, set()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}

pytestmark = pytest.mark.skipif(not FORMS, reason="the forms are not in the source archive")


def name_of(path):
    return path.name


def loaded(path):
    return package_or_skip("yaml").safe_load(path.read_text(encoding="utf-8"))


def only_forms():
    return [path for path in FORMS if path.stem != "config"]


def test_there_is_a_form_for_each_kind_of_report():
    assert {path.stem for path in only_forms()} == {"bug", "promise", "question", "documentation"}
    names = [loaded(path)["name"] for path in only_forms()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", only_forms(), ids=name_of)
def test_forms_have_what_github_asks_for(path):
    form = loaded(path)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "body", "labels", "title"}
    assert min(len(form["name"]), len(form["description"])) > 3
    assert all(isinstance(label, str) for label in form["labels"])
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert asked, "a form needs a field that is filled in"
    for names in ([field["id"] for field in asked], [field["attributes"]["label"] for field in asked]):
        assert len(set(names)) == len(names), "GitHub refuses two fields of the same label"
    assert any(field.get("validations", {}).get("required") for field in asked)
    for field in form["body"]:
        needed, allowed = ATTRIBUTES[field["type"]]
        assert needed <= set(field["attributes"]) <= needed | allowed, field
        assert set(field) <= {"type", "id", "attributes", "validations"}
        assert re.fullmatch(r"[a-zA-Z][\w-]*", field.get("id", "none"))
        values = [field["attributes"][key] for key in needed | allowed if key in field["attributes"]]
        assert all(isinstance(value, str | list | bool) and value not in ("", []) for value in values), field
        options = field["attributes"].get("options", [])
        assert all(isinstance(option, str | dict) for option in options), "yes and no are no text in YAML"
    for page in re.findall(r"https://sepc-project\.github\.io/sepc/([\w/]+)\.html", path.read_text(encoding="utf-8")):
        assert (ROOT / "docs" / f"{page}.md").is_file()


def test_whoever_opens_an_issue_is_led_to_the_pages_and_to_the_private_form():
    config = loaded(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml")
    assert config["blank_issues_enabled"] is False
    assert all(set(link) == {"name", "url", "about"} for link in config["contact_links"])
    addresses = [link["url"] for link in config["contact_links"]]
    assert any(address.endswith("/security/advisories/new") for address in addresses)
    assert all(address.startswith("https://") for address in addresses)
    for address in addresses:
        named = re.search(r"/blob/main/(.+)$", address)
        assert not named or (ROOT / named[1]).is_file()


def test_the_command_that_the_form_for_bugs_asks_for_prints_the_version(capsys):
    asked = loaded(ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml")["body"][1]["attributes"]["description"]
    for program in ("sepc", "python -m sepc"):
        assert f"`{program} --version`" in asked
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("sepc ")


def code_in(path):
    """What a page or form shows as code: pieces of lines, then the lines of blocks without their comments."""
    text = path.read_text(encoding="utf-8")
    lines = [line.partition("#")[0].strip() for block in FENCE.findall(text) for line in block.splitlines()]
    spans = re.findall(r"`([^`]+)`", FENCE.sub("", text))
    return [" ".join(code.split()) for code in [*spans, *lines] if code.strip()]


def made_targets(code):
    """The targets of a call of make, without its options."""
    words = code.split()
    return [word for word in words[1:] if "=" not in word] if words[0] == "make" else []


def test_targets_and_files_that_guides_and_templates_name_are_there():
    targets = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    named = {path.name: {name for code in code_in(path) for name in made_targets(code)} for path in NAMING}
    assert {name: own - targets for name, own in named.items() if own - targets} == {}
    assert named["CONTRIBUTING.md"] >= {"setup", "lint", "types", "test"}
    missing = {path.name: [name for name in files_named(path) if not (ROOT / name).exists()] for path in NAMING}
    assert {name: own for name, own in missing.items() if own} == {}
    assert {"pyproject.toml", "tests/optional.py"} <= files_named(ROOT / "CONTRIBUTING.md")


def files_named(path):
    return {code for code in code_in(path) if FILE.fullmatch(code)} - MADE


def test_every_guide_at_the_root_is_shown_in_the_docs_and_released():
    index = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8").split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    released = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    for guide in GUIDES:
        page = ROOT / "docs" / "reference" / f"{guide.stem.lower()}.md"
        assert f"{{include}} ../../{guide.name}\n" in page.read_text(encoding="utf-8")
        assert page.stem in index
        assert guide.name in released


def test_the_citation_is_of_the_paper_and_of_this_version():
    citation = loaded(ROOT / "CITATION.cff")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert ("date-released" in citation) == ("dev" not in project["version"]), "only a release has a date"
    paper = citation["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Niranjan", "Rao"]
    page = (ROOT / "docs" / "reference" / "citing.md").read_text(encoding="utf-8")
    entry, software = re.findall(r"```bibtex\n(.*?)```", page, re.DOTALL)
    people = " and ".join(f"{author['family-names']}, {author['given-names']}" for author in paper["authors"])
    identifier = paper["identifiers"][0]["value"].removeprefix("arXiv:")
    for field in (paper["title"], people, paper["year"], paper["url"], identifier):
        assert f"{{{field}}}" in entry
    for field in ("title", "version", "repository-code"):
        assert f"{{{citation[field]}}}" in software
