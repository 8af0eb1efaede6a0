"""`sepc completion`: scripts that make bash, zsh or fish complete commands, options and their values."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

HELP = "print a completion script for bash, zsh or fish"
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc completion`."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(options: argparse.Namespace) -> None:
    """Print the script for the shell that was asked for."""
    scripts = {"bash": bash_script, "zsh": zsh_script, "fish": fish_script}
    sys.stdout.write(scripts[options.shell](list(_commands(options.parser))))


@dataclass(frozen=True)
class Option:
    """An option of a command; `values` are its choices, if it has a fixed set of them."""

    name: str
    help: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command; `values` are the choices of its first argument, if it has a fixed set of them."""

    name: str
    help: str
    options: tuple[Option, ...]
    values: tuple[str, ...]


def _commands(top: argparse.ArgumentParser) -> Iterator[Command]:
    for action in top._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        help_of = {choice.dest: choice.help or "" for choice in action._choices_actions}
        for name, parser in action.choices.items():
            named = [argument for argument in parser._actions if argument.option_strings]
            positional = [argument for argument in parser._actions if not argument.option_strings]
            options = tuple(Option(option.option_strings[-1], option.help or "", _values(option)) for option in named)
            yield Command(name, help_of[name], options, _values(positional[0]) if positional else ())


def _values(action: argparse.Action) -> tuple[str, ...]:
    return tuple(map(str, action.choices or ()))


def bash_script(commands: list[Command]) -> str:
    """Complete commands, options, the choices of options that have some, and else file names."""
    lines = ['# sepc completion for bash: eval "$(sepc completion bash)"', "_sepc() {"]
    lines += ['  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""']
    names = " ".join(command.name for command in commands)
    lines += [f'  if [ "$COMP_CWORD" -eq 1 ]; then words="{names} --help --version"; else']
    lines += ['  case "${COMP_WORDS[1]}:$before" in']
    for command in commands:
        lines += [
            f'    {command.name}:{option.name}) words="{" ".join(option.values)}" ;;'
            for option in command.options
            if option.values
        ]
        if command.values:
            lines += [f'    {command.name}:{command.name}) words="{" ".join(command.values)}" ;;']
    lines += ["  esac", '  if [ -z "$words" ] && [[ "$word" == -* ]]; then case "${COMP_WORDS[1]}" in']
    for command in commands:
        lines += [f'    {command.name}) words="{" ".join(option.name for option in command.options)}" ;;']
    lines += ["  esac; fi; fi", '  COMPREPLY=($(compgen -W "$words" -- "$word"))', "}"]
    lines += ["complete -o default -F _sepc sepc"]
    return "\n".join(lines) + "\n"


def zsh_script(commands: list[Command]) -> str:
    """The same with zsh's `_arguments`, which also shows the help of each option."""
    lines = [
        "#compdef sepc",
        "# sepc completion for zsh: source <(sepc completion zsh)",
        "_sepc() {",
        "  local -a commands",
    ]
    lines += [f"  commands=({' '.join(_quoted(f'{command.name}:{command.help}') for command in commands)})"]
    lines += ["  if (( CURRENT == 2 )); then _describe command commands; return; fi", "  local command=$words[2]"]
    lines += ["  shift words; (( CURRENT-- ))", "  case $command in"]
    for command in commands:
        options = [_quoted(f"{opt.name}[{_without_zsh_signs(opt.help)}]{_zsh_values(opt)}") for opt in command.options]
        rest = _quoted(f"*:value:({' '.join(command.values)})" if command.values else "*:file:_files")
        lines += [f"    {command.name}) _arguments {' '.join([*options, rest])} ;;"]
    lines += ["  esac", "}", 'if [[ "$funcstack[1]" == _sepc ]]; then _sepc "$@"; else compdef _sepc sepc; fi']
    return "\n".join(lines) + "\n"


def fish_script(commands: list[Command]) -> str:
    """The same with fish's `complete`."""
    lines = ["# sepc completion for fish: sepc completion fish | source"]
    for command in commands:
        lines += [f"complete -c sepc -f -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}"]
        inside = f"complete -c sepc -n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"{inside} -f -a '{' '.join(command.values)}'"] if command.values else []
        for option in command.options:
            values = f" -x -a '{' '.join(option.values)}'" if option.values else ""
            lines += [f"{inside} -l {option.name.lstrip('-')}{values} -d {_quoted(option.help)}"]
    return "\n".join(lines) + "\n"


def _zsh_values(option: Option) -> str:
    return f":value:({' '.join(option.values)})" if option.values else ""


def _without_zsh_signs(text: str) -> str:
    """Text without the characters that have a meaning to `_arguments`."""
    return text.replace("[", "(").replace("]", ")").replace(":", " -")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
