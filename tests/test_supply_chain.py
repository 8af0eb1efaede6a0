"""What runs when we test and release: actions by commit, jobs with the least rights they need, tools by digest."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
HASHED = "--require-hashes --requirement constraints-release.txt"

# What the steps of a job need to be allowed, by the action that they use; all other actions need nothing.
NEEDS = {"actions/checkout": {"contents": "read"}, "pypa/gh-action-pypi-publish": {"id-token": "write"}}


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs():
    return [pytest.param(path, name, id=f"{path.stem}-{name}") for path in WORKFLOWS for name in loaded(path)["jobs"]]


def pinned(name):
    """The versions that a file of constraints fixes, and the digests beside them."""
    lines = [line.partition("#")[0].split() for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]
    fixed = [(*words[0].split("=="), words[1:]) for words in lines if words]
    return {canonicalize_name(package): (version, digests) for package, version, digests in fixed}


def test_there_are_workflows():
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "release.yml"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path):
    """A tag can be moved by whoever takes over an action; the comment says which version the commit is."""
    used = re.findall(r"^\s*-?\s*uses:\s*(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert used
    for reference in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", reference), reference


def test_an_action_has_one_commit_everywhere():
    used = [step["uses"].split("@") for path in WORKFLOWS for step in steps_of(path) if "uses" in step]
    assert len({name for name, _ in used}) == len({(name, commit) for name, commit in used})


def steps_of(path):
    return [step for job in loaded(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize(("path", "name"), jobs())
def test_a_job_may_do_what_its_steps_need_and_no_more(path, name):
    workflow = loaded(path)
    assert workflow["permissions"] == {}
    job = workflow["jobs"][name]
    actions = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    needed = {right: level for action in actions for right, level in NEEDS.get(action, {}).items()}
    assert job.get("permissions", {}) == needed
    # Who may publish checks out nothing and runs no code of ours.
    assert "id-token" not in needed or ("environment" in job and all("run" not in step for step in job["steps"]))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_no_step_keeps_credentials_or_runs_words_of_strangers(path):
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    for step in steps_of(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        assert set(re.findall(r"\$\{\{\s*(\w+)", step.get("run", ""))) <= {"matrix"}


def test_what_is_published_is_built_by_tools_of_known_digest():
    release = loaded(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    publish = release["publish"]
    assert set(publish["needs"]) == {"test", "build"}
    commands = [step["run"] for step in release["build"]["steps"] if "run" in step]
    installs = [command for command in commands if "pip" in command]
    assert installs == [f"python -m pip install {HASHED}"]
    assert not [command for command in commands if "make setup" in command]
    (upload,) = (step for step in release["build"]["steps"] if "upload-artifact" in step.get("uses", ""))
    (download,) = (step for step in publish["steps"] if "download-artifact" in step.get("uses", ""))
    assert upload["with"]["name"] == download["with"]["name"]
    assert not [step for step in release["test"]["steps"] if "upload-artifact" in step.get("uses", "")]


def test_every_build_tool_has_a_digest_and_the_version_we_test_with():
    tools, tested = pinned("constraints-release.txt"), pinned("constraints.txt")
    for name, (version, digests) in tools.items():
        assert version == tested[name][0], name
        assert digests
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest) for digest in digests), name


def test_the_build_tools_are_complete():
    """With --require-hashes pip refuses a tool that is not listed, but only in the release."""
    tools = pinned("constraints-release.txt")
    missing = {"build", "hatchling"} - tools.keys()
    for name in tools:
        try:
            needed = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            pytest.skip(f"{name} is not installed")
        missing |= {
            canonicalize_name(one.name) for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})
        } - tools.keys()
    assert missing == set()


@pytest.mark.parametrize("path", sorted(ROOT.glob("constraints*.txt")), ids=lambda path: path.name)
def test_constraints_name_no_address(path):
    assert not re.search(r"://|--(extra-)?index-url|--find-links", path.read_text(encoding="utf-8"))
