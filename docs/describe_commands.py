"""The page on the `sepc` command, from the parsers of its arguments: one source for `--help` and for the reference."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from sepc.cli.entry import GROUPS, parser

INTRODUCTION = """# The `sepc` command

[Use the command line](../../howto/command.md) shows the commands at work, and their exit codes. Every command takes
`--help`, `--json` and `--quiet`."""
# Options that every command has, and the introduction names.
EVERYWHERE = {"help", "json", "quiet"}


def page() -> str:
    """A section for each command, in the groups of `sepc --help`."""
    top = parser()
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    parts = [INTRODUCTION]
    for group, names in GROUPS.items():
        parts.append(f"## {group[0].upper()}{group[1:]}")
        parts += [part for name in names for part in described(name, commands.choices[name])]
    return "\n\n".join(parts) + "\n"


def described(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """What a command does, its arguments group by group, and its examples."""
    yield f"### sepc {name}"
    yield command.description or ""
    positional, options, *others = command._action_groups
    actions = {"argument": [*positional._group_actions, *options._group_actions]}
    actions |= {group.title: group._group_actions for group in others}
    for title, own in actions.items():
        if rows := [row_of(action) for action in own if action.dest not in EVERYWHERE]:
            yield "\n".join([f"| {title} | |", "|---|---|", *rows])
    if command.epilog:
        yield f"```text\n{command.epilog.strip()}\n```"


def row_of(action: argparse.Action) -> str:
    """A row of the table of arguments."""
    value = "" if action.nargs == 0 else action.metavar or "|".join(map(str, action.choices or [action.dest.upper()]))
    names = " ".join([", ".join(action.option_strings), str(value)]).strip()
    needed = " (required)" if action.required and action.option_strings else ""
    meaning = (action.help or "") % (vars(action) | {"prog": "sepc"})
    escaped = meaning.replace("<", "\\<").replace("|", "\\|")
    return f"| `{names}`{needed} | {escaped} |".replace(names, names.replace("|", "\\|"), 1)
