from __future__ import annotations

import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pandas as pd
import pytest
from filling import fill
from redrawing import recomputed
from review_cases import ANN, BEN, EVE, Desk
from servers import KEYED
from sqlalchemy import Engine, select, update

from sepc_desk.chain import Chain, keep_context
from sepc_desk.database import engine_of
from sepc_desk.entries import EntryKind, entry
from sepc_desk.erasing import erase, erase_older
from sepc_desk.errors import RequestError
from sepc_desk.exporting import export
from sepc_desk.reviewing.answering import Given, answer, undo, undoable
from sepc_desk.reviewing.certifying import certificate
from sepc_desk.reviewing.enrolling import enrol
from sepc_desk.reviewing.feedback import feedback
from sepc_desk.reviewing.leasing import Reader, give_back, held
from sepc_desk.reviewing.planting import give_planted, plant
from sepc_desk.reviewing.settling import settle
from sepc_desk.reviewing.states import CaseState, Evidence, Purpose
from sepc_desk.reviewing.taking import next_reading
from sepc_desk.reviewing.transactions import seconds, writing
from sepc_desk.schema import answers, cases, entries, leases, readings
from sepc_desk.settings import Settings, load_settings
from sepc_desk.verifying import verify

ONE_READER = Settings(second_share=0.0, blind_share=0.0, certificate_block=300, certificate_share=0.2)
BLIND = Settings(second_share=0.0, blind_share=1.0, certificate_share=0.0)
TWO = Settings(second_share=1.0, blind_share=0.0, certificate_share=0.0)


@pytest.fixture
def desk(engine: Engine, model_folder: Path, request: pytest.FixtureRequest) -> Desk:
    return Desk(engine, model_folder, getattr(request, "param", ONE_READER))


