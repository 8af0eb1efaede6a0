"""Ways in, by the OWASP API Security Top 10 of 2023: real attempts at a running service for each of its ten risks."""

from __future__ import annotations

import base64
import concurrent.futures
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pytest
from conftest import Running
from hostile_provider import CLIENT, SECRET, Canary, HostileProvider
from itsdangerous import TimestampSigner
from sample_models import model, save_models
from servers import KEYED, DeskProcess
from sqlalchemy import func, select

from sepc_desk.keys import create_key, end_sessions, revoke_key, start_session
from sepc_desk.models import ModelFolder
from sepc_desk.owning.changes import go_live_in_emergency
from sepc_desk.schema import entries
from sepc_desk.service.app import create_app
from sepc_desk.settings import load_settings

LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}
SESSION_SECRET = "0123456789abcdef" * 4
TODAY = {"day": time.strftime("%Y-%m-%d", time.gmtime())}
ROLES = ("program", "reviewer", "owner", "auditor", "monitor")


class Guarded(Running):
    """A service that people sign in to as well, with a key of each role for each model."""

    def __init__(self, process: DeskProcess, database: str, provider: HostileProvider, models: Path) -> None:
        super().__init__(process, database)
        self.provider, self.models = provider, models
        self.keys = {
            (role, name): create_key(self.engine, f"{role} {name}", [name], role)
            for role in ROLES
            for name in ("loans", "wdbc", "*")
        }

    def ask(self, method: str, path: str, key: str | None = None, **options: Any) -> httpx.Response:
        headers = options.pop("headers", {}) | ({} if key is None else {"Authorization": f"Bearer {key}"})
        return self.nobody.request(method, path, headers=headers, **options)

    def decide(self, role: str = "program", name: str = "loans") -> dict[str, Any]:
        row = LOAN if name == "loans" else model("wdbc")[1][0]
        answer = self.ask("POST", "/decide", self.keys[role, name], json={"model": name, "rows": [row]})
        return answer.json()["decisions"][0]

    def n_entries(self) -> int:
        with self.engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(entries)).scalar_one()


