"""Files as people have them: what `sepc fit` says of each, and of those that are wrong on purpose one line."""

import pytest
from command_runs import Ran, complaint

pytest.importorskip("pyarrow")

PLAIN = "3 features: 2 numbers, 1 category\n"
ROWS = "80 rows; labels: sick (40), well (40)\n"

# What is printed of each; of the wrong ones, on standard error.
SAID = {
    "semicolons and decimal commas": PLAIN,
    "tabs": PLAIN,
    "pipes": PLAIN,
    "a byte order mark": PLAIN,
    "line ends of Windows": PLAIN,
    "UTF-16": PLAIN,
    "spaces after the commas": PLAIN,
    "gzip": PLAIN,
    "Zstandard": PLAIN,
    "Excel, the second sheet": "4 features: 2 numbers, 1 category, 1 date\n",
    "question marks for gaps": PLAIN,
    "-999 for gaps": PLAIN,
    "dates": "4 features: 2 numbers, 1 category, 1 date\n",
    "dates, day first": "4 features: 2 numbers, 1 category, 1 date\n",
    "yes and no, true and false": "5 features: 3 numbers, 2 categories\n",
    "an id": "3 features: 2 numbers, 1 category; left out: 'patient_id' (an id)\n",
    "the index that pandas writes": "3 features: 2 numbers, 1 category; left out: 'column 1' (an index)\n",
    "a constant": "3 features: 2 numbers, 1 category; left out: 'country' (a constant)\n",
    "an empty column": "3 features: 2 numbers, 1 category; left out: 'remarks' (empty)\n",
    "free text with quotes and line breaks": "3 features: 2 numbers, 1 category; left out: 'note' (free text)\n",
    "codes with zeros in front": "4 features: 2 numbers, 2 categories\n",
    "a text among numbers": "81 rows; labels: sick (40), well (41)\n" + PLAIN,
    "a row without a label": "80 rows (1 row without a label left out); labels: sick (40), well (40)\n" + PLAIN,
    "wrong: Latin-1": "latin.csv: column 'ward' is not utf-8 text; give its --encoding, such as latin-1 or cp1252.",
    "wrong: a name twice": "twice.csv has 2 columns called 'weight'; give them different names.",
    "wrong: a row too short": "ragged.csv: a row has 2 cells where the header has 4: '171.0,70.0'.",
    "wrong: no rows": "header.csv has a header but no rows.",
    "wrong: no such target": "target.csv has no column 'y'; it has 'height', 'weight', 'ward' and 'Y'. "
    "Did you mean 'Y'?",
    "wrong: one label only": "one.csv, column 'y' holds only 'well'; a fit needs at least two labels.",
    "wrong: no table at all": "picture.csv is not CSV; if it is Parquet or Excel, give --format parquet or "
    "--format excel.",
}

# Columns of text that are read as something else, which is said.
READ = ("semicolons and decimal commas", "Excel, the second sheet", "dates", "a text among numbers")


@pytest.fixture
def odd():
    """What makes the files."""
    import odd_files

    return odd_files


def test_all_files_are_listed(odd):
    assert [file.odd for file in odd.odd_files()] == list(SAID)
    assert sum(name.startswith("wrong") for name in SAID) >= 5


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_an_odd_file(name, odd, tmp_path):
    if "Excel" in name:
        pytest.importorskip("openpyxl")
    file = next(file for file in odd.odd_files() if file.odd == name)
    ran = Ran(*odd.printed(file, tmp_path))
    if name.startswith("wrong"):
        assert complaint(ran) == f"sepc: {SAID[name]}\n"
        assert [path.name for path in tmp_path.iterdir()] == [file.name]
        return
    assert ran.code == 0, ran.err
    assert ran.out.startswith(SAID[name] if "rows" in SAID[name] else ROWS + SAID[name])
    assert ran.err.startswith("sepc: warning: columns left out, because they do not look usable as features:") == (
        "; left out" in ran.out
    )
    assert ("Read as " in ran.err) == (name in READ)
    assert ran.err.count("\n") == ("; left out" in ran.out) + (name in READ)


def test_the_dress_does_not_change_the_model(odd, tmp_path):
    """Only how the files are written differs, so every model decides alike."""
    from sepc import load

    centers = []
    for file in odd.odd_files():
        if SAID[file.odd] == PLAIN and "gaps" not in file.odd:
            odd.printed(file, tmp_path)
            model = load(tmp_path / "model.sepc")
            assert model.preparation_.categories["ward"].values == ("east", "north", "south")
            centers.append(repr(model.model_.centers.tolist()))
    assert len(centers) == 9
    assert len(set(centers)) == 1
