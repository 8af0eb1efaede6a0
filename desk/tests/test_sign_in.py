"""People sign in through a real OpenID provider: npm's oidc-provider on loopback."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from conftest import Running
from reviewing_browser import Reviewer
from sample_models import model
from servers import DeskProcess, free_port

from sepc_desk.authority import grants_of_claim

OWN = Path(__file__).parent / "oidc"
# Installed once for a user, since npm takes a while.
HOME = Path(tempfile.gettempdir()) / "sepc-desk-oidc-provider"
LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}


@pytest.fixture(scope="module")
def provider_code() -> Path:
    if not (HOME / "node_modules" / "oidc-provider").exists():
        HOME.mkdir(exist_ok=True)
        shutil.copy(OWN / "package.json", HOME)
        subprocess.run(["npm", "install", "--silent", "--no-package-lock", "--no-audit"], cwd=HOME, check=True)
    shutil.copy(OWN / "provider.js", HOME)
    return HOME / "provider.js"


@pytest.fixture(scope="module")
def signed(provider_code: Path, new_database, model_folder: Path) -> Iterator[Running]:
    """A service that people sign in to."""
    port, own_port = free_port(), free_port()
    redirect = f"http://127.0.0.1:{own_port}/sign-in/callback"
    provider = subprocess.Popen(
        ["node", str(provider_code), str(port), redirect], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert provider.stdout is not None
    assert "listening" in provider.stdout.readline()
    database = new_database("sqlite")
    process = DeskProcess(
        database,
        model_folder,
        is_warm=True,
        port=own_port,
        oidc_issuer=f"http://127.0.0.1:{port}",
        public_address=f"http://127.0.0.1:{own_port}",
        oidc_client_id="desk",
        oidc_client_secret="a-secret-of-the-tests",
        oidc_roles_claim="groups",
        oidc_roles="loans-team=owner:loans,auditors=auditor,reviewers=reviewer:loans",
        review_seconds=0.2,
        session_secret="0123456789abcdef" * 4,
        secure_cookies="false",
    )
    running = Running(process.wait_ready(), database)
    yield running
    running.close()
    provider.terminate()
    provider.wait(10)
    provider.stdout.close()


def sign_in(name: str, browser: httpx.Client) -> httpx.Response:
    """Sign in with a browser; returns who is signed in, or the refusal."""
    page = browser.get("/sign-in")
    for _ in range(4):
        form = re.search(r'action="([^"]+)"', page.text)
        if form is None or page.url.port == browser.base_url.port:
            break
        prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
        data = {"prompt": prompt[1] if prompt else "login", "login": name, "password": "x"}
        page = browser.post(form[1], data=data)
    return browser.get("/me") if page.is_success else page


def test_roles_come_from_the_claim(signed: Running) -> None:
    with signed.process.client(follow_redirects=True) as browser:
        page = sign_in("ann", browser)
        assert page.status_code == 200, page.text
        assert page.json()["person"] == "person:ann"
        assert page.json()["roles"] == [["owner", "loans"]]
        token = page.json()["csrf_token"]
        body = {"model": "loans", "rows": [LOAN]}
        refused = browser.post("/decide", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "no_csrf_token")
        assert browser.post("/decide", json=body, headers={"X-CSRF-Token": "x" * 43}).status_code == 403
        made = browser.post("/decide", json=body, headers={"X-CSRF-Token": token}).json()["decisions"][0]
        case = signed.auditor.get(f"/decisions/{made['id']}").json()
        assert case["caller"] == "person:ann"
        assert browser.get("/v2/models/wdbc").status_code == 403
        assert browser.delete(f"/decisions/{made['id']}", headers={"X-CSRF-Token": token}).status_code == 202
        assert browser.post("/sign-out", headers={"X-CSRF-Token": token}).status_code == 200
        assert browser.get("/me").status_code == 401


def test_an_auditor_sees_and_changes_nothing(signed: Running) -> None:
    made = signed.client.post("/decide", json={"model": "loans", "rows": [LOAN]}).json()["decisions"][0]
    with signed.process.client(follow_redirects=True) as browser:
        page = sign_in("bob", browser)
        headers = {"X-CSRF-Token": page.json()["csrf_token"]}
        assert browser.get(f"/decisions/{made['id']}").json()["case"]["row"] == LOAN
        assert browser.delete(f"/decisions/{made['id']}", headers=headers).status_code == 403
        assert browser.post("/decide", json={"model": "loans", "rows": [LOAN]}, headers=headers).status_code == 403


def test_a_reviewer_reviews_with_a_session_and_forms_need_its_token(signed: Running) -> None:
    signed.client.post("/decide", json={"model": "loans", "rows": model("loans")[1][:40]}).raise_for_status()
    with signed.process.client(follow_redirects=True) as browser:
        assert browser.get("/review", follow_redirects=False).headers["location"] == "/sign-in"
        sign_in("kim", browser)
        reviewer = Reviewer(browser)
        page = reviewer.take()
        action, fields = page.form("/answer")
        assert fields["csrf"]
        for token in ({}, {"csrf": "x" * 43}):
            without = {name: value for name, value in fields.items() if name != "csrf"}
            refused = browser.post(action, data=without | token | {"answer": '"paid"'})
            assert refused.status_code == 403
        assert reviewer.submit(page, "/answer", answer='"paid"').path != page.path
        left = reviewer.submit(reviewer.get("/preferences"), "/leave")
        assert "Signed out" in left.text
        assert browser.get("/me").status_code == 401


def test_a_person_without_a_role_is_refused(signed: Running) -> None:
    with signed.process.client(follow_redirects=True) as browser:
        page = sign_in("eve", browser)
        assert (page.status_code, page.json()["error"]["code"]) == (403, "no_role")
        assert browser.get("/me").status_code == 401


def test_a_forged_callback_or_cookie_is_refused(signed: Running) -> None:
    with signed.process.client() as browser:
        assert browser.get("/sign-in/callback", params={"code": "x", "state": "y"}).status_code == 401
        browser.cookies.set("sepc_desk", "eyJwZXJzb24iOiAiYW5uIn0=.x.y")
        assert browser.get("/me").status_code == 401
        cookie = browser.get("/sign-in").headers["set-cookie"]
        assert "httponly" in cookie.lower()
        assert "samesite=lax" in cookie.lower()


@pytest.mark.parametrize(
    ("values", "mapping", "grants"),
    [
        (["auditor", "owner:loans", "owner"], {}, set()),
        ("team", {"team": "reviewer:loans"}, {("reviewer", "loans")}),
        (["auditor"], {"team": "owner"}, set()),
        (["team"], {"team": "owner"}, {("owner", "*")}),
        (["admin", 3, None], {}, set()),
        (None, {}, set()),
    ],
)
def test_grants_of_claims(values: object, mapping: dict, grants: set) -> None:
    assert grants_of_claim(values, mapping) == grants


def test_a_session_ends(signed: Running) -> None:
    with signed.process.client(follow_redirects=True) as browser:
        sign_in("bob", browser)
        assert browser.get("/me").status_code == 200
        cookie = next(own for own in browser.cookies.jar if own.name == "sepc_desk")
        assert cookie.expires is not None
        assert cookie.expires <= time.time() + 8 * 3600 + 60
