"""Files of every release stay readable, and decide as they did: `tests/io/fixtures` has a folder for each."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_things import figures_of_monitor, figures_of_queue, rows_of
from packaging.version import Version

import sepc
from sepc.lifecycle import Monitor, ReviewQueue

FIXTURES = Path(__file__).parent / "fixtures"
RELEASES = sorted(FIXTURES.iterdir())
STATES: dict[str, Any] = {"monitor": (Monitor, figures_of_monitor), "queue": (ReviewQueue, figures_of_queue)}


def name_of(path):
    return f"{path.parent.name}-{path.name}"


@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("*.sepc")), ids=name_of)
def test_models_of_every_release_decide_as_they_did(path):
    kept = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    decisions, expected = sepc.load(path).decide(rows_of(kept)), kept["decided"]
    np.testing.assert_array_equal(decisions.label, expected["label"])
    np.testing.assert_allclose(decisions.trust, expected["trust"], rtol=1e-9)
    np.testing.assert_array_equal(decisions.accepted, expected["accepted"])
    np.testing.assert_array_equal(decisions.cause, expected["cause"])


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)
def test_monitors_and_queues_of_every_release_have_counted_the_same(folder, kind):
    (path,) = folder.glob(f"*.{kind}")
    state, figures = STATES[kind]
    kept = json.loads((folder / "states.json").read_text(encoding="utf-8"))[kind]
    assert json.loads(json.dumps(figures(state.load(path, sepc.load(folder / "classifier.sepc"))))) == kept


def test_this_release_has_files_of_every_kind():
    own = Version(version("sepc"))
    if own.is_prerelease:
        pytest.skip("a development version keeps no files")
    kinds = {str(sepc.inspect(path)).partition(",")[0] for path in (FIXTURES / str(own)).glob("*.sepc")}
    assert kinds >= {"RoutedClassifier", "SEPClassifier", "SelectiveClassifier", "TrustedClassifier"}