def test_every_refused_decision_waits_and_some_accepted_ones_are_drawn(desk: Desk) -> None:
    desk.decide(600)
    refused = desk.count(entries, entries.c.accepted.is_(False))
    accepted = 600 - refused
    assert desk.count(cases, cases.c.purpose == Purpose.REFUSED) == refused > 100
    drawn = desk.count(cases, cases.c.purpose == Purpose.DRAWN)
    # A block of 300 gives a fifth of it.
    assert drawn + desk.count(cases, cases.c.purpose == Purpose.LEAST_TRUSTED) == 60 * (accepted // 300)
    assert drawn > 0
    assert desk.count(cases, cases.c.purpose == Purpose.DRAWN, cases.c.is_blind.is_(False)) == 0
    assert desk.count(readings) == desk.count(cases)
    assert enrol(desk.engine, desk.settings, desk.model_of, desk.at) == 0
    assert desk.place == 600


def test_what_was_read_before_a_failure_is_read_once(desk: Desk) -> None:
    fill(desk.engine, desk.folder, 750, ("loans",))

    def failing(name: str, digest: str) -> None:
        raise RuntimeError(name)

    settings = Settings(certificate_block=300, certificate_share=0.2)
    while enrol(desk.engine, settings, failing, desk.at):  # type: ignore[arg-type]
        pass
    assert desk.count(cases, cases.c.purpose == Purpose.DRAWN) == 0
    desk.decide(10)
    assert desk.count(cases, cases.c.purpose == Purpose.DRAWN) > 0
    assert desk.count(cases, cases.c.purpose == Purpose.REFUSED) == desk.count(entries, entries.c.accepted.is_(False))


def test_what_is_wrong_with_one_model_does_not_stop_the_review_of_another(desk: Desk) -> None:
    fill(desk.engine, desk.folder, 20, ("wdbc",))
    chain = Chain(desk.engine)
    row = {"row": {}, "trust": 0.5}
    bad = {"model": "gone", "label": '"a"', "accepted": False}
    chain.append([entry(EntryKind.DECISION, "key:1", row, context="none", **bad)])
    desk.decide(60)
    chain.close()
    refused = (entries.c.accepted.is_(False), entries.c.model != "gone")
    assert desk.count(cases, cases.c.purpose == Purpose.REFUSED) == desk.count(entries, *refused) > 0
    keep_context(desk.engine, "none", '{"model": {"name": "gone", "digest": "x"}}')
    desk.decide(1)
    assert desk.count(cases, cases.c.model == "gone") == 1


@pytest.mark.parametrize("desk", [BLIND], indirect=True)
def test_no_case_has_two_holders_and_the_oldest_comes_first(desk: Desk) -> None:
    desk.decide(60)
    n = desk.count(readings)
    taken = [desk.take(reader) for _ in range(n) for reader in (ANN, BEN)]
    got = [one.id for one in taken if one is not None]
    assert sorted(got) == sorted(set(got))
    assert len(got) == n
    assert desk.take(EVE) is None


def test_a_lease_returns_when_its_time_is_over(desk: Desk) -> None:
    desk.decide(60)
    first = desk.take(ANN)
    with desk.engine.connect() as connection:
        assert held(connection, ANN, "loans", desk.at).id == first.id
    desk.later(desk.settings.lease_seconds + 1)
    with desk.engine.connect() as connection:
        assert held(connection, ANN, "loans", desk.at) is None
    with pytest.raises(RequestError, match="no longer have this case"):
        desk.answer(ANN, first, "paid")
    again = desk.take(BEN)
    assert again.id == first.id
    assert again.lease != first.lease
    desk.answer(BEN, again, "paid")
    assert desk.count(leases, leases.c.ending == "lost") == 1
    assert desk.count(answers) == 1


def test_a_lease_that_is_over_cannot_be_answered_even_before_anyone_notices(desk: Desk) -> None:
    desk.decide(60)
    taken = desk.take(ANN)
    desk.at = taken.until
    with pytest.raises(RequestError, match="no longer have this case"):
        desk.answer(ANN, taken, "paid")


def test_a_case_given_back_goes_to_someone_else(desk: Desk) -> None:
    desk.decide(60)
    first = desk.take(ANN)
    with writing(desk.engine) as connection:
        assert not give_back(connection, BEN, first.id, first.lease, desk.at)
        assert give_back(connection, ANN, first.id, first.lease, desk.at)
    assert desk.take(ANN).case_id != first.case_id
    assert desk.take(BEN).case_id == first.case_id


def test_a_lease_never_starts_before_the_one_before_it_has_ended(desk: Desk) -> None:
    desk.decide(60)
    first = desk.take(ANN)
    desk.later(5)
    with writing(desk.engine) as connection:
        assert give_back(connection, ANN, first.id, first.lease, desk.at)
    desk.at -= seconds(3)  # Ben's transaction has read the clock before that, and comes after it.
    second = desk.take(BEN)
    assert second.id == first.id
    with desk.engine.connect() as connection:
        kept = connection.execute(select(leases).where(leases.c.reading == first.id).order_by(leases.c.taken_at)).all()
    assert [one.reader for one in kept] == [ANN.caller, BEN.caller]
    assert kept[0].ended_at == kept[1].taken_at == second.taken_at == desk.at + seconds(3)
    assert second.until == second.taken_at + seconds(desk.settings.lease_seconds)


def test_an_answer_sent_twice_counts_once_and_another_one_is_refused(desk: Desk) -> None:
    desk.decide(60)
    taken = desk.take(ANN)
    first = desk.answer(ANN, taken, "paid", "looks fine")
    assert desk.answer(ANN, taken, "paid", "looks fine") == first
    with pytest.raises(RequestError, match="answered already"):
        desk.answer(ANN, taken, "late")
    with pytest.raises(RequestError, match="no longer have"):
        desk.answer(BEN, taken, "late")
    desk.later(61)
    assert desk.answer(ANN, taken, "paid") == first
    assert desk.count(answers) == 1
    assert desk.case(taken.case_id).label == '"paid"'
    with desk.engine.connect() as connection:
        said = connection.execute(select(entries).where(entries.c.kind == EntryKind.ANSWER)).one()
    assert (said.caller, said.about, said.label) == ("person:ann", taken.case_id, '"paid"')
    assert orjson.loads(said.private) == {"comment": "looks fine"}
    assert verify(desk.engine).is_whole


def test_undo_works_for_a_minute_and_for_the_reader_only(desk: Desk) -> None:
    desk.decide(60)
    taken = desk.take(ANN)
    first = desk.answer(ANN, taken, "paid")
    seconds = {"undo_seconds": 60, "lease_seconds": 900}
    with writing(desk.engine) as connection:
        assert undoable(connection, ANN, "loans", desk.at, 60).id == first
        assert undoable(connection, BEN, "loans", desk.at, 60) is None
        with pytest.raises(RequestError, match="by the person who gave it"):
            undo(connection, BEN, first, desk.at, **seconds)
    desk.later(59)
    assert desk.case(taken.case_id).state == CaseState.OPEN
    with writing(desk.engine) as connection:
        again = undo(connection, ANN, first, desk.at, **seconds)
        assert again.id == taken.id
        assert answer(connection, ANN, again.id, again.lease, Given("late"), desk.at) != first
        with pytest.raises(RequestError, match="for 60 seconds"):
            undo(connection, ANN, first, desk.at, **seconds)
    desk.later(61)
    assert desk.case(taken.case_id).label == '"late"'
    with desk.engine.connect() as connection:
        assert undoable(connection, ANN, "loans", desk.at, 60) is None
        logged = connection.execute(select(entries.c.label).where(entries.c.kind == EntryKind.ANSWER)).scalars().all()
    assert logged == ['"late"']


def test_an_undo_that_has_begun_is_waited_for(new_database, model_folder: Path) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("postgresql")))
    desk = Desk(engine, model_folder, ONE_READER)
    desk.decide(60)
    taken = desk.take(ANN)
    first = desk.answer(ANN, taken, "paid")
    with ThreadPoolExecutor(1) as pool:
        with writing(engine) as connection:
            undo(connection, ANN, first, desk.at + 1, undo_seconds=60, lease_seconds=900)
            settling = pool.submit(settle, engine, 60, desk.at + 61_000_000)
            with pytest.raises(TimeoutError):
                settling.result(1)
        settling.result(30)
    assert desk.count(entries, entries.c.kind == EntryKind.ANSWER) == 0
    assert desk.count(readings, readings.c.id == taken.id, readings.c.state == "taken") == 1
    engine.dispose()


