"""Every command: exit code, what it prints, and the files it writes."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import golden_data as data
import pandas as pd
from record import scenario

import sepc
from sepc.cli import main

# The first lines of a written table are recorded, not all.
MOST_LINES = 12


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """An empty working directory with the loan table, others like it, and a model."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), mock.patch.dict(os.environ, COLUMNS="100"):
        yield Path(name)


def run(*words: str) -> dict[str, Any]:
    """Run the command here; the files that are new are part of the answer."""
    before = {path.name for path in Path().iterdir()}
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(list(words))
        except SystemExit as stopped:
            code = stopped.code
    written = {path.name: _begins(path) for path in sorted(Path().iterdir()) if path.name not in before}
    said = {"code": code, "out": out.getvalue(), "err": err.getvalue(), "files": written}
    return {name: value for name, value in said.items() if value or name == "code"}


def _begins(path: Path) -> str:
    if path.suffix not in {".csv", ".txt", ".json", ".sql"}:
        return path.suffix
    return "\n".join(path.read_text("utf-8").splitlines()[:MOST_LINES])[:3000]


def write_loans() -> None:
    X, y, others, labels = data.loans()
    X.assign(outcome=y).to_csv("loans.csv", index=False)
    others.assign(outcome=labels).to_csv("others.csv", index=False)


def write_cube() -> None:
    X, y = data.cube()
    X[1000:2500].assign(side=data.changed(X, y)[1000:2500], row=range(1500)).to_csv("feedback.csv", index=False)
    X[2500:].assign(side=data.changed(X, y)[2500:]).to_csv("later.csv", index=False)
    sepc.save(data.cube_model(), "cube.sepc")


@scenario
def help_of_all() -> Any:
    with folder():
        overview = run("--help")
        names = ("look", "fit", "score", "explain", "report", "monitor", "review", "audit", "repair", "diff")
        names += ("check-plan", "counts", "certify", "forget", "verify-receipt", "inspect", "export", "sign")
        return {"overview": overview, **{name: run(name, "--help") for name in names}}


@scenario
def look() -> Any:
    with folder():
        write_loans()
        return [run("look", "loans.csv", "--target", "outcome"), run("look", "loans.csv", "--target", "none")]


@scenario
def fit_score_explain() -> Any:
    with folder():
        write_loans()
        fit = run("fit", "loans.csv", "--target", "outcome", "--output", "m.sepc", "--test-size", "0.3", "--quiet")
        return {
            "fit": fit,
            "score": run("score", "m.sepc", "others.csv", "--target", "outcome", "--output", "d.csv", "--copy", "id"),
            "explain": run("explain", "m.sepc", "others.csv", "--row", "3"),
            "worst": run("explain", "m.sepc", "others.csv", "--worst", "2"),
            "inspect": run("inspect", "m.sepc"),
            "report": run("report", "others.csv", "--target", "outcome", "--model", "m.sepc", "--text"),
        }


@scenario
def fit_with_a_promise() -> Any:
    with folder():
        write_loans()
        words = ("--target", "outcome", "--max-risk", "0.1", "--output", "m.sepc", "--json")
        return [run("fit", "loans.csv", *words), run("score", "m.sepc", "others.csv", "--output", "d.csv", "--json")]


@scenario
def fit_from_parquet() -> Any:
    with folder():
        X, y, _, _ = data.loans()
        X.assign(outcome=y).to_parquet("loans.parquet")
        return run("fit", "loans.parquet", "--target", "outcome", "--output", "m.sepc", "--quiet")


@scenario
def report_of_a_fit() -> Any:
    with folder():
        write_loans()
        return run("report", "loans.csv", "--target", "outcome", "--text", "--seed", "1", "--quiet")


@scenario
def letter_and_recourse() -> Any:
    with folder():
        write_loans()
        sepc.save(data.loan_model(), "m.sepc")
        letter = ("--letter", "--organisation", "Bank", "--model-name", "Loans 2", "--contact", "desk@example.org")
        return {
            "letter": run("explain", "m.sepc", "others.csv", "--row", "3", *letter),
            "recourse": run("explain", "m.sepc", "others.csv", "--row", "3", "--recourse", "--to", "paid"),
        }


