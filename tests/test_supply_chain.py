"""What a release is made of and made with: workflows, build tools and the bill of materials."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from optional import package_or_skip

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are not in the source archive")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(path):
    used = re.findall(r"uses: *(\S+)(.*)", path.read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", action), action
        assert re.match(r" # v\d+\.\d+\.\d+", comment), f"{action} does not say which version that is"


# Signing in to the index, and pushing the pages; every other job may read the repository.
MAY_WRITE = {"publish": {"id-token": "write"}, "site": {"contents": "write"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_may_read_and_only_publishing_may_write(path):
    workflow = package_or_skip("yaml").safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job["permissions"] == MAY_WRITE.get(name, {"contents": "read"}), name


# What prepares a machine, shows the result, or has to run where there is no make: no target has these.
NO_TARGETS = ("python -m pip install ", "test ", "git ", "python tools/try_wheel.py")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_job_runs_is_a_target_that_runs_anywhere(path):
    workflow = package_or_skip("yaml").safe_load(path.read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    recipes = {line.strip().replace("$(PY)", "python") for line in makefile.splitlines() if line.startswith("\t")}
    for job in workflow["jobs"].values():
        for line in filter(None, "\n".join(step.get("run", "") for step in job["steps"]).splitlines()):
            if line.startswith("make "):
                assert {word for word in shlex.split(line)[1:] if "=" not in word} <= targets, line
            elif not line.startswith(NO_TARGETS):
                assert line.partition(" #")[0].strip() in recipes, line


def test_the_release_is_built_with_tools_whose_hashes_are_known():
    lines = (ROOT / "constraints-release.txt").read_text(encoding="utf-8").split("\n")
    tools = "\n".join(line for line in lines if not line.startswith("#"))
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$", tools, re.MULTILINE))
    assert len(pinned) == tools.count("==") == tools.count("--hash=") >= 3
    assert not re.search(r"https?:|index-url|@ ", tools)
    constraints = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    assert {name: constraints.get(name, version) for name, version in pinned.items()} == pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {re.match(r"[\w-]+", text)[0] for text in [*project["build-system"]["requires"], "build"]}
    assert needed <= set(pinned)
    release = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    build = release[release.index("  build:") : release.index("  publish:")]
    (options,) = re.findall(r"pip install (.*)\"", build)
    assert options == "--require-hashes --requirement constraints-release.txt --only-binary :all:"