@pytest.mark.parametrize("desk", [TWO], indirect=True)
def test_two_readers_who_disagree_are_followed_by_a_third(desk: Desk) -> None:
    desk.decide(30)
    mine = desk.take(ANN)
    second = next(one for one in (desk.take(BEN) for _ in range(200)) if one.case_id == mine.case_id)
    desk.answer(ANN, mine, "paid")
    desk.answer(BEN, second, "late", "income is stale")
    desk.later(61)
    assert desk.case(mine.case_id).state == CaseState.DISPUTED
    assert not any((one := desk.take(reader)) and one.turn == 3 for reader in (ANN, BEN) for _ in range(60))
    desk.later(901)
    with writing(desk.engine) as connection:
        connection.execute(update(readings).where(readings.c.turn == 3).values(entered_at=0))
    third = desk.take(EVE)
    assert (third.case_id, third.turn) == (mine.case_id, 3)
    desk.answer(EVE, third, "late")
    desk.later(61)
    assert (desk.case(mine.case_id).state, desk.case(mine.case_id).label) == (CaseState.SETTLED, '"late"')


@pytest.mark.parametrize("desk", [BLIND], indirect=True)
def test_those_who_can_ask_the_model_get_no_blind_case(desk: Desk) -> None:
    desk.decide(60)
    assert desk.take(Reader("person:owner", sees_labels=True)) is None
    assert desk.take(ANN) is not None