@scenario
def audit_and_repair() -> Any:
    with folder():
        write_cube()
        rows = ("feedback.csv", "--target", "side")
        return {
            "audit": run("audit", "cube.sepc", *rows),
            "repair": run("repair", "cube.sepc", *rows, "--output", "new.sepc"),
            "diff": run("diff", "cube.sepc", "new.sepc", "later.csv", "--target", "side"),
        }


@scenario
def monitor() -> Any:
    with folder():
        write_cube()
        X = pd.read_csv("later.csv")
        X.assign(width=X["width"] + 0.8).to_csv("moved.csv", index=False)
        state = ("--state", "watch.sepc")
        return {
            "start": run("monitor", "cube.sepc", *state, "--reference", "feedback.csv"),
            "moved": run("monitor", "cube.sepc", "moved.csv", *state),
            "again": run("monitor", "cube.sepc", "moved.csv", *state),
            "scored": run("score", "cube.sepc", "moved.csv", "--monitor", "watch.sepc", "--output", "d.csv"),
        }


@scenario
def review() -> Any:
    with folder():
        write_cube()
        words = ("review", "cube.sepc", "--state", "queue.sepc")
        asked = ("--budget", "30", "--copy", "row,side", "--seed", "0", "--output", "ask.csv")
        return {
            "asked": run(*words, "feedback.csv", *asked),
            "learned": run(*words, "--labels", "ask.csv", "--target", "side"),
        }


@scenario
def sites() -> Any:
    with folder():
        write_cube()
        for site in ("feedback", "later"):
            run("counts", "cube.sepc", f"{site}.csv", "--target", "side", "--output", f"{site}.json")
        words = ("feedback.json", "later.json", "--max-risk", "0.2", "--output", "certified.sepc")
        return run("certify", "cube.sepc", *words)


@scenario
def erasure() -> Any:
    with folder():
        X, y = data.cube()
        table = X[:600].assign(side=y[:600], person=[f"p{i}" for i in range(600)])
        table.to_csv("training.csv", index=False)
        Path("ids.csv").write_text("person\np17\np240\n")
        run("fit", "training.csv", "--target", "side", "--drop", "person", "--output", "m.sepc", "--quiet")
        words = ("--rows", "ids.csv", "--table", "training.csv", "--target", "side", "--rest", "rest.csv")
        return {
            "forget": run("forget", "m.sepc", *words, "--output", "new.sepc", "--receipt", "receipt.json")["out"],
            "verify": run("verify-receipt", "receipt.json", "new.sepc", "rest.csv"),
        }


@scenario
def exports() -> Any:
    with folder():
        sepc.save(data.cube_model(), "m.sepc")
        sql = run("export", "m.sepc", "--output", "m.sql", "--dialect", "duckdb", "--table", "cube")
        return {"sql": sql, "onnx": run("export", "m.sepc", "--output", "m.onnx")}


@scenario
def landscape() -> Any:
    with folder():
        write_loans()
        return run("landscape", "loans.csv", "--target", "outcome")


@scenario
def mistakes() -> Any:
    with folder():
        write_loans()
        sepc.save(data.loan_model(), "m.sepc")
        Path("broken.sepc").write_bytes(Path("m.sepc").read_bytes()[:-100])
        Path("ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
        fit = ("--target", "outcome", "--output", "x.sepc")
        return {
            "no file": run("fit", "none.csv", *fit),
            "no target": run("fit", "loans.csv", "--target", "label", "--output", "x.sepc"),
            "no model": run("score", "broken.sepc", "others.csv", "--output", "d.csv"),
            "ragged": run("fit", "ragged.csv", "--target", "b", "--output", "x.sepc"),
            "unknown option": run("fit", "loans.csv", *fit, "--depth", "3"),
            "risk": run("fit", "loans.csv", *fit, "--max-risk", "2"),
            "row": run("explain", "m.sepc", "others.csv", "--row", "100000"),
        }
