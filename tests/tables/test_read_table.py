"""A file gives one model, bit for bit, by its path, through the command and through `read_table`."""

import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optional import package_or_skip

import sepc
from sepc import SEPClassifier, read_table
from sepc.cli import main
from sepc.model_files import to_bytes

pa, pd, pl = package_or_skip("pyarrow"), package_or_skip("pandas"), package_or_skip("polars")
pq = package_or_skip("pyarrow.parquet")

N = 120
RNG = np.random.default_rng(0)
Y = np.where(np.arange(N) % 2, "no", "yes")
X = (RNG.normal(size=N) + 1.5 * (Y == "yes")).round(3)
AGE = RNG.integers(18, 80, N)
PAY = RNG.integers(10_000, 99_999, N)
DAYS = [date(2022, 1, 1) + timedelta(days=int(n)) for n in RNG.integers(0, 800, N)]
WARD = RNG.choice(["north", "south", "west"], N)


def among(values, text):
    """The values as text, every ninth of them another one."""
    return [text if i % 9 == 4 else str(value) for i, value in enumerate(values)]


def german(value):
    return f"{value:,}".translate(str.maketrans(",.", ".,"))


# The column of each new file, how it is written otherwise, and which other columns a frame changes.
NEW: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "dashes": (among(AGE, "-"), {}),
    "unknown": (among(AGE, "unknown"), {}),
    "n/a": (among(AGE, "n/a"), {}),
    "question marks": (among(AGE, "?"), {}),
    "dashes among categories": (among(WARD, "-"), {}),
    "NA among categories": (among(WARD, "NA"), {"changed": True}),
    "decimal commas": ([str(x).replace(".", ",") for x in RNG.normal(70, 9, N).round(1)], {"separator": ";"}),
    "thousands points and decimal commas": ([german(x + 0.5) for x in PAY], {"separator": ";"}),
    "thousands points alone": ([german(x) for x in PAY], {"separator": ";", "changed": True}),
    "percent": ([f"{x} %" for x in AGE], {}),
    "currencies": ([f"€ {x:,}.50" for x in PAY], {}),
    "dates": ([f"{day}" for day in DAYS], {}),
    "dates, day first": ([f"{day:%d.%m.%Y}" for day in DAYS], {}),
    "dates with months in words": ([f"{day:%d %b %Y}" for day in DAYS], {}),
    "quoted numbers": ([f'"{x}"' for x in AGE], {"raw": True}),
    "codes with zeros in front": ([f"{x % 4:03d}" for x in AGE], {"changed": True}),
    "ids with zeros in front": ([f"{i:06d}" for i in RNG.permutation(N)], {"changed": True}),
    "20 digits": ([f"{12345678901234567890 + 7 * i}" for i in range(N)], {"changed": True}),
    "times with a zone": ([f"{day}T10:00:00+01:00" for day in DAYS], {}),
    "Latin-1": (np.where(AGE % 3, "größer", "kleiner").tolist(), {"encoding": "latin-1"}),
    "UTF-16": (np.where(AGE % 3, "größer", "kleiner").tolist(), {"encoding": "utf-16"}),
    "a title above the header": (
        AGE.tolist(),
        {"title": "Patients of 2024\n\n", "refused": "2 cells|4 cells|no column"},
    ),
}


def new_file(name, folder):
    cells, how = NEW[name]
    sign = how.get("separator", ",")
    quoted = [str(cell) if how.get("raw") or sign not in str(cell) else f'"{cell}"' for cell in cells]
    lines = [sign.join(row) for row in zip(map(str, X), quoted, WARD, Y, strict=True)]
    text = how.get("title", "") + "\n".join([sign.join(["x", "odd", "ward", "y"]), *lines, ""])
    (folder / "t.csv").write_bytes(text.encode(how.get("encoding", "utf-8")))
    return folder / "t.csv", "y", {"encoding": "latin-1"} if how.get("encoding") == "latin-1" else {}, how


def quick(X, y="y"):
    return SEPClassifier(trust="counts", n_impure=0.4).fit(X, y)