def _drawn(desk: Desk) -> list[str]:
    with desk.engine.connect() as connection:
        own = select(cases.c.id).where(cases.c.purpose == Purpose.DRAWN)
        return list(connection.execute(own).scalars())


def _answer_all(desk: Desk, label_of) -> None:
    while (taken := desk.take(ANN)) is not None:
        case = desk.case(taken.case_id)
        desk.answer(ANN, taken, label_of(case))


def test_certificates_count_final_answers_and_everything_else_as_errors(desk: Desk) -> None:
    desk.decide(600)
    drawn = _drawn(desk)
    assert len(drawn) >= 20
    desk.leave_only(Purpose.DRAWN)
    unsure, other, lost = drawn[:3]
    while (taken := desk.take(ANN)) is not None:
        case = desk.case(taken.case_id)
        label = orjson.loads(case.model_label)
        if case.id == lost and case.evidence is None:
            # Somebody else takes it again later, and answers as the model does; it stays an error.
            desk.at = taken.until
            continue
        if case.id == other:
            label = "late" if label == "paid" else "paid"
        desk.answer(ANN, taken, None if case.id == unsure else label)
    with desk.engine.connect() as connection:
        before = certificate(connection, desk.model)
    assert (before.n_labels, before.n_waiting) == (0, 0)
    desk.later(61)
    with desk.engine.connect() as connection:
        found = certificate(connection, desk.model)
        evidence = Counter(connection.execute(select(cases.c.evidence).where(cases.c.id.in_(drawn))).scalars())
    n = len(drawn)
    assert evidence == {Evidence.CANNOT_SAY: 1, Evidence.LOST: 1, Evidence.ANSWER: n - 2}
    assert (found.n_labels, found.n_errors, found.n_waiting) == (n, 3, 0)
    assert desk.case(lost).label == desk.case(lost).model_label


def test_a_certificate_is_computed_again_from_exports(new_database, model_folder: Path, tmp_path: Path) -> None:
    engine = engine_of(load_settings(KEYED, database=new_database("sqlite")))
    # A risk that the first draw cannot prove, so that there are more.
    settings = replace(ONE_READER, certificate_share=0.5, certificate_risk=0.12, lease_seconds=40, undo_seconds=5)
    desk = Desk(engine, model_folder, settings)
    rng = Random(1)
    for _ in range(3):
        desk.decide(700)
        desk.leave_only(Purpose.DRAWN)
        # Some answers are given before the next draw and some after it, in any order; some cases are lost.
        for _ in range(25):
            for reader in (ANN, BEN, EVE, Reader("person:joe")):
                taken = desk.take(reader)
                if taken is not None and rng.random() < 0.95:
                    said = orjson.loads(desk.case(taken.case_id).model_label)
                    desk.answer(reader, taken, said if rng.random() < 0.95 else "late")
            desk.later(rng.uniform(0, 8))
    day = datetime.fromtimestamp(desk.at / 1e6, UTC).date()
    files = [export(engine, "cases", "csv", "loans", day - timedelta(days=days)).path for days in (1, 0)]
    exported = pd.concat([pd.read_csv(file, dtype=str, keep_default_na=False) for file in files], ignore_index=True)
    with engine.connect() as connection:
        own = certificate(connection, desk.model)
        accepted = select(entries.c.private).where(entries.c.accepted.is_(True)).order_by(entries.c.place)
        rows = [orjson.loads(text)["row"] for text in connection.execute(accepted).scalars()]
    assert own is not None
    assert own.n_labels >= 100
    assert exported["counted_after"].replace("", pd.NA).nunique() > 1
    given = {"block": 300, "share": settings.certificate_share, "max_risk": settings.certificate_risk}
    assert recomputed(desk.model, pd.DataFrame(rows), exported, **given) == own
    counted = exported.index[(exported["evidence"] == "answer") & (exported["is_counted"] == "True")]
    exported.loc[counted, "evidence"] = "lost"
    assert recomputed(desk.model, pd.DataFrame(rows), exported, **given) != own
    for file in files:
        file.unlink()
    engine.dispose()


