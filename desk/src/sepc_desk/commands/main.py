"""The command `sepc-desk`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

import sepc_desk
from sepc_desk.errors import ModelFolderError, RequestError, SettingError

# Exit code for wrong usage or settings; commands that find something wrong with the log exit with 3.
WRONG = 2
# Where each command is. Only the one that runs is imported, since importing what models need takes seconds.
HOMES = {
    "serve": "serve",
    "migrate": "migrating",
    "models": "models",
    "keys": "keys",
    "verify": "checking",
    "heads": "checking",
    "replay": "replaying",
    "erase": "erasing",
    "retention": "erasing",
    "scrub": "erasing",
    "planted": "planting",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="sepc-desk", description="Serve sepc models, log every decision, and check the log."
    )
    parser.add_argument("--version", action="version", version=f"sepc-desk {sepc_desk.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    given = sys.argv[1:] if arguments is None else list(arguments)
    home = HOMES.get(given[0]) if given else None
    for name in dict.fromkeys(HOMES.values()) if home is None else [home]:
        importlib.import_module(f"sepc_desk.commands.{name}").add_commands(commands)
    options = parser.parse_args(given)
    try:
        return int(options.run(options))
    except (SettingError, ModelFolderError, RequestError) as error:
        print(f"sepc-desk: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
