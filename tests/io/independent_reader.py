"""Decide on rows from a `.sepc` file of an SEPClassifier, from docs/reference/format.md alone: no import of sepc.

Usage: python independent_reader.py model.sepc rows.csv
"""

import json
import struct
import sys

import numpy as np

TYPES = {"F64": "<f8", "I64": "<i8", "BOOL": "|b1"}


def read(path):
    """The arrays and the description of the model."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    content = json.loads(header.pop("__metadata__")["sepc"])["content"]
    arrays = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(body[start:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays, content["model"]


def decide(path, rows):
    """Label, trust, whether it is accepted, and the cause, of every row."""
    arrays, node = read(path)
    min_trust, node = node["parameters"]["kept"]["min_trust"], node["model"]
    model = {name.removeprefix("model/model/"): array for name, array in arrays.items()}
    rows = np.array(rows, dtype=float)
    if "model/edits/fixed" in arrays:
        rows[:, arrays["model/edits/fixed"]] = arrays["model/edits/typical"]
    return [_decide_one((row - model["shift"]) / model["scale"], model, node, min_trust) for row in rows]


def _decide_one(z, model, node, min_trust):
    sets, counts, class_counts = model["memberships"], model["counts"].astype(float), model["class_counts"]
    shares = class_counts / class_counts.sum()
    gauges = np.array(
        [np.linalg.norm(root @ (z - c)) for root, c in zip(model["roots"], model["centers"], strict=True)]
    )
    inside = gauges**2 <= 1 + node["slack"]
    is_inside = inside.any()
    if node["weights"] is not None:
        p = _weighed(z, gauges, model, node["weights"]["width"])
        label = _largest(p, shares)
        return _answer(z, gauges, is_inside, model, node, label, p[label], min_trust)
    fading, owner = 1.0, None
    if is_inside:
        exact = counts[(sets == inside).all(axis=1)].sum(axis=0)
        wider = counts[(sets | ~inside).all(axis=1)].sum(axis=0)
        if wider.sum() == 0:
            wider = counts[(sets & inside).any(axis=1)].sum(axis=0)
        owner = model["owners"][inside][0] if inside.sum() == 1 else None
    else:
        exact, wider, gauge, owner = _nearest(z, gauges, model, counts)
        fading, shares_there = max(gauge, 1.0) ** -2, np.full(len(shares), 1 / len(shares))
    around = (wider * fading + (shares if is_inside else shares_there)) / (wider.sum() * fading + 1)
    evidence = (exact * fading + 30 * around) / (exact.sum() * fading + 30)
    label = _largest(wider if node["trust"] == "published" else evidence, shares)
    label = int(owner) if node["trust"] == "published" and owner is not None else label
    trust = evidence[label]
    if node["trust"] == "published":
        here, prior = wider.copy(), class_counts.copy()
        here[label] += 1
        prior[class_counts.argmax()] += 1
        trust = (here * prior)[label] / (here * prior).sum()
    return _answer(z, gauges, is_inside, model, node, label, trust, min_trust)


def _answer(z, gauges, is_inside, model, node, label, trust, min_trust):
    accepted = bool(trust >= min_trust)
    counts = model["counts"].astype(float)
    cause = "ACCEPTED" if accepted else _cause(z, gauges, is_inside, model, counts, min_trust)
    return node["classes"]["values"][label], float(trust), accepted, cause


def _largest(scores, shares):
    return int(np.argmax(np.where(scores >= scores.max() * (1 - 1e-12), shares, -1.0)))


def _weighed(z, gauges, model, width):
    """Probabilities of the classes: a softmax of sums of terms, fading to equal ones far from every place."""
    w = {name.removeprefix("weights/"): array for name, array in model.items() if name.startswith("weights/")}
    squares, ways = np.minimum(gauges**2, 1e6), np.linalg.norm(model["isolated"] - z, axis=1)
    scores = w["offsets"] - w["ellipsoid_means"].sum(axis=0) - w["isolated_mean"]
    scores = scores + np.clip(z, -8, 8) @ w["lines"]
    scores += np.exp(-0.75 * np.maximum(squares - 1, 0)) @ w["near"] + np.log(squares + 0.3) @ w["deep"]
    scores += np.exp(-0.5 * (ways / width) ** 2) @ w["isolated"]
    start = 0
    for j, n in enumerate(w["n_knots"]):
        scores += w["levels"][start + j + np.sum(w["knots"][start : start + n] <= z[j])]
        start += n
    odds = np.exp(scores - scores.max())
    gauge = min(gauges.min(initial=np.inf), 1 + ways.min(initial=np.inf) / np.sqrt(len(z)))
    left = min(1.0, (2 / max(gauge, 1.0)) ** 4)
    return left * odds / odds.sum() + (1 - left) / max(2, len(odds))  # of one class alone this is trust


def _nearest(z, gauges, model, counts):
    """Counts of the nearest ellipsoid, or isolated row, by Euclidean distance in standardised features."""
    sets = model["memberships"]
    distances = [_distance(z - c, root) for root, c in zip(model["roots"], model["centers"], strict=True)]
    isolated = np.linalg.norm(model["isolated"] - z, axis=1)
    if len(isolated) and (not distances or isolated.min() < min(distances)):
        owner = model["isolated_owners"][isolated.argmin()]
        only = np.eye(counts.shape[1])[owner]
        return only, only, 1 + isolated.min(), owner
    k = int(np.argmin(distances))
    alone = (sets == (np.arange(len(gauges)) == k)).all(axis=1)
    return counts[alone].sum(axis=0), counts[sets[:, k]].sum(axis=0), gauges[k], model["owners"][k]


def _distance(offset, root):
    """From a point to an ellipsoid: the root of the secular equation, by bisection."""
    _, sizes, axes = np.linalg.svd(root)
    u, w = axes @ offset, sizes**2
    low, high = 0.0, 1.0
    while np.sum(w * (u / (1 + high * w)) ** 2) > 1:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(w * (u / (1 + middle * w)) ** 2) > 1 else (low, middle)
    return np.linalg.norm(u - u / (1 + high * w))


def _cause(z, gauges, is_inside, model, counts, min_trust):
    sets, isolated = model["memberships"], model["isolated"]
    places = np.concatenate([model["centers"], isolated])
    held = np.append([counts[sets[:, k]].sum() for k in range(len(gauges))], np.ones(len(isolated)))
    squared = np.sum((places - np.average(places, axis=0, weights=held)) ** 2, axis=1)
    for k, root in enumerate(model["roots"]):
        squared[k] += np.sum(np.linalg.inv(root) ** 2) / (len(z) + 2)
    reach = 0.3 * np.sqrt(np.average(squared, weights=held))
    ways = np.linalg.norm(model["centers"] - z, axis=1) * (1 - 1 / np.maximum(gauges, 1))
    near = counts[sets.any(axis=1) & (~sets | (ways <= reach)).all(axis=1)].sum(axis=0)
    for owner in model["isolated_owners"][np.linalg.norm(isolated - z, axis=1) <= reach]:
        near[owner] += 1
    if near.sum() == 0 and not is_inside:
        return "UNSEEN"
    return "THIN" if near.max() >= min_trust * near.sum() else "OVERLAP"


if __name__ == "__main__":
    answers = decide(sys.argv[1], np.loadtxt(sys.argv[2], delimiter=",", ndmin=2))
    sys.stdout.writelines(" ".join(map(str, answer)) + "\n" for answer in answers)
