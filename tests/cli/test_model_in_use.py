"""A model in use, by the command: what `monitor`, `review`, `audit` and `repair` say is what the library says."""

import json

import numpy as np
import pytest
from command_runs import complaint, run_apart, run_here
from optional import package_or_skip
from sklearn.frozen import FrozenEstimator

from sepc import SelectiveClassifier, SEPClassifier, load, save
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair

pd, pa = package_or_skip("pandas"), package_or_skip("pyarrow")

ALARM = 3
NAMES = ["left", "up"]


def square(n, seed, *, corner=False, shift=0.0):
    """Rows of a square with their side as label; with `corner`, a corner of it has changed sides."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(n, 2)), columns=NAMES)
    table["side"] = np.where(table["left"] > 0.0, "right", "wrong")
    if corner:
        table.loc[(table[NAMES] - 0.5).abs().max(axis=1) < 0.25, "side"] = "wrong"
    return table.assign(left=table["left"] + shift)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A directory with a model, its reference, quiet and changed rows."""
    folder = tmp_path_factory.mktemp("in use")
    tables = {
        "train": square(1000, 0),
        "reference": square(1500, 1),
        "quiet": square(400, 2),
        "moved": square(400, 3, shift=0.8),
        "changed": square(1500, 4, corner=True),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    tables["changed"].to_parquet(folder / "changed.parquet", index=False)
    model = SEPClassifier().fit(tables["train"][NAMES], tables["train"]["side"].to_numpy())
    save(model, folder / "model.sepc")
    return folder


def table_of(path):
    table = pd.read_csv(path)
    return table[NAMES], table["side"].to_numpy()


@pytest.fixture
def started(place, tmp_path, capsys):
    """The words of a monitor that has its reference, with labels."""
    state = tmp_path / "watch.sepc"
    words = ["monitor", place / "model.sepc", "--state", state]
    ran = run_here(capsys, *words, "--reference", place / "reference.csv", "--target", "side")
    assert (ran.code, ran.err) == (0, "")
    assert "no rows counted yet" in ran.out
    return words


def test_a_quiet_day_is_0_and_an_alarm_3(place, started):
    """In processes of their own, as a scheduler runs them."""
    quiet = run_apart(*started, place / "quiet.csv", "--target", "side")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout == "400 rows counted; 400 rows so far. No alarm.\n"
    assert run_apart(*started).returncode == 0
    moved = run_apart(*started, place / "moved.csv")
    assert (moved.returncode, moved.stderr) == (ALARM, "")
    assert "400 rows counted; 800 rows so far." in moved.stdout
    assert "left" in moved.stdout
    standing = run_apart(*started)
    assert standing.returncode == ALARM
    assert "800 rows" in standing.stdout
    assert run_apart(*started, "--json").returncode == ALARM


def test_the_state_is_that_of_the_library(place, started, capsys):
    """Row for row and alarm for alarm, and Python goes on where the command stopped."""
    model = load(place / "model.sepc")
    own = Monitor(model, *table_of(place / "reference.csv"))
    own.update(*table_of(place / "quiet.csv"))
    alarms = own.update(table_of(place / "moved.csv")[0])
    run_here(capsys, *started, place / "quiet.csv", "--target", "side")
    ran = run_here(capsys, *started, place / "moved.csv", "--json")
    told = json.loads(ran.out)
    assert [alarm["region"] for alarm in told["alarms"]] == [alarm.region for alarm in alarms]
    again = Monitor.load(started[-1], model)
    assert again.summary() == own.summary()
    again.save(started[-1])  # from Python, without the command's record
    assert run_here(capsys, *started).out == ran_summary(own)


def ran_summary(monitor):
    return monitor.summary() + "\n"


def test_blocks_are_counted_as_one_table(place, started, capsys, monkeypatch):
    monkeypatch.setattr("sepc.cli.tables.BATCH_ROWS", 70)
    run_here(capsys, *started, place / "quiet.csv", "--target", "side")
    own = Monitor(load(place / "model.sepc"), *table_of(place / "reference.csv"))
    own.update(*table_of(place / "quiet.csv"))
    both = [monitor.evidence() for monitor in (Monitor.load(started[-1], own.model), own)]
    pd.testing.assert_frame_equal(*both)


def test_rows_that_were_counted_are_not_counted_again(place, started, capsys, tmp_path):
    """Whatever the file is called; the answer is that of the first time, and so is the exit code."""
    run_here(capsys, *started, place / "quiet.csv")
    first = run_here(capsys, *started, place / "moved.csv")
    pd.read_csv(place / "moved.csv").to_parquet(tmp_path / "other.parquet")
    second = run_here(capsys, *started, tmp_path / "other.parquet")
    assert (first.code, second.code) == (ALARM, ALARM)
    assert "400 rows were counted before and are not counted again; 800 rows so far." in second.out
    assert second.out.splitlines()[1:] == first.out.splitlines()[1:]
    assert run_here(capsys, *started, place / "quiet.csv").code == 0
    assert "1,200 rows so far" in run_here(capsys, *started, place / "quiet.csv", "--again").out


def test_labels_that_come_later(place, started, capsys, tmp_path):
    run_here(capsys, *started, place / "changed.csv")
    line = complaint(run_here(capsys, *started, place / "changed.csv", "--target", "side"))
    assert "--labels-only" in line
    ran = run_here(capsys, *started, place / "changed.csv", "--target", "side", "--labels-only")
    assert ran.code == ALARM
    assert ran.out.startswith("Labels of 1,500 rows counted; 1,500 rows so far.")
    assert "wrong" in ran.out
    own = Monitor(load(place / "model.sepc"), *table_of(place / "reference.csv"))
    own.update(table_of(place / "changed.csv")[0])
    own.update_labels(*table_of(place / "changed.csv"))
    assert Monitor.load(started[-1], own.model).summary() == own.summary()


def test_rows_without_a_label_count_as_rows(place, started, capsys, tmp_path):
    table = pd.read_csv(place / "quiet.csv")
    table.loc[::2, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    assert run_here(capsys, *started, tmp_path / "some.csv", "--target", "side").code == 0
    own = Monitor(load(place / "model.sepc"), *table_of(place / "reference.csv"))
    own.update(table[NAMES])
    own.update_labels(table[NAMES][1::2], table["side"][1::2].to_numpy())
    pd.testing.assert_frame_equal(Monitor.load(started[-1], own.model).evidence(), own.evidence())


def test_one_line_for_every_day(place, tmp_path, capsys):
    """The reference may stay in the line of a scheduler, as long as it is the same."""
    words = ["monitor", place / "model.sepc", place / "quiet.csv", "--state", tmp_path / "watch.sepc", "--reference"]
    assert run_here(capsys, *words, place / "reference.csv").code == 0
    assert run_here(capsys, *words, place / "reference.csv").code == 0
    line = complaint(run_here(capsys, *words, place / "moved.csv"))
    assert "was started with a reference other than" in line


def test_what_a_monitor_needs(place, tmp_path, capsys):
    words = ["monitor", place / "model.sepc", place / "quiet.csv", "--state", tmp_path / "watch.sepc"]
    assert "start it with --reference FILE" in complaint(run_here(capsys, *words))
    assert "--confidence belongs to --reference" in complaint(run_here(capsys, *words, "--confidence", "0.9"))
    assert "--labels-only adds" in complaint(run_here(capsys, *words, "--labels-only"))
    assert "confidence is 2.0" in complaint(
        run_here(capsys, *words, "--reference", place / "reference.csv", "--confidence", "2")
    )
    assert list(tmp_path.iterdir()) == []
    assert run_here(capsys, *words, "--reference", place / "reference.csv").code == 0
    assert "was started without labels" in complaint(run_here(capsys, *words, "--target", "side"))
    assert "--state" in complaint(run_here(capsys, *words[:-1], place / "model.sepc"))


def test_a_state_of_something_else(place, started, capsys, tmp_path):
    other = SEPClassifier().fit(*table_of(place / "reference.csv"))
    save(other, tmp_path / "other.sepc")
    words = ["monitor", tmp_path / "other.sepc", place / "quiet.csv", "--state"]
    assert "monitor of another model" in complaint(run_here(capsys, *words, started[-1]))
    (tmp_path / "copy.sepc").write_bytes((place / "model.sepc").read_bytes())
    assert "is not a monitor" in complaint(run_here(capsys, *words, tmp_path / "copy.sepc"))
    review = ["review", place / "model.sepc", "--state", started[-1]]
    assert "is not a review queue" in complaint(run_here(capsys, *review))


def test_scores_know_of_alarms(place, started, capsys, tmp_path):
    run_here(capsys, *started, place / "moved.csv")
    words = ["score", place / "model.sepc", place / "moved.csv", "--output", tmp_path / "out.csv"]
    assert run_here(capsys, *words, "--monitor", started[-1]).code == 0
    monitor = Monitor.load(started[-1], load(place / "model.sepc"))
    found, wanted = pd.read_csv(tmp_path / "out.csv"), monitor.decide(table_of(place / "moved.csv")[0])
    assert found["cause"].tolist() == wanted.to_frame()["cause"].tolist()
    assert "DRIFTED" in set(found["cause"])
    assert "does not exist" in complaint(run_here(capsys, *words, "--monitor", tmp_path / "none.sepc"))


def test_scores_are_compared_with_labels(place, capsys, tmp_path):
    words = ["score", place / "model.sepc", place / "changed.csv", "--output", tmp_path / "out.csv", "--target", "side"]
    X, y = table_of(place / "changed.csv")
    decisions = load(place / "model.sepc").decide(X)
    right, accepted = decisions.label == y, decisions.accepted
    facts = json.loads(run_here(capsys, *words, "--json").out)
    assert (facts["labelled"], facts["right"]) == (len(y), right.sum())
    assert (facts["accepted_labelled"], facts["accepted_right"]) == (accepted.sum(), right[accepted].sum())
    table = pd.read_csv(place / "changed.csv")
    table.loc[:9, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    words[2] = tmp_path / "some.csv"
    assert f"{right[10:].mean():.1%}".replace("%", " % of 1,490; ") in run_here(capsys, *words).out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_audit_is_that_of_the_library(suffix, place, tmp_path, capsys):
    data, output = place / f"changed.{suffix}", tmp_path / "regions.csv"
    words = ["audit", place / "model.sepc", data, "--target", "side"]
    ran = run_here(capsys, *words, "--output", output)
    found = audit(load(place / "model.sepc"), *table_of(place / "changed.csv"))
    assert (ran.code, ran.err) == (ALARM, "")
    assert ran.out == f"{found.summary()}\nWritten to {output}\n"
    assert pd.read_csv(output)["region"].tolist() == found.to_frame()["region"].tolist()
    facts = json.loads(run_here(capsys, *words, "--json").out)
    assert (facts["rows"], facts["wrong"]) == (found.n_rows, found.n_errors)
    assert {region["region"] for region in facts["failing_regions"]} == set(found.failing.tolist())
    assert len(facts["clusters"]) == len(found.disjuncts)


def test_pages_to_look_at(place, started, capsys, tmp_path):
    """Of the audit and of the monitor, also where nothing was counted now; and tables of both."""
    audited = ["audit", place / "model.sepc", place / "changed.csv", "--target", "side"]
    for name, words in (("audit", audited), ("monitor", [*started, place / "moved.csv"]), ("standing", started)):
        for suffix in ("html", "csv", "parquet"):
            output = tmp_path / f"{name}.{suffix}"
            ran = run_here(capsys, *words, "--output", output)
            assert (ran.code, ran.err) == (ALARM, "")
            assert ran.out.endswith(f"Written to {output}\n")
        assert (tmp_path / f"{name}.html").read_text().lower().startswith("<!doctype html>")
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(pd.read_parquet(tmp_path / f"{name}.parquet")) > 0
    assert "must end in" in complaint(run_here(capsys, *started, "--output", tmp_path / "page.pdf"))
    assert "is also an input" in complaint(run_here(capsys, *audited, "--output", place / "model.sepc"))


def test_a_quiet_audit_is_0(place):
    ran = run_apart("audit", place / "model.sepc", place / "quiet.csv", "--target", "side", "--fdr", "0.01")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "of 400 rows are wrong" in ran.stdout


def test_feedback_that_is_none(place, tmp_path, capsys, write_csv):
    words = ["audit", place / "model.sepc"]
    empty = write_csv([*NAMES, "side"], *[(0.1 * i, 0.2, "") for i in range(9)])
    assert "holds no labels" in complaint(run_here(capsys, *words, empty, "--target", "side"))
    numbers = write_csv([*NAMES, "side"], *[(0.1 * i, 0.2, i % 2) for i in range(9)], name="numbers.csv")
    line = complaint(run_here(capsys, *words, numbers, "--target", "side"))
    assert "holds 0; the labels of the model are 'right' and 'wrong'" in line
    words += [place / "changed.csv", "--target", "side"]
    assert "fdr is 7.0" in complaint(run_here(capsys, *words, "--fdr", "7"))
    assert "must end in .html, .csv or .parquet" in complaint(run_here(capsys, *words, "--output", "-"))


def test_a_few_rows_without_labels_are_left_out(place, tmp_path, capsys):
    table = pd.read_csv(place / "changed.csv")
    table.loc[:4, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    ran = run_here(capsys, "audit", place / "model.sepc", tmp_path / "some.csv", "--target", "side")
    assert ran.err == f"sepc: warning: left out 5 rows of {tmp_path / 'some.csv'} without a label\n"
    assert "of 1,495 rows are wrong" in ran.out


def test_numbers_in_the_file_may_be_text_in_the_model(place, tmp_path, capsys):
    """A spreadsheet makes numbers of codes, and puts an apostrophe before a minus."""
    table = pd.read_csv(place / "train.csv")
    for name, codes in (("text", {"right": "1", "wrong": "2"}), ("minus", {"right": "-a", "wrong": "=b"})):
        save(SEPClassifier().fit(table[NAMES], table["side"].map(codes).to_numpy()), tmp_path / f"{name}.sepc")
        fresh = pd.read_csv(place / "quiet.csv")
        marked = {own: f"'{code}" if name == "minus" else int(code) for own, code in codes.items()}
        fresh.assign(side=fresh["side"].map(marked)).to_csv(tmp_path / f"{name}.csv", index=False)
        ran = run_here(
            capsys, "audit", tmp_path / f"{name}.sepc", tmp_path / f"{name}.csv", "--target", "side", "--json"
        )
        model, truth = load(tmp_path / f"{name}.sepc"), fresh["side"].map(codes).to_numpy()
        assert json.loads(ran.out)["wrong"] == int((model.predict(fresh[NAMES]) != truth).sum())


@pytest.mark.slow
def test_a_repair_is_that_of_the_library(place, tmp_path, capsys):
    words = ["repair", place / "model.sepc", place / "changed.csv", "--target", "side", "--output"]
    ran = run_here(capsys, *words, tmp_path / "repaired.sepc")
    model, (X, y) = load(place / "model.sepc"), table_of(place / "changed.csv")
    own = repair(model, X, y)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{own.summary()}\nWritten to {tmp_path / 'repaired.sepc'}\n"
    fresh = square(1500, 9, corner=True)
    repaired = load(tmp_path / "repaired.sepc")
    np.testing.assert_array_equal(repaired.decide(fresh[NAMES]).trust, own.decide(fresh[NAMES]).trust)
    assert repaired.score(fresh[NAMES], fresh["side"]) > model.score(fresh[NAMES], fresh["side"]) + 0.02
    assert "is also an input" in complaint(run_here(capsys, *words, place / "model.sepc"))


def test_a_repair_of_moved_columns_stops_unless_told_to_go_on(place, tmp_path, capsys):
    rows = square(300, 9, corner=True)
    rows.assign(**{NAMES[0]: 1000.0 * rows[NAMES[0]]}).to_csv(tmp_path / "moved.csv", index=False)
    words = [
        "repair",
        place / "model.sepc",
        tmp_path / "moved.csv",
        "--target",
        "side",
        "--output",
        tmp_path / "r.sepc",
    ]
    told = complaint(run_here(capsys, *words))
    assert f"{NAMES[0]} moved: " in told
    assert "Probably multiplied by 1,000" in told
    assert "--despite-moved-columns" in told
    assert not (tmp_path / "r.sepc").exists()
    assert run_here(capsys, *words, "--despite-moved-columns").code == 0


@pytest.mark.slow
def test_a_repair_with_training_rows(place, tmp_path, capsys):
    words = ["repair", place / "model.sepc", place / "changed.csv", "--target", "side", "--training"]
    ran = run_here(capsys, *words, place / "train.csv", "--output", tmp_path / "r.sepc")
    old = dict(zip(("X_train", "y_train"), table_of(place / "train.csv"), strict=True))
    own = repair(load(place / "model.sepc"), *table_of(place / "changed.csv"), **old)
    assert ran.out.startswith(own.summary())


def test_nothing_to_repair(place, tmp_path, capsys):
    words = ["repair", place / "model.sepc", place / "quiet.csv", "--target", "side", "--output", tmp_path / "r.sepc"]
    ran = run_here(capsys, *words)
    assert ran.code == 0
    X, _ = table_of(place / "quiet.csv")
    repaired = load(tmp_path / "r.sepc")
    if not json.loads(run_here(capsys, *words, "--json").out)["changes"]:
        np.testing.assert_array_equal(repaired.decide(X).trust, load(place / "model.sepc").decide(X).trust)


@pytest.fixture
def asked(place, tmp_path, capsys):
    """A review of the quiet rows, and its words without them."""
    words = ["review", place / "model.sepc", "--state", tmp_path / "queue.sepc"]
    more = ["--budget", "60", "--copy", "side", "--seed", "0", "--output", tmp_path / "asked.csv"]
    ran = run_here(capsys, *words, place / "quiet.csv", *more)
    assert (ran.code, ran.err) == (0, "")
    return words, more, ran


def test_a_review_is_that_of_the_library(place, asked, tmp_path, capsys):
    words, _, ran = asked
    model, (X, y) = load(place / "model.sepc"), table_of(place / "quiet.csv")
    queue = ReviewQueue(model, 60, random_state=0)
    review = queue.choose(X)
    assert ran.out == f"{review.summary()}\nWritten to {tmp_path / 'asked.csv'}\n"
    sheet = pd.read_csv(tmp_path / "asked.csv")
    assert sheet["row"].tolist() == (review.positions + 1).tolist()
    assert sheet["side"].tolist() == y[review.positions].tolist()
    assert sheet["label"].tolist() == review.label.tolist()
    assert sheet["reason"].tolist()[0] == model.decide(X.iloc[[review.positions[0]]]).why(0)
    assert sheet["true_label"].isna().all()
    sheet.assign(true_label=sheet["side"]).to_csv(tmp_path / "asked.csv", index=False)
    learnt = run_here(capsys, *words, "--labels", tmp_path / "asked.csv")
    certificate = queue.learn(review, y[review.positions])
    assert (learnt.code, learnt.err) == (0, "")
    assert learnt.out == f"60 labels learned. {certificate.summary()}\n"
    assert run_here(capsys, *words).out == f"{certificate.summary()}\n"
    assert ReviewQueue.load(words[-1], model).summary() == certificate.summary()


def test_labels_in_any_order_and_a_few_at_a_time(place, asked, tmp_path, capsys):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv")[::-1]
    sheet["true_label"] = np.where(np.arange(60) < 20, None, sheet["side"])
    sheet.to_csv(tmp_path / "some.csv", index=False)
    ran = run_here(capsys, *words, "--labels", tmp_path / "some.csv")
    assert ran.out.startswith("40 labels learned.")
    assert "Still open: 1 review" in ran.out
    ran = run_here(capsys, *words, "--labels", tmp_path / "asked.csv", "--target", "side", "--json")
    assert json.loads(ran.out)["open_reviews"] == []
    assert json.loads(ran.out)["certificate"]["n_errors"] == 0
    line = complaint(run_here(capsys, *words, "--labels", tmp_path / "asked.csv", "--target", "side"))
    assert "review 1, which is not open; open reviews: none" in line


def test_rows_that_a_person_cannot_decide(asked, tmp_path, capsys):
    words, _, _ = asked
    assert "is empty; fill in labels" in complaint(run_here(capsys, *words, "--labels", tmp_path / "asked.csv"))
    ran = run_here(capsys, *words, "--labels", tmp_path / "asked.csv", "--complete", "--json")
    certificate = json.loads(ran.out)["certificate"]
    assert certificate["n_errors"] == certificate["n_labels"] > 0


def test_a_slip_of_the_pen_is_no_error_of_the_model(asked, tmp_path, capsys):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv").astype({"true_label": object})
    for name, cell in (("slip", "rihgt"), ("new", "neither")):
        sheet.loc[0, "true_label"] = cell
        sheet.to_csv(tmp_path / f"{name}.csv", index=False)
    line = complaint(run_here(capsys, *words, "--labels", tmp_path / "slip.csv"))
    assert "holds 'rihgt'; the labels of the model are 'right' and 'wrong'. Did you mean 'right'?" in line
    assert run_here(capsys, *words, "--labels", tmp_path / "new.csv", "--other", "neither").code == 0


@pytest.mark.parametrize(
    ("column", "cells", "said"),
    [
        ("row", ["its own", 10_000], "column 'row' holds 10000, which is not in review 1"),
        ("row", ["x", "y"], "'x' is not a number"),
        ("row", [1.5, 2], "leave it as sepc review wrote it"),
        ("review", [7, 7], "review 7, which is not open; open reviews: 1"),
        ("review", [None, 1], "leave it as sepc review wrote it"),
    ],
)
def test_a_sheet_that_was_changed(column, cells, said, asked, tmp_path, capsys):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv")[:2].astype({"true_label": object, column: object})
    cells = [own if cell == "its own" else cell for cell, own in zip(cells, sheet[column], strict=True)]
    sheet["true_label"], sheet[column] = ["right", "right"], cells
    sheet.to_csv(tmp_path / "changed.csv", index=False)
    before = (tmp_path / "queue.sepc").read_bytes()
    assert said in complaint(run_here(capsys, *words, "--labels", tmp_path / "changed.csv"))
    assert (tmp_path / "queue.sepc").read_bytes() == before


def test_a_row_twice(asked, tmp_path, capsys):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv")
    pd.concat([sheet, sheet[:1]]).to_csv(tmp_path / "twice.csv", index=False)
    line = complaint(run_here(capsys, *words, "--labels", tmp_path / "twice.csv", "--target", "side"))
    assert "holds a row of review 1 twice" in line


def test_rows_are_offered_once(place, asked, tmp_path, capsys):
    words, more, _ = asked
    written = (tmp_path / "asked.csv").read_bytes()
    ran = run_here(capsys, *words, place / "quiet.csv", *more)
    assert (ran.code, "is unchanged" in ran.out) == (0, True)
    (tmp_path / "asked.csv").unlink()
    assert run_here(capsys, *words, place / "quiet.csv", *more).code == 0
    assert (tmp_path / "asked.csv").read_bytes() == written
    assert "a person may have filled it in" in complaint(run_here(capsys, *words, place / "moved.csv", *more))
    assert (tmp_path / "asked.csv").read_bytes() == written
    run_here(capsys, *words, "--labels", tmp_path / "asked.csv", "--target", "side")
    (tmp_path / "asked.csv").unlink()
    assert "has all its labels" in complaint(run_here(capsys, *words, place / "quiet.csv", *more))


def test_the_model_can_be_hidden(place, asked, tmp_path, capsys):
    words, more, _ = asked
    output = tmp_path / "blind.parquet"
    ran = run_here(capsys, *words, place / "moved.csv", *more[:-1], output, "--hide-model")
    assert ran.code == 0
    sheet = pd.read_parquet(output)
    assert list(sheet.columns) == ["review", "row", "side", "purpose", "true_label"]
    assert set(sheet["review"]) == {2}
    assert run_here(capsys, *words, "--labels", output, "--target", "side").code == 0


def test_what_a_review_needs(place, tmp_path, capsys, write_csv):
    words = ["review", place / "model.sepc", "--state", tmp_path / "queue.sepc"]
    output, rows = ["--output", tmp_path / "asked.csv"], place / "quiet.csv"
    for more, said in (
        ([], "does not exist yet; choose rows first"),
        (output, "give DATA"),
        ([rows], "Give --output FILE"),
        ([rows, *output], "Give --budget N"),
        ([rows, *output, "--budget", "0"], "is not a whole number of at least 1"),
        ([rows, *output, "--budget", "5", "--max-risk", "3"], "max_risk is 3.0"),
        ([rows, *output, "--labels", rows], "not both at once"),
        ([rows, *output, "--complete"], "are only for --labels"),
        ([rows, "--output", tmp_path / "asked.docx", "--budget", "5"], "must end in .csv or .parquet"),
        ([rows, *output, "--budget", "5", "--copy", "none"], "has no column 'none'"),
        ([write_csv(NAMES, *[(0.1, 0.2)] * 20), *output, "--budget", "5"], "In this command, give --reference FILE"),
    ):
        assert said in complaint(run_here(capsys, *words, *more))
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    few = [tmp_path / "table.csv", *output, "--budget", "5", "--reference", place / "reference.csv"]
    assert run_here(capsys, *words, *few, "--max-risk", "0.1").code == 0
    line = complaint(run_here(capsys, *words, rows, *output, "--max-risk", "0.2"))
    assert "was started with --max-risk 0.1" in line
    same = [rows, "--output", tmp_path / "next.csv", "--reference"]
    assert "was started with a reference other than" in complaint(run_here(capsys, *words, *same, rows))
    assert run_here(capsys, *words, *same, place / "reference.csv").code == 0


@pytest.mark.slow_cases("repaired")
@pytest.mark.parametrize("kind", ["selective", "repaired", "no names"])
def test_other_models(kind, place, tmp_path, capsys):
    """Wrappers, repaired models, and models that know no names."""
    inner, (X, y) = load(place / "model.sepc"), table_of(place / "changed.csv")
    model = {
        "selective": lambda: SelectiveClassifier(FrozenEstimator(inner), 0.2).fit(*table_of(place / "reference.csv")),
        "repaired": lambda: repair(inner, X, y),
        "no names": lambda: SEPClassifier().fit(X.to_numpy(), y),
    }[kind]()
    save(model, tmp_path / "m.sepc")
    state, queue = tmp_path / "watch.sepc", tmp_path / "queue.sepc"
    features = ["--features", ",".join(NAMES)] if kind == "no names" else []
    for words in (
        ["monitor", place / "quiet.csv", "--state", state, "--reference", place / "reference.csv"],
        ["audit", place / "quiet.csv", "--target", "side"],
        ["review", place / "quiet.csv", "--state", queue, "--budget", "9", "--output", tmp_path / "a.csv"],
        ["score", place / "quiet.csv", "--target", "side", "--output", tmp_path / "s.csv", "--monitor", state],
    ):
        ran = run_here(capsys, words[0], tmp_path / "m.sepc", *words[1:], *features)
        assert (ran.code in (0, ALARM), ran.err) == (True, "")


def test_help_has_an_example(capsys):
    for name in ("monitor", "review", "audit", "repair"):
        out = run_here(capsys, name, "--help").out
        assert f"  sepc {name} model.sepc" in out
        assert "exit code" in out
