"""What a command says on standard output: words for people, or one JSON document for machines."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from sepc.plain_values import json_value


def add_printing_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that every command has."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of words")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no words, but for errors")


def say(options: argparse.Namespace, words: str, facts: Any) -> None:
    """Print one or the other; with --quiet only what was asked for as JSON."""
    if options.json:
        sys.stdout.write(json.dumps(json_value(facts), ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    elif not options.quiet:
        sys.stdout.write(words.rstrip("\n") + "\n")
