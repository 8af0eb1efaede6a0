"""Every command with every bad input: one clear line, the exit code, and nothing left behind."""

import gzip

import pytest
from optional import package_or_skip

pa, pq = package_or_skip("pyarrow"), package_or_skip("pyarrow.parquet")

FEATURES = ["mean radius", "mean texture", "worst area"]
ROW = (12.0, 15.0, 500.0, "benign")
READERS = ["score", "explain", "monitor", "review"]  # of columns that a model names
LABELLED = ["landscape", "fit", "report"]
TABLE_COMMANDS = [*LABELLED, *READERS, "audit", "repair"]
ALL_COMMANDS = [*TABLE_COMMANDS, "inspect", "export"]


@pytest.fixture
def lines(folder, tmp_path, refused):
    """What each command says of a table; none may leave a file behind."""
    out = tmp_path / "out"
    out.mkdir()
    model = folder / "model.sepc"
    endings = {"score": "csv", "fit": "sepc", "report": "html", "review": "csv", "repair": "sepc"}

    def words(command, data, model):
        output, state = ["--output", out / f"out.{endings.get(command, 'onnx')}"], ["--state", out / "state.sepc"]
        return {
            "landscape": [data, "--target", "target"],
            "fit": [data, "--target", "target", *output],
            "score": [model, data, *output],
            "explain": [model, data],
            "report": [data, "--target", "target", *output],
            "inspect": [data],
            "export": [data, *output],
            "monitor": [model, data, *state, "--reference", folder / "wdbc.csv"],
            "review": [model, data, *state, "--budget", "5", *output],
            "audit": [model, data, "--target", "target"],
            "repair": [model, data, "--target", "target", *output],
        }[command]

    def said(commands, data, *more, model=model):
        return {command: refused(command, *words(command, data, model), *more) for command in commands}

    yield said
    assert list(out.iterdir()) == []


def parquet(**columns):
    return lambda path: pq.write_table(pa.table(columns), path)


def text(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding))


def csv(*rows, header=(*FEATURES, "target"), separator=","):
    return text("".join(separator.join(map(str, row)) + "\n" for row in (header, *rows)))


