"""A promise from before an edit is not recorded with decisions made after it."""

from __future__ import annotations

from pathlib import Path

import sepc
from sample_models import loans

from sepc_desk.models import ModelFolder


def test_the_context_of_an_edited_model_has_no_promise(tmp_path: Path) -> None:
    selective = sepc.SelectiveClassifier(sepc.SEPClassifier(), max_risk=0.3, random_state=0).fit(*loans(400))
    signed = {"author": "A. Wu", "reason": "too few rows", "date": "2026-05-04"}
    edited = selective.edited(sepc.Edit.flatten("age", 60), **signed)
    (tmp_path / "models").mkdir()
    folder = ModelFolder(tmp_path / "models")
    for name, model in (("before", selective), ("after", edited)):
        sepc.save(model, tmp_path / "model.sepc")
        folder.add(name, tmp_path / "model.sepc")
    assert folder.load("before").acceptance["kind"] == "promise"
    assert folder.load("after").acceptance == {"kind": "lost_promise"}
    assert "threshold" not in folder.load("after").context[1]
