"""What a release is made of and made with: workflows, build tools and the bill of materials."""

import re
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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_jobs_may_read_and_only_publishing_may_sign_in(path):
    workflow = package_or_skip("yaml").safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        allowed = {"id-token": "write"} if name == "publish" else {"contents": "read"}
        assert job["permissions"] == allowed, name


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
