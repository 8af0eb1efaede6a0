from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from review_cases import ANN, Desk
from scipy.stats import binomtest
from sqlalchemy import Engine

from sepc_desk.reviewing.oversight import LEVEL, Share, figures_of, oversight
from sepc_desk.reviewing.planting import give_planted, plant
from sepc_desk.reviewing.states import AnswerKind, Purpose
from sepc_desk.reviewing.transactions import writing
from sepc_desk.settings import Settings

CASES = 200
BLIND_SHARE = 0.2


@dataclass
class Answered:
    """An answer as `figures_of` reads it."""

    label: str
    model_label: str
    was_blind: bool
    truth: str | None = None
    purpose: str = Purpose.REFUSED
    kind: str = AnswerKind.LABEL
    turn: int = 1
    taken_at: int = 0
    given_at: int = 10_000_000


def scripted(rng: Random, *, follows: bool, skill: float, model_right: float) -> list[Answered]:
    """The answers of a reviewer to 200 refused cases, of which the model has some right."""
    found = []
    for _ in range(CASES):
        truth = rng.choice(["late", "paid"])
        other = {"late": "paid", "paid": "late"}[truth]
        said = truth if rng.random() < model_right else other
        is_blind = rng.random() < BLIND_SHARE
        own = truth if rng.random() < skill else other
        found.append(Answered(said if follows and not is_blind else own, said, is_blind))
    return found


@pytest.mark.parametrize("model_right", [0.6, 0.75])
def test_followers_are_told_from_lookers_with_200_cases_at_one_percent(model_right: float) -> None:
    rng = Random(7)
    n = 300
    followers = [figures_of(scripted(rng, follows=True, skill=0.9, model_right=model_right)) for _ in range(n)]
    lookers = [
        figures_of(scripted(rng, follows=False, skill=rng.uniform(0.6, 1.0), model_right=model_right)) for _ in range(n)
    ]
    n_found, n_false = (sum(one.follows for one in some) for some in (followers, lookers))
    assert n_found >= 0.99 * n
    assert binomtest(n_false, n).proportion_ci(0.98).low <= LEVEL


def test_cases_of_certificates_and_settled_disagreements_are_left_out() -> None:
    kept = [Answered("paid", "paid", True), Answered("late", "paid", False)]
    left_out = [Answered("paid", "paid", True, purpose=Purpose.DRAWN), Answered("paid", "paid", False, turn=3)]
    found = figures_of(kept + left_out)
    assert (found.hidden, found.shown, found.n) == (Share(1, 1), Share(0, 1), 4)
    assert found.seconds == 10


def test_intervals_hold_the_share() -> None:
    assert Share().share is None
    assert Share().interval == (0.0, 1.0)
    low, high = Share(18, 20).interval
    assert (round(low, 3), round(high, 3)) == (0.683, 0.988)


def test_planted_errors_by_reader(engine: Engine, model_folder: Path) -> None:
    desk = Desk(engine, model_folder, Settings(second_share=0.0, blind_share=0.0, certificate_share=0.0))
    desk.decide(20)
    rows = [{"amount": 8120.0, "months": 15 + i, "income": 1557.0, "home": "rent", "age": 48} for i in range(4)]
    said = "late"
    plant(engine, desk.model, rows, [said, "paid", "paid", "paid"], "command:me")
    for label in ("late", "paid", "late", "paid"):
        with writing(engine) as connection:
            taken = give_planted(connection, ANN, desk.model, desk.at, desk.settings, desk.rng)
        assert desk.case(taken.case_id).model_label == '"late"'
        desk.answer(ANN, taken, label)
    with engine.connect() as connection:
        assert oversight(connection, "loans").all.n == 0
    desk.later(61)
    with engine.connect() as connection:
        found = oversight(connection, "loans")
        assert oversight(connection, "loans", "person:nobody").all.n == 0
    own = found.readers["person:ann"]
    assert own == found.all
    assert own.errors_shown.n == 3
    assert own.right.n == own.shown.n == own.n == 4
    assert own.shown.k == 2
    assert list(found.weeks.values()) == [own]
