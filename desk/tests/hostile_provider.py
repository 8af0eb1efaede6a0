"""An OpenID provider on loopback that answers as it is told to, mostly wrongly; and an address that counts visits."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT = "desk"
SECRET = "a-secret-of-the-tests"
Answer = tuple[int, bytes, dict[str, str]]


class Listener:
    """A server on loopback that gives each request to a function."""

    def __init__(self, answer: Callable[[str], Answer]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, body, headers = answer(self.path)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_PUT = do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Canary(Listener):
    """Counts those who come by."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        super().__init__(self._visited)

    def _visited(self, path: str) -> Answer:
        self.visits.append(path)
        return 200, b"{}", {}


class HostileProvider(Listener):
    """A provider whose answers are right unless they are replaced."""

    def __init__(self) -> None:
        self.key, self.other_key = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
        # By path, what to answer instead; for the token, a function of what would be right.
        self.instead: dict[str, Answer] = {}
        self.token: Callable[[dict[str, Any]], Any] = lambda right: right
        self.claims: dict[str, Any] = {}
        self.algorithms = ["RS256"]
        self.nonce = ""
        super().__init__(self._answer)

    def behave(self) -> None:
        """Answer as a provider should from now on."""
        self.instead, self.token, self.claims = {}, lambda right: right, {}
        self.algorithms = ["RS256"]

    def _answer(self, path: str) -> Answer:
        path = path.partition("?")[0]
        if path in self.instead:
            return self.instead[path]
        if path == "/.well-known/openid-configuration":
            return _json(
                {
                    "issuer": self.address,
                    "authorization_endpoint": f"{self.address}/authorize",
                    "token_endpoint": f"{self.address}/token",
                    "jwks_uri": f"{self.address}/keys",
                    "id_token_signing_alg_values_supported": self.algorithms,
                }
            )
        if path == "/keys":
            return _json({"keys": [self.key.as_dict(private=False)]})
        if path == "/token":
            right = {"access_token": "x", "token_type": "Bearer", "id_token": self.signed(self.key)}
            return _json(self.token(right))
        return 404, b"", {}

    def signed(self, key: RSAKey) -> str:
        """An ID token with the claims as they are set."""
        return jwt.encode({"alg": "RS256"}, self._claims(), key, algorithms=["RS256"])

    def signed_with_text(self, secret: bytes) -> str:
        """The same, signed with a text that others know, which a careless reader takes for the key."""
        parts = [json.dumps(own).encode() for own in ({"alg": "HS256", "typ": "JWT"}, self._claims())]
        text = b".".join(base64.urlsafe_b64encode(own).rstrip(b"=") for own in parts)
        signature = hmac.digest(secret, text, "sha256")
        return (text + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()

    def _claims(self) -> dict[str, Any]:
        now = int(time.time())
        right = {"iss": self.address, "sub": "ann", "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": self.nonce}
        given = {"groups": ["loans-team"]} | right | self.claims
        return {name: value for name, value in given.items() if value != ""}


def _json(content: Any) -> Answer:
    return 200, json.dumps(content).encode(), {"Content-Type": "application/json"}
