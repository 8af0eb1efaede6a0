"""What the OpenAPI document says of each route; a test sends every example."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def _object(required: list[str], properties: Document, **more: Any) -> Document:
    return {"type": "object", "required": required, "properties": properties, **more}


LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}
CELL: Document = {"type": ["string", "number", "boolean", "null"]}
ROW: Document = {
    "type": "object",
    "additionalProperties": CELL,
    "description": "A value for each column; null if it is missing.",
}
RECEIPT: Document = _object(
    ["place", "hash"],
    {"place": {"type": "integer"}, "hash": {"type": "string"}},
    description="The place in the chain; `sepc-desk verify --receipt PLACE:HASH` checks the log against it.",
)
DECISION: Document = _object(
    ["id", "label", "accepted", "cause", "trust", "receipt"],
    {
        "id": {"type": "string"},
        "label": {"description": "A label as in training."},
        "accepted": {"type": "boolean", "description": "Whether to use the label; if not, a person should decide."},
        "cause": {"type": "string", "description": "ACCEPTED, or why not: OVERLAP, UNSEEN, THIN, MISSING, ..."},
        "trust": {"type": ["number", "null"]},
        "probabilities": {"type": ["array", "null"], "items": {"type": ["number", "null"]}},
        "reason": {"type": "string"},
        "terms": {"type": ["array", "null"]},
        "repeated": {"type": "boolean", "description": "True if the same request was answered before."},
        "receipt": RECEIPT,
    },
)
DECISIONS: Document = _object(
    ["model", "version", "classes", "decisions"],
    {
        "model": {"type": "string"},
        "version": {"type": "string", "description": "SHA-256 of the model file."},
        "classes": {"type": "array"},
        "decisions": {"type": "array", "items": DECISION},
        "ignored": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Columns of the rows that the model does not take, if there are any; at most 20.",
        },
    },
)
ERROR: Document = _object(
    ["error"],
    {
        "error": _object(
            ["code", "message"],
            {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "column": {"type": "string"},
                "row": {"type": "integer"},
            },
        )
    },
)
ERRORS = {
    400: "The body is not a JSON object, or a header is wrong",
    401: "No key, or a wrong one",
    403: "This key or person may not do that",
    404: "No such model or decision",
    405: "No such method",
    408: "The body came too slowly",
    413: "Too many rows or bytes",
    422: "A column or a value is wrong",
    429: "Too many requests, or too much is waiting; see Retry-After",
    503: "The log or the service is not available; see Retry-After",
}
KEY_HEADER: Document = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 8, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "A request that is sent again with the same key is not decided a second time.",
}
ROWS_BODY: Document = _object(
    ["model", "rows"],
    {"model": {"type": "string"}, "rows": {"type": "array", "minItems": 1, "items": ROW}},
    additionalProperties=False,
)


def _responses(schema: Document) -> Document:
    wrong = {
        str(status): {"description": text, "content": {"application/json": {"schema": ERROR}}}
        for status, text in ERRORS.items()
    }
    return {"200": {"description": "The answer", "content": {"application/json": {"schema": schema}}}} | wrong


def _post(schema: Document, examples: Document, answered: Document, *parameters: Document) -> Document:
    named = {name: {"value": value} for name, value in examples.items()}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "examples": named}}},
        "parameters": list(parameters),
        "responses": _responses(answered),
    }


DECIDE_DOCUMENT = _post(
    ROWS_BODY,
    {
        "one row": {"model": "loans", "rows": [LOAN]},
        "two rows, one with a missing value": {
            "model": "loans",
            "rows": [LOAN, {**LOAN, "income": None, "home": "own"}],
        },
    },
    DECISIONS,
    KEY_HEADER,
)
EXPLAIN_DOCUMENT = _post(ROWS_BODY, {"one row": {"model": "loans", "rows": [LOAN]}}, DECISIONS, KEY_HEADER)
RECOURSE_DOCUMENT = _post(
    _object(
        ["model", "row", "to"],
        {
            "model": {"type": "string"},
            "row": ROW,
            "to": {"type": ["string", "number", "boolean"]},
            "fixed": {"type": "array", "items": {"type": "string"}},
            "bounds": {"type": "object", "additionalProperties": {"type": "array"}},
            "direction": {"type": "object", "additionalProperties": {"enum": ["up", "down"]}},
            "min_trust": {"type": "number", "minimum": 0, "maximum": 1},
            "n_answers": {"type": "integer", "minimum": 1, "maximum": 5},
        },
        additionalProperties=False,
    ),
    {"to be paid": {"model": "loans", "row": LOAN, "to": "paid", "fixed": ["age"], "direction": {"income": "up"}}},
    {"type": "object", "required": ["id", "reachable", "answers", "receipt"]},
)
TENSOR: Document = _object(
    ["name", "shape", "datatype", "data"],
    {
        "name": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer"}},
        "datatype": {"type": "string"},
        "data": {"type": "array"},
        "parameters": {"type": "object"},
    },
)
INFER_DOCUMENT = _post(
    _object(
        ["inputs"],
        {
            "id": {"type": "string"},
            "parameters": {"type": "object"},
            "inputs": {"type": "array", "minItems": 1, "items": TENSOR},
            "outputs": {"type": "array"},
        },
    ),
    {
        "one row in columns": {
            "id": "7",
            "parameters": {"content_type": "pd"},
            "inputs": [
                {"name": "amount", "shape": [1], "datatype": "FP64", "data": [8120.0]},
                {"name": "months", "shape": [1], "datatype": "INT64", "data": [15]},
                {"name": "income", "shape": [1], "datatype": "FP64", "data": [1557.0]},
                {
                    "name": "home",
                    "shape": [1],
                    "datatype": "BYTES",
                    "data": ["rent"],
                    "parameters": {"content_type": "str"},
                },
                {"name": "age", "shape": [1], "datatype": "INT64", "data": [48]},
            ],
        }
    },
    _object(
        ["model_name", "model_version", "outputs"],
        {
            "model_name": {"type": "string"},
            "model_version": {"type": "string"},
            "id": {"type": "string"},
            "outputs": {"type": "array", "items": TENSOR},
        },
    ),
    KEY_HEADER,
)


def _query(name: str, *, required: bool = False, **schema: Any) -> Document:
    return {"name": name, "in": "query", "required": required, "schema": schema}


_MODEL = _query("model", required=True, type="string")
CASE_DOCUMENT: Document = {"responses": _responses({"type": "object", "required": ["id", "kind", "at", "erased"]})}
_ERASED: Document = {"type": "object", "required": ["erased", "waits_for_another_person"]}
_WAITS = {"description": "Another person must ask for it, too", "content": {"application/json": {"schema": _ERASED}}}
ERASE_DOCUMENT: Document = {"responses": _responses(_ERASED) | {"202": _WAITS}}
RETENTION_DOCUMENT: Document = ERASE_DOCUMENT | {
    "parameters": [_MODEL, _query("days", required=True, type="integer", minimum=0, maximum=99999)]
}
HEAD_DOCUMENT: Document = {"responses": _responses(RECEIPT)}
PLAIN_DOCUMENT: Document = {"responses": _responses({"type": "object"})}
# Answered without a key.
HEALTH_DOCUMENT: Document = PLAIN_DOCUMENT | {"security": []}
METRICS_DOCUMENT: Document = {
    "responses": _responses({"type": "object"})
    | {"200": {"description": "For Prometheus", "content": {"text/plain": {"schema": {"type": "string"}}}}}
}
LIST_DOCUMENT: Document = {
    "parameters": [
        _MODEL,
        _query("day", required=True, type="string", format="date"),
        _query("after", type="integer", minimum=0),
        _query("limit", type="integer", minimum=0, maximum=1000),
    ],
    "responses": _responses({"type": "object", "required": ["decisions"]}),
}
