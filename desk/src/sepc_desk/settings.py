"""Settings of the service, from a TOML file and the environment, checked when it starts."""

from __future__ import annotations

import os
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from sepc_desk.errors import SettingError

PREFIX = "SEPC_DESK_"
FILE = PREFIX + "SETTINGS"
DRIVERS = {"postgresql": "postgresql+psycopg", "sqlite": "sqlite"}
ROLES = ("program", "reviewer", "owner", "auditor", "monitor")
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
COMMIT_LEVELS = ("on", "remote_apply", "off")
LANGUAGES = ("en", "de")
# A session is signed with this; shorter secrets can be guessed.
SHORTEST_SECRET = 32


# What a setting of each type must be, in messages.
NAMED = {int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True)
class Settings:
    """All settings; each may be set in the file under its name, or in the environment as ``SEPC_DESK_NAME``."""

    models: Path = Path("models")
    database: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 1
    # Limits of a request, and of what may wait.
    max_rows: int = 10_000
    max_bytes: int = 4 * 1024 * 1024
    max_explained_rows: int = 100
    max_waiting_rows: int = 20_000
    max_buffered_bytes: int = 32 * 1024 * 1024
    max_connections: int = 2_000
    body_seconds: float = 10.0
    answer_seconds: float = 30.0
    requests_per_second: float = 0.0
    failed_keys_per_minute: int = 60
    # The log.
    batch_rows: int = 256
    write_seconds: float = 10.0
    synchronous_commit: str = "on"
    # What seals entries, and where signed heads go by themselves: after so many entries, or so many seconds.
    log_key: str = field(default="", repr=False)
    witness: str = ""
    witness_key: str = ""
    witness_entries: int = 1_000
    witness_seconds: float = 60.0
    # Behind a proxy: addresses from which X-Forwarded-For and X-Forwarded-Proto are accepted.
    trusted_proxies: str = "127.0.0.1"
    secure_cookies: bool = True
    log_level: str = "info"
    # Review by people: how often the log is read for new cases (never, if 0), how long a reader keeps a case, and how
    # long an answer can be undone.
    review_seconds: float = 1.0
    lease_seconds: float = 900.0
    undo_seconds: float = 60.0
    # Random shares: cases whose label is hidden until the answer is final, cases with a second reader, and planted
    # cases with known labels among those that a reader gets.
    blind_share: float = 0.2
    second_share: float = 0.05
    planted_share: float = 0.05
    # Certificates: the share of accepted decisions that is drawn, from how many at a time, and what is to be proved.
    certificate_share: float = 0.05
    certificate_block: int = 500
    certificate_risk: float = 0.02
    certificate_confidence: float = 0.95
    # Monitors: with how many first decisions of a version later ones are compared (no monitor, if 0), and the
    # probability that there is no false alarm.
    monitor_rows: int = 1_000
    monitor_confidence: float = 0.95
    # Whether owners see the names of reviewers beside their figures.
    show_reviewer_names: bool = False
    language: str = "en"
    # Sign-in by OpenID Connect; off without an issuer.
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_scope: str = "openid profile"
    oidc_roles_claim: str = "roles"
    oidc_roles: Mapping[str, str] = field(default_factory=dict)
    # The address that people's browsers know, to which the provider sends them back.
    public_address: str = ""
    session_secret: str = field(default="", repr=False)
    session_seconds: int = 8 * 3600

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise SettingError(f"{name} is {getattr(self, name)}; it must be at least {least}.")
        if 0 < len(self.log_key) < SHORTEST_SECRET:
            raise SettingError(
                f"log_key has {len(self.log_key)} characters; set {PREFIX}LOG_KEY_FILE to a file with at least "
                f"{SHORTEST_SECRET} random ones: openssl rand -hex 32"
            )
        if bool(self.witness) != bool(self.witness_key):
            raise SettingError(
                "witness is the file that signed heads go to, and witness_key the private key that signs them, which "
                "`sepc-desk heads key` makes; set both or none."
            )
        if self.synchronous_commit not in COMMIT_LEVELS:
            raise SettingError(
                f"synchronous_commit is {self.synchronous_commit!r}; use one of {', '.join(COMMIT_LEVELS)}."
            )
        for name in _SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise SettingError(f"{name} is {getattr(self, name)}; it is a share from 0 to 1.")
        for name in ("certificate_risk", "certificate_confidence", "monitor_confidence"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise SettingError(f"{name} is {getattr(self, name)}; it must lie strictly between 0 and 1.")
        if self.language not in LANGUAGES:
            raise SettingError(f"language is {self.language!r}; use one of {', '.join(LANGUAGES)}.")
        if self.oidc_issuer:
            self._check_sign_in()
        for value, role in self.oidc_roles.items():
            if role.partition(":")[0] not in ROLES:
                raise SettingError(
                    f"oidc_roles maps {value!r} to {role!r}; use one of {', '.join(ROLES)}, alone for all models or "
                    "with the name of a model, as in 'owner:loans'."
                )

    def _check_sign_in(self) -> None:
        if not _is_safe(self.oidc_issuer):
            raise SettingError(
                f"oidc_issuer is {self.oidc_issuer!r}; use an address that starts with https://, since secrets go "
                "there. Only a provider on this machine may have http://."
            )
        if "openid" not in self.oidc_scope.split():
            raise SettingError(
                f"oidc_scope is {self.oidc_scope!r}; it must contain openid, for the name of who signed in."
            )
        if not _is_safe(self.public_address):
            raise SettingError(
                f"public_address is {self.public_address!r}; set it to the address that browsers know, as in "
                "https://desk.example.org, to which the sign-in provider sends people back."
            )
        if not self.oidc_roles:
            raise SettingError(
                "oidc_issuer is set, but oidc_roles is not, so nobody would have a role. Say which value of the claim "
                'stands for which role, as in {"loans-team" = "owner:loans"}.'
            )
        for name in ("oidc_client_id", "oidc_client_secret"):
            if not getattr(self, name):
                raise SettingError(f"oidc_issuer is set, but {name} is not; set {PREFIX}{name.upper()}.")
        if len(self.session_secret) < SHORTEST_SECRET:
            raise SettingError(
                f"session_secret has {len(self.session_secret)} characters; set {PREFIX}SESSION_SECRET to at least "
                f"{SHORTEST_SECRET} random ones, the same for all processes: openssl rand -hex 32"
            )

    @property
    def url(self) -> str:
        """The address of the database for SQLAlchemy, with the driver that the desk uses."""
        if not self.database:
            raise SettingError(
                f"No database is set. Set {PREFIX}DATABASE, `database` in the file or --database to "
                "postgresql://user@host/name, or to sqlite:///desk.db for one machine."
            )
        try:
            url = make_url(self.database)
        except ArgumentError as error:
            raise SettingError("database is not an address such as postgresql://user@host/name.") from error
        driver = DRIVERS.get(url.get_backend_name())
        if driver is None:
            raise SettingError(f"database is a {url.get_backend_name()} address; use postgresql or sqlite.")
        if driver == "sqlite" and not url.database:
            raise SettingError(
                "A SQLite database in memory is lost when the service stops; use a file, as in sqlite:///desk.db."
            )
        return url.set(drivername=driver).render_as_string(hide_password=False)

    @property
    def has_keeper(self) -> bool:
        """Whether a process keeps reviews up to date, or sends out heads."""
        return self.review_seconds > 0 or bool(self.witness)

    @property
    def is_postgresql(self) -> bool:
        """Whether the log is in PostgreSQL."""
        return self.url.startswith("postgresql")


_SHARES = ("blind_share", "second_share", "planted_share", "certificate_share")
# With fewer accepted decisions, bands of trust cannot be told apart well enough for a certificate.
FEWEST_IN_BLOCK = 300
_LEAST: dict[str, float] = {
    "port": 0,
    "processes": 1,
    "max_rows": 1,
    "max_bytes": 1_000,
    "max_explained_rows": 1,
    "max_waiting_rows": 1,
    "max_buffered_bytes": 1_000,
    "max_connections": 10,
    "body_seconds": 0.1,
    "answer_seconds": 0.1,
    "requests_per_second": 0,
    "failed_keys_per_minute": 1,
    "batch_rows": 1,
    "write_seconds": 0.1,
    "session_seconds": 60,
    "witness_entries": 1,
    "witness_seconds": 1,
    "review_seconds": 0,
    "lease_seconds": 1,
    "undo_seconds": 0,
    "monitor_rows": 0,
    "certificate_block": FEWEST_IN_BLOCK,
}


def load_settings(environment: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """Settings from the file, the environment and the command, each of which overrides the one before.

    ``SEPC_DESK_SETTINGS`` names the file. Any value may also be in a file of its own, named by the variable with
    ``_FILE`` at its end, such as ``SEPC_DESK_SESSION_SECRET_FILE``.
    """
    environment = os.environ if environment is None else environment
    hints = get_type_hints(Settings)
    values = _of_file(environment.get(FILE), hints)
    values |= _of_environment(environment, hints)
    values |= {name: value for name, value in given.items() if value is not None}
    try:
        return Settings(**{name: _typed(name, value, hints[name]) for name, value in values.items()})
    except TypeError as error:
        raise SettingError(f"A setting has a wrong type: {error}") from error


def _is_safe(address: str) -> bool:
    """Whether nobody can listen in on the way to it."""
    own = urlsplit(address)
    return bool(own.hostname) and (own.scheme == "https" or own.hostname in LOOPBACK)


def _of_file(path: str | None, hints: Mapping[str, Any]) -> dict[str, Any]:
    if not path:
        return {}
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"{FILE} names {path}, which cannot be read: {error.strerror}.") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{path} is not TOML: {error}.") from error
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise SettingError(
            f"{path} has {unknown[0]!r}, which is not a setting; the settings are {', '.join(sorted(hints))}."
        )
    return values


def _of_environment(environment: Mapping[str, str], hints: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in (own.name for own in fields(Settings)):
        variable = PREFIX + name.upper()
        if variable in environment:
            values[name] = environment[variable]
        elif variable + "_FILE" in environment:
            try:
                values[name] = Path(environment[variable + "_FILE"]).read_text(encoding="utf-8").strip()
            except OSError as error:
                raise SettingError(f"{variable}_FILE names a file that cannot be read: {error.strerror}.") from error
    known = {FILE, *(PREFIX + name.upper() + end for name in hints for end in ("", "_FILE"))}
    unknown = sorted(name for name in environment if name.startswith(PREFIX) and name not in known)
    if unknown:
        raise SettingError(f"{unknown[0]} is set in the environment, but there is no such setting.")
    return values


def _typed(name: str, value: Any, hint: Any) -> Any:
    kind = hint if isinstance(hint, type) else (get_args(hint) or (hint,))[0]
    if name == "oidc_roles":
        return _roles(value)
    try:
        if kind is bool and isinstance(value, str):
            return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
        if isinstance(value, bool) and kind is not bool:
            raise ValueError(value)
        return value if isinstance(kind, types.GenericAlias) else kind(value)
    except (KeyError, TypeError, ValueError) as error:
        shown = "a value" if "secret" in name or name == "log_key" or name == "database" else repr(value)
        raise SettingError(f"{name} is {shown}, which is not {NAMED.get(kind, kind.__name__)}.") from error


def _roles(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
        value = {claim.strip(): role.strip() for claim, _, role in pairs}
    if not isinstance(value, Mapping) or not all(isinstance(role, str) for role in value.values()):
        raise SettingError('oidc_roles maps values of the claim to roles, as in {"loans-team" = "owner:loans"}.')
    return dict(value)
