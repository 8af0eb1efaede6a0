"""Completion, asked of the shells themselves."""

import shutil
import subprocess
import sys

import pytest
from optional import package_or_skip

from sepc.cli.entry import COMMANDS

package_or_skip("shtab")

CASES = [
    (["sepc", ""], {*COMMANDS}),
    (["sepc", "in"], {"inspect"}),
    (["sepc", "re"], {"report", "review", "repair"}),
    (["sepc", "monitor", "m", "--st"], {"--state"}),
    (["sepc", "fit", "--t"], {"--target", "--test-last", "--test-size", "--trust"}),
    (["sepc", "fit", "--trust", ""], {"weights", "counts", "published"}),
    (["sepc", "score", "m", "d", "--missing", ""], {"use", "leave", "refuse"}),
    (["sepc", "completion", ""], {"bash", "zsh", "fish"}),
]


@pytest.fixture
def script(run, tmp_path):
    """The script for a shell, in a file."""

    def made(shell):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        path = tmp_path / f"completion.{shell}"
        path.write_text(run("completion", shell).out)
        return path

    return made


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def bash_completes(words, script, folder):
    """What bash offers for the last word, in a folder."""
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _shtab_sepc; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(ask("bash", "-c", f'cd {folder}; eval "$(cat {script("bash")})"; {asked}').split())


@pytest.mark.parametrize(("words", "wanted"), CASES)
def test_bash(words, wanted, script, tmp_path):
    found = bash_completes(words, script, tmp_path)
    assert wanted <= found
    assert found <= wanted | {"--help", "--version"}


@pytest.mark.parametrize("words", [["sepc", "fit", "tab"], ["sepc", "score", "m", "d", "--output", "tab"]])
def test_bash_knows_files(words, script, tmp_path):
    (tmp_path / "table.csv").touch()
    assert bash_completes(words, script, tmp_path) == {"table.csv"}


def test_every_shell_gets_a_script(run, refused):
    for shell in ("bash", "zsh", "fish"):
        assert "--test-last" in run("completion", shell).out
    assert "invalid choice: 'tcsh'" in refused("completion", "tcsh")


def test_without_shtab(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert 'pip install "sepc[table]"' in refused("completion", "bash", code=1)
