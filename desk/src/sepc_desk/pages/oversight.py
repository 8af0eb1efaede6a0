"""How reviewers review: their own figures for reviewers, all for owners and auditors."""

from __future__ import annotations

from dataclasses import dataclass

from sepc.lifecycle import Certificate
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from sepc_desk.authority import Action
from sepc_desk.errors import RequestError
from sepc_desk.models import Model
from sepc_desk.pages.visits import Visit, page_router, visit
from sepc_desk.reviewing.certifying import certificate
from sepc_desk.reviewing.oversight import LEVEL, Figures, Reviewed, oversight

router = page_router()


@dataclass(frozen=True)
class Seen:
    """What a person sees of the reviews of a model.

    Attributes
    ----------
    model : Model
    found : Reviewed
    is_all : bool
        Whether it is about all reviewers, and not about the person alone.
    readers : list of pairs
        Names and figures. Where the organisation does not show names, reviewers are numbered.
    certificate : Certificate or None
        For those who see all.
    """

    model: Model
    found: Reviewed
    is_all: bool
    readers: list[tuple[str, Figures]]
    certificate: Certificate | None


@router.get("/oversight")
async def page(request: Request) -> Response:
    """Agreement with and without the label shown, planted errors found, and time; by reviewer and over time."""
    here = await visit(request)
    models = here.models(Action.SEE_REVIEWS, own=True)
    if not models:
        raise RequestError(403, "not_allowed", "You may not see reviews: it takes a role for a model.")
    seen = [await here.read(_seen, here, here.desk.model(name)) for name in models]
    return here.page("oversight.html", seen=seen, level=LEVEL, settings=here.desk.settings)


def _seen(connection: Connection, here: Visit, model: Model) -> Seen:
    is_all = here.may(Action.SEE_REVIEWS, model.name)
    found = oversight(connection, model.name, None if is_all else here.caller)
    proved = certificate(connection, model) if is_all else None
    shows_names = here.desk.settings.show_reviewer_names
    readers = [
        (own.partition(":")[2] if shows_names else str(i), figures)
        for i, (own, figures) in enumerate(found.readers.items(), start=1)
    ]
    return Seen(model, found, is_all, readers if is_all else [], proved)
