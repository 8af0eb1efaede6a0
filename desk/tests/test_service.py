from __future__ import annotations

import concurrent.futures
import time
import uuid

import orjson
import pytest
from conftest import Running
from sample_models import model
from sqlalchemy import select

from sepc_desk.heads import Head
from sepc_desk.schema import entries
from sepc_desk.verifying import verify

LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}


def test_a_decision_is_in_the_log_with_its_receipt(running: Running) -> None:
    answer = running.client.post("/decide", json={"model": "loans", "rows": [LOAN, {**LOAN, "income": None, "bed": 4}]})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["model"], body["ignored"]) == ("loans", ["bed"])
    assert [sorted(one) for one in body["decisions"]] == 2 * [
        ["accepted", "cause", "id", "label", "probabilities", "receipt", "trust"]
    ]
    with running.engine.connect() as connection:
        for one, row in zip(body["decisions"], [LOAN, {**LOAN, "income": None}], strict=True):
            found = connection.execute(select(entries).where(entries.c.id == one["id"])).one()
            assert found.place == one["receipt"]["place"]
            assert bytes(found.hash).hex() == one["receipt"]["hash"]
            private = orjson.loads(found.private)
            assert private["row"] == row
            assert (orjson.loads(found.label), private["trust"]) == (one["label"], one["trust"])
    heads = [Head(one["receipt"]["place"], bytes.fromhex(one["receipt"]["hash"])) for one in body["decisions"]]
    assert verify(running.engine, heads).is_whole


def test_decisions_are_those_of_the_library(running: Running) -> None:
    fitted, rows = model("wdbc")
    decisions = running.client.post("/decide", json={"model": "wdbc", "rows": rows}).json()["decisions"]
    own = fitted.decide(rows)
    assert [one["label"] for one in decisions] == own.label.tolist()
    assert [one["trust"] for one in decisions] == own.trust.tolist()
    assert [one["accepted"] for one in decisions] == own.accepted.tolist()


def test_columns_come_in_any_order_and_others_are_named_once(running: Running) -> None:
    rows = [LOAN, {"Age": 1, " age": 2, **dict(reversed(LOAN.items())), "note" * 99: "x"}, {"Age": 3, **LOAN}]
    answer = running.client.post("/decide", json={"model": "loans", "rows": rows}).json()
    assert answer["ignored"] == ["Age", " age", ("note" * 99)[:60]]
    assert len({(one["label"], one["trust"]) for one in answer["decisions"]}) == 1
    assert "ignored" not in running.client.post("/decide", json={"model": "loans", "rows": [LOAN]}).json()
    lacking = {name: value for name, value in rows[2].items() if name != "age"}
    error = running.client.post("/decide", json={"model": "loans", "rows": [lacking]}).json()["error"]
    assert (error["code"], error["column"]) == ("missing_column", "age")
    assert "did you mean" in error["message"]


def test_many_clients_at_once_each_get_their_own_answer(running: Running) -> None:
    rows = model("loans")[1]
    expected = model("loans")[0].decide(rows).trust

    def ask(i: int) -> bool:
        answer = running.client.post("/decide", json={"model": "loans", "rows": rows[i : i + 1]})
        return answer.json()["decisions"][0]["trust"] == expected[i]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(120)))
    assert verify(running.engine).is_whole


def test_thousands_of_rows_in_one_request(running: Running) -> None:
    rows = model("loans")[1] * 5
    decisions = running.client.post("/decide", json={"model": "loans", "rows": rows}).json()["decisions"]
    assert len({one["id"] for one in decisions}) == len(rows) == 1500


def test_one_bad_request_among_others_fails_alone(running: Running) -> None:
    good = {"model": "loans", "rows": [LOAN]}
    bad = {"model": "loans", "rows": [{**LOAN, "amount": "much"}]}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda body: running.client.post("/decide", json=body).status_code, [good, bad] * 20))
    assert found == [200, 422] * 20


def test_a_request_sent_again_with_its_key_is_not_decided_twice(running: Running) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"model": "loans", "rows": model("loans")[1]}
    first = running.client.post("/decide", json=body, headers=headers).json()["decisions"]
    second = running.client.post("/decide", json=body, headers=headers).json()["decisions"]
    assert [one | {"repeated": True} for one in first] == second
    assert len(first) == 300
    other = running.client.post("/decide", json={"model": "loans", "rows": [LOAN]}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "key_used_before")


