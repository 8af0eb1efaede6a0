from __future__ import annotations

from pathlib import Path

import pytest

from sepc_desk.errors import SettingError
from sepc_desk.settings import load_settings

OIDC = {"oidc_issuer": "https://x", "oidc_client_id": "a", "oidc_client_secret": "b", "session_secret": "s" * 32}
OIDC |= {"public_address": "https://desk.example.org", "oidc_roles": {"team": "owner"}}


def test_the_command_counts_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "desk.toml"
    file.write_text('database = "sqlite:///a.db"\nport = 1\nprocesses = 2\n[oidc_roles]\nteam = "owner:loans"\n')
    environment = {"SEPC_DESK_SETTINGS": str(file), "SEPC_DESK_PORT": "2", "SEPC_DESK_SECURE_COOKIES": "false"}
    found = load_settings(environment, processes=3)
    assert (found.database, found.port, found.processes, found.secure_cookies) == ("sqlite:///a.db", 2, 3, False)
    assert found.oidc_roles == {"team": "owner:loans"}


def test_secrets_may_be_in_files_and_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden\n")
    found = load_settings({"SEPC_DESK_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "secret")})
    assert found.oidc_client_secret == "hidden"
    assert "hidden" not in repr(found)


@pytest.mark.parametrize(
    ("environment", "given", "words"),
    [
        ({"SEPC_DESK_PROT": "1"}, {}, "SEPC_DESK_PROT is set in the environment, but there is no such setting"),
        ({"SEPC_DESK_PORT": "x"}, {}, "port is 'x', which is not a whole number"),
        ({"SEPC_DESK_SETTINGS": "/none"}, {}, "/none, which cannot be read"),
        ({"SEPC_DESK_SESSION_SECRET_FILE": "/none"}, {}, "cannot be read"),
        ({}, {"processes": 0}, "processes is 0; it must be at least 1"),
        ({}, {"synchronous_commit": "local"}, "use one of on, remote_apply, off"),
        ({}, OIDC | {"oidc_client_id": ""}, "set SEPC_DESK_OIDC_CLIENT_ID"),
        ({}, OIDC | {"public_address": ""}, "as in https://desk.example.org"),
        ({}, OIDC | {"public_address": "http://desk.example.org"}, "as in https://desk.example.org"),
        ({}, OIDC | {"oidc_roles": {}}, "nobody would have a role"),
        ({}, {"log_key": "short"}, "openssl rand -hex 32"),
        ({}, {"witness": "heads.jsonl"}, "set both or none"),
        ({}, OIDC | {"session_secret": "short"}, "openssl rand -hex 32"),
        ({}, OIDC | {"oidc_issuer": "http://login.example.org"}, "starts with https://"),
        ({}, OIDC | {"oidc_scope": "profile"}, "it must contain openid"),
        ({}, OIDC | {"oidc_issuer": "file:///etc/passwd"}, "starts with https://"),
        ({}, {"oidc_roles": {"a": "boss"}}, "use one of program, reviewer, owner, auditor, monitor"),
        ({}, {"oidc_roles": {"a": 1}}, "maps values of the claim to roles"),
    ],
)
def test_wrong_settings_are_named_with_the_remedy(environment: dict, given: dict, words: str) -> None:
    with pytest.raises(SettingError) as error:
        load_settings(environment, **given)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("database", "words"),
    [
        ("", "No database is set"),
        ("mysql://x/y", "use postgresql or sqlite"),
        ("sqlite://", "in memory is lost"),
        ("what", "is not an address"),
    ],
)
def test_wrong_databases_are_named(database: str, words: str) -> None:
    with pytest.raises(SettingError) as error:
        _ = load_settings({}, database=database).url
    assert words in str(error.value)


def test_a_file_with_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    (tmp_path / "desk.toml").write_text("prot = 1\n")
    with pytest.raises(SettingError, match="'prot', which is not a setting"):
        load_settings({"SEPC_DESK_SETTINGS": str(tmp_path / "desk.toml")})
    (tmp_path / "desk.toml").write_text("= 1")
    with pytest.raises(SettingError, match="is not TOML"):
        load_settings({"SEPC_DESK_SETTINGS": str(tmp_path / "desk.toml")})
