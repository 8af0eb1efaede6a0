"""What the page of a model shows, and its weekly digest: figures, certificate, alarms, challenger and changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from sqlalchemy import Connection

from sepc_desk.models import Model
from sepc_desk.owning.changes import Change, changes_of
from sepc_desk.owning.figures import ModelFigures, figures
from sepc_desk.owning.shadowing import Shadow, shadow
from sepc_desk.owning.watching import Watched, watched
from sepc_desk.pages.languages import Language
from sepc_desk.pages.rendering import environment
from sepc_desk.reading import DAY, day_bounds
from sepc_desk.reviewing.certifying import Proof, proof
from sepc_desk.reviewing.oversight import Figures, oversight
from sepc_desk.reviewing.transactions import now

STYLE = Path(__file__).parent / "static" / "desk.css"
# Days that the page of a model is about.
DAYS = 14


@dataclass(frozen=True)
class SeenModel:
    """A model as its owners see it.

    Attributes
    ----------
    model : Model
        The live version.
    at : int
        Now, in microseconds since 1970.
    figures : ModelFigures
    proof : Proof or None
    watched : Watched
    shadow : Shadow or None
    changes : list of Change
    reviews : Figures
        Of all reviewers.
    """

    model: Model
    at: int
    figures: ModelFigures
    proof: Proof | None
    watched: Watched
    shadow: Shadow | None
    changes: list[Change]
    reviews: Figures


def seen_model(connection: Connection, model: Model, first: int | None = None, last: int | None = None) -> SeenModel:
    """A model in some time; by default in the last 14 days."""
    at = now(connection)
    since = at // DAY * DAY - (DAYS - 1) * DAY if first is None else first
    until = at + 1 if last is None else last
    return SeenModel(
        model,
        at,
        figures(connection, model, since, until, at),
        proof(connection, model),
        watched(connection, model),
        shadow(connection, model.name),
        changes_of(connection, model.name, 0 if first is None else first, until),
        oversight(connection, model.name).all,
    )


def digest_page(connection: Connection, model: Model, day: date, language: Language) -> str:
    """The week of a model as one HTML file that needs no other file and no network."""
    monday = day - timedelta(days=day.weekday())
    first, last = day_bounds(monday)[0], day_bounds(monday + timedelta(days=6))[1]
    return (
        environment(language)
        .get_template("digest.html")
        .render(
            seen=seen_model(connection, model, first, last),
            monday=first,
            sunday=last - DAY,
            name=f"{model.name}-{monday.isoformat()}",
            style=STYLE.read_text(encoding="utf-8"),
        )
    )
