"""The next case of a reader: the one that they have, a planted one now and then, or the one that has waited longest."""

from __future__ import annotations

import secrets
from random import Random
from typing import Any

from sqlalchemy import Engine, Row

from sepc_desk.models import Model
from sepc_desk.reviewing.leasing import Reader, held, take
from sepc_desk.reviewing.planting import give_planted
from sepc_desk.reviewing.transactions import now, wait_for_others, writing
from sepc_desk.settings import Settings


def next_reading(
    engine: Engine, reader: Reader, model: Model, settings: Settings, at: int | None = None, rng: Random | None = None
) -> Row[Any] | None:
    """A reading that the reader holds after this; None if no case waits for them."""
    rng = secrets.SystemRandom() if rng is None else rng
    with writing(engine) as connection:
        wait_for_others(connection, f"{reader.caller} takes {model.name}")
        moment = now(connection) if at is None else at
        own = held(connection, reader, model.name, moment)
        if own is None and rng.random() < settings.planted_share:
            own = give_planted(connection, reader, model, moment, settings, rng)
        return take(connection, reader, model.name, moment, settings.lease_seconds) if own is None else own
