"""What the pages say is done as written, and the files for containers say what they should."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from servers import free_port

HERE = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```", re.M | re.S)


def test_every_step_of_the_tutorial_works(tmp_path: Path) -> None:
    lines = ["set -euo pipefail", "set -m"]
    told = []
    for language, code in BLOCK.findall((HERE / "docs" / "tutorial.md").read_text()):
        if language == "text":
            told.append(code.strip())
        else:
            lines.append(f"python3 - <<'CODE'\n{code}CODE" if language == "python" else code)
    script = "\n".join(lines).replace("8000", str(free_port())).replace("kill %1\nwait", "kill %1\nwait %1 || true")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEPC_DESK_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(told) == 2
    for text in told:
        assert text in done.stdout


@pytest.mark.parametrize("page", sorted((HERE / "docs").glob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_container_runs_without_rights_on_a_read_only_file_system() -> None:
    lines = (HERE / "Dockerfile").read_text().splitlines()
    assert "USER 10001" in lines
    assert lines.index("USER 10001") < lines.index('ENTRYPOINT ["sepc-desk"]')
    services = yaml.safe_load((HERE / "compose.yaml").read_text())["services"]
    assert services["desk"]["read_only"] is services["migrate"]["read_only"] is True
    assert services["desk"]["cap_drop"] == ["ALL"]
    assert not any("password" in str(value) for value in services["desk"]["environment"].values())