def test_a_request_that_comes_many_times_at_once_is_decided_once(running: Running) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"model": "loans", "rows": [LOAN]}
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(running.client.post, "/decide", json=body, headers=headers) for _ in range(24)]
    places = {one.result().json()["decisions"][0]["receipt"]["place"] for one in sent}
    assert len(places) == 1


def test_two_callers_may_use_the_same_key(running: Running) -> None:
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"model": "loans", "rows": [LOAN]}
    one = running.client.post("/decide", json=body, headers=headers).json()["decisions"][0]
    two = running.owner.post("/decide", json=body, headers=headers).json()["decisions"][0]
    assert one["id"] != two["id"]


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        (b"{", 400, "not_json", "not JSON"),
        (b"[]", 400, "not_object", "object"),
        (b"{}", 422, "no_model", "Name the model"),
        (b'{"model": "loans"}', 422, "no_rows", "at least one row"),
        (b'{"model": "loans", "rows": []}', 422, "no_rows", "at least one row"),
        (b'{"model": "loans", "rows": [1]}', 422, "row_not_object", "Row 0 is 1"),
        (b'{"model": "no", "rows": [{}]}', 404, "no_such_model", "no model 'no'"),
        (b'{"model": "loans", "rows": [{}], "x": 1}', 422, "unknown_field", "'x'"),
        (b'{"model": "loans", "rows": [{"amount": 1}]}', 422, "missing_column", "no column 'months'"),
    ],
)
def test_errors_say_what_is_wrong(running: Running, body: bytes, status: int, code: str, words: str) -> None:
    answer = running.client.post("/decide", content=body)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code
    assert words in answer.json()["error"]["message"]


def test_limits_of_rows_and_bytes(running: Running) -> None:
    many = running.client.post("/decide", json={"model": "loans", "rows": [LOAN] * 10_001})
    assert (many.status_code, many.json()["error"]["code"]) == (413, "too_many_rows")
    explained = running.client.post("/explain", json={"model": "loans", "rows": [LOAN] * 101})
    assert explained.status_code == 413
    large = running.client.post("/decide", content=b" " * 5_000_000)
    assert (large.status_code, large.json()["error"]["code"]) == (413, "body_too_large")

    def chunks():
        for _ in range(50):
            yield b" " * 100_000

    assert running.client.post("/decide", content=chunks()).status_code == 413


def test_an_explanation_has_reason_and_terms_and_is_logged(running: Running) -> None:
    one = running.client.post("/explain", json={"model": "loans", "rows": [LOAN]}).json()["decisions"][0]
    assert one["reason"].startswith(f"'{one['label']}' with trust")
    assert [name for name, _ in one["terms"][:2]] == ["amount", "months"]
    case = running.client.get(f"/decisions/{one['id']}").json()["case"]
    assert (case["reason"], case["terms"]) == (one["reason"], one["terms"])


