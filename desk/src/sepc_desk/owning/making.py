"""Audits, repairs and comparisons, from what reviewers have settled and from the rows of the log."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import sepc
from sepc.errors import MovedColumnsError, RefusedLookError
from sepc.lifecycle import Audit, Comparison, PlanCheck, RepairResult, audit, repair
from sqlalchemy import Connection, Engine, select

from sepc_desk.entries import EntryKind
from sepc_desk.errors import ModelFolderError, RequestError
from sepc_desk.models import Model, ModelFolder
from sepc_desk.owning.changes import Change, ChangeKind, ChangeState, finish, propose
from sepc_desk.owning.plans import judge, plan_of
from sepc_desk.reviewing.feedback import feedback
from sepc_desk.schema import cases, entries

log = logging.getLogger("sepc_desk")

# The newest settled cases that audits and repairs read, and the newest decisions that versions are compared on.
MOST_FEEDBACK = 20_000
MOST_COMPARED = 2_000
# With fewer settled cases, an audit finds nothing, and a repair is not to be had.
FEWEST_FEEDBACK = 30
MOST_SHOWN = 20


@dataclass(frozen=True)
class Workshop:
    """What audits, repairs and comparisons need.

    Attributes
    ----------
    engine : Engine
    folder : ModelFolder
    model_of : callable
        Gives a version of a model, by name and digest.
    """

    engine: Engine
    folder: ModelFolder
    model_of: Callable[[str, str], Model]

    def work(self, change: Change) -> None:
        """Do what a change asks for, and note what came of it; meant to run in a thread of its own."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                state, values = self._done(change)
        except (ValueError, TypeError, KeyError, MovedColumnsError, ModelFolderError, RequestError) as error:
            state, values = ChangeState.FAILED, {"error": str(error)}
        except OSError as error:
            log.warning("change not made", extra={"error": str(error)})
            reason = "The service may not write to the folder of models, so nothing was made."
            state, values = ChangeState.FAILED, {"error": reason}
        except Exception as error:
            log.exception("change failed", extra={"error": type(error).__name__})
            state, values = ChangeState.FAILED, {"error": "This failed; the log of the service says why."}
        finish(self.engine, change.id, state, **values)

    def _done(self, change: Change) -> tuple[ChangeState, dict[str, Any]]:
        live = self.model_of(change.model, change.old_digest)
        if change.kind is ChangeKind.VERSION:
            assert change.new_digest is not None
            new = self.model_of(change.model, change.new_digest)
            return ChangeState.DRAFT, {"comparison": self._compared(live, new)}
        X, y = self.feedback(live)
        found = audit(live.estimator, X, y)
        told = {"audit": audited(found)}
        if change.kind is ChangeKind.AUDIT:
            return ChangeState.DONE, told
        repaired = repair(live.estimator, X, y, audit=found)
        new = self._added(live, repaired)
        compared = self._compared(live, new)
        made = told | {"comparison": compared | {"repair": RepairResult.of(repaired).summary()}}
        if not compared["parts"]:
            return ChangeState.FAILED, made | {"error": "No repair is shown to be better, so nothing would change."}
        return ChangeState.DRAFT, made | {"new_digest": new.digest}

    def feedback(self, live: Model) -> tuple[Any, Any]:
        """Decisions of a version, the oldest first, and the labels that reviewers settled on; none was trained on."""
        with self.engine.connect() as connection:
            settled = feedback(connection, live.name, MOST_FEEDBACK, digest=live.digest)
        if len(settled) < FEWEST_FEEDBACK:
            raise RequestError(
                409,
                "too_few_answers",
                f"Only {len(settled)} decisions of this version are settled; it takes at least {FEWEST_FEEDBACK}.",
            )
        return live.table([one.row for one in settled[::-1]]), np.array([one.label for one in settled[::-1]])

    def _added(self, live: Model, repaired: Any) -> Model:
        """A repaired model as a version in the folder; the live one stays live."""
        with tempfile.TemporaryDirectory() as home:
            file = Path(home) / "repaired.sepc"
            sepc.save(repaired, file)
            digest = self.folder.add(live.name, file)
        return self.model_of(live.name, digest)

    def _compared(self, live: Model, new: Model) -> dict[str, Any]:
        with self.engine.connect() as connection:
            rows, labels = logged_rows(connection, live.name)
        if not rows:
            raise RequestError(409, "no_decisions", "There are no decisions yet to compare the versions on.")
        return compared(sepc.compare(live.estimator, new.estimator, live.table(rows), labels))

    def propose(self, change: Change, caller: str) -> None:
        """Let the plan judge a change, and propose it with its judgement."""
        if change.state is not ChangeState.DRAFT or change.new_digest is None:
            raise RequestError(409, "changed_meanwhile", "Someone else has acted on this change; look at it again.")
        if plan_of(self.folder, change.model) is None:
            raise RequestError(
                409, "no_plan", "The model has no change plan; set one with `sepc-desk plans set` before proposing."
            )
        old, new = (self.model_of(change.model, digest) for digest in (change.old_digest, change.new_digest))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = judge(self.folder, old, new)
        except (ValueError, RefusedLookError) as error:
            raise RequestError(409, "not_judged", f"The plan cannot judge this: {error}") from error
        propose(self.engine, change.id, caller, judged(found))


