"""A model in use, by the command: what `monitor`, `review`, `audit` and `repair` say is what the library says."""

import numpy as np
import pytest
from command_runs import run_apart
from optional import package_or_skip

from sepc import SEPClassifier, load, save
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
def started(place, tmp_path, run):
    """The words of a monitor that has its reference, with labels."""
    words = ["monitor", place / "model.sepc", "--state", tmp_path / "watch.sepc"]
    ran = run(*words, "--reference", place / "reference.csv", "--target", "side")
    assert (ran.code, ran.err) == (0, "")
    assert "no rows" in ran.out
    return words


@pytest.fixture
def own(place):
    """The monitor of the library with the same reference."""
    return Monitor(load(place / "model.sepc"), *table_of(place / "reference.csv"))


def test_a_quiet_day_is_0_and_an_alarm_3(place, started):
    """In processes of their own, as a scheduler runs them."""
    quiet = run_apart(*started, place / "quiet.csv", "--target", "side")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert quiet.stdout.startswith("400 rows")
    moved = run_apart(*started, place / "moved.csv")
    assert (moved.returncode, moved.stderr) == (ALARM, "")
    assert "800 rows" in moved.stdout
    assert "left" in moved.stdout
    standing = run_apart(*started)
    assert standing.returncode == ALARM
    assert "800 rows" in standing.stdout


def test_the_state_is_that_of_the_library(place, started, own, run, facts, monkeypatch):
    """Row for row and alarm for alarm, also in blocks, and Python goes on where the command stopped."""
    own.update(*table_of(place / "quiet.csv"))
    with monkeypatch.context() as patch:
        patch.setattr("sepc.tables.files.BATCH_ROWS", 70)
        run(*started, place / "quiet.csv", "--target", "side")
    again = Monitor.load(started[-1], own.model)
    pd.testing.assert_frame_equal(again.evidence(), own.evidence())
    alarms = own.update(table_of(place / "moved.csv")[0])
    told = facts(*started, place / "moved.csv")
    assert [alarm["region"] for alarm in told["alarms"]] == [alarm.region for alarm in alarms]
    again = Monitor.load(started[-1], own.model)
    assert again.summary() == own.summary()
    again.save(started[-1])  # from Python, without the command's record
    assert run(*started).out == own.summary() + "\n"


def test_rows_that_were_counted_are_not_counted_again(place, started, run, tmp_path, monkeypatch):
    """Whatever the file is called and in which blocks it is read; the answer and the exit code stay those of then."""
    run(*started, place / "quiet.csv")
    first = run(*started, place / "moved.csv")
    moved = pd.read_csv(place / "moved.csv")
    moved.to_parquet(tmp_path / "other.parquet")
    monkeypatch.setattr("sepc.tables.files.BATCH_ROWS", 70)
    second = run(*started, tmp_path / "other.parquet")
    assert (first.code, second.code) == (ALARM, ALARM)
    assert "again" in second.out
    assert second.out.splitlines()[1:] == first.out.splitlines()[1:]
    assert run(*started, place / "quiet.csv").code == 0
    assert "1,200 rows" in run(*started, place / "quiet.csv", "--again").out
    changed = (
        moved[::-1],
        moved.assign(up=moved["up"][::-1].to_numpy()),
        moved.set_axis(["up", "left", "side"], axis=1),
    )
    for i, other in enumerate(changed):
        other.to_csv(tmp_path / "other.csv", index=False)
        assert f"{1600 + 400 * i:,} rows" in run(*started, tmp_path / "other.csv").out


