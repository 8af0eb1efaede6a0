"""The bare echo that the desk is measured against: FastAPI on uvicorn, which sends a body back."""

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

app = FastAPI()


@app.post("/echo")
async def echo(request: Request) -> Response:
    """The body of the request."""
    return Response(await request.body(), media_type="application/json")
