"""Receipts: a change is refused, a guess is not confirmed, and no file holds an erased row or its hash."""

import json
import stat
from dataclasses import replace
from hashlib import blake2b, sha256

import numpy as np
import pytest
from optional import package_or_skip
from same_model import draw

import sepc
import sepc.errors
from sepc.lifecycle import Monitor, Receipt, ReceiptError, ReviewQueue, Salts, forget, verify_receipt
from sepc.lifecycle.receipts import digest_of_all, keyed_digest, salted_digests
from sepc.model_files import to_bytes

ROWS, LABELS = draw(260)


@pytest.fixture(scope="module")
def model():
    return sepc.SEPClassifier().fit(ROWS, LABELS)


@pytest.fixture(scope="module")
def erased(model):
    """An isolated row, whose values are in the file, and another one."""
    standardised = model.model_.standardize(ROWS)
    isolated = np.flatnonzero((standardised[:, None] == model.model_.isolated).all(axis=2).any(axis=1))
    return np.array([isolated[0], 17 if isolated[0] != 17 else 18])


@pytest.fixture(scope="module")
def left(erased):
    return np.setdiff1d(np.arange(len(ROWS)), erased)


@pytest.fixture(scope="module")
def erasure(model, erased):
    return forget(model, ROWS, LABELS, erased)


@pytest.fixture(scope="module")
def hashes(model, erasure):
    """Of the erased rows, as the model before has them to know its training rows again."""
    gone = np.setdiff1d(model.model_.seen_rows.hashes, erasure.model.model_.seen_rows.hashes)
    assert len(gone) == 2
    return [one.tobytes() for one in gone]


def verify(erasure, left, **changed):
    given = {"receipt": erasure.receipt, "model": erasure.model, "X": ROWS[left], "y": LABELS[left]} | changed
    salts = given.pop("salts", erasure.salts)
    verify_receipt(**given, salts=salts, refit_model=False)


def test_files_of_a_receipt_are_read_again(erasure, left, tmp_path):
    erasure.receipt.save(tmp_path / "receipt.json")
    erasure.salts.save(tmp_path / "receipt.salts")
    assert stat.S_IMODE((tmp_path / "receipt.salts").stat().st_mode) == 0o600
    again = Receipt.load(tmp_path / "receipt.json"), Salts.load(tmp_path / "receipt.salts")
    verify(erasure, left, receipt=again[0], salts=again[1])
    for name in ("receipt.json", "receipt.salts"):
        whole = (tmp_path / name).read_bytes()
        for damaged in (whole[:-20], b"{}", b"[]", b"\xff", whole.replace(b'"model', b'"madel')):
            (tmp_path / "damaged").write_bytes(damaged)
            with pytest.raises(sepc.errors.FormatError, match="damaged"):
                (Receipt if name.endswith("json") else Salts).load(tmp_path / "damaged")


