"""What the pages say is done as written, and the files for containers say what they should."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path

import httpx2 as httpx
import pytest
import sepc
import yaml
from conftest import Running
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from filling import fill
from owned_models import PLAN
from sample_models import loans, save_models
from servers import KEYED, Cluster, DeskProcess, free_port
from sqlalchemy.engine import make_url
from warm_python import warm_python

from sepc_desk.commands.main import main
from sepc_desk.database import engine_of
from sepc_desk.models import ModelFolder
from sepc_desk.settings import load_settings

HERE = Path(__file__).parent.parent
PAGES = [HERE / "README.md", *sorted((HERE / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
# What each language of a block is run by, in this file; a `console` block installs from an index and is not run.
TESTED = {"python", "sh", "text", "toml", "yaml", "nginx", "console"}
LOAN = {"amount": 8120, "months": 15, "income": 1557, "home": "rent", "age": 48}


def blocks(page: str, *languages: str) -> list[tuple[str, str]]:
    return [own for own in BLOCK.findall((HERE / page).read_text()) if own[0] in languages]


@cache
def commands() -> Path:
    """A folder with the commands of this environment that pages use, in processes that need not import everything."""
    folder = Path(tempfile.mkdtemp(prefix="desk-commands-"))
    python = shlex.join(warm_python("sepc_desk.commands.main", "sepc_desk.service.app"))
    for name, words in (("python3", ""), ("sepc-desk", " -m sepc_desk.commands.main")):
        (folder / name).write_text(f'#!/bin/sh\nexec {python}{words} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


def run(script: str, folder: Path, **variables: str) -> str:
    """Run a script in a folder, with the commands of this environment; returns what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEPC_DESK_")}
    path = f"{commands()}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment |= KEYED | {"PATH": path, "no_proxy": "127.0.0.1"} | variables
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\nset -m\n{script}"],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("page", "n_told"), [("docs/tutorial.md", 2), ("README.md", 0)])
def test_every_step_works_from_an_empty_folder(page: str, n_told: int, tmp_path: Path) -> None:
    lines = [
        f"python3 - <<'CODE'\n{code}CODE" if language == "python" else code
        for language, code in blocks(page, "python", "sh")
    ]
    if "kill %1" not in lines[-1]:
        lines.append("kill %1\nwait")
    script = "\n".join(lines).replace("8000", str(free_port())).replace("kill %1\nwait", "kill %1\nwait %1 || true")
    said = run(script, tmp_path)
    told = [code.strip() for _, code in blocks(page, "text")]
    assert len(told) == n_told
    assert all(text in said for text in told)
    assert re.search(r'"receipt":\{"place":[45],', said)


def test_every_block_is_of_a_language_that_is_tested() -> None:
    found = {language for page in PAGES for language, _ in BLOCK.findall(page.read_text())}
    assert found == TESTED
    assert all(page.read_text().count("```") == 2 * len(BLOCK.findall(page.read_text())) for page in PAGES)
    assert {code.strip() for page in PAGES for _, code in blocks(str(page), "console")} == {"pip install sepc-desk"}


def test_keys_are_made_as_the_pages_say(new_database, tmp_path: Path) -> None:
    variables = {"SEPC_DESK_DATABASE": new_database("sqlite")}
    ((_, keys),) = blocks("docs/access.md", "sh")
    assert run(keys, tmp_path, **variables).endswith("running services refuse it within five seconds.\n")
    ((_, monitor),) = blocks("docs/operations.md", "sh")
    run(monitor, tmp_path, **variables)
    assert (tmp_path / "desk.key").read_text().startswith("sepc_")


