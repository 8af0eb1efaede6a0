"""Names and cells that would act on whoever looks at them: in a spreadsheet, and on a terminal."""

import csv
import io
import json
import os
import pty
import re
import subprocess

import numpy as np
import pytest
from command_runs import command
from optional import package_or_skip

from sepc import SEPClassifier, save

pa, pd = package_or_skip("pyarrow"), package_or_skip("pandas")

FEATURES = ["mean radius", "mean texture", "worst area"]
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x")', "-", "+49 170", "＝1"]
HARMLESS = ["-12.5", "+3", "-1e-7", ".5", "a=b", "x-y", "'=1", "", "007", "ü"]


@pytest.fixture
def formulas(folder, wdbc, tmp_path):
    """A model whose labels are formulas, and a table with formulas in a column that is called by one."""
    save(
        SEPClassifier().fit(wdbc[FEATURES], np.where(wdbc["target"] == "benign", "=well", "-ill")), tmp_path / "m.sepc"
    )
    cells = FORMULAS + HARMLESS
    table = wdbc[FEATURES][: len(cells)].assign(**{"=name": cells})
    table.to_csv(tmp_path / "table.csv", index=False, quoting=csv.QUOTE_ALL)
    table.to_parquet(tmp_path / "table.parquet")
    return tmp_path


def read_back(path):
    """The names, the cells of the first column and the labels of a file of decisions."""
    if path.suffix == ".parquet":
        found = pd.read_parquet(path)
        return list(found.columns), [cell or "" for cell in found.iloc[:, 0]], set(found["label"])
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = list(csv.reader(file))
    return names, [row[0] for row in rows], {row[1] for row in rows}


@pytest.mark.parametrize("data", ["table.csv", "table.parquet"])
def test_a_spreadsheet_runs_no_cell_unless_asked_for(data, formulas, run):
    guarded = [f"'{cell}" for cell in FORMULAS]
    for output, more, mark, cells in (
        ("out.csv", [], "'", guarded),
        ("out.csv", ["--raw-cells"], "", FORMULAS),
        ("out.parquet", [], "", FORMULAS),
    ):
        words = ["score", formulas / "m.sepc", formulas / data, "--copy", "=name", "--output", formulas / output]
        ran = run(*words, *more)
        assert (ran.code, ran.err) == (0, "")
        names, found, labels = read_back(formulas / output)
        assert names[:2] == [f"{mark}=name", "label"]
        assert found == cells + HARMLESS
        assert labels <= {f"{mark}=well", f"{mark}-ill"}


def test_two_columns_stay_two(folder, wdbc, tmp_path, run):
    """Also if only the apostrophe tells their names apart."""
    table = wdbc[FEATURES][:2].assign(**{"=a": ["p", "q"], "'=a": ["r", "s"]})
    table.to_csv(tmp_path / "two.csv", index=False)
    words = ["score", folder / "model.sepc", tmp_path / "two.csv", "--copy", "=a,'=a", "--output", tmp_path / "o.csv"]
    assert run(*words).code == 0
    with (tmp_path / "o.csv").open(encoding="utf-8") as file:
        assert [row[:2] for row in csv.reader(file)][1:] == [["p", "r"], ["q", "s"]]


# A title for the window, clear the screen, writing from right to left, and a line of its own.
HIDDEN = "\x1b]0;t\x07\x1b[2J\u202egpj\x9b1m\u2066\x7f\r\nFORGED line"
SEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hidden(wdbc, tmp_path_factory):
    """A directory, a table and models in which every name holds characters that act on a terminal."""
    place = tmp_path_factory.mktemp("names") / "fol\x1b[31mder"
    place.mkdir()
    X, ward = wdbc[FEATURES], np.where(wdbc["ward"] == "north", "no\x1b[1mrth", f"so{HIDDEN}")
    table = X.set_axis([f"{name}{HIDDEN}" for name in FEATURES], axis=1)
    table = table.assign(**{f"ward{HIDDEN}": ward, f"target{HIDDEN}": wdbc["target"] + HIDDEN})
    table.to_csv(place / "table.csv", index=False)
    return place


def quoted(*names):
    text = io.StringIO()
    csv.writer(text).writerow(names)
    return text.getvalue().removesuffix("\r\n")


def csv_names(path):
    with path.open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file))


def texts_in(document):
    """All texts of a JSON document, one after the other."""
    if isinstance(document, dict):
        return "".join(map(texts_in, [*document, *document.values()]))
    return "".join(map(texts_in, document)) if isinstance(document, list) else str(document)


