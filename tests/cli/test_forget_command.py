"""`sepc forget` and `sepc verify-receipt`, as files."""

import json

import numpy as np
import pytest
from optional import package_or_skip
from same_model import draw

import sepc
from sepc.cli.entry import main

pd, _ = package_or_skip("pandas"), package_or_skip("pyarrow")
N = 160


@pytest.fixture(scope="module")
def table():
    rows, labels = draw(N)
    note = [f'said "{i}",\nand left' if i % 3 else "" for i in range(N)]
    ward = np.where(np.arange(N) == 6, "zebra", np.where(np.arange(N) % 2, "north", "south"))
    named = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(ward=ward, person=[f"00{i}" for i in range(N)])
    return named.assign(note=note, label=labels)


@pytest.fixture
def at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def does(line, code=0):
    assert main(line.split()) == code


ERASE = "--target label --output new.sepc --receipt receipt.json"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_file_is_that_of_a_fit_to_the_rest(at, table, ending, capsys):
    table.to_csv("all.csv", index=False) if ending == "csv" else table.to_parquet("all.parquet", index=False)
    pd.DataFrame({"person": ["006", "0044"]}).to_csv("ids.csv", index=False)
    options = "--target label --drop person,note --trust counts --quiet"
    does(f"fit all.{ending} {options} --output model.sepc")
    does(f"forget model.sepc --rows ids.csv --table all.{ending} --rest rest.{ending} {ERASE}")
    assert "2 rows of 160" in capsys.readouterr().out
    does(f"fit rest.{ending} {options} --output direct.sepc")
    assert (at / "new.sepc").read_bytes() == (at / "direct.sepc").read_bytes()
    rest = pd.read_csv("rest.csv", dtype={"person": str}) if ending == "csv" else pd.read_parquet("rest.parquet")
    assert rest["person"].tolist() == table["person"].drop([6, 44]).tolist()
    assert rest["note"].fillna("").tolist() == table["note"].drop([6, 44]).tolist()
    assert b"zebra" in (at / "model.sepc").read_bytes()
    assert not any(b"zebra" in path.read_bytes() for path in at.iterdir() if path.stem in ("new", "receipt", "rest"))
    does(f"verify-receipt receipt.json new.sepc rest.{ending}")
    assert "2 rows of 160" in capsys.readouterr().out
    does(f"verify-receipt receipt.json new.sepc rest.{ending} --no-refit --json")
    assert json.loads(capsys.readouterr().out)["refitted"] is False
    does(f"verify-receipt receipt.json model.sepc rest.{ending} --quiet", 2)
    assert "not the one" in capsys.readouterr().err
    changed = (at / "receipt.json").read_text().replace('"n_erased": 2', '"n_erased": 3')
    (at / "receipt.json").write_text(changed)
    does(f"verify-receipt receipt.json new.sepc rest.{ending} --quiet", 2)
    assert "was changed" in capsys.readouterr().err


def test_a_second_erasure_continues_the_chain_and_destroys_the_salts_before(at, table):
    table.drop(columns="note").to_csv("all.csv", index=False)
    (at / "ids.csv").write_text("row\n1\n160\n")
    (at / "more.csv").write_text("row\n2\n")
    does("fit all.csv --target label --drop person --trust counts --quiet --output model.sepc")
    does(f"forget model.sepc --rows ids.csv --table all.csv --rest rest.csv {ERASE} --quiet")
    does(
        "forget new.sepc --rows more.csv --table rest.csv --rest last.csv --target label --output last.sepc "
        "--receipt last.json --salts receipt.salts --quiet"
    )
    first, second = (json.loads((at / f"{name}.json").read_text()) for name in ("receipt", "last"))
    assert (second["rows_before"], second["model_before"]) == (first["rows_after"], first["model_after"])
    assert not (at / "receipt.salts").exists()
    assert pd.read_csv("last.csv", dtype=str)["person"].tolist() == table["person"].drop([0, 2, N - 1]).tolist()
    does("verify-receipt last.json last.sepc last.csv --quiet")


def test_what_does_not_match_is_said(at, table, capsys):
    table.drop(columns="note").to_csv("all.csv", index=False)
    does("fit all.csv --target label --drop person --trust counts --quiet --output model.sepc")
    start = f"forget model.sepc --rows ids.csv --table all.csv --rest rest.csv {ERASE} --quiet"
    for ids, said in {
        "person\n0099x\n": "names '0099x', which column 'person'",
        "nobody\n1\n": "nobody",
        "person,row\n1,1\n": "has 2 columns; give a single one",
        "row\n0\n": "counted from 1",
        "row\n161\n": "None of these rows",
    }.items():
        (at / "ids.csv").write_text(ids)
        does(start, 2)
        assert said in capsys.readouterr().err
        assert not (at / "new.sepc").exists()
    (at / "ids.csv").write_text("row\n1\n")
    table.drop(columns="note")[1:].to_csv("all.csv", index=False)
    does(start, 2)
    assert "not the rows" in capsys.readouterr().err
    lost = sepc.SEPClassifier(force_features={"a"}, trust="counts").fit(table[["a", "b"]], table["label"])
    sepc.save(lost, "model.sepc")
    does(start, 2)
    assert "force_features" in capsys.readouterr().err