def logged_rows(connection: Connection, model: str) -> tuple[list[Any], Any]:
    """The newest decisions of a model, the oldest of them first, and the labels that reviewers have settled on."""
    e = entries.c
    decided = (e.kind == EntryKind.DECISION, e.model == model, e.private.is_not(None))
    newest = (
        select(e.place, e.private, cases.c.label)
        .join(cases, cases.c.id == e.id, isouter=True)
        .where(*decided)
        .order_by(e.place.desc())
        .limit(MOST_COMPARED)
    )
    found = list(connection.execute(newest))[::-1]
    labels = np.array([None if one.label is None else orjson.loads(one.label) for one in found], dtype=object)
    return [orjson.loads(one.private)["row"] for one in found], labels


def audited(found: Audit) -> dict[str, Any]:
    """An audit as JSON, for its page."""
    return {
        "summary": found.summary(),
        "n_rows": found.n_rows,
        "n_errors": found.n_errors,
        "expected": float(found.expected),
        "fails": bool(found.overall.fails),
        "n_failing": len(found.failing),
        "n_clusters": len(found.disjuncts),
        "to_repair": [int(one) for one in found.to_repair],
        "columns": [str(one) for one in found.columns],
    }


def compared(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON, for its page."""
    total = found.total
    names = ("n_label", "n_acceptance", "n_accepted_before", "n_accepted_after")
    known = ("n_labelled", "n_right_before", "n_right_after")
    regions = found.regions
    columns = ("n_rows", "n_changed", "n_labelled", "n_right_before", "n_right_after")
    return {
        "summary": found.summary(),
        "repair": "",
        "parts": sorted(found.parts),
        "n_rows": found.n_rows,
        "n_changed": found.n_changed,
        **{name: int(getattr(total, name)[0]) for name in (*names, *known)},
        "intervals": {when: [float(low[0]), float(high[0])] for when, (low, high) in total.intervals().items()},
        "regions": [
            {"name": regions.name[i], **{name: int(getattr(regions, name)[i]) for name in columns}}
            for i in range(min(len(regions), MOST_SHOWN))
            if regions.n_changed[i]
        ],
    }


def judged(found: PlanCheck) -> dict[str, Any]:
    """A judgement as JSON, for its page."""
    return {
        "title": found.title,
        "passed": found.passed,
        "headline": found.headline(),
        "look": found.look,
        "most": found.most_candidates,
        "candidate": found.candidate,
        "ledger": found.ledger_head,
        "lines": [line.to_dict() for line in found.lines],
    }