def test_recourse_is_found_and_logged(running: Running) -> None:
    body = {"model": "loans", "row": LOAN, "to": "paid", "fixed": ["age"], "bounds": {"amount": [500, 9000]}}
    answer = running.client.post("/recourse", json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert found["reachable"]
    assert found["answers"][0]["changes"]
    case = running.client.get(f"/decisions/{found['id']}").json()
    assert (case["kind"], case["case"]["to"]) == ("recourse", "paid")
    assert running.client.post("/recourse", json=body | {"to": "nobody"}).status_code == 422
    assert running.client.post("/recourse", json=body | {"bounds": {"amount": 3}}).json()["error"]["column"] == "amount"


def test_the_open_inference_protocol(running: Running) -> None:
    columns = [
        {"name": "amount", "shape": [2], "datatype": "FP64", "data": [8120, 500.5]},
        {"name": "months", "shape": [2, 1], "datatype": "INT64", "data": [[15], [20]]},
        {"name": "income", "shape": [2], "datatype": "FP64", "data": [1557.0, None]},
        {"name": "home", "shape": [2], "datatype": "BYTES", "data": ["rent", "own"]},
        {"name": "age", "shape": [2], "datatype": "INT64", "data": [48, 30]},
    ]
    body = {"id": "a", "parameters": {"content_type": "pd"}, "inputs": columns}
    answer = running.client.post("/v2/models/loans/infer", json=body).json()
    rows = [LOAN, {"amount": 500.5, "months": 20, "income": None, "home": "own", "age": 30}]
    plain = running.client.post("/decide", json={"model": "loans", "rows": rows}).json()
    outputs = {one["name"]: one["data"] for one in answer["outputs"]}
    assert answer["id"] == "a"
    assert answer["model_version"] == plain["version"]
    for name in ("label", "trust", "accepted", "cause"):
        assert outputs[name] == [one[name] for one in plain["decisions"]]
    about = running.client.get("/v2/models/loans").json()
    assert [one["name"] for one in about["inputs"]] == list(LOAN)
    assert running.client.get("/v2/models/loans/ready").status_code == 200
    assert running.client.get("/v2/models/loans/versions/none/ready").status_code == 404
    assert (
        running.nobody.get("/v2/health/live").status_code == running.nobody.get("/v2/health/ready").status_code == 200
    )


def test_the_protocol_takes_a_table_of_numbers_in_the_models_order(running: Running) -> None:
    rows = model("wdbc")[1][:3]
    data = [value for row in rows for value in row.values()]
    tensor = {"name": "rows", "shape": [3, 10], "datatype": "FP64", "data": data}
    answer = running.client.post("/v2/models/wdbc/infer", json={"inputs": [tensor]}).json()
    plain = running.client.post("/decide", json={"model": "wdbc", "rows": rows}).json()
    assert answer["outputs"][0] == {
        "name": "label",
        "shape": [3],
        "datatype": "INT64",
        "data": [one["label"] for one in plain["decisions"]],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [5]},
        {"shape": "x"},
        {"datatype": "FP65"},
        {"data": None},
        {"name": 3},
        {"data": [[1], [2, 3]]},
        {"shape": [1, 1, 1]},
        {"shape": [-1]},
    ],
)
def test_tensors_that_are_wrong_are_refused(running: Running, change: dict) -> None:
    tensor = {"name": "amount", "shape": [1], "datatype": "FP64", "data": [1.0]} | change
    answer = running.client.post("/v2/models/loans/infer", json={"inputs": [tensor]})
    assert answer.status_code == 422


def test_every_example_of_the_openapi_document_works(running: Running) -> None:
    document = running.client.get("/openapi.json").json()
    n = 0
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {}).values():
                own = path.replace("{name}", "loans")
                if "{version}" in own:
                    version = running.client.get("/v2/models/loans").json()["versions"][0]
                    own = own.replace("{version}", version)
                answer = running.client.request(method, own, json=example["value"])
                assert answer.status_code == 200, (path, answer.text)
                n += 1
    assert n >= 6


def test_metrics_count_decisions_and_hold_no_values(running: Running) -> None:
    running.client.post(
        "/decide", json={"model": "loans", "rows": [{**LOAN, "amount": 123456789.5, "home": "secret-home"}]}
    )
    text = running.auditor.get("/metrics").text
    for name in ("decisions_total", "request_seconds_bucket", "write_seconds_sum", "log_lag_seconds", "chain_place"):
        assert f"sepc_desk_{name}" in text
    assert 'model="loans"' in text
    assert "123456789" not in text
    assert "secret-home" not in text


def test_health_and_security_headers(running: Running) -> None:
    answer = running.nobody.get("/health/ready")
    well = {"database": "ok", "models": "ok", "clock": "ok", "keys": "ok", "behind": "none"}
    assert answer.json() == {"ready": True} | well
    headers = answer.headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers
    assert running.client.get("/decide").status_code == 405
    assert running.client.get("/nothing").json()["error"]["code"] == "no_such_path"


def test_a_single_request_does_not_wait_for_a_timer(running: Running) -> None:
    body = {"model": "loans", "rows": [LOAN]}
    times = []
    for _ in range(20):
        started = time.perf_counter()
        running.client.post("/decide", json=body)
        times.append(time.perf_counter() - started)
    assert min(times) < 0.2
