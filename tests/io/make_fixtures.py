"""Write the files of this version that all later ones must read. Run once for a release, and never again for it.

Beside each model stands a JSON file with rows and what the model decided on them; states.json has the figures of a
monitor and a queue.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from kept_things import figures_of_monitor, figures_of_queue, rows_of
from mixed_tables import patients
from sklearn.datasets import load_iris, make_moons

import sepc
from sepc.lifecycle import Monitor, ReviewQueue, repair

FOLDER = Path(__file__).parent / "fixtures" / version("sepc")


def models():
    """Every kind of model that a file can hold."""
    X, y = make_moons(160, noise=0.25, random_state=0)
    flowers = load_iris(as_frame=True)
    names = flowers.target.map(dict(enumerate(flowers.target_names)))
    few = flowers.data.iloc[:, :2].rename(columns=lambda name: name.split(" (")[0])
    table, status = patients(200)
    own, classifier = {"random_state": 0}, sepc.SEPClassifier
    groups = np.where(np.arange(160) % 2, "a", "b")
    return {
        "classifier": (classifier().fit(X, y), X),
        "counts": (classifier(trust="counts").fit(X, y), X),
        "published": (classifier.as_published().fit(X, y), X),
        "flowers": (classifier().fit(few, names), few),
        "table": (classifier().fit(table, status), table),
        "trusted": (sepc.TrustedClassifier(classifier(trust="counts"), cv=3).fit(X, y), X),
        "selective": (sepc.SelectiveClassifier(classifier(), max_risk=0.3, **own).fit(X, y), X),
        "costs": (
            sepc.SelectiveClassifier(classifier(), sepc.Costs([[0.0, 1.0], [5.0, 0.0]], review=0.5), **own).fit(X, y),
            X,
        ),
        "groups": (
            sepc.SelectiveClassifier(classifier(), max_risk=0.3, by=["ward"], one_threshold=True, **own).fit(
                X, y, groups=groups
            ),
            X,
        ),
        "target": (sepc.SelectiveClassifier(classifier(), max_risk=0.4, **own).fit(X, y, X_target=X[:80] + 0.01), X),
        "stratified": (
            sepc.RoutedClassifier(classifier(), by=[0], min_rows=30).fit(np.column_stack([y > 2, X]), y),
            np.column_stack([y > 2, X]),
        ),
        "repaired": (repair(classifier().fit(X, y), X + 0.001, 1 - y, confidence=0.0), X),
    }


def rows_near(X):
    """Some of the rows, and some that lie far from all."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[::7]
    return np.vstack([X[::4], 3.0 * X[::8] + 1.0]).round(3)


def written(rows):
    """The rows as JSON has them: columns by name, and which of them are dates."""
    if not isinstance(rows, pd.DataFrame):
        return {"rows": rows.tolist()}
    dates = [name for name in rows if rows[name].dtype.kind == "M"]
    return {"columns": json.loads(rows.to_json(orient="split", index=False, date_format="iso")), "dates": dates}


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    for name, (model, X) in models().items():
        sepc.save(model, FOLDER / f"{name}.sepc")
        kept = json.loads(json.dumps(written(rows_near(X))))
        decided = model.decide(rows_of(kept))
        expected = {part: getattr(decided, part).tolist() for part in ("label", "trust", "accepted", "cause")}
        text = json.dumps(kept | {"decided": expected})
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    X, y = make_moons(160, noise=0.25, random_state=0)
    model = sepc.load(FOLDER / "classifier.sepc")
    monitor = Monitor(model, X, y)
    monitor.update(X + 0.5)
    monitor.save(FOLDER / "moved.monitor")
    queue = ReviewQueue(model, 10, coverage=0.8, rows=make_moons(600, noise=0.25, random_state=1)[0], random_state=0)
    review = queue.choose(X)
    queue.learn(review, y[review.positions])
    queue.save(FOLDER / "some.queue")
    told = {"monitor": figures_of_monitor(monitor), "queue": figures_of_queue(queue)}
    (FOLDER / "states.json").write_text(json.dumps(told) + "\n", encoding="utf-8")