CHANGES = {
    "date": "2020-01-01",
    "n_before": 261,
    "n_erased": 1,
    "n_after": 259,
    "n_counted_wrong": 1,
    "rows_before": "0" * 64,
    "rows_after": "0" * 64,
    "model_before": "0" * 64,
    "model_after": "0" * 64,
    "erased": ("0" * 64, "1" * 64),
    "versions": ("Python 2.7",),
    "reading": {"target": "other"},
    "seal": "0" * 64,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_receipt_is_refused(erasure, left, name):
    assert set(CHANGES) == set(vars(erasure.receipt))
    changed = replace(erasure.receipt, **{name: CHANGES[name]})
    with pytest.raises(ReceiptError, match="was changed"):
        verify(erasure, left, receipt=changed)


@pytest.mark.parametrize("name", ["rows_before", "rows_after", "model_after", "erased", "n_after"])
def test_even_who_can_seal_cannot_change_what_follows_from_the_rows(erasure, left, name):
    changed = replace(erasure.receipt, **{name: CHANGES[name]}).sealed(erasure.salts.seal)
    with pytest.raises(ReceiptError):
        verify(erasure, left, receipt=changed)


def test_other_rows_models_and_salts_are_refused(erasure, model, left):
    for said, changed in (
        ("not the rows", {"X": ROWS[left][::-1], "y": LABELS[left][::-1]}),
        ("more rows", {"X": ROWS, "y": LABELS}),
        ("left 258", {"X": ROWS[left][1:], "y": LABELS[left][1:]}),
        ("not the one", {"model": model}),
        ("salts are those", {"salts": Salts.new(258)}),
    ):
        with pytest.raises(ReceiptError, match=said):
            verify(erasure, left, **changed)
    with pytest.raises(ValueError, match="do not belong"):
        forget(erasure.model, ROWS[left][::-1], LABELS[left][::-1], [0], salts=erasure.salts)


def test_a_model_that_has_seen_other_rows_is_refused(erasure, model, left):
    """Even if its maker holds the key of the seal."""
    salts, receipt = erasure.salts, erasure.receipt
    digest = keyed_digest(salts.model, sha256(to_bytes(model)).digest())
    forged = replace(receipt, model_after=digest).sealed(salts.seal)
    verify(erasure, left, receipt=forged, model=model)
    with pytest.raises(ReceiptError, match="another model"):
        verify_receipt(forged, model, ROWS[left], LABELS[left], salts)


def guesses(model, rows, labels, i):
    """Everything that someone who knows row `i`, all other rows and the model before can compute without salts."""
    cells = salted_digests([(rows[[i]], labels[[i]])], np.zeros((1, 16), dtype=np.uint8))
    plain = [rows[i].tobytes(), str(rows[i].tolist()).encode(), labels[i].encode(), to_bytes(model)]
    made = [cells[0], model.provenance_.rows.encode()]
    made += [digest(data).digest() for data in plain for digest in (sha256, blake2b)]
    everyone = [sha256(row.tobytes()).digest() for row in rows]
    return [*made, sha256(to_bytes(model)).digest(), sha256(b"".join(sorted(everyone))).digest()]


def test_a_receipt_does_not_confirm_a_guess(erasure, model, erased, hashes):
    text = erasure.receipt.to_json()
    for i in erased:
        for guess in [*guesses(model, ROWS, LABELS, i), *hashes]:
            assert guess.hex() not in text
            assert str(int.from_bytes(guess[:8], "little", signed=True)) not in text
    tried = [salted_digests([(ROWS[erased], LABELS[erased])], np.tile(salt, (2, 1))) for salt in erasure.salts.rows]
    assert not {digest.hex() for digests in tried for digest in digests} & set(erasure.receipt.erased)


def test_who_kept_the_salts_could_confirm_one(model, erased):
    """The check above can fail: with salts that were not destroyed, a guess is confirmed."""
    kept = Salts.new(len(ROWS))
    kept = replace(kept, of=digest_of_all(salted_digests([(ROWS, LABELS)], kept.rows)))
    receipt = forget(model, ROWS, LABELS, erased, salts=kept).receipt
    told = salted_digests([(ROWS[erased], LABELS[erased])], kept.rows[erased])
    assert sorted(digest.hex() for digest in told) == list(receipt.erased)


def traces(data, models, row, hashes):
    """How a file gives a row away: its numbers together, one after the other as text, or its hash."""
    found = [row.tobytes() in data, *(one in data for one in hashes)]
    found += [one.model_.standardize(row[None])[0].tobytes() in data for one in models]
    found.append(all(repr(float(value)).encode() in data for value in row))
    found.append(all(f"{value:.6g}".encode() in data for value in row))
    return any(found)


def test_no_file_written_afterwards_holds_the_row_or_its_hash(erasure, model, erased, left, hashes, tmp_path):
    """Files of every kind that may hold rows, before and after: only those before do."""
    package_or_skip("onnx"), package_or_skip("pandas")
    import sepc.onnx
    import sepc.sql

    for when, fitted, rows, labels in (
        ("before", model, ROWS, LABELS),
        ("after", erasure.model, ROWS[left], LABELS[left]),
    ):
        folder = tmp_path / when
        folder.mkdir()
        sepc.save(fitted, folder / "model.sepc")
        sepc.onnx.export(fitted, folder / "model.onnx")
        (folder / "model.sql").write_text(sepc.sql.export(fitted, "duckdb", "rows"))
        sepc.report(fitted, rows, labels).to_html(folder / "report.html")
        Monitor(fitted, rows, labels).save(folder / "monitor.sepc")
        queue = ReviewQueue(fitted, 5, rows=np.concatenate([rows, rows]), random_state=0)
        queue.choose(rows)
        queue.save(folder / "queue.sepc")
        fitted.decide(rows).to_frame().to_csv(folder / "decisions.csv")
    erasure.receipt.save(tmp_path / "after" / "receipt.json")
    erasure.salts.save(tmp_path / "after" / "receipt.salts")
    models, isolated = (model, erasure.model), ROWS[erased[0]]
    held = {path.name for path in (tmp_path / "before").iterdir() if traces(path.read_bytes(), models, isolated, [])}
    assert "model.sepc" in held
    assert all(one in (tmp_path / "before" / "model.sepc").read_bytes() for one in hashes)
    for path in (tmp_path / "after").iterdir():
        data = path.read_bytes()
        assert not any(traces(data, models, ROWS[i], hashes) for i in erased), path.name
    assert json.loads((tmp_path / "after" / "receipt.json").read_text())["n_erased"] == 2
