"""`sepc repair`: give failing regions a model of their own, and leave all other decisions as they were."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli._memory import ProgressBar
from sepc.cli._messages import say
from sepc.cli._model_file import in_words, load_model
from sepc.cli._model_rows import read_feedback
from sepc.cli._options import MODEL_OUTPUT, Command, add, add_feedback, beside
from sepc.cli._written_files import check_writable


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_feedback(parser)
    add(parser, *MODEL_OUTPUT, required=True)
    add(
        parser,
        "--despite-moved-columns",
        "repair even if columns of the feedback differ from training, for example in their unit",
    )
    add(
        parser,
        "--training FILE",
        "a table of labelled training rows; used for fitting where they help, never for testing",
    )


def _run(options: argparse.Namespace) -> None:
    """Repair, save, and print what was changed."""
    inputs = [name for name in (options.model, options.data, options.training) if name is not None]
    check_writable(options.output, *inputs)
    estimator = load_model(options.model, options.key)
    X, y = read_feedback(options, estimator)
    old: dict[str, Any] = {}
    if options.training is not None:
        old["X_train"], old["y_train"] = read_feedback(beside(options, options.training), estimator)
    from sepc.lifecycle import repair
    from sepc.model_files import save

    with ProgressBar("repairing", quiet=options.quiet):
        repaired = repair(
            estimator, X, y, **old, random_state=options.seed, despite_moved_columns=options.despite_moved_columns
        )
    save(repaired, options.output)
    facts = {"rows": len(y), "changes": list(repaired.changes_), "model": options.output}
    say(options, f"{in_words(repaired, estimator)}\nWritten to {options.output}", facts)


REPAIR = Command(
    "give failing regions a new model, and leave all other decisions as they were",
    _add_arguments,
    _run,
    """example:
  sepc repair model.sepc feedback.csv --target label --output repaired.sepc

Feedback means rows with their true labels, none of them from training; part of it decides which new models are kept.
The repair stops if columns of the feedback differ from training, probably by mistake; see --despite-moved-columns.
Start a new sepc monitor and sepc review for the repaired model. If no region fails, it decides as before.

exit code: 0; 2 for wrong input; 1 for other errors
""",
)
