"""People who sign in at a provider on loopback, as they would with a browser."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
from hostile_provider import CLIENT, SECRET, HostileProvider
from servers import DeskProcess, free_port


class SignIn(HostileProvider):
    """A provider that lets in whoever a test names, with the roles that it says."""

    def settings(self) -> dict[str, object]:
        """What a service needs to know of it; with a port of its own."""
        port = free_port()
        return {
            "port": port,
            "public_address": f"http://127.0.0.1:{port}",
            "oidc_issuer": self.address,
            "oidc_client_id": CLIENT,
            "oidc_client_secret": SECRET,
            "oidc_roles_claim": "groups",
            # Every role for each model has a group of the same name.
            "oidc_roles": ",".join(f"{one}={one}" for one in self.groups),
            "session_secret": "0123456789abcdef" * 4,
            "secure_cookies": "false",
        }

    roles = ("program", "reviewer", "owner", "auditor", "monitor")

    def __init__(self, *models: str) -> None:
        self.groups = [f"{role}:{model}" for role in self.roles for model in models] + list(self.roles)
        super().__init__()

    def person(self, process: DeskProcess, name: str, *groups: str) -> httpx.Client:
        """A client in which someone has signed in; forms and requests carry the session's token."""
        self.behave()
        self.claims = {"sub": name, "groups": list(groups)}
        client = process.client()
        asked = client.get("/sign-in").headers["location"]
        query = parse_qs(urlsplit(asked).query)
        self.nonce = query["nonce"][0]
        done = client.get("/sign-in/callback", params={"code": "x", "state": query["state"][0]})
        assert done.status_code == 303, done.text
        client.headers["X-CSRF-Token"] = client.get("/me").json()["csrf_token"]
        return client