@pytest.fixture(scope="module")
def guarded(new_database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    models = save_models(tmp_path_factory.mktemp("guarded") / "models", ["loans", "wdbc"])
    provider, database = HostileProvider(), new_database("sqlite")
    process = DeskProcess(
        database,
        models,
        is_warm=True,
        max_rows=20,
        max_bytes=100_000,
        failed_keys_per_minute=300,
        oidc_issuer=provider.address,
        public_address="http://localhost:1",
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_roles_claim="groups",
        oidc_roles="loans-team=owner:loans",
        session_secret=SESSION_SECRET,
    )
    own = Guarded(process.wait_ready(), database, provider, models)
    yield own
    own.close()
    provider.close()


# API1: broken object level authorization


@pytest.mark.parametrize("role", ROLES)
def test_api1_a_case_of_another_model_does_not_exist(guarded: Guarded, role: str) -> None:
    for case in (guarded.decide(name="wdbc")["id"], recourse(guarded)["id"]):
        key = guarded.keys[role, "loans"]
        other = guarded.keys[role, "wdbc" if role == "monitor" else "loans"]
        never = guarded.ask("GET", "/decisions/" + "0" * 32, other)
        n = guarded.n_entries()
        for method in ("GET", "DELETE"):
            answer = guarded.ask(method, f"/decisions/{case}", key)
            # Nor does the answer tell whether there is such a case.
            assert (answer.status_code, answer.json()) == (404, never.json())
        assert guarded.n_entries() == n
    assert guarded.ask("GET", "/decisions", key, params={"model": "wdbc", **TODAY}).status_code == 403


def recourse(guarded: Guarded) -> dict[str, Any]:
    row = model("wdbc")[1][0]
    body = {"model": "wdbc", "row": row, "to": 1, "fixed": list(row)[1:]}
    return guarded.ask("POST", "/recourse", guarded.keys["program", "wdbc"], json=body).json()


def test_api1_programs_do_not_see_each_others_cases_or_answers(guarded: Guarded) -> None:
    headers = {"Idempotency-Key": "the-same-for-both"}
    body = {"model": "loans", "rows": [LOAN]}
    one, two = (
        guarded.ask("POST", "/decide", key, json=body, headers=headers).json()["decisions"][0]
        for key in (guarded.keys["program", "loans"], guarded.keys["program", "*"])
    )
    assert one["id"] != two["id"]
    assert guarded.ask("GET", f"/decisions/{one['id']}", guarded.keys["program", "*"]).status_code == 404
    assert guarded.ask("GET", f"/decisions/{one['id']}", guarded.keys["program", "loans"]).status_code == 200


@pytest.mark.parametrize("case", ["1", "%27%20OR%201=1--", "..%2f..%2fkeys", "%00", "x" * 5000, "*", "%25", "null"])
def test_api1_no_id_but_a_real_one_finds_a_case(guarded: Guarded, case: str) -> None:
    guarded.decide()
    answer = guarded.ask("GET", f"/decisions/{case}", guarded.keys["owner", "*"])
    assert answer.status_code == (400 if case == "%00" else 404)


# API2: broken authentication


def test_api2_nothing_but_a_whole_key_is_a_key(guarded: Guarded) -> None:
    key = guarded.keys["owner", "*"]
    assert guarded.ask("GET", "/head", key).status_code == 200
    digest = hashlib.sha256(key.encode())
    wrong = ["sepc_", key[:-1], key + "x", key.upper(), key.split("_")[1], digest.hexdigest(), f"{key},{key}"]
    for given in wrong:
        for headers in ({"Authorization": f"Bearer {given}"}, {"X-API-Key": given}, {"Authorization": given}):
            assert guarded.ask("GET", "/head", headers=headers).status_code == 401, given
    assert guarded.ask("GET", "/head", headers={"Authorization": "Bearer"}).status_code == 401
    basic = base64.b64encode(f"{key}:{key}".encode()).decode()
    assert guarded.ask("GET", "/head", headers={"Authorization": f"Basic {basic}"}).status_code == 401
    for name in ("key", "api_key", "access_token", "authorization", "token"):
        assert guarded.ask("GET", "/head", params={name: key}).status_code == 401
        assert guarded.ask("GET", "/head", headers={"Cookie": f"{name}={key}"}).status_code == 401


def test_api2_the_database_does_not_hold_keys(guarded: Guarded) -> None:
    file = Path(guarded.database.removeprefix("sqlite:///"))
    held = b"".join(own.read_bytes() for own in file.parent.iterdir())
    for key in guarded.keys.values():
        assert key.split("_", 2)[2].encode() not in held
        assert hashlib.sha256(key.encode()).digest() in held


def test_api2_a_revoked_key_ends(guarded: Guarded) -> None:
    key = create_key(guarded.engine, "short", ["loans"])
    assert guarded.ask("GET", "/head", key).status_code == 200
    revoke_key(guarded.engine, key.split("_")[1])
    until = time.monotonic() + 15
    while guarded.ask("GET", "/head", key).status_code == 200 and time.monotonic() < until:
        time.sleep(0.1)
    assert guarded.ask("GET", "/head", key).status_code == 401


def cookie(
    guarded: Guarded, secret: str = SESSION_SECRET, age: float = 0.0, seconds: float = 3600, **changes: Any
) -> dict[str, str]:
    """The cookie of a session that is in the database, signed as the service signs it."""
    session = {"id": start_session(guarded.engine, "ann", ["loans-team"], seconds), "csrf": "token"} | changes

    class Signer(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(time.time() - age)

    data = base64.b64encode(json.dumps(session).encode())
    return {"Cookie": f"sepc_desk={Signer(secret).sign(data).decode()}"}


def test_api2_a_session_ends_and_cannot_be_made_up(guarded: Guarded) -> None:
    assert guarded.ask("GET", "/me", headers=cookie(guarded)).json()["person"] == "person:ann"
    right = cookie(guarded)["Cookie"]
    forged = base64.b64encode(json.dumps({"person": "ann", "grants": [["owner", "*"]], "until": 9e9}).encode()).decode()
    for headers in (
        cookie(guarded, seconds=-1),
        cookie(guarded, age=9 * 3600),
        cookie(guarded, secret="f" * 64),
        cookie(guarded, id="x" * 43),
        cookie(guarded, id=guarded.keys["owner", "*"]),
        cookie(guarded, id=None, person="ann", grants=[["owner", "*"]], until=9e9),
        {"Cookie": right[:-2] + ("A" if right[-2] != "A" else "B") + right[-1]},
        {"Cookie": f"sepc_desk={forged}"},
        {"Cookie": f"sepc_desk={forged}.{right.partition('.')[2]}"},
        {"Cookie": "sepc_desk=null"},
    ):
        for path in ("/me", "/head", "/decisions?model=loans&day=2026-01-01"):
            assert guarded.ask("GET", path, headers=headers).status_code == 401, (headers, path)


def test_api2_a_session_changes_nothing_without_its_token(guarded: Guarded) -> None:
    case = guarded.decide()["id"]
    for token in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "other"}):
        assert guarded.ask("DELETE", f"/decisions/{case}", headers=cookie(guarded) | token).status_code == 403
        assert guarded.ask("POST", "/sign-out", headers=cookie(guarded) | token).status_code == 403
    right = cookie(guarded) | {"X-CSRF-Token": "token"}
    assert guarded.ask("DELETE", f"/decisions/{case}", headers=right).status_code == 202