def words_of(options):
    return [f"--{name}={','.join(value) if isinstance(value, tuple) else value}" for name, value in options.items()]


def models_of(path, target, options, folder):
    """The model by each of the ways to fit to a file, as bytes."""
    model = ["--output", str(folder / "m.sepc"), "--trust", "counts", "--n-impure", "0.4", "--quiet"]
    assert main(["fit", str(path), "--target", target, *words_of(options), *model]) == 0
    yield (folder / "m.sepc").read_bytes()
    yield to_bytes(quick(read_table(path, **options), target))
    if not options:
        yield to_bytes(quick(path, target))
        yield to_bytes(quick(str(path), target))


def frames_of(path, sign, encoding):
    yield pd.read_csv(path, sep=sign, encoding=encoding).drop(columns="y")
    yield pl.read_csv(path, separator=sign, encoding=encoding, infer_schema_length=None).drop("y")


@pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")
@pytest.mark.parametrize("name", NEW)
def test_a_new_file_gives_one_model_and_frames_the_same_or_look_names_the_column(name, tmp_path, capsys):
    path, target, options, how = new_file(name, tmp_path)
    if "refused" in how:
        assert main(["fit", str(path), "--target", target, "--output", str(tmp_path / "m.sepc")]) == 2
        said = capsys.readouterr().err.removeprefix("sepc: ").strip()
        for given in (path, lambda: read_table(path)):
            with pytest.raises(ValueError, match=how["refused"]) as error:
                quick(given() if callable(given) else given, target)
            assert " ".join(str(error.value).split()) == said
        return
    assert len(set(models_of(path, target, options, tmp_path))) == 1
    model, named = quick(read_table(path, **options), target), set()
    table, y, _ = read_table(path, **options).read(target)
    named |= {finding.about for finding in sepc.look(table, y)}
    for frame in frames_of(path, how.get("separator", ","), how.get("encoding", "utf-8")):
        own, theirs = quick(frame, Y).decide(frame), model.decide(frame)
        is_alike = (own.label == theirs.label).all() and (own.trust == theirs.trust).all()
        assert is_alike or (
            how.get("changed") and ("odd" in named | {finding.about for finding in sepc.look(frame, Y)})
        )


SHARED = [
    *["australian_credit", "banknote_authentication", "blood_transfusion", "ecoli", "german_credit_numeric", "glass"],
    *["haberman", "heart_cleveland", "ilpd", "ionosphere", "mammographic_masses", "parkinsons"],
    *["sonar", "vehicle", "vertebral_column_2c", "wine_quality_red", "yeast"],
]


@pytest.mark.slow_cases("[a-fi-z]*")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SHARED)
def test_a_shared_table_gives_one_model(name, tmp_path):
    path = Path(os.environ.get("SEPC_DATA_HOME", "nowhere"), f"{name}.csv")
    if not path.exists():
        pytest.skip("the tables are not here")
    target = path.read_text(encoding="utf-8").split("\n", 1)[0].split(",")[-1].strip('"')
    (model,) = set(models_of(path, target, {}, tmp_path))
    frame = pd.read_csv(path)
    own = quick(frame.drop(columns=target), frame[target].to_numpy())
    theirs = quick(path, target)
    features = frame.drop(columns=target)
    np.testing.assert_array_equal(own.decide(features).trust, theirs.decide(features).trust)


@pytest.mark.slow_cases("[a-np-z]*")
@pytest.mark.filterwarnings("ignore::sepc.errors.LeftOutWarning")
@pytest.mark.parametrize("name", [f"odd {i}" for i in range(23)])
def test_an_odd_file_gives_one_model(name, tmp_path):
    import odd_files

    file = list(odd_files.odd_files())[int(name.split()[1])]
    assert not file.odd.startswith("wrong")
    (tmp_path / file.name).write_bytes(file.content())
    given = dict(zip(file.options[::2], file.options[1::2], strict=True))
    options = {"na": ("-999",)} if "--na" in given else {"sheet": given["--sheet"]} if "--sheet" in given else {}
    (model,) = set(models_of(tmp_path / file.name, "y", options, tmp_path))