NUMBERS = dict.fromkeys(FEATURES, [1.0] * 4)
# How the file comes about, which commands read it, with which options, and what each says.
BAD = {
    "nothing.csv": (lambda path: None, ALL_COMMANDS, [], "does not exist"),
    "folder.csv": (lambda path: path.mkdir(), ALL_COMMANDS, [], "is a directory"),
    "empty.csv": (lambda path: path.touch(), TABLE_COMMANDS, [], "is empty"),
    "short.csv": (lambda path: path.touch(), ["inspect", "export"], [], "too short to be a model"),
    "header.csv": (csv(), TABLE_COMMANDS, [], "a header but no rows"),
    "none.parquet": (
        parquet(**dict.fromkeys([*FEATURES, "target"], pa.array([], pa.float64()))), TABLE_COMMANDS, [], "no rows",
    ),
    "infinite.csv": (
        csv(*[ROW] * 30, (12.0, "-inf", 500.0, "benign")), TABLE_COMMANDS, [],
        "row 31, column 'mean texture' is infinite",
    ),
    "label.csv": (
        csv(ROW, (13.0, 15.0, 500.0, ""), (13.0, 15.0, 501.0, "malignant")), LABELLED, ["--missing", "refuse"],
        "row 2, column 'target' is empty",
    ),
    "gap.csv": (
        csv(ROW, (13.0, 15.0, "", "malignant"), ROW), ["landscape", "fit", "score", "report"], ["--missing", "refuse"],
        "row 2, column 'worst area' is empty",
    ),
    "gap.parquet": (
        parquet(**NUMBERS | {"worst area": [1.0, None, 1.0, 2.0], "target": ["a", "a", "b", "b"]}),
        ["landscape", "fit", "score", "report"], ["--missing", "refuse"], "row 2, column 'worst area' is empty",
    ),
    "mixed.csv": (
        csv(*[ROW] * 3, (12.0, "low", 500.0, "benign"), *[ROW] * 3), [*READERS, "audit", "repair"], [],
        "row 4, column 'mean texture': 'low' is not a number",
    ),
    # The stray cell comes long after the types of columns were told from the first rows.
    "late.csv": (
        csv(*[ROW] * 60_000, (12.0, "low", 500.0, "benign"), *[ROW] * 3), ["score", "monitor"], [],
        "row 60,001, column 'mean texture': 'low' is not a number",
    ),
    "text.parquet": (
        parquet(**NUMBERS | {"mean radius": ["12.5", "13", "low", "14"], "target": ["a", "a", "b", "b"]}),
        [*READERS, "audit", "repair"], [], "row 3, column 'mean radius': 'low' is not a number",
    ),
    "id.csv": (
        csv(*[(f"case {i}", "ab"[i % 2]) for i in range(60)], header=("id", "target")), ["fit", "report"], [],
        "force_features",
    ),
    "words.csv": (
        csv(*[(f"case {i}", "ab"[i % 2]) for i in range(60)], header=("id", "target")), ["landscape"], [],
        "no column of numbers",
    ),
    "feature twice.csv": (
        csv(*[(*ROW, 1)] * 3, header=(*FEATURES, "target", "worst area")), READERS, [], "2 columns called 'worst area'",
    ),
    "label twice.csv": (
        csv(*[(*ROW, 1)] * 3, header=(*FEATURES, "target", "target")), [*LABELLED, "audit", "repair"], [],
        "2 columns called 'target'",
    ),
    "twice.parquet": (
        lambda path: pq.write_table(
            pa.Table.from_arrays([pa.array([1.0, 2.0])] * 5, names=[*FEATURES, "target", "target"]), path
        ),
        [*LABELLED, "audit", "repair"], [], "2 columns called 'target'",
    ),
    "übung.csv": (
        csv((1.0, 2.0, "ja"), (2.0, 3.0, "nein"), header=("größe", "数値", "ziel")), TABLE_COMMANDS, [],
        "'größe', '数値' and 'ziel'",
    ),
    "semicolons.csv": (
        csv(*[ROW] * 3, separator=";"), TABLE_COMMANDS, ["--separator", ","], "give --separator ';'",
    ),
    "not.parquet": (text("mean radius,target\n1,2\n" * 9), TABLE_COMMANDS, [], "is not a Parquet file"),
    "uneven.csv": (csv(ROW, ROW[:2], ROW), TABLE_COMMANDS, [], "2 cells where the header has 4"),
    "latin.csv": (
        text("Größe,mean radius,mean texture,worst area,target\n1,2,3,4,a\n2,3,4,5,b\n", "latin-1"), TABLE_COMMANDS, [],
        "--encoding",
    ),
    "table.docx": (text("PK"), TABLE_COMMANDS, [], "give --format"),
    "cut.csv.gz": (
        lambda path: path.write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:20]), TABLE_COMMANDS, [], "cannot be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table(name, lines, tmp_path):
    make, commands, options, said = BAD[name]
    make(tmp_path / name)
    for command, line in lines(commands, tmp_path / name, *options).items():
        assert name in line or "No column" in line, command
        assert said in line, command


