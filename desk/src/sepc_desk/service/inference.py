"""The Open Inference Protocol, version 2, as KServe's and MLServer's clients speak it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

import sepc_desk
from sepc_desk.columns import Column, Kind
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.service.decide import decide_and_log, permitted_model
from sepc_desk.service.desk import NEEDED, answer, desk_of, identified, object_body
from sepc_desk.service.documents import HEALTH_DOCUMENT, INFER_DOCUMENT, PLAIN_DOCUMENT

router = APIRouter(prefix="/v2")

NUMBERS = frozenset({"FP64", "FP32", "FP16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"})
DATATYPES = NUMBERS | {"BOOL", "BYTES"}
TYPE_OF_KIND = {Kind.NUMBER: "FP64", Kind.CATEGORY: "BYTES", Kind.DATE: "BYTES", Kind.TEXT: "BYTES"}


@router.get("", openapi_extra=PLAIN_DOCUMENT)
async def server(request: Request) -> Response:
    """Name and version of the server."""
    await identified(request)
    return answer({"name": "sepc-desk", "version": sepc_desk.__version__, "extensions": []})


@router.get("/health/ready", openapi_extra=HEALTH_DOCUMENT)
async def ready(request: Request) -> Response:
    """Whether models are loaded and the database answers."""
    found = await desk_of(request).health()
    is_ready = all(found[name] == "ok" for name in NEEDED)
    return answer({"ready": is_ready}, 200 if is_ready else 503)


@router.get("/models/{name}", openapi_extra=PLAIN_DOCUMENT)
@router.get("/models/{name}/versions/{version}", openapi_extra=PLAIN_DOCUMENT)
async def metadata(request: Request, name: str, version: str | None = None) -> Response:
    """The columns that a model takes, and what it gives."""
    model = await _model(request, name, version)
    inputs = [{"name": own.name, "datatype": TYPE_OF_KIND[own.kind], "shape": [-1]} for own in model.columns]
    outputs = [{"name": own, "datatype": kind, "shape": [-1]} for own, kind in _output_types(model).items()]
    return answer({"name": name, "versions": [model.digest], "platform": "sepc", "inputs": inputs, "outputs": outputs})


@router.get("/models/{name}/ready", openapi_extra=PLAIN_DOCUMENT)
@router.get("/models/{name}/versions/{version}/ready", openapi_extra=PLAIN_DOCUMENT)
async def model_ready(request: Request, name: str, version: str | None = None) -> Response:
    """Whether a model can decide."""
    model = await _model(request, name, version)
    return answer({"name": model.name, "ready": True})


@router.post("/models/{name}/infer", openapi_extra=INFER_DOCUMENT)
@router.post("/models/{name}/versions/{version}/infer", openapi_extra=INFER_DOCUMENT)
async def infer(request: Request, name: str, version: str | None = None) -> Response:
    """Decide on rows that are sent as columns, and log every decision before it is answered."""
    desk, identity = await identified(request)
    model = _of_version(permitted_model(desk, identity, name), version)
    body = await object_body(request)
    given = rows_of(model.columns, body.get("inputs"))
    _, answers = await decide_and_log(desk, identity, request, model, given, explain=False)
    content = {
        "model_name": model.name,
        "model_version": model.digest,
        "outputs": _outputs(model, [a.content for a in answers]),
    }
    return answer(content | ({"id": str(body["id"])} if "id" in body else {}))


async def _model(request: Request, name: str, version: str | None) -> Model:
    desk, identity = await identified(request)
    return _of_version(permitted_model(desk, identity, name), version)


def _of_version(model: Model, version: str | None) -> Model:
    if version is not None and version != model.digest:
        raise RequestError(
            404, "no_such_version", f"This version of {model.name} is not live; the live one is {model.digest}."
        )
    return model


def rows_of(columns: tuple[Column, ...], inputs: Any) -> list[dict[str, Any]]:
    """Rows from a request's tensors: one tensor per column, or a single table with the columns in the model's order."""
    if not isinstance(inputs, list) or not inputs:
        raise RequestError(422, "no_inputs", "Send a tensor for each column in `inputs`.")
    tensors = [_tensor(own) for own in inputs]
    if len(tensors) == 1 and len(tensors[0][1]) == 2 and tensors[0][1][1] == len(columns) > 1:
        (_, (n, d), data), names = tensors[0], [column.name for column in columns]
        return [dict(zip(names, data[i * d : (i + 1) * d], strict=True)) for i in range(n)]
    for name, shape, _ in tensors:
        if not (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)):
            message = f"The tensor {name!r} has shape {shape}; a column has [n] or [n, 1]."
            raise RequestError(422, "bad_shape", message, column=name)
    lengths = {name: len(data) for name, _, data in tensors}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} has {n}" for name, n in lengths.items())
        raise RequestError(422, "bad_shape", f"The tensors have different numbers of rows: {told[:500]}.")
    names = [name for name, _, _ in tensors]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*(data for _, _, data in tensors), strict=True)]


def _tensor(own: Any) -> tuple[str, list[int], list[Any]]:
    """Name, shape and cells of a tensor."""
    if not isinstance(own, dict) or not isinstance(own.get("name"), str):
        raise RequestError(422, "bad_tensor", "Each of `inputs` is an object with name, shape, datatype and data.")
    name, shape, datatype, data = own["name"], own.get("shape"), own.get("datatype"), own.get("data")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        known = ", ".join(sorted(DATATYPES))
        raise RequestError(422, "bad_datatype", f"The datatype of {name!r} is not one of {known}.", column=name)
    if not isinstance(data, list):
        raise RequestError(
            422, "bad_data", f"The data of {name!r} are not a list; binary data are not supported.", column=name
        )
    if not isinstance(shape, list) or not shape or not all(type(n) is int and n >= 0 for n in shape):
        raise RequestError(422, "bad_shape", f"The shape of {name!r} is not a list of whole numbers.", column=name)
    cells = [cell for part in data for cell in part] if data and all(isinstance(part, list) for part in data) else data
    size = 1
    for n in shape:
        size *= n
    if size != len(cells):
        message = f"The tensor {name!r} has shape {shape[:8]} and {len(cells)} values."
        raise RequestError(422, "bad_shape", message, column=name)
    return name, shape, [float(c) if type(c) is int and datatype.startswith("FP") else c for c in cells]


def _output_types(model: Model) -> dict[str, str]:
    kinds = {type(label) for label in model.classes}
    label = "BOOL" if kinds == {bool} else "INT64" if kinds == {int} else "FP64" if kinds <= {int, float} else "BYTES"
    own = {"label": label, "trust": "FP64", "accepted": "BOOL", "cause": "BYTES"}
    return own | {"id": "BYTES", "place": "INT64", "hash": "BYTES"}


def _outputs(model: Model, decisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    given = [own | own["receipt"] for own in decisions]
    found = []
    for name, kind in _output_types(model).items():
        cells = [own[name] for own in given]
        data = [None if cell is None else str(cell) for cell in cells] if kind == "BYTES" else cells
        found.append({"name": name, "shape": [len(given)], "datatype": kind, "data": data})
    return found
