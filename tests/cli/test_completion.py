"""Completion, asked of the shells themselves."""

import shutil
import subprocess

import pytest
from command_runs import complaint, run_here

from sepc.cli.entry import COMMANDS

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
def script(capsys, tmp_path):
    """The script for a shell, in a file."""

    def made(shell):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        path = tmp_path / f"completion.{shell}"
        path.write_text(run_here(capsys, "completion", shell).out)
        return path

    return made


def ask(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.parametrize(("words", "wanted"), CASES)
def test_bash(words, wanted, script):
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _sepc; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    found = set(ask("bash", "-c", f"source {script('bash')}; {asked}").split())
    assert wanted <= found
    assert found <= wanted | {"--help", "--version"}


def test_bash_falls_back_to_files(script):
    assert "complete -o default -F _sepc sepc" in ask("bash", "-c", f"source {script('bash')}; complete -p sepc")


@pytest.mark.parametrize(("words", "wanted"), CASES)
def test_fish(words, wanted, script, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = f"source {script('fish')}; complete -C '{' '.join(words)}'"
    found = {line.partition("\t")[0] for line in ask("fish", "--no-config", "-c", asked).splitlines()}
    assert wanted <= found


def test_zsh_reads_the_script(script):
    path = script("zsh")
    assert ask("zsh", "-f", "-c", f"autoload -U compinit; compinit -D; source {path}; echo $_comps[sepc]") == "_sepc\n"


def test_an_unknown_shell(capsys):
    assert "invalid choice: 'tcsh'" in complaint(run_here(capsys, "completion", "tcsh"))
