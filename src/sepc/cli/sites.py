"""`sepc counts` and `sepc certify`: a promise from the counts of several sites."""

from __future__ import annotations

import argparse
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepc.cli._messages import ALARM, InputError, say
from sepc.cli._model_file import load_model
from sepc.cli._model_rows import rows_in_memory
from sepc.cli._options import MEMORY, TRUE_LABELS, Command, add, add_model, add_table
from sepc.cli._written_files import check_result_file, check_writable
from sepc.wording import counted

if TYPE_CHECKING:
    from sepc.lifecycle.sites import SiteCertificate


def _add_counts(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_table(parser, what="rows with their true labels, none of them from training")
    add(parser, *TRUE_LABELS, required=True)
    add(parser, "--output FILE", "a .json file for the counts", required=True)
    add(parser, "--site NAME", "the name of the site; that of the output by default")
    add(
        parser,
        "--smallest N",
        "round counts down to multiples of N, so that no smaller count can be inferred; 5 by default, 1 for none",
        default=5,
    )
    add(parser, "--by-label", "count predicted labels separately")
    add(parser, "--by A,B", "one or two columns whose groups are counted separately")
    add(parser, *MEMORY)


def _count(options: argparse.Namespace) -> None:
    check_result_file(options, options.model, options.data, endings=(".json",))
    estimator = load_model(options.model, options.key)
    rows = rows_in_memory(options, estimator, options.target, options.by)
    X, labels = rows.labelled()
    if not len(labels):
        raise InputError(f"{options.data}, column {options.target!r} holds no labels.")
    from sepc.lifecycle.sites import count_site

    by = None if not options.by else options.by if len(options.by) > 1 else options.by[0]
    found = count_site(
        estimator,
        X,
        labels,
        site=options.site or Path(options.output).stem,
        smallest=options.smallest,
        by_label=options.by_label,
        by=by,
        groups={name: cells[rows.has_label] for name, cells in rows.kept.items()} or None,
        digest=sha256(Path(options.model).read_bytes()).hexdigest(),
    )
    found.save(options.output)
    rounding = f"rounded down to multiples of {found.smallest}" if found.smallest > 1 else "exact"
    text = f"Counted {counted(len(labels), 'row')} of {found.site}, {rounding}.\nWritten to {options.output}"
    say(options, text, {"site": found.site, "rows": len(labels), "smallest": found.smallest, "output": options.output})


def _add_certify(parser: argparse.ArgumentParser) -> None:
    add(parser, "MODEL", "the model that the sites counted with")
    add(parser, "COUNTS", "files written by sepc counts, one for each site", nargs="+")
    add(parser, "--max-risk R", "largest error rate among accepted rows; 0.02 by default", default=0.02)
    add(parser, "--confidence C", "confidence of the promise; 0.95 by default", default=0.95)
    add(parser, "--output FILE", "a file for the model with the promise for all sites together")
    add(parser, "--for-site NAME", "write the model with the promise for this site instead")
    add(parser, "--ledger FILE", "keeps what was certified before, if sites report one after another")


def _certify(options: argparse.Namespace) -> int:
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


COUNTS = Command(
    "count right and wrong labels at one site, so that sepc certify can make a promise without its rows",
    _add_counts,
    _count,
    """example:
  sepc counts model.sepc rows.csv --target label --site north --output north.json

Only the counts in the output leave the site. sepc certify makes a promise from the files of several sites.

exit code: 0; 2 for wrong input; 1 for other errors
""",
)
CERTIFY = Command(
    "make a promise from the counts of several sites, together and for each",
    _add_certify,
    _certify,
    """example:
  sepc certify model.sepc north.json south.json --max-risk 0.05 --output certified.sepc

The counts come from sepc counts. If sites report one after another, --ledger FILE keeps what was certified before.

exit code: 0; 3 if no promise can be made for all sites together; 2 for wrong input; 1 for other errors
""",
)