def test_api2_a_session_ends_for_all_copies_of_its_cookie(guarded: Guarded) -> None:
    def may_enter(own: dict[str, str]) -> bool:
        return guarded.ask("GET", "/me", headers=own).status_code == 200

    one, other = cookie(guarded), cookie(guarded)
    assert may_enter(one)
    assert may_enter(other)
    assert guarded.ask("POST", "/sign-out", headers=one | {"X-CSRF-Token": "token"}).status_code == 200
    assert not may_enter(one)
    assert may_enter(other)
    # A role that is withdrawn ends all that stands on it: by the provider, at the next sign-in, or by an operator.
    start_session(guarded.engine, "ann", [], 3600)
    wait_until(lambda: not may_enter(other))
    third = cookie(guarded)
    assert may_enter(third)
    assert end_sessions(guarded.engine, "ann", "command:me") > 0
    wait_until(lambda: not may_enter(third))


def wait_until(holds: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_api2_a_key_expires(guarded: Guarded) -> None:
    key = create_key(guarded.engine, "short", ["loans"])
    assert guarded.ask("GET", "/head", key).status_code == 200
    expired = create_key(guarded.engine, "old", ["loans"], days=0)
    assert guarded.ask("GET", "/head", expired).status_code == 401


# API3: broken object property level authorization


def test_api3_no_field_of_an_entry_can_be_sent_along(guarded: Guarded) -> None:
    key = guarded.keys["program", "loans"]
    fields = {"id": "0", "caller": "key:0", "accepted": True, "label": "paid", "trust": 1.0, "at": 0, "version": "0"}
    for name, value in fields.items():
        body = {"model": "loans", "rows": [LOAN], name: value}
        refused = guarded.ask("POST", "/decide", key, json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unknown_field")
        body = {"model": "loans", "row": LOAN, "to": "paid", name: value}
        assert guarded.ask("POST", "/recourse", key, json=body).status_code == 422
    headers = {"X-Caller": "key:0", "X-User": "ann", "X-Role": "owner", "X-Forwarded-User": "ann"}
    body = {"model": "loans", "rows": [LOAN | fields | {"__proto__": 1, "salt": "00"}]}
    made = guarded.ask("POST", "/decide", key, json=body, headers=headers).json()["decisions"][0]
    own = guarded.ask("GET", f"/decisions/{made['id']}", key).json()
    assert own["case"]["row"] == LOAN
    assert own["caller"] == f"key:{key.split('_')[1]}"
    assert made["label"] == own["label"] == guarded.decide()["label"]


def test_api3_answers_hold_no_more_than_they_should(guarded: Guarded) -> None:
    key, auditor = guarded.keys["program", "loans"], guarded.keys["auditor", "loans"]
    made = guarded.decide()
    assert set(made) == {"id", "label", "accepted", "cause", "trust", "probabilities", "receipt"}
    own = guarded.ask("GET", f"/decisions/{made['id']}", key).json()
    assert set(own["case"]) == {"row", "trust", "probabilities", "region"}
    assert not {"salt", "private_digest", "request_key"} & set(own)
    listed = guarded.ask("GET", "/decisions", auditor, params={"model": "loans", **TODAY}).json()["decisions"]
    assert listed
    assert all("case" not in one and "trust" not in one for one in listed)
    about = guarded.ask("GET", "/v2/models/loans", key).text
    assert str(guarded.models) not in about


# API4: unrestricted resource consumption


def test_api4_what_is_too_much_is_refused(guarded: Guarded) -> None:
    key = guarded.keys["program", "loans"]

    def status(path: str, content: Any) -> int:
        given = content if isinstance(content, bytes) else json.dumps(content).encode()
        return guarded.ask("POST", path, key, content=given).status_code

    assert status("/decide", {"model": "loans", "rows": [LOAN] * 21}) == 413
    assert status("/explain", {"model": "loans", "rows": [LOAN] * 101}) == 413
    assert status("/decide", b" " * 100_001) == 413
    assert status("/decide", b"[" * 90_000) == 400
    assert status("/decide", b'{"a":' * 15_000) == 400
    assert status("/decide", {"model": "loans", "rows": [LOAN | {"home": "x" * 10_001}]}) == 422
    assert status("/recourse", {"model": "loans", "row": LOAN, "to": "paid", "n_answers": 10**6}) == 422
    tensor = {"name": "amount", "shape": [2**62], "datatype": "FP64", "data": [1.0]}
    assert status("/v2/models/loans/infer", {"inputs": [tensor]}) == 422
    query = {"model": "loans", **TODAY, "limit": str(10**18 - 1), "after": "0"}
    listed = guarded.ask("GET", "/decisions", guarded.keys["auditor", "loans"], params=query)
    assert len(listed.json()["decisions"]) <= 1000
    headers = {"Idempotency-Key": "x" * 201}
    assert (
        guarded.ask("POST", "/decide", key, json={"model": "loans", "rows": [LOAN]}, headers=headers).status_code == 400
    )


# API5: broken function level authorization

DECIDING = {"program", "owner"}
FUNCTIONS: list[tuple[str, str, Any, set[str]]] = [
    ("POST", "/decide", {"model": "loans", "rows": [LOAN]}, DECIDING),
    ("POST", "/explain", {"model": "loans", "rows": [LOAN]}, DECIDING),
    ("POST", "/recourse", {"model": "loans", "row": LOAN, "to": "paid", "fixed": list(LOAN)[1:]}, DECIDING),
    ("POST", "/v2/models/loans/infer", {"inputs": []}, DECIDING),
    ("GET", "/v2/models/loans", None, DECIDING),
    ("GET", "/v2/models/loans/ready", None, DECIDING),
    ("GET", f"/decisions?model=loans&day={TODAY['day']}", None, {"owner", "auditor"}),
    # A reviewer sees no decision that may still be drawn for a review with the model's label hidden.
    ("GET", "/decisions/{case}", None, {"owner", "auditor"}),
    ("DELETE", "/decisions/{case}", None, {"owner"}),
    ("GET", "/metrics", None, {"owner", "auditor", "monitor"}),
    ("GET", "/review", None, {"reviewer"}),
    ("GET", "/answers", None, {"reviewer"}),
    ("POST", "/review/loans/next", None, {"reviewer"}),
    ("GET", "/models", None, {"owner", "auditor"}),
    ("GET", "/models/loans", None, {"owner", "auditor"}),
    ("GET", "/models/loans/digest", None, {"owner", "auditor"}),
    ("POST", "/models/loans/audit", None, {"owner"}),
    ("POST", "/models/loans/repair", None, {"owner"}),
    ("POST", "/models/loans/compare", None, {"owner"}),
    ("POST", "/models/loans/challenger", None, {"owner"}),
    # No key is enough to approve: owners sign in.
    ("POST", "/models/loans/roll-back", None, set()),
    ("GET", "/audit", None, {"auditor"}),
    ("GET", "/audit/log?model=loans", None, {"auditor"}),
    ("GET", "/audit/entries/{case}", None, {"auditor"}),
    ("GET", "/audit/export/log.csv?model=loans", None, {"auditor"}),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "roles"), FUNCTIONS, ids=lambda own: own if type(own) is str else ""
)
def test_api5_each_function_is_for_its_roles_only(
    guarded: Guarded, method: str, path: str, body: Any, roles: set[str]
) -> None:
    for role in ROLES:
        case = guarded.decide()["id"]
        answer = guarded.ask(method, path.format(case=case), guarded.keys[role, "*"], json=body)
        assert (answer.status_code not in (401, 403, 404)) == (role in roles), (role, answer.text)


def test_api5_figures_of_all_models_are_not_for_keys_of_one(guarded: Guarded) -> None:
    for role in ROLES:
        assert guarded.ask("GET", "/metrics", guarded.keys[role, "loans"]).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"X-HTTP-Method-Override": "DELETE"},
        {"X-HTTP-Method": "DELETE"},
        {"X-Original-URL": "/metrics", "X-Rewrite-URL": "/metrics"},
        {"X-Forwarded-Prefix": "/metrics"},
    ],
)
def test_api5_headers_do_not_turn_one_function_into_another(guarded: Guarded, headers: dict[str, str]) -> None:
    made = guarded.decide()
    path, key = f"/decisions/{made['id']}", guarded.keys["owner", "loans"]
    seen = guarded.ask("GET", path, key, headers=headers, params={"_method": "DELETE"}).json()
    assert (seen["id"], seen["erased"]) == (made["id"], False)
    for method in ("PUT", "PATCH", "POST", "TRACE", "PROPFIND"):
        assert guarded.ask(method, path, key).status_code == 405
    assert guarded.ask("GET", path, key).json()["erased"] is False


