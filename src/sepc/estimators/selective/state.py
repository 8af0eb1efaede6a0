"""`SelectiveClassifier` in a model file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sepc.estimators.selective._made_for import MadeFor
from sepc.estimators.selective.costs import CostControl, Costs
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.groups import MOST_COLUMNS, Groups, Key, NoHarm, names_in
from sepc.estimators.selective.promise import ErrorsByLabel, LostPromise, promise_of, with_promise
from sepc.estimators.selective.shift import Shift
from sepc.estimators.selective.thresholds import Control
from sepc.io.codec import (
    Node,
    Reader,
    Writer,
    labels_from,
    labels_to_node,
    read_simple_value,
    record_from,
    record_to_node,
    simple_value,
)
from sepc.io.estimator_fields import InnerModels, check_inner, fields_to_node, restore_fields
from sepc.model.edits import Edit

CONTROLS: dict[str, type[Control | CostControl]] = {"risk": Control, "cost": CostControl}


def write(selective: SelectiveClassifier, writer: Writer, inner: InnerModels) -> Node:
    """Write a classifier and its promise."""
    selective.made_for_.check()
    lost = selective.lost_promise_
    node = fields_to_node(selective, without=("estimator", "max_risk", "by", "parents")) | {
        "classes": labels_to_node(selective.classes_),
        "estimator": inner.to_node(selective.estimator_, writer.under("estimator")),
        "max_risk": _risk_to_node(selective.max_risk_, selective.classes_),
    }
    if lost is None:
        return node | _promise_to_node(selective, writer)
    before = selective.with_fitted(**lost.promise)
    edits = [record_to_node(edit, Writer()) for edit in lost.edits]
    return node | {"lost_promise": {"edits": edits} | _promise_to_node(before, writer.under("lost_promise"))}


def _promise_to_node(selective: SelectiveClassifier, writer: Writer) -> Node:
    shift, by_label = selective.shift_, selective.errors_by_label_
    return {
        "controls": [_control_to_node(selective, key) for key in selective.controls_],
        "groups": _groups_to_node(selective.groups_),
        "shift": None if shift is None else record_to_node(shift, writer.under("shift")),
        "errors_by_label": None if by_label is None else record_to_node(by_label, Writer()),
        "promised_confidence": selective.confidence_,
        "n_calibration": selective.n_calibration_,
        "coverage": selective.coverage_,
        **({"sites": list(selective.sites_)} if selective.sites_ else {}),
        **({"n_erased": selective.n_erased_} if selective.n_erased_ else {}),
    }


def read(reader: Reader, inner: InnerModels) -> SelectiveClassifier:
    """Read a classifier and its promise."""
    estimator = inner.from_node(reader.part("estimator"))
    promise = reader.part("lost_promise") if reader.has("lost_promise") else reader
    by = _columns_from(promise.part("groups")) if promise.has("groups") else None
    selective = restore_fields(SelectiveClassifier(estimator, by=by), reader)
    selective.estimator_, selective.made_for_ = estimator, MadeFor(estimator)
    selective.classes_ = labels_from(reader.part("classes"))
    check_inner(estimator, reader, selective.n_features_in_, selective.classes_, all_classes=False)
    selective.max_risk = selective.max_risk_ = _risk_from(reader.part("max_risk"), selective.classes_)
    _read_promise(promise, selective)
    if promise is not reader:
        edits = tuple(record_from(Edit, part) for part in promise.parts("edits"))
        selective = with_promise(selective, LostPromise(edits, promise_of(selective)))
        if selective.lost_promise_ is None:
            raise promise.wrong("was lost by edits that the model does not have")
    return selective


def _read_promise(reader: Reader, selective: SelectiveClassifier) -> None:
    controls = list(reader.parts("controls"))
    selective.controls_ = dict(map(_control_from, controls))
    selective.groups_ = selective.lost_promise_ = None
    if reader.has("groups"):
        selective.groups_ = _groups_from(reader.part("groups"), selective.controls_, selective.one_threshold)
    selective.shift_ = record_from(Shift, reader.part("shift")) if reader.has("shift") else None
    has_errors = reader.has("errors_by_label")
    selective.errors_by_label_ = record_from(ErrorsByLabel, reader.part("errors_by_label")) if has_errors else None
    selective.confidence_ = reader.number("promised_confidence", 0.0, 1.0)
    selective.n_calibration_ = reader.integer("n_calibration")
    selective.coverage_ = reader.number("coverage", 0.0, 1.0)
    selective.sites_ = tuple(reader.texts("sites")) if reader.has("sites") else ()
    selective.n_erased_ = reader.integer("n_erased") if reader.has("n_erased") else 0
    _check_promises(selective, reader, len(controls))
    several = isinstance(selective.max_risk, Mapping) or selective.groups_ is not None
    thresholds = {key: control.threshold for key, control in selective.controls_.items()}
    selective.threshold_ = thresholds if several else thresholds[None]
    if isinstance(selective.max_risk, Costs):
        selective.mean_cost_ = controls[0].number("cost", 0.0)
    elif selective.shift_ is None:
        each = (part.number("risk_bound", 0.0, 1.0) for part in controls)
        bounds = dict(zip(selective.controls_, each, strict=True))
        selective.risk_bound_ = bounds if several else bounds[None]


def _check_promises(selective: SelectiveClassifier, reader: Reader, n_controls: int) -> None:
    """Raise if the promises do not match the parameters."""
    risks: Any = selective.max_risk
    groups, controls = selective.groups_, selective.controls_
    if len(controls) != n_controls:
        raise reader.wrong("has two promises about the same rows")
    if groups is None:
        promised = set(risks) if isinstance(risks, Mapping) else {None}
        is_plain = selective.shift_ is None or promised == {None}
        if promised != set(controls) or not is_plain or not promised <= {None, *selective.classes_.tolist()}:
            raise reader.wrong("has promises that do not match its max_risk")
        return
    thresholds = {control.threshold for control in controls.values()}
    is_single = not isinstance(risks, Mapping | Costs) and selective.shift_ is None and None not in controls
    if not is_single or (selective.one_threshold and len(thresholds) > 1):
        raise reader.wrong("has promises that do not match its groups")
    selective.parents = dict(groups.parents) or None


def _control_to_node(selective: SelectiveClassifier, key: Any) -> Node:
    names = {kind: name for name, kind in CONTROLS.items()}
    control = selective.controls_[key]
    bounds = getattr(selective, "risk_bound_", None)
    bound = bounds[key] if isinstance(bounds, Mapping) else bounds
    return {
        "about": _key_to_node(key),
        "kind": names[type(control)],
        "risk_bound": bound,
        **record_to_node(control, Writer()),
    }


def _control_from(reader: Reader) -> tuple[Any, Control | CostControl]:
    kind = CONTROLS.get(reader.text("kind"))
    about = _key_from(reader.node.get("about"), reader)
    if kind is None:
        raise reader.wrong("has a promise of an unknown kind")
    return about, record_from(kind, reader)


def _risk_to_node(max_risk: Any, classes: Any) -> Node:
    if isinstance(max_risk, Costs):
        return {"costs": max_risk.matrix(classes).tolist(), "review": max_risk.review}
    if isinstance(max_risk, Mapping):
        return {"of_labels": [[simple_value(label), float(risk)] for label, risk in max_risk.items()]}
    return {"of_all": float(max_risk)}


def _is_share(value: Any) -> bool:
    return type(value) is float and 0.0 <= value <= 1.0


def _risk_from(reader: Reader, classes: Any) -> Any:
    if reader.has("of_all"):
        return reader.number("of_all", 0.0, 1.0)
    if reader.has("of_labels"):
        pairs = reader.value("of_labels", list)
        if not all(isinstance(pair, list) and len(pair) == 2 and _is_share(pair[1]) for pair in pairs):
            raise reader.wrong("holds risks that are not pairs of label and number")
        return {read_simple_value(label, reader): risk for label, risk in pairs}
    rows = reader.value("costs", list)
    if len(rows) != len(classes) or not all(isinstance(row, list) and len(row) == len(classes) for row in rows):
        raise reader.wrong("does not hold one cost for each pair of labels")
    if not all(type(cost) is float for row in rows for cost in row):
        raise reader.wrong("holds costs that are not numbers")
    costs = Costs(rows, reader.number("review", 0.0))
    try:
        costs.matrix(classes)
    except ValueError as error:
        raise reader.wrong("holds invalid costs") from error
    return costs


def _key_to_node(key: Key) -> Any:
    """A group: a value, or a list of the values of two columns."""
    return [simple_value(value) for value in key] if isinstance(key, tuple) else simple_value(key)


def _key_from(node: Any, reader: Reader) -> Key:
    """Read a group, a label, or None."""
    if isinstance(node, list):
        if len(node) != MOST_COLUMNS:
            raise reader.wrong("holds a group with the wrong number of columns")
        return tuple(read_simple_value(value, reader) for value in node)
    return read_simple_value(node, reader)


def _groups_to_node(groups: Groups | None) -> Node | None:
    """Write the groups."""
    if groups is None:
        return None
    return {
        "by": [simple_value(name) for name in groups.by],
        "small": [[_key_to_node(key), n] for key, n in groups.small.items()],
        "parents": [[_key_to_node(child), _key_to_node(parent)] for child, parent in groups.parents.items()],
        "no_harm": [record_to_node(harm, Writer()) for harm in groups.no_harm.values()],
    }


def _columns_from(reader: Reader) -> Any:
    """The columns that define groups, as the parameter `by` names them."""
    by = reader.value("by", list)
    is_column = (isinstance(name, str) or (type(name) is int and abs(name) < 2**31) for name in by)
    if not 1 <= len(by) <= MOST_COLUMNS or len(set(map(str, by))) < len(by) or not all(is_column):
        raise reader.wrong("names no column, too many of them, or one twice")
    return by[0] if len(by) == 1 else by


def _groups_from(reader: Reader, promised: Mapping[Key, Any], one_threshold: bool) -> Groups:
    """Read the groups; `promised` has those with a promise, in the order of the file."""
    by = names_in(_columns_from(reader))
    small = {}
    for key, n in _pairs(reader, "small"):
        if type(n) is not int or not 0 <= n < 2**63:
            raise reader.wrong("holds an invalid number of rows")
        small[_key_from(key, reader)] = n
    parents = {_key_from(child, reader): _key_from(parent, reader) for child, parent in _pairs(reader, "parents")}
    harm = [record_from(NoHarm, part) for part in reader.parts("no_harm")]
    if len(harm) != len(promised) or small.keys() & promised.keys():
        raise reader.wrong("has groups that do not match its promises")
    return Groups(by, small, dict(zip(promised, harm, strict=True)), parents, one_threshold)


def _pairs(reader: Reader, name: str) -> Iterator[tuple[Any, Any]]:
    for pair in reader.value(name, list):
        if not isinstance(pair, list) or len(pair) != 2:
            raise reader.wrong("holds a list that is not a pair")
        yield pair[0], pair[1]
