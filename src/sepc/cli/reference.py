"""The reference that a state began with: a scheduler may repeat the option, but not change it."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.messages import InputError
from sepc.cli.model_rows import beside, rows_in_batches
from sepc.cli.row_digest import RowDigest
from sepc.cli.state_files import Record


def check_reference(options: argparse.Namespace, estimator: Any, record: Record, target: str | None = None) -> None:
    """Raise if another reference is given than the one that the state began with."""
    if options.reference is None:
        return
    digest = RowDigest()
    for _ in rows_in_batches(beside(options, options.reference), estimator, target, digest):
        pass
    if digest.of_rows() != record.reference:
        raise InputError(
            f"{options.state} was started with another reference than {options.reference}; leave --reference out to go "
            "on with it, or start anew with another --state."
        )