# API6: unrestricted access to sensitive business flows


def test_api6_whoever_tries_until_it_fits_is_slowed_down_and_in_the_log(guarded: Guarded) -> None:
    key = guarded.keys["program", "loans"]
    n = guarded.n_entries()
    body = {"model": "loans", "row": LOAN, "to": "paid", "n_answers": 5}
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: guarded.ask("POST", "/recourse", key, json=body).status_code, range(12)))
    assert set(found) == {200, 429}
    assert guarded.n_entries() == n + found.count(200)


# API7: server side request forgery


def test_api7_no_address_that_a_caller_sends_is_visited(guarded: Guarded) -> None:
    canary = Canary()
    address = canary.address + "/visited"
    key = guarded.keys["owner", "*"]
    names = ("Referer", "Origin", "X-Forwarded-Host", "X-Forwarded-For", "X-Original-URL", "Forwarded", "Link", "From")
    headers = dict.fromkeys(names, address) | {"Idempotency-Key": address}
    for body in (
        {"model": address, "rows": [LOAN]},
        {"model": "loans", "rows": [LOAN | {"home": address, "url": address}]},
        {"model": "loans", "rows": address},
        {"model": "loans", "row": LOAN, "to": address},
        {"inputs": [{"name": address, "shape": [1], "datatype": "BYTES", "data": [address]}], "outputs": address},
        {"$ref": address, "model": {"$ref": address}},
    ):
        for path in ("/decide", "/explain", "/recourse", "/v2/models/loans/infer"):
            guarded.ask("POST", path, key, json=body, headers=headers)
    names = ("url", "next", "redirect", "redirect_uri", "callback", "iss", "issuer", "model", "day", "code", "state")
    for path in ("/decisions", "/sign-in", "/sign-in/callback", "/openapi.json", "/me", "/metrics", "/head"):
        answer = guarded.ask("GET", path, key, params=dict.fromkeys(names, address), headers=headers)
        assert not answer.headers.get("location", "").startswith(canary.address)
    guarded.ask("GET", address, key)
    canary.close()
    assert canary.visits == ["/visited"], "only the test itself came by, which shows that visits are counted"


