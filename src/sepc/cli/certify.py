"""`sepc certify`: make a promise from the counts of several sites."""

from __future__ import annotations

import argparse
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import ALARM, InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._written_files import check_writable

if TYPE_CHECKING:
    from sepc.lifecycle.sites import SiteCertificate

HELP = "make a promise from the counts of several sites, together and for each"
EXAMPLE = """example:
  sepc certify model.sepc north.json south.json --max-risk 0.05 --output certified.sepc

The counts come from sepc counts. If sites report one after another, --ledger FILE keeps what was certified before.

exit code: 0; 3 if no promise can be made for all sites together; 2 for wrong input; 1 for other errors
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `sepc certify`."""
    parser.add_argument("model", metavar="MODEL", help="the model that the sites counted with")
    parser.add_argument("counts", nargs="+", metavar="COUNTS", help="files written by sepc counts, one for each site")
    parser.add_argument(
        "--max-risk",
        type=float,
        default=0.02,
        metavar="R",
        help="largest error rate among accepted rows; 0.02 by default",
    )
    parser.add_argument(
        "--confidence", type=float, default=0.95, metavar="C", help="confidence of the promise; 0.95 by default"
    )
    parser.add_argument("--output", metavar="FILE", help="a file for the model with the promise for all sites together")
    parser.add_argument("--for-site", metavar="NAME", help="write the model with the promise for this site instead")
    parser.add_argument(
        "--ledger", metavar="FILE", help="keeps what was certified before, if sites report one after another"
    )


def run(options: argparse.Namespace) -> int:
    """Certify, print the promises, and write the model."""
    if options.output is not None:
        check_writable(options.output, options.model, *options.counts)
    elif options.for_site is not None:
        raise InputError("--for-site says which model to write; give --output FILE as well.")
    if options.ledger is not None:
        check_writable(options.ledger, options.model, *options.counts, option="--ledger")
    estimator = load_model(options.model)
    from sepc.lifecycle.sites import Ledger, SiteCounts, certify
    from sepc.model_files import save

    ledger = None
    if options.ledger is not None:
        ledger = Ledger.load(options.ledger) if os.path.exists(options.ledger) else Ledger()
    found = certify(
        estimator,
        [SiteCounts.load(path) for path in options.counts],
        max_risk=options.max_risk,
        confidence=options.confidence,
        ledger=ledger,
        digest=sha256(Path(options.model).read_bytes()).hexdigest(),
    )
    model = found.model(options.for_site)
    if found.ledger is not None:
        found.ledger.save(options.ledger)
    written = ""
    if options.output is not None:
        save(model, options.output)
        written = f"\nWritten to {options.output}"
    say(options, f"{found.summary()}{written}", _facts(found, options))
    return 0 if found.together.covered else ALARM


def _facts(found: SiteCertificate, options: argparse.Namespace) -> dict[str, Any]:
    promises = [(None, found.together), *found.by_site.items()]
    return {
        "max_risk": options.max_risk,
        "confidence": found.confidence,
        "promises": [
            {"site": site, "is_made": bool(promise.covered), "threshold": promise.threshold, "rows": promise.n_rows}
            for site, promise in promises
        ],
        "p_value": found.p_value,
        "output": options.output,
    }