def test_a_parquet_file_that_is_damaged_or_called_csv(lines, folder, tmp_path):
    data = bytearray((folder / "wdbc.parquet").read_bytes())
    (tmp_path / "wrong.csv").write_bytes(data)
    lines(TABLE_COMMANDS, tmp_path / "wrong.csv")
    data[100 : len(data) // 2] = bytes(len(data) // 2 - 100)
    (tmp_path / "damaged.parquet").write_bytes(data)
    lines(TABLE_COMMANDS, tmp_path / "damaged.parquet", "--features", ",".join(FEATURES))


def test_a_wrong_column(lines, write_csv):
    path = write_csv(["mean_radius", "mean texture", "worst area", "Target"], *[ROW] * 30)
    for command, line in lines(TABLE_COMMANDS, path).items():
        meant = "mean_radius" if command in READERS else "Target"
        assert line.endswith(f"and 'Target'. Did you mean '{meant}'?\n"), command


def test_a_file_that_may_not_be_read(lines, write_csv, monkeypatch):
    """Root may read everything, so the refusal is the system's words without the system."""
    by_system = open

    def opened(path, *more, **options):
        if str(path).endswith("table.csv"):
            raise PermissionError(13, "Permission denied", path)
        return by_system(path, *more, **options)

    path = write_csv([*FEATURES, "target"], ROW)
    monkeypatch.setattr("builtins.open", opened)
    assert all("cannot be read: permission denied" in line for line in lines(ALL_COMMANDS, path).values())


def test_a_file_that_is_no_model(lines, folder, refused, tmp_path):
    table, commands = folder / "wdbc.csv", ["score", "explain", "monitor", "review", "audit", "repair"]
    said = lines(commands, table, model=table) | lines(["inspect", "export"], table)
    said |= lines(["report"], table, "--model", table)
    assert all("not a sepc model" in line for line in said.values())
    missing = lines(commands, table, model=tmp_path / "none.sepc")
    assert all("none.sepc does not exist" in line for line in missing.values())


@pytest.mark.parametrize("command", ["fit", "score", "report", "export", "audit", "repair"])
def test_an_output_that_cannot_be(command, folder, refused, tmp_path):
    model, table, target = folder / "model.sepc", folder / "wdbc.csv", ["--target", "target"]
    given = {
        "fit": [table, *target],
        "report": [table, *target],
        "score": [model, table],
        "export": [model],
        "audit": [model, table, *target],
        "repair": [model, table, *target],
    }[command]
    source = model if command == "export" else table
    before = source.read_bytes()
    for output, said in (
        (tmp_path / "no" / "where", "no directory"),
        (tmp_path, "is a directory"),
        (source, "also an input"),
    ):
        assert said in refused(command, *given, "--output", output)
    assert source.read_bytes() == before


USAGE = [
    ([], "give a command"),
    (["guess"], "sepc --help"),
    (["fit", "TABLE", "--output", "x.sepc"], "--target"),
    (["inspect", "MODEL", "--nothing"], "--nothing"),
    (["explain", "m", "d.csv", "--row", "0"], "at least 1"),
    (["explain", "MODEL", "-", "--separator", "::"], "single character"),
    (["--confidence", "0.9"], "--max-risk"),
    (["--trust", "calibrated"], "invalid choice: 'calibrated'"),
    (["--n-impure", "-1"], "n_impure is -1"),
    (["--min-trust", "7"], "min_trust is 7.0"),
    (["--max-risk", "2"], "max_risk is 2.0"),
    (["--test-size", "1"], "1 is not a share"),
    (["--features", "target"], "--target"),
    (["--by", "mean radius", "--features", "mean radius"], "'mean radius'"),
    (["--features", "id"], "an id"),
]


@pytest.mark.parametrize(("words", "said"), USAGE, ids=[" ".join(words) for words, _ in USAGE])
def test_wrong_usage_and_options_of_a_fit(words, said, folder, refused, tmp_path):
    if words and words[0].startswith("--"):
        words = ["fit", "TABLE", "--target", "target", "--drop", "ward", "--output", tmp_path / "m.sepc", *words]
    named = {"TABLE": folder / "wdbc.csv", "MODEL": folder / "model.sepc"}
    assert said in refused(*(named.get(word, word) for word in words))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a"] * 40, "only 'a'"),
        ([f"case {i}" for i in range(40)], "40 different labels"),
        ([0.5, 1.25] * 20, "holds 0.5"),
        (["a" * 2_000, "b" * 2_000] * 20, "2,000 characters"),
    ],
)
def test_a_target_that_is_none(labels, said, write_csv, refused, tmp_path):
    path = write_csv(["x", "target"], *[(i, label) for i, label in enumerate(labels)])
    assert said in refused("fit", path, "--target", "target", "--output", tmp_path / "m.sepc")
