"""The options of a fit, the estimator they mean, and the rows it is tried on."""

from __future__ import annotations

import argparse
from typing import Any

from sepc.cli.errors import InputError
from sepc.cli.labelled_rows import LabelledRows, names_in

TRUSTS = ("weights", "counts", "published")


def number_or_share(text: str) -> int | float:
    """A whole number of rows, or a share of them."""
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def add_fit_arguments(parser: argparse.ArgumentParser, *, or_file: bool = False) -> None:
    """The options that choose and set an estimator; with `or_file`, it may also be one that was fitted before."""
    model = parser.add_argument_group("the model")
    if or_file:
        model.add_argument(
            "--model", metavar="MODEL", help="a model file that has not seen these rows, instead of a fit"
        )
    model.add_argument(
        "--n-impure",
        type=number_or_share,
        metavar="N",
        help="rows of other labels an ellipsoid may hold: a number, or a share",
    )
    model.add_argument("--trust", choices=TRUSTS, help="where labels and trust come from; weights by default")
    model.add_argument("--min-trust", type=float, metavar="T", help="trust from which a label is accepted")
    model.add_argument("--fit-rows", type=int, metavar="N", help="partition only so many rows; 10,000 by default")
    model.add_argument("--by", type=names_in, default=[], metavar="A,B", help="a model for each value of these columns")
    model.add_argument(
        "--max-risk", type=float, metavar="R", help="promise that at most this share of accepted rows is wrong"
    )
    model.add_argument("--confidence", type=float, metavar="C", help="of that promise; 0.95 by default")
    model.add_argument("--seed", type=int, default=0, metavar="N", help="of everything random; 0 by default")


def estimator_of(options: argparse.Namespace) -> Any:
    """The estimator that the options mean, not yet fitted."""
    from sepc.estimators.selective.estimator import SelectiveClassifier
    from sepc.estimators.stratified.estimator import StratifiedClassifier

    check_fit_options(options)
    estimator: Any = _partition(options)
    if options.by:
        estimator = StratifiedClassifier(estimator, by=options.by)
    if options.max_risk is not None:
        confidence = 0.95 if options.confidence is None else options.confidence
        estimator = SelectiveClassifier(estimator, options.max_risk, confidence, random_state=options.seed)
    return estimator


def check_fit_options(options: argparse.Namespace) -> None:
    """Raise if options do not go together, before anything is read."""
    if options.confidence is not None and options.max_risk is None:
        raise InputError("--confidence is that of a promise; give --max-risk as well.")


def _partition(options: argparse.Namespace) -> Any:
    from sepc.estimators.sep.estimator import SEPClassifier

    names = ("n_impure", "min_trust", "trust", "fit_rows")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return SEPClassifier(**given, random_state=options.seed)


def share(text: str) -> float:
    """A share of rows, from 0 to below 1."""
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is no share; it must lie between 0 and 1")
    return value


def split(rows: LabelledRows, test_share: float, seed: int) -> tuple[LabelledRows, LabelledRows | None]:
    """Rows to fit on, and rows held out, with the same shares of labels in both."""
    if not test_share:
        return rows, None
    import numpy as np

    from sepc.statistics.splits import stratified_parts

    kept, held_out = stratified_parts(rows.y, test_share, np.random.RandomState(seed))
    if not len(held_out):
        raise InputError(f"A --test-share of {test_share:g} of {len(rows.y):,} rows leaves none to test on.")
    return _some(rows, kept), _some(rows, held_out)


def _some(rows: LabelledRows, chosen: Any) -> LabelledRows:
    return LabelledRows(rows.X.iloc[chosen].reset_index(drop=True), rows.y[chosen], rows.n_dropped)