@pytest.mark.slow
def test_no_name_acts_on_the_terminal(hidden, run):
    """Every command that prints, in words and as JSON, and lines that only a name could have made."""
    table, target, ward = hidden / "table.csv", f"target{HIDDEN}", f"ward{HIDDEN}"
    labelled = [table, "--target", target]
    runs = [
        ["landscape", *labelled, "--drop", quoted(ward)],
        ["fit", *labelled, "--drop", quoted(ward), "--test-size", "0.3", "--output", hidden / "plain.sepc"],
        ["fit", *labelled, "--by", quoted(ward), "--output", hidden / "strata.sepc"],
        ["fit", *labelled, "--drop", quoted(ward), "--max-risk", "0.2", "--output", hidden / "promise.sepc"],
        ["report", *labelled, "--by", quoted(ward), "--text"],
    ]
    for model in ("plain", "strata", "promise"):
        path = hidden / f"{model}.sepc"
        runs += [
            ["score", path, table, "--output", hidden / f"{model}.csv"],
            ["explain", path, table, "--worst", "40"],
            ["report", *labelled, "--model", path, "--text"],
            ["inspect", path],
        ]
    path, watch, queue = hidden / "plain.sepc", hidden / "watch.sepc", hidden / "queue.sepc"
    table_of = pd.read_csv(table, dtype=str).set_axis(csv_names(table), axis=1)
    moved = table_of.assign(**{f"{FEATURES[0]}{HIDDEN}": "99"})
    moved.to_csv(hidden / "moved.csv", index=False, lineterminator="\r\n")
    chosen = ["--budget", "20", "--copy", quoted(ward), "--output", hidden / "asked.csv"]
    runs += [
        ["monitor", path, hidden / "moved.csv", "--state", watch, "--reference", table],
        ["monitor", path, "--state", watch],
        ["review", path, table, "--state", queue, *chosen],
        ["review", path, "--state", queue],
        ["audit", path, *labelled[:1], "--target", target, "--fdr", "0.9"],
        ["repair", path, *labelled[:1], "--target", target, "--output", hidden / "repaired.sepc"],
        ["score", path, table, "--target", target, "--monitor", watch, "--output", hidden / "compared.csv"],
    ]
    for words in runs:
        ran = run(*words)
        assert ran.code in (0, 3), ran.err
        assert SEEN.findall(ran.out + ran.err) == []
        assert [line for line in ran.out.splitlines() if line.startswith("FORGED")] == []
        told = run(*words, "--json")
        assert SEEN.findall(told.out) == []
        assert words[0] not in ("landscape", "fit", "inspect") or HIDDEN in texts_in(json.loads(told.out))


def test_no_name_acts_on_the_terminal_from_an_error(hidden, run, refused):
    table, output = hidden / "table.csv", ["--output", hidden / "m.sepc"]
    fit = ["fit", table, "--target", f"target{HIDDEN}", "--drop", quoted(f"ward{HIDDEN}")]
    assert run(*fit, "--output", hidden / "known.sepc").code == 0
    for words, said in (
        (["fit", table, "--target", f"tar{HIDDEN}", *output], "Did you mean"),
        (["fit", table, "--target", f"target{HIDDEN}", "--features", quoted(f"no{HIDDEN}"), *output], "has no"),
        (["fit", table, "--target", "t", "--features", f"no{HIDDEN}", *output], "not a list"),
        (["fit", hidden / f"no{HIDDEN}.csv", "--target", "t", *output], "does not exist"),
        (["inspect", table], "not a sepc model"),
        (["monitor", hidden / "known.sepc", table, "--state", hidden / f"no{HIDDEN}"], "does not exist yet"),
        (["review", hidden / "known.sepc", "--state", hidden / f"no{HIDDEN}"], "does not exist yet"),
        (["audit", hidden / "known.sepc", table, "--target", f"tar{HIDDEN}"], "Did you mean"),
        ([f"gu{HIDDEN}ess"], "invalid choice"),
    ):
        line = refused(*words)
        assert said in line
        assert SEEN.findall(line) == []


def test_decisions_on_a_terminal_hold_nothing_that_acts(folder, wdbc, tmp_path):
    """A pipe gets every cell as it is; a terminal does not."""
    wdbc[FEATURES][:3].assign(note=HIDDEN).to_csv(tmp_path / "notes.csv", index=False)
    words = command("score", folder / "model.sepc", tmp_path / "notes.csv", "--copy", "note", "--output", "-")
    piped = subprocess.run(words, capture_output=True, check=True).stdout.decode()
    assert HIDDEN in piped
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        seen = b""
        while data := _read(ours):
            seen += data
    assert process.returncode == 0
    assert b"\\x1b]0;t" in seen
    assert SEEN.findall(seen.decode().replace("\r\n", "\n")) == []


def _read(handle):
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux, when the other end is closed
        return b""
