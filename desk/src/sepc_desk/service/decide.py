"""`/decide`, `/explain` and `/recourse`."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import sepc
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Action, Identity, Thing, require
from sepc_desk.deciding import decide_rows
from sepc_desk.entries import EntryKind, entry, request_key
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.rows import Row, ignored_columns, plain, typed_row
from sepc_desk.service.desk import Desk, answer, identified, object_body
from sepc_desk.service.documents import DECIDE_DOCUMENT, EXPLAIN_DOCUMENT, RECOURSE_DOCUMENT
from sepc_desk.service.grouping import Work
from sepc_desk.service.repeats import Answer

router = APIRouter()

KEY = re.compile(r"[\x21-\x7e]{8,200}")
MOST_ANSWERS = 5
MOST_SEARCHES = 4
LIMITS = ("fixed", "bounds", "direction", "min_trust", "n_answers")


@router.post("/decide", openapi_extra=DECIDE_DOCUMENT)
async def decide(request: Request) -> Response:
    """Decide on rows with the live version of a model, and log every decision before it is answered."""
    return await _decided(request, explain=False)


@router.post("/explain", openapi_extra=EXPLAIN_DOCUMENT)
async def explain(request: Request) -> Response:
    """Decide as `/decide` does, and give the reason and the terms of each decision."""
    return await _decided(request, explain=True)


async def _decided(request: Request, *, explain: bool) -> Response:
    desk, identity = await identified(request)
    body = await object_body(request)
    _refuse_unknown(body, {"model", "rows"})
    model = permitted_model(desk, identity, body.get("model"))
    rows, answers = await decide_and_log(desk, identity, request, model, body.get("rows"), explain=explain)
    content = {
        "model": model.name,
        "version": model.digest,
        "classes": model.classes,
        "decisions": [own.content for own in answers],
    }
    further = ignored_columns(model.columns, body["rows"], rows)
    return answer(content | {"ignored": further} if further else content)


def permitted_model(desk: Desk, identity: Identity, name: Any) -> Model:
    """The live model of this name, if the caller may use it; others do not learn whether it exists."""
    if not isinstance(name, str):
        raise RequestError(422, "no_model", 'Name the model that decides: {"model": ...}.')
    require(identity, Action.DECIDE, Thing(name))
    return desk.model(name)


async def decide_and_log(
    desk: Desk, identity: Identity, request: Request, model: Model, given: Any, *, explain: bool
) -> tuple[list[Row], list[Answer]]:
    """Have rows decided and logged, in groups with those of other requests; returns them by the model's columns."""
    if not isinstance(given, list) or not given:
        raise RequestError(422, "no_rows", 'Send at least one row: {"rows": [{"column": value, ...}, ...]}.')
    settings = desk.settings
    most = settings.max_explained_rows if explain else settings.max_rows
    if len(given) > most:
        raise RequestError(413, "too_many_rows", f"The request has {len(given):,} rows; at most {most:,} are allowed.")
    rows = [typed_row(model.columns, row, i) for i, row in enumerate(given)]
    key = request.headers.get("idempotency-key")
    if key is not None and not KEY.fullmatch(key):
        message = "An Idempotency-Key has 8 to 200 characters from ! to ~, such as a UUID."
        raise RequestError(400, "bad_idempotency_key", message)
    digest = None if key is None else request_key(identity.caller, key)
    size = settings.batch_rows
    work = [
        Work(identity.caller, model, rows[start : start + size], digest, start, explain)
        for start in range(0, len(rows), size)
    ]
    return rows, await desk.grouper.do(work, settings.answer_seconds)


def _refuse_unknown(body: dict[str, Any], known: set[str]) -> None:
    for name in body:
        if name not in known:
            raise RequestError(
                422, "unknown_field", f"The body has an unknown field {name[:60]!r}; use {', '.join(sorted(known))}."
            )