def test_labels_that_come_later_or_not_at_all(place, started, own, run, refused, tmp_path):
    changed = [*started, place / "changed.csv"]
    run(*changed)
    own.update(table_of(place / "changed.csv")[0])
    assert "--labels-only" in refused(*changed, "--target", "side")
    ran = run(*changed, "--target", "side", "--labels-only")
    assert ran.code == ALARM
    assert ran.out.startswith("Labels of 1,500 rows")
    own.update_labels(*table_of(place / "changed.csv"))
    assert Monitor.load(started[-1], own.model).summary() == own.summary()
    table = pd.read_csv(place / "quiet.csv")
    table.loc[::2, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    run(*started, tmp_path / "some.csv", "--target", "side")
    own.update(table[NAMES])
    own.update_labels(table[NAMES][1::2], table["side"][1::2].to_numpy())
    pd.testing.assert_frame_equal(Monitor.load(started[-1], own.model).evidence(), own.evidence())


def test_what_a_monitor_needs(place, tmp_path, run, refused):
    words = ["monitor", place / "model.sepc", place / "quiet.csv", "--state", tmp_path / "watch.sepc"]
    reference = ["--reference", place / "reference.csv"]
    for more, said in (
        ([], "--reference FILE"),
        (["--confidence", "0.9"], "--reference"),
        (["--labels-only"], "--labels-only"),
        ([*reference, "--confidence", "2"], "confidence is 2.0"),
    ):
        assert said in refused(*words, *more)
    assert list(tmp_path.iterdir()) == []
    for _ in range(2):  # The reference may stay in the line of a scheduler, as long as it is the same.
        assert run(*words, *reference).code == 0
    assert "reference other" in refused(*words, "--reference", place / "moved.csv")
    assert "without labels" in refused(*words, "--target", "side")
    assert "--state" in refused(*words[:-1], place / "model.sepc")


def test_a_state_of_something_else(place, started, refused, tmp_path):
    save(SEPClassifier().fit(*table_of(place / "reference.csv")), tmp_path / "other.sepc")
    words = ["monitor", tmp_path / "other.sepc", place / "quiet.csv", "--state"]
    assert "another model" in refused(*words, started[-1])
    (tmp_path / "copy.sepc").write_bytes((place / "model.sepc").read_bytes())
    assert "a monitor" in refused(*words, tmp_path / "copy.sepc")
    assert "review queue" in refused("review", place / "model.sepc", "--state", started[-1])


def test_scores_know_of_alarms(place, started, run, refused, tmp_path):
    run(*started, place / "moved.csv")
    words = ["score", place / "model.sepc", place / "moved.csv", "--output", tmp_path / "out.csv"]
    assert run(*words, "--monitor", started[-1]).code == 0
    monitor = Monitor.load(started[-1], load(place / "model.sepc"))
    found, wanted = pd.read_csv(tmp_path / "out.csv"), monitor.decide(table_of(place / "moved.csv")[0])
    assert found["cause"].tolist() == wanted.to_frame()["cause"].tolist()
    assert "DRIFTED" in set(found["cause"])
    assert "does not exist" in refused(*words, "--monitor", tmp_path / "none.sepc")


def test_scores_are_compared_with_labels(place, run, facts, tmp_path):
    words = ["score", place / "model.sepc", place / "changed.csv", "--output", tmp_path / "out.csv", "--target", "side"]
    X, y = table_of(place / "changed.csv")
    decisions = load(place / "model.sepc").decide(X)
    right, accepted = decisions.label == y, decisions.accepted
    told = facts(*words)
    assert (told["labelled"], told["right"]) == (len(y), right.sum())
    assert (told["accepted_labelled"], told["accepted_right"]) == (accepted.sum(), right[accepted].sum())
    table = pd.read_csv(place / "changed.csv")
    table.loc[:9, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    words[2] = tmp_path / "some.csv"
    assert f"{right[10:].mean():.1%}".replace("%", " % of 1,490; ") in run(*words).out


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_audit_is_that_of_the_library(suffix, place, tmp_path, run, facts):
    data, output = place / f"changed.{suffix}", tmp_path / "regions.csv"
    words = ["audit", place / "model.sepc", data, "--target", "side"]
    ran = run(*words, "--output", output)
    found = audit(load(place / "model.sepc"), *table_of(place / "changed.csv"))
    assert (ran.code, ran.err) == (ALARM, "")
    assert ran.out == f"{found.summary()}\nWritten to {output}\n"
    assert pd.read_csv(output)["region"].tolist() == found.to_frame()["region"].tolist()
    told = facts(*words)
    assert (told["rows"], told["wrong"]) == (found.n_rows, found.n_errors)
    assert {region["region"] for region in told["failing_regions"]} == set(found.failing.tolist())
    assert len(told["clusters"]) == len(found.disjuncts)


def test_pages_to_look_at(place, started, run, refused, tmp_path):
    """Of the audit and of the monitor, also where nothing was counted now; and tables of both."""
    audited = ["audit", place / "model.sepc", place / "changed.csv", "--target", "side"]
    for name, words in (("audit", audited), ("monitor", [*started, place / "moved.csv"]), ("standing", started)):
        for suffix in ("html", "csv", "parquet"):
            output = tmp_path / f"{name}.{suffix}"
            ran = run(*words, "--output", output)
            assert (ran.code, ran.err) == (ALARM, "")
            assert ran.out.endswith(f"Written to {output}\n")
        assert (tmp_path / f"{name}.html").read_text().lower().startswith("<!doctype html>")
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(pd.read_parquet(tmp_path / f"{name}.parquet")) > 0
    assert ".html" in refused(*started, "--output", tmp_path / "page.pdf")
    assert "an input" in refused(*audited, "--output", place / "model.sepc")


def test_feedback_without_errors_or_labels(place, run, refused, tmp_path, write_csv):
    words = ["audit", place / "model.sepc"]
    ran = run(*words, place / "quiet.csv", "--target", "side", "--fdr", "0.01")
    assert (ran.code, ran.err) == (0, "")
    empty = write_csv([*NAMES, "side"], *[(0.1 * i, 0.2, "") for i in range(9)], name="empty.csv")
    assert "no labels" in refused(*words, empty, "--target", "side")
    numbers = write_csv([*NAMES, "side"], *[(0.1 * i, 0.2, i % 2) for i in range(9)], name="numbers.csv")
    assert "'right' and 'wrong'" in refused(*words, numbers, "--target", "side")
    words += [place / "changed.csv", "--target", "side"]
    assert "fdr is 7.0" in refused(*words, "--fdr", "7")
    assert ".html" in refused(*words, "--output", "-")
    table = pd.read_csv(place / "changed.csv")
    table.loc[:4, "side"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    ran = run("audit", place / "model.sepc", tmp_path / "some.csv", "--target", "side")
    assert "5 rows" in ran.err
    assert ran.err.count("\n") == 1
    assert "1,495 rows" in ran.out


def test_numbers_in_the_file_may_be_text_in_the_model(place, tmp_path, facts):
    """A spreadsheet makes numbers of codes, and puts an apostrophe before a minus."""
    table = pd.read_csv(place / "train.csv")
    for name, codes in (("text", {"right": "1", "wrong": "2"}), ("minus", {"right": "-a", "wrong": "=b"})):
        data, path = tmp_path / f"{name}.csv", tmp_path / f"{name}.sepc"
        save(SEPClassifier().fit(table[NAMES], table["side"].map(codes).to_numpy()), path)
        fresh = pd.read_csv(place / "quiet.csv")
        marked = {own: f"'{code}" if name == "minus" else int(code) for own, code in codes.items()}
        fresh.assign(side=fresh["side"].map(marked)).to_csv(data, index=False)
        truth = fresh["side"].map(codes).to_numpy()
        wrong = int((load(path).predict(fresh[NAMES]) != truth).sum())
        assert facts("audit", path, data, "--target", "side")["wrong"] == wrong


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_a_repair_is_that_of_the_library(training, place, tmp_path, run, refused):
    words = ["repair", place / "model.sepc", place / "changed.csv", "--target", "side", "--output"]
    old, more = {}, []
    if training:
        old = dict(zip(("X_train", "y_train"), table_of(place / "train.csv"), strict=True))
        more = ["--training", place / "train.csv"]
    ran = run(*words, tmp_path / "repaired.sepc", *more)
    model = load(place / "model.sepc")
    own = repair(model, *table_of(place / "changed.csv"), **old)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{own.summary()}\nWritten to {tmp_path / 'repaired.sepc'}\n"
    fresh = square(1500, 9, corner=True)
    repaired = load(tmp_path / "repaired.sepc")
    np.testing.assert_array_equal(repaired.decide(fresh[NAMES]).trust, own.decide(fresh[NAMES]).trust)
    assert repaired.score(fresh[NAMES], fresh["side"]) > model.score(fresh[NAMES], fresh["side"]) + 0.02
    assert "an input" in refused(*words, place / "model.sepc")


def test_a_repair_of_moved_columns_stops_unless_told_to_go_on(place, tmp_path, run, refused):
    rows = square(300, 9, corner=True)
    rows.assign(**{NAMES[0]: 1000.0 * rows[NAMES[0]]}).to_csv(tmp_path / "moved.csv", index=False)
    words = ["repair", place / "model.sepc", tmp_path / "moved.csv", "--target", "side", "--output"]
    told = refused(*words, tmp_path / "r.sepc")
    assert f"{NAMES[0]} moved: " in told
    assert "by 1,000" in told
    assert "--despite-moved-columns" in told
    assert not (tmp_path / "r.sepc").exists()
    assert run(*words, tmp_path / "r.sepc", "--despite-moved-columns").code == 0


def test_nothing_to_repair(place, tmp_path, facts):
    words = ["repair", place / "model.sepc", place / "quiet.csv", "--target", "side", "--output", tmp_path / "r.sepc"]
    assert facts(*words)["changes"] == []
    X, _ = table_of(place / "quiet.csv")
    before, after = (load(path).decide(X).trust for path in (place / "model.sepc", tmp_path / "r.sepc"))
    np.testing.assert_array_equal(before, after)


@pytest.fixture
def asked(place, tmp_path, run):
    """A review of the quiet rows, and its words without them."""
    words = ["review", place / "model.sepc", "--state", tmp_path / "queue.sepc"]
    more = ["--budget", "60", "--copy", "side", "--seed", "0", "--output", tmp_path / "asked.csv"]
    ran = run(*words, place / "quiet.csv", *more)
    assert (ran.code, ran.err) == (0, "")
    return words, more, ran


def test_a_review_is_that_of_the_library(place, asked, tmp_path, run):
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
    learnt = run(*words, "--labels", tmp_path / "asked.csv")
    certificate = queue.learn(review, y[review.positions])
    assert (learnt.code, learnt.err) == (0, "")
    assert learnt.out == f"60 labels learned. {certificate.summary()}\n"
    assert run(*words).out == f"{certificate.summary()}\n"
    assert ReviewQueue.load(words[-1], model).summary() == certificate.summary()


def test_labels_in_any_order_and_a_few_at_a_time(asked, tmp_path, run, facts, refused):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv")[::-1]
    sheet["true_label"] = np.where(np.arange(60) < 20, None, sheet["side"])
    sheet.to_csv(tmp_path / "some.csv", index=False)
    ran = run(*words, "--labels", tmp_path / "some.csv")
    assert ran.out.startswith("40 labels")
    assert "open: 1 review" in ran.out
    told = facts(*words, "--labels", tmp_path / "asked.csv", "--target", "side")
    assert told["open_reviews"] == []
    assert told["certificate"]["n_errors"] == 0
    assert "open reviews: none" in refused(*words, "--labels", tmp_path / "asked.csv", "--target", "side")


def test_rows_that_a_person_cannot_decide(asked, tmp_path, facts, refused):
    words, _, _ = asked
    assert "fill in" in refused(*words, "--labels", tmp_path / "asked.csv")
    certificate = facts(*words, "--labels", tmp_path / "asked.csv", "--complete")["certificate"]
    assert certificate["n_errors"] == certificate["n_labels"] > 0


def test_a_slip_of_the_pen_is_no_error_of_the_model(asked, tmp_path, run, refused):
    words, _, _ = asked
    sheet = pd.read_csv(tmp_path / "asked.csv").astype({"true_label": object})
    for name, cell in (("slip", "rihgt"), ("new", "neither")):
        sheet.loc[0, "true_label"] = cell
        sheet.to_csv(tmp_path / f"{name}.csv", index=False)
    assert "Did you mean 'right'?" in refused(*words, "--labels", tmp_path / "slip.csv")
    assert run(*words, "--labels", tmp_path / "new.csv", "--other", "neither").code == 0


def test_a_sheet_that_was_changed(asked, tmp_path, refused):
    words, _, _ = asked
    whole, before = pd.read_csv(tmp_path / "asked.csv"), (tmp_path / "queue.sepc").read_bytes()
    for column, cells, said in (
        ("row", [whole["row"][0], 10_000], "holds 10000"),
        ("row", ["x", "y"], "'x' is not a number"),
        ("row", [1.5, 2], "as sepc review wrote it"),
        ("row", [whole["row"][0]] * 2, "twice"),
        ("review", [7, 7], "open reviews: 1"),
        ("review", [None, 1], "as sepc review wrote it"),
    ):
        sheet = whole[:2].astype({"true_label": object, column: object})
        sheet["true_label"], sheet[column] = ["right", "right"], cells
        sheet.to_csv(tmp_path / "changed.csv", index=False)
        assert said in refused(*words, "--labels", tmp_path / "changed.csv")
        assert (tmp_path / "queue.sepc").read_bytes() == before


def test_rows_are_offered_once(place, asked, tmp_path, run, refused):
    words, more, _ = asked
    sheet = tmp_path / "asked.csv"
    written = sheet.read_bytes()
    ran = run(*words, place / "quiet.csv", *more)
    assert (ran.code, "unchanged" in ran.out) == (0, True)
    sheet.unlink()
    assert run(*words, place / "quiet.csv", *more).code == 0
    assert sheet.read_bytes() == written
    assert "filled" in refused(*words, place / "moved.csv", *more)
    assert sheet.read_bytes() == written
    run(*words, "--labels", sheet, "--target", "side")
    sheet.unlink()
    assert "all its" in refused(*words, place / "quiet.csv", *more)


def test_the_model_can_be_hidden(place, asked, tmp_path, run):
    words, more, _ = asked
    output = tmp_path / "blind.parquet"
    assert run(*words, place / "moved.csv", *more[:-1], output, "--hide-model").code == 0
    sheet = pd.read_parquet(output)
    assert list(sheet.columns) == ["review", "row", "side", "purpose", "true_label"]
    assert set(sheet["review"]) == {2}
    assert run(*words, "--labels", output, "--target", "side").code == 0


def test_what_a_review_needs(place, tmp_path, run, refused, write_csv):
    words = ["review", place / "model.sepc", "--state", tmp_path / "queue.sepc"]
    output, rows = ["--output", tmp_path / "asked.csv"], place / "quiet.csv"
    for more, said in (
        ([], "choose rows"),
        (output, "give DATA"),
        ([rows], "--output FILE"),
        ([rows, *output], "--budget N"),
        ([rows, *output, "--budget", "0"], "at least 1"),
        ([rows, *output, "--budget", "5", "--max-risk", "3"], "max_risk is 3.0"),
        ([rows, *output, "--labels", rows], "not both"),
        ([rows, *output, "--complete"], "--labels"),
        ([rows, "--output", tmp_path / "asked.docx", "--budget", "5"], "must end in"),
        ([rows, *output, "--budget", "5", "--copy", "none"], "no column 'none'"),
        ([write_csv(NAMES, *[(0.1, 0.2)] * 20), *output, "--budget", "5"], "--reference FILE"),
    ):
        assert said in refused(*words, *more)
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]
    few = [tmp_path / "table.csv", *output, "--budget", "5", "--reference", place / "reference.csv"]
    assert run(*words, *few, "--max-risk", "0.1").code == 0
    assert "started with --max-risk 0.1" in refused(*words, rows, *output, "--max-risk", "0.2")
    same = [rows, "--output", tmp_path / "next.csv", "--reference"]
    assert "reference other" in refused(*words, *same, rows)
    assert run(*words, *same, place / "reference.csv").code == 0


@pytest.mark.slow_cases("repaired")
@pytest.mark.parametrize("kind", ["repaired", "no names"])
def test_other_models(kind, place, tmp_path, run):
    """Repaired models, and models that know no names."""
    inner, (X, y) = load(place / "model.sepc"), table_of(place / "changed.csv")
    model = {
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
        ran = run(words[0], tmp_path / "m.sepc", *words[1:], *features)
        assert (ran.code in (0, ALARM), ran.err) == (True, "")
