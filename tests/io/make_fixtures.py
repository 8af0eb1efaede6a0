"""Write the files of this format that later versions must read. Run once for a format; not again after a release."""

from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

import sepc
from sepc.io.container import FORMAT
from sepc.lifecycle import repair

FOLDER = Path(__file__).parent / "fixtures"

if __name__ == "__main__":
    X, y = make_moons(120, noise=0.25, random_state=0)
    rows = np.vstack([X[::4], 3.0 * X[::8] + 1.0]).round(3)
    models = {
        "classifier": sepc.SEPClassifier().fit(X, y),
        "counts": sepc.SEPClassifier(trust="counts").fit(X, y),
        "trusted": sepc.SelectiveClassifier(
            sepc.TrustedClassifier(sepc.SEPClassifier.as_published(), cv=3), max_risk=0.3, random_state=0
        ).fit(X, y),
        "repaired": repair(sepc.SEPClassifier().fit(X, y), X + 0.001, 1 - y, confidence=0.0),
    }
    FOLDER.mkdir(exist_ok=True)
    for name, model in models.items():
        path = FOLDER / f"format{FORMAT}_{name}.sepc"
        sepc.save(model, path)
        decisions = model.decide(rows)
        table = np.column_stack([rows, decisions.label, decisions.trust, decisions.cause])
        np.savetxt(path.with_suffix(".csv"), table, fmt="%.17g", delimiter=",", header="x0,x1,label,trust,cause")