@router.post("/recourse", openapi_extra=RECOURSE_DOCUMENT)
async def recourse(request: Request) -> Response:
    """Find what would have to change in a row so that the model accepts a given label; the search is logged."""
    desk, identity = await identified(request)
    body = await object_body(request)
    _refuse_unknown(body, {"model", "row", "to", *LIMITS})
    model = permitted_model(desk, identity, body.get("model"))
    row = typed_row(model.columns, body.get("row"), 0)
    if "to" not in body or isinstance(body["to"], dict | list):
        raise RequestError(422, "no_label", 'Name the label that is wanted: {"to": ...}.')
    options = _options(body)
    if desk.n_searching >= MOST_SEARCHES:
        raise RequestError(429, "busy", "Too many searches are running; try again later.", retry_after=5)
    desk.n_searching += 1
    try:
        running = asyncio.get_running_loop().run_in_executor(desk.searcher, search, model, row, body["to"], options)
        found = await asyncio.wait_for(running, desk.settings.answer_seconds)
    except TimeoutError:
        seconds = f"{desk.settings.answer_seconds:g} seconds"
        message = f"The search took more than {seconds}; fix more columns, or ask for fewer answers."
        raise RequestError(503, "too_slow", message, retry_after=5) from None
    finally:
        desk.n_searching -= 1
    private = {"row": row, "to": body["to"], "limits": {name: body[name] for name in LIMITS if name in body}, **found}
    made = entry(EntryKind.RECOURSE, identity.caller, private, model=model.name, context=model.context[0])
    logged = await desk.grouper.do([Work(identity.caller, ready=[made])], desk.settings.answer_seconds)
    return answer({"model": model.name, "version": model.digest, **found, **logged[0].content})


def _options(body: dict[str, Any]) -> dict[str, Any]:
    options = {name: body[name] for name in LIMITS if body.get(name) is not None}
    n = options.get("n_answers", 1)
    if type(n) is not int or not 1 <= n <= MOST_ANSWERS:
        raise RequestError(422, "bad_limit", f"n_answers must be a whole number from 1 to {MOST_ANSWERS}.")
    options["n_answers"] = n
    for name, kind, example in (
        ("fixed", list, '["age"]'),
        ("bounds", dict, '{"amount": [500, 5000]}'),
        ("direction", dict, '{"income": "up"}'),
        ("min_trust", (int, float), "0.9"),
    ):
        if name in options and (not isinstance(options[name], kind) or isinstance(options[name], bool)):
            raise RequestError(422, "bad_limit", f"{name} must look like {example}.")
    if "bounds" in options:
        options["bounds"] = {own: _bound(own, limit) for own, limit in options["bounds"].items()}
    return options


def _bound(column: str, limit: Any) -> Any:
    if not isinstance(limit, list):
        raise RequestError(422, "bad_limit", f"The bounds of {column!r} must be a list.", column=column)
    is_range = len(limit) == 2 and all(own is None or type(own) in (int, float) for own in limit)
    return tuple(limit) if is_range else limit


def search(model: Model, row: Row, to: Any, options: dict[str, Any]) -> dict[str, Any]:
    """What would have to change in a row, as JSON has it."""
    now = decide_rows(model, [row])[0]
    try:
        found = sepc.recourse(model.estimator, model.table([row]), to=to, **options)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RequestError(422, "refused_by_model", str(error)) from error
    return {
        "now": {"label": now.label, "trust": now.trust, "accepted": now.accepted},
        "reachable": found.is_reachable,
        "cost_at_least": found.bound if found.is_reachable else None,
        "blocking": list(found.blocking),
        "why": found.why(),
        "answers": [
            {
                "cost": own.cost,
                "trust": float(own.decision.trust),
                "why": own.why(),
                "changes": [
                    {"column": one.feature, "before": plain(one.before), "after": plain(one.after), "cost": one.cost}
                    for one in own.changes
                ],
            }
            for own in found.answers
        ],
    }
