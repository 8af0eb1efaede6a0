"""`sepc completion`: what bash, zsh or fish need to complete commands, options and their values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

HELP = "print a completion script for bash, zsh or fish"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Write the script, made from the parser of all commands."""
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    sys.stdout.write(scripts[options.shell](list(_commands(options.parser))))


@dataclass(frozen=True)
class Option:
    """An option of a command: its name, what it is for, and its values if these are few."""

    name: str
    help: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command and its options; `values` are those of its first argument, if these are few."""

    name: str
    help: str
    options: tuple[Option, ...]
    values: tuple[str, ...]


def _commands(top: argparse.ArgumentParser) -> Iterator[Command]:
    for action in top._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        told = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, one in action.choices.items():
            named = [each for each in one._actions if each.option_strings]
            places = [each for each in one._actions if not each.option_strings]
            options = tuple(Option(each.option_strings[-1], each.help or "", _values(each)) for each in named)
            yield Command(name, told[name], options, _values(places[0]) if places else ())


def _values(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def bash_script(commands: list[Command]) -> str:
    """Words of the command, values after an option that has some, and else files."""
    lines = ['# sepc completion for bash: eval "$(sepc completion bash)"', "_sepc() {"]
    lines += ['  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""']
    lines += [
        f'  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(one.name for one in commands)} --help --version"; else'
    ]
    lines += ['  case "${COMP_WORDS[1]}:$before" in']
    for one in commands:
        lines += [
            f'    {one.name}:{option.name}) words="{" ".join(option.values)}" ;;'
            for option in one.options
            if option.values
        ]
        if one.values:
            lines += [f'    {one.name}:{one.name}) words="{" ".join(one.values)}" ;;']
    lines += ["  esac", '  if [ -z "$words" ] && [[ "$word" == -* ]]; then case "${COMP_WORDS[1]}" in']
    lines += [f'    {one.name}) words="{" ".join(option.name for option in one.options)}" ;;' for one in commands]
    lines += ["  esac; fi; fi", '  COMPREPLY=($(compgen -W "$words" -- "$word"))', "}"]
    lines += ["complete -o default -F _sepc sepc"]
    return "\n".join(lines) + "\n"


def zsh_script(commands: list[Command]) -> str:
    """The same by zsh's own `_arguments`, with what everything is for."""
    lines = [
        "#compdef sepc",
        "# sepc completion for zsh: source <(sepc completion zsh)",
        "_sepc() {",
        "  local -a commands",
    ]
    lines += [f"  commands=({' '.join(_quoted(f'{one.name}:{one.help}') for one in commands)})"]
    lines += ["  if (( CURRENT == 2 )); then _describe command commands; return; fi", "  local command=$words[2]"]
    lines += ["  shift words; (( CURRENT-- ))", "  case $command in"]
    for one in commands:
        told = [_quoted(f"{each.name}[{_without_zsh_signs(each.help)}]{_zsh_values(each)}") for each in one.options]
        rest = _quoted(f"*:value:({' '.join(one.values)})" if one.values else "*:file:_files")
        lines += [f"    {one.name}) _arguments {' '.join([*told, rest])} ;;"]
    lines += ["  esac", "}", 'if [[ "$funcstack[1]" == _sepc ]]; then _sepc "$@"; else compdef _sepc sepc; fi']
    return "\n".join(lines) + "\n"


def fish_script(commands: list[Command]) -> str:
    """The same as lines of fish's `complete`."""
    lines = ["# sepc completion for fish: sepc completion fish | source"]
    for one in commands:
        lines += [f"complete -c sepc -f -n __fish_use_subcommand -a {one.name} -d {_quoted(one.help)}"]
        inside = f"complete -c sepc -n '__fish_seen_subcommand_from {one.name}'"
        lines += [f"{inside} -f -a '{' '.join(one.values)}'"] if one.values else []
        for option in one.options:
            values = f" -x -a '{' '.join(option.values)}'" if option.values else ""
            lines += [f"{inside} -l {option.name.lstrip('-')}{values} -d {_quoted(option.help)}"]
    return "\n".join(lines) + "\n"


def _zsh_values(option: Option) -> str:
    return f":value:({' '.join(option.values)})" if option.values else ""


def _without_zsh_signs(text: str) -> str:
    """Without the signs that `_arguments` reads."""
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
