"""Every command, for every kind of column, number of classes and kind of model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec
from matrix_cells import COLUMNS, LABELS, flaw, name_of_column, refusal, rows
from optional import package_or_skip

from sepc.cli import main
from sepc.cli.entry import COMMANDS, TRACEBACK_VARIABLE

pd = package_or_skip("pandas")

MODELS = {
    "weights": (),
    "counts": ("--trust", "counts"),
    "published": ("--trust", "published", "--no-rows"),
    "a promise": ("--max-risk", "0.4", "--confidence", "0.6"),
    "by a column": ("--by", "BY"),
    "balanced": ("--class-weight", "balanced", "--test-size", "0.3"),
}
HALVES = COLUMNS[::2], COLUMNS[1::2]
CELLS = [
    (model, n_classes, HALVES[i % 2])
    for i, (model, n_classes) in enumerate(zip(MODELS, (*LABELS, *list(LABELS)[1:], 2), strict=True))
]
# Commands that say no for a reason, and the reason.
REFUSED = """
explain: Missing values: .* Recourse needs a complete row
explain: Recourse searches the ellipsoids of one partition
(monitor|repair): .* a? ?RoutedClassifier has none
monitor: watch.sepc does not exist yet
export: SEPClassifier with trust='(counts|published)' cannot be exported
export: RoutedClassifier cannot be exported
forget: These are not the rows that the model was fitted to
verify-receipt: receipt.json does not exist
"""
REFUSED_HERE = re.compile("|".join(REFUSED.strip().splitlines()) or "$^")
PLAN = """
version = 1
title = "Refits"
may_change = ["model", "threshold"]
[rows]
key = "sixteen or more letters"
{rows}
[candidates]
most = 2
[[criteria]]
kind = "changed"
margin = 0.2
level = 0.05
"""


def lines(n_classes: int, options: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of every command; each begins with its name."""
    model, new = "model.sepc", ("new.csv", "--target", "outcome")
    label = str(LABELS[n_classes][0])
    letter = "--organisation", "Bank", "--model-name", "Loans", "--contact", "A. Wu"
    erased = "--table", "train.csv", "--target", "outcome", "--rest", "rest.csv"
    yield "look", "train.csv", "--target", "outcome"
    yield "landscape", "train.csv", "--target", "outcome"
    yield "fit", "train.csv", "--target", "outcome", "--output", model, *options
    yield "inspect", model
    yield "inspect", model, "--bill"
    yield "inspect", model, "--history"
    yield "score", model, *new, "--output", "scored.csv"
    yield "explain", model, "new.csv", "--worst", "2"
    yield "explain", model, "new.csv", "--row", "1", "--recourse", "--to", label
    yield "explain", model, "new.csv", "--row", "1", "--letter", *letter
    yield "report", *new, "--model", model, "--output", "report.html"
    yield "report", "train.csv", "--target", "outcome", "--text", *options
    yield "monitor", model, "--state", "watch.sepc", "--reference", "new.csv", "--target", "outcome"
    yield "monitor", model, "new.csv", "--state", "watch.sepc"
    yield "review", model, "new.csv", "--state", "queue.sepc", "--budget", "5", "--output", "asked.csv"
    yield "audit", model, *new
    yield "repair", model, *new, "--output", "repaired.sepc", "--despite-moved-columns"
    yield "diff", model, model, *new
    yield "check-plan", "plan.toml", model, model, *new, "--digest"
    yield "check-plan", "plan.toml", model, model, *new
    yield "counts", model, *new, "--output", "site.json"
    yield "certify", model, "site.json", "--max-risk", "0.4", "--output", "certified.sepc"
    yield "export", model, "--output", "model.onnx"
    yield "export", model, "--output", "model.sql", "--dialect", "duckdb", "--table", "rows"
    yield "forget", model, "--rows", "ids.csv", *erased, "--output", "left.sepc", "--receipt", "receipt.json"
    yield "verify-receipt", "receipt.json", "left.sepc", "rest.csv", "--no-refit"
    yield "sign", model, "--key", "private.pem"
    yield "verify", model, "--key", "public.pem"
    yield "completion", "bash"


def write_tables(columns: Any, n_classes: int) -> None:
    """The tables that the commands read, and a plan and keys, in the current folder."""
    for name, n, seed in (("train", 120, 0), ("new", 312, 1)):
        table, y = rows(columns, n_classes, n, seed)
        table.assign(outcome=y).to_csv(f"{name}.csv", index=False)
    pd.DataFrame({"row": [3, 4]}).to_csv("ids.csv", index=False)
    Path("plan.toml").write_text(PLAN.format(rows=""))
    private = ec.generate_private_key(ec.SECP256R1())
    plain = pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
    Path("private.pem").write_bytes(private.private_bytes(*plain))
    public = private.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    Path("public.pem").write_bytes(public)


def never(constant: str) -> None:
    raise AssertionError(f"the JSON holds {constant}")


def fault(words: tuple[str, ...], as_json: bool, capsys: Any) -> str | None:
    """What is wrong with what a command prints or with its error, if anything."""
    capsys.readouterr()
    try:
        code = main([*words, *(["--json"] if as_json and "--digest" not in words else [])])
    except Exception as error:  # noqa: BLE001 - any error is to be judged
        said = refusal(error)
        known = said is not None and REFUSED_HERE.search(f"{words[0]}: {said}")
        return None if known else f"{type(error).__name__}: {error}"
    out, err = capsys.readouterr()
    if code not in (0, 3):
        return f"exit code {code}: {err}"
    if words[-1] == "--digest":
        Path("plan.toml").write_text(PLAN.format(rows=out))
    elif as_json and words[0] != "completion":
        json.loads(out, parse_constant=never)
    return flaw(out) or flaw(err)


@pytest.mark.quick_cases("weights*", "counts*")  # every kind of column, and every command with JSON and without
@pytest.mark.parametrize("cell", CELLS, ids=[f"{model}, {n_classes} classes" for model, n_classes, _ in CELLS])
def test_every_command_gives_an_answer_or_says_why_not(cell, tmp_path, capsys, monkeypatch):
    model, n_classes, columns = cell
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    write_tables(columns, n_classes)
    by = next(name_of_column(*one) for one in columns if one[0] == "category")
    options = tuple(by if word == "BY" else word for word in MODELS[model])
    every = list(lines(n_classes, options))
    assert {words[0] for words in every} == set(COMMANDS)
    odd = CELLS.index(cell) % 2  # every other command prints JSON, and the others do in the next cell
    found = {" ".join(words): fault(words, i % 2 == odd, capsys) for i, words in enumerate(every)}
    faults = [f"sepc {words}: {said}" for words, said in found.items() if said]
    assert not faults, f"{len(faults)} of {len(every)} commands:\n" + "\n".join(faults)