def test_planted_cases_stay_out_of_log_certificate_and_queue(desk: Desk) -> None:
    desk.decide(600)
    desk.leave_only(Purpose.DRAWN)
    drawn, entered, logged = len(_drawn(desk)), desk.count(cases), desk.count(entries)
    rows = [{"amount": 8120 + i, "months": 15, "income": 1557, "home": "rent", "age": 48} for i in range(3)]
    with pytest.raises(RequestError, match="Row 0 has the label 'x'; the model knows 'late', 'paid'"):
        plant(desk.engine, desk.model, rows, ["x"] * 3, "command:me")
    plant(desk.engine, desk.model, rows, ["paid"] * 3, "command:me")
    for _ in range(3):
        with writing(desk.engine) as connection:
            taken = give_planted(connection, ANN, desk.model, desk.at, desk.settings, desk.rng)
        desk.answer(ANN, taken, "late")
    with writing(desk.engine) as connection:
        assert give_planted(connection, ANN, desk.model, desk.at, desk.settings, desk.rng) is None
        lost = give_planted(connection, BEN, desk.model, desk.at, desk.settings, desk.rng)
    desk.later(1000)
    assert desk.count(readings, readings.c.id == lost.id, readings.c.state == "withdrawn") == 1
    assert desk.count(cases) == entered + 4
    assert desk.count(entries) == logged + 1, "only that cases were planted"
    _answer_all(desk, lambda case: orjson.loads(case.model_label))
    desk.later(61)
    with desk.engine.connect() as connection:
        assert certificate(connection, desk.model).n_labels == drawn
        found = feedback(connection, "loans")
    assert len(found) == drawn
    assert {one.id for one in found} == set(_drawn(desk))
    assert {one.label for one in found} <= {"late", "paid"}


def test_erased_cases_are_withdrawn_and_comments_go(desk: Desk) -> None:
    desk.decide(600)
    drawn = _drawn(desk)[0]
    taken = desk.take(ANN)
    desk.answer(ANN, taken, "paid", "secret words")
    for who in ("person:ann", "person:ben"):
        erase(desk.engine, taken.case_id, who)
        erase(desk.engine, drawn, who)
    with desk.engine.connect() as connection:
        assert connection.execute(select(answers.c.comment)).scalar_one() is None
    assert (desk.case(drawn).state, desk.case(drawn).evidence) == (CaseState.ERASED, Evidence.ERASED)
    for who in ("person:ann", "person:ben"):
        erase_older(desk.engine, 0, who)
    assert desk.take(BEN) is None
    assert verify(desk.engine).is_whole


def test_other_entries_are_passed_over(desk: Desk) -> None:
    chain = Chain(desk.engine)
    chain.append([entry(EntryKind.ACCESS, "key:1") for _ in range(5)])
    chain.close()
    desk.decide(5)
    assert desk.place == 10


@pytest.mark.parametrize("desk", [TWO], indirect=True)
def test_requests_of_one_reader_at_once_never_give_both_readings_of_a_case(desk: Desk) -> None:
    desk.decide(40)
    n_cases = desk.count(cases)
    never_planted = replace(TWO, planted_share=0.0)

    def take_some(_: int) -> list[Any]:
        rng, got = Random(), []
        for _ in range(n_cases):
            # As many clicks of a person at the same moment: what is held is answered at once.
            taken = next_reading(desk.engine, ANN, desk.model, never_planted, desk.at, rng)
            if taken is not None:
                with contextlib.suppress(RequestError):
                    desk.answer(ANN, taken, "paid")
                got.append(taken)
        return got

    with ThreadPoolExecutor(3) as pool:
        found = [one for some in pool.map(take_some, range(3)) for one in some]
    by_case = {one.case_id: one.id for one in found}
    assert len({one.id for one in found}) == len(by_case) == n_cases
    assert desk.count(answers) == n_cases