# API8: security misconfiguration


def test_api8_every_answer_has_its_headers_and_no_site_is_let_in(guarded: Guarded) -> None:
    origin = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    key = guarded.keys["program", "loans"]
    answers = [
        guarded.ask("GET", "/health/live", headers=origin),
        guarded.ask("GET", "/head", headers=origin),
        guarded.ask("GET", "/head", key, headers=origin),
        guarded.ask("GET", "/nowhere", key, headers=origin),
        guarded.ask("OPTIONS", "/decide", key, headers=origin),
        guarded.ask("POST", "/decide", key, headers=origin, content=b"{"),
        guarded.ask("POST", "/decide", key, headers=origin, content=b" " * 200_000),
        guarded.ask("GET", "/sign-in", headers=origin),
        guarded.ask("GET", "/sign-in/callback?state=x&code=y", headers=origin),
    ]
    assert [own.status_code for own in answers] == [200, 401, 200, 404, 405, 400, 413, 302, 401]
    for own in answers:
        assert own.headers["x-content-type-options"] == "nosniff"
        assert own.headers["x-frame-options"] == "DENY"
        assert own.headers["cache-control"] == "no-store"
        assert own.headers["strict-transport-security"].startswith("max-age=")
        assert "default-src 'none'" in own.headers["content-security-policy"]
        assert not [name for name in own.headers if name.startswith("access-control-")]
        assert not {"server", "x-powered-by"} & set(own.headers)
        assert "Traceback" not in own.text