def test_reviewers_and_owners_are_helped_as_the_pages_say(
    new_database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_models(tmp_path / "models", ["loans"])
    table, labels = loans(200, seed=7)
    sepc.save(sepc.SEPClassifier().fit(table, labels), tmp_path / "other.sepc")
    other = ModelFolder(tmp_path / "models").add("loans", tmp_path / "other.sepc")
    for name in ("known.csv", "judged.csv"):
        table.assign(status=labels).to_csv(tmp_path / name, index=False)
    (tmp_path / "plan.toml").write_text(PLAN.format(draw=200, margin=0.02))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEPC_DESK_DATABASE", new_database("sqlite"))
    monkeypatch.setenv("SEPC_DESK_LOG_KEY", KEYED["SEPC_DESK_LOG_KEY"])
    scripts = [code for page in ("docs/review.md", "docs/owner.md") for _, code in blocks(page, "sh")]
    # In this process, since each new one takes seconds to import what it needs.
    for line in "".join(scripts).replace("3f2a9c10", other[:8]).splitlines():
        name, *arguments = shlex.split(line)
        assert name == "sepc-desk"
        assert main(arguments) == 0, line
    said = capsys.readouterr().out
    assert "200 cases of loans are planted." in said
    assert "loans is judged by Repairs of the square on 200 rows." in said
    assert (tmp_path / "loans.html").read_text().startswith("<!doctype html>")


def test_settings_of_the_sign_in_are_taken(tmp_path: Path) -> None:
    ((_, text),) = blocks("docs/access.md", "toml")
    (tmp_path / "desk.toml").write_text(text)
    given = {"SEPC_DESK_OIDC_CLIENT_SECRET": "x", "SEPC_DESK_SESSION_SECRET": "0" * 64}
    found = load_settings({"SEPC_DESK_SETTINGS": str(tmp_path / "desk.toml")} | given)
    assert found.oidc_roles == tomllib.loads(text)["oidc_roles"] == {"loans-team": "owner:loans", "auditors": "auditor"}


def test_every_setting_is_on_the_page() -> None:
    page = (HERE / "docs" / "operations.md").read_text()
    named = {name.removesuffix("...") for name in re.findall(r"`([a-z_]+(?:\.\.\.)?)`", page)}
    missing = [name for name in vars(load_settings({})) if name not in named and not name.startswith("oidc_")]
    assert missing == []


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    ((_, text),) = blocks("docs/operations.md", "yaml")
    (tmp_path / "desk.key").write_text("sepc_x\n")
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus/desk.key", str(tmp_path / "desk.key")))
    assert yaml.safe_load(text)["scrape_configs"][0]["scheme"] == "https"
    if shutil.which("promtool") is not None:
        subprocess.run(["promtool", "check", "config", tmp_path / "prometheus.yml"], check=True, capture_output=True)


def test_backups_are_made_and_restored_as_the_page_says(cluster: Cluster, new_database, tmp_path: Path) -> None:
    save_models(tmp_path / "models", ["loans"])
    (_, postgresql), (_, sqlite) = blocks("docs/backup.md", "sh")
    path = f"{commands()}:{cluster.bin}:{os.environ['PATH']}"
    sign = "rm -f head*\nsepc-desk heads key head.key\nsepc-desk heads sign --key head.key --to heads.jsonl\n"
    for kind, script in (("postgresql", postgresql), ("sqlite", sqlite)):
        database = new_database(kind)
        engine = engine_of(load_settings(KEYED, database=database))
        fill(engine, tmp_path / "models", 5, ("loans",))
        engine.dispose()
        script = script.replace("postgresql://desk@db/desk", database)
        script = script.replace("postgresql://desk@db", str(make_url(cluster.url("x"))).removesuffix("/x"))
        script = script.replace("desk.db", str(make_url(database).database))
        said = run(sign + script, tmp_path, PATH=path, SEPC_DESK_DATABASE=database)
        assert "Every entry up to place 5, the newest head, is as it was written." in said
        if kind == "postgresql":
            assert "5 decisions: 5 identical to the last bit." in said


@pytest.fixture
def proxied(new_database, model_folder: Path, tmp_path: Path) -> Iterator[tuple[Running, httpx.Client]]:
    """A service behind nginx with the configuration of the page, and a client of nginx."""
    if shutil.which("nginx") is None:
        pytest.skip("needs Debian's package nginx-light")
    database, port = new_database("sqlite"), free_port()
    own = Running(DeskProcess(database, model_folder, is_warm=True).wait_ready(), database)
    ((_, text),) = blocks("docs/proxy.md", "nginx")
    certify(tmp_path)
    for before, after in (
        ("127.0.0.1:8000", f"127.0.0.1:{own.process.port}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl", str(tmp_path)),
    ):
        assert before in text
        text = text.replace(before, after)
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n" for name in ("proxy", "client_body", "fastcgi", "uwsgi", "scgi")
    )
    top = f"pid {tmp_path}/pid;\nerror_log {tmp_path}/error.log;\ndaemon off;\nevents {{}}\n"
    (tmp_path / "nginx.conf").write_text(f"{top}http {{\naccess_log off;\n{paths}{text}\n}}\n")
    nginx = subprocess.Popen(["nginx", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "error.log")])
    trusted = ssl.create_default_context(cafile=str(tmp_path / "desk.pem"))
    with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=trusted, timeout=60) as client:
        yield own, client
    nginx.terminate()
    nginx.wait(30)
    own.close()


def certify(folder: Path) -> None:
    """Write a certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "desk")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    pem, none = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "desk.pem").write_bytes(made.public_bytes(pem))
    (folder / "desk.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, none))


def test_the_service_works_behind_nginx(proxied: tuple[Running, httpx.Client]) -> None:
    running, client = proxied
    headers = {"Authorization": f"Bearer {running.key}"}
    until_ready(client)
    answer = client.post("/decide", json={"model": "loans", "rows": [LOAN]}, headers=headers)
    assert answer.json()["decisions"][0]["label"]
    assert client.post("/decide", content=b" " * (4 * 2**20 + 1), headers=headers).status_code == 413


def until_ready(client: httpx.Client) -> None:
    for _ in range(200):
        try:
            if client.get("/health/ready").status_code == 200:
                return
        except httpx.HTTPError:
            pass
    raise AssertionError("nginx did not start")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_container_runs_without_rights_on_a_read_only_file_system() -> None:
    lines = (HERE / "Dockerfile").read_text().splitlines()
    assert "USER 10001" in lines
    assert lines.index("USER 10001") < lines.index('ENTRYPOINT ["sepc-desk"]')
    services = yaml.safe_load((HERE / "compose.yaml").read_text())["services"]
    assert services["desk"]["read_only"] is services["migrate"]["read_only"] is True
    assert services["desk"]["cap_drop"] == ["ALL"]
    assert not any("password" in str(value) for value in services["desk"]["environment"].values())