def test_api8_cookies_stay_with_this_site_over_tls(guarded: Guarded) -> None:
    given = guarded.ask("GET", "/sign-in").headers["set-cookie"].lower()
    assert all(flag in given for flag in ("httponly", "secure", "samesite=lax", "path=/"))


# API9: improper inventory management


def test_api9_every_route_is_documented_and_asks_for_a_key(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    given = {"oidc_issuer": guarded.provider.address, "oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
    given |= {"public_address": "http://localhost:1", "oidc_roles": "loans-team=owner:loans"}
    settings = load_settings(
        KEYED, database=guarded.database, models=guarded.models, session_secret=SESSION_SECRET, **given
    )
    routes = list(all_routes(create_app(settings).routes))
    document = guarded.ask("GET", "/openapi.json", guarded.keys["program", "loans"]).json()
    told = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    # Pages are for browsers; those of the sign-in are all there are without a key.
    open_pages = {route.path for route in routes if route.endpoint.__module__.endswith("sign_in")}
    open_pages -= {"/me", "/sign-out"}
    assert open_pages == {"/sign-in", "/sign-in/callback"}
    known = {(route.path, method) for route in routes for method in route.methods - {"HEAD"}}
    pages = {
        (route.path, method)
        for route in routes
        if route.endpoint.__module__.startswith("sepc_desk.pages.")
        for method in route.methods - {"HEAD"}
    }
    assert known - told - pages == {("/openapi.json", "GET"), ("/sign-in", "GET"), ("/sign-in/callback", "GET")}
    assert told <= known
    assert not told & pages
    sample = {"case": "0" * 32, "name": "loans", "version": "0", "model": "loans", "reading": "1", "own_id": "0" * 32}
    sample |= {"what": "log", "form": "csv", "own": "0"}
    for path, method in sorted(known):
        answer = guarded.ask(method, path.format(**sample))
        if path in open_pages:
            continue
        if (path, method) in pages:
            # The files that pages are made with hold nothing of anyone.
            is_static = path == "/static/{name}"
            is_sent_away = (answer.status_code, answer.headers.get("location")) == (303, "/sign-in")
            assert answer.status_code == (404 if is_static else 303 if method == "GET" else 401), (method, path)
            assert is_static or method != "GET" or is_sent_away
            continue
        is_open = document["paths"].get(path, {}).get(method.lower(), {}).get("security") == []
        assert is_open == ("/health/" in path)
        assert (answer.status_code == 200) if is_open else (answer.status_code == 401), (method, path)
    for path in ("/docs", "/redoc", "/debug", "/admin", "/v1", "/.env", "/static", "/openapi.yaml", "/v2/%2e%2e/head"):
        assert guarded.ask("GET", path, guarded.keys["owner", "*"]).status_code in (404, 405)


def all_routes(routes: list[Any]) -> Iterator[Any]:
    """Routes with those of the routers among them."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from all_routes(inner.routes) if inner is not None else [route]


# API10: unsafe consumption of APIs


def begun(guarded: Guarded) -> tuple[httpx.Response, dict[str, str], str]:
    """The answer to a sign-in that begins, with its cookie and its state."""
    answer = guarded.ask("GET", "/sign-in")
    query = parse_qs(urlsplit(answer.headers.get("location", "")).query)
    guarded.provider.nonce = query.get("nonce", [""])[0]
    given = answer.headers.get("set-cookie", "").partition(";")[0]
    return answer, {"Cookie": given} if given else {}, query.get("state", [""])[0]


def signed_in(guarded: Guarded) -> httpx.Response:
    """The answer to someone who comes back from the provider."""
    _, headers, state = begun(guarded)
    return guarded.ask("GET", "/sign-in/callback", params={"code": "x", "state": state}, headers=headers)


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"aud": "another-client"},
    {"iss": "https://another.example"},
    {"exp": 1},
    {"exp": ""},
    {"nonce": "of-another-sign-in"},
    {"nonce": ""},
    {"sub": ""},
    {"sub": 7},
    {"sub": "ann\nkey:1"},
    {"sub": "x" * 256},
]


def test_api10_a_provider_that_answers_wrongly_lets_nobody_in(guarded: Guarded) -> None:
    provider = guarded.provider
    canary = Canary()
    description, keys, token = "/.well-known/openid-configuration", "/keys", "/token"
    elsewhere = {"Location": canary.address + "/visited"}
    garbage = [(500, b"", {}), (200, b"<html>", {}), (200, b"[]", {}), (200, b"{}", {}), (302, b"", elsewhere)]
    for answer in garbage:
        for path in (token, keys):
            provider.behave()
            provider.instead = {path: answer}
            assert signed_in(guarded).status_code in (401, 503), (path, answer)
        # Without keys, the service does not know what to think of a provider, and reads its description again.
        provider.instead = {description: answer}
        assert begun(guarded)[0].status_code == 503, answer
    for made in (
        lambda right: right | {"id_token": provider.signed(provider.other_key)},
        lambda right: right | {"id_token": provider.signed_with_text(SECRET.encode())},
        lambda right: right | {"id_token": provider.signed_with_text(provider.key.as_pem(private=False))},
        lambda right: right | {"id_token": unsigned(right["id_token"])},
        lambda right: right | {"id_token": unsigned(right["id_token"]) + "x"},
        lambda right: right | {"id_token": "x.y.z"},
        lambda right: right | {"id_token": {"sub": "ann"}},
        lambda right: {"access_token": "x", "userinfo": {"sub": "ann", "groups": ["loans-team"]}},
        lambda right: {"error": "invalid_grant"},
        lambda right: [right],
    ):
        provider.behave()
        provider.token = made
        assert signed_in(guarded).status_code in (401, 503)
    for wrong in WRONG_CLAIMS:
        provider.behave()
        provider.claims = wrong
        assert signed_in(guarded).status_code == 401, wrong
    for groups in (None, [], {}, 7, {"loans-team": 1}, [["loans-team"]], "owner", ["owner:*"]):
        provider.behave()
        provider.claims = {"groups": groups}
        assert signed_in(guarded).status_code == 403, groups
    # Whatever a provider says that it signs with: the list is ours.
    provider.behave()
    provider.algorithms = ["none", "HS256", "RS256"]
    for made in (
        lambda right: right | {"id_token": unsigned(right["id_token"])},
        lambda right: right | {"id_token": provider.signed_with_text(SECRET.encode())},
        lambda right: right | {"id_token": provider.signed_with_text(provider.key.as_pem(private=False))},
    ):
        provider.instead = {token: (500, b"", {})}
        signed_in(guarded)  # so that the description is read again
        provider.instead, provider.token = {}, made
        assert signed_in(guarded).status_code in (401, 503)
    canary.close()
    assert canary.visits == []
    provider.behave()
    right = signed_in(guarded)
    assert right.status_code == 303, "the same sign-in without anything wrong must work"
    own = {"Cookie": right.headers["set-cookie"].partition(";")[0]}
    assert guarded.ask("GET", "/me", headers=own).json()["roles"] == [["owner", "loans"]]


def unsigned(token: str) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return f"{head}.{token.split('.')[1]}."


def test_api10_people_come_back_to_the_address_of_the_settings(guarded: Guarded) -> None:
    guarded.provider.behave()
    for headers in ({"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}, {"Forwarded": "host=evil.example"}):
        sent = guarded.ask("GET", "/sign-in", headers=headers).headers["location"]
        assert "evil" not in sent
        assert parse_qs(urlsplit(sent).query)["redirect_uri"] == ["http://localhost:1/sign-in/callback"]


def test_api10_a_state_is_good_for_one_sign_in_of_one_browser(guarded: Guarded) -> None:
    guarded.provider.behave()
    _, headers, state = begun(guarded)
    _, others, _ = begun(guarded)
    for given, own in ((state, {}), (state, others), ("", headers), ("x", headers)):
        answer = guarded.ask("GET", "/sign-in/callback", params={"code": "x", "state": given}, headers=own)
        assert answer.status_code == 401


def test_api10_a_model_file_that_is_bad_does_not_go_live(guarded: Guarded) -> None:
    before = guarded.decide()
    assert before["label"]
    bad = b"\x80\x04cos\nsystem\n(S'touch /tmp/owned'\ntR."
    folder, digest = ModelFolder(guarded.models), hashlib.sha256(bad).hexdigest()
    back = folder.first_digest("loans")
    (guarded.models / "loans" / "bad.sepc").write_bytes(bad)
    (guarded.models / "loans" / "first").write_text(back)
    go_live_in_emergency(guarded.engine, folder, "loans", digest, "command:me", "a bad file")
    try:
        until = time.monotonic() + 30
        while "cannot be served" not in guarded.process.log.read_text():
            assert time.monotonic() < until
            time.sleep(0.1)
        assert guarded.decide()["label"] == before["label"]
    finally:
        go_live_in_emergency(guarded.engine, folder, "loans", back, "command:me", "the version before")
        (guarded.models / "loans" / "bad.sepc").unlink()
