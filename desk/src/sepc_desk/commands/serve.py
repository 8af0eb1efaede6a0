"""`sepc-desk serve`."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from dataclasses import fields
from typing import Any

import orjson
import uvicorn
from sqlalchemy import Engine, select

from sepc_desk.chain import note
from sepc_desk.commands.options import GIVEN, add_common, caller, engine_for, settings_of
from sepc_desk.entries import EntryKind
from sepc_desk.models import ModelFolder
from sepc_desk.owning.changes import load_live
from sepc_desk.reviewing.transactions import writing
from sepc_desk.schema import entries
from sepc_desk.service.connections import LimitedConnection
from sepc_desk.service.keeper import start_keeper
from sepc_desk.settings import FILE, PREFIX, Settings

APP = "sepc_desk.service.app:create_app"

# Each process decides on one core; more BLAS threads would only compete.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# After which a process that does not answer its supervisor is killed and replaced. It must be long enough to import
# everything on a machine that is busy, or new processes would be killed again and again.
HUNG_SECONDS = 60
SETTINGS = "settings"


def add_commands(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("serve", help="decide and log over HTTP")
    add_common(parser, serve, models=True)
    parser.add_argument("--host", help="the address to listen on; default 127.0.0.1")
    parser.add_argument("--port", type=int, help="default 8000")
    parser.add_argument("--processes", type=int, help="default 1; use one per core")


def serve(options: argparse.Namespace) -> int:
    """Check everything, and run until stopped."""
    settings = settings_of(options)
    with engine_for(options):
        pass  # Only to check that it can be reached, and is at the newest version.
    start_keeper(settings)
    # Loaded here only to say what is wrong; processes that could not load a model would be started again and again.
    with engine_for(options) as engine:
        _note_settings(engine, settings)
        folder = ModelFolder(settings.models)
        for name in folder.names():
            load_live(engine, folder, name)
    # Processes that uvicorn starts read their settings from the environment.
    if options.settings is not None:
        os.environ[FILE] = str(options.settings.resolve())
    for name in GIVEN:
        if getattr(options, name) is not None:
            os.environ[PREFIX + name.upper()] = str(getattr(options, name))
    for name in THREADS:
        os.environ.setdefault(name, "1")
    own = None
    if settings.processes > 1 and "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        own = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="sepc-desk-metrics-")
    try:
        _run(settings)
    finally:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
    return 0


def _note_settings(engine: Engine, settings: Settings) -> None:
    """Write the settings to the log, without secrets, if they are not as they were last."""
    hidden = [own.name for own in fields(settings) if not own.repr or own.name == "database"]
    shown = {name: str(value) for name, value in vars(settings).items() if name not in hidden}
    about = orjson.dumps(shown).decode()
    last = select(entries.c.about).where(entries.c.kind == EntryKind.EVENT, entries.c.cause == SETTINGS)
    with writing(engine) as connection:
        if connection.execute(last.order_by(entries.c.place.desc()).limit(1)).scalar() != about:
            note(connection, caller(), SETTINGS, about)


def _run(settings: Settings) -> None:
    uvicorn.run(
        APP,
        factory=True,
        http=LimitedConnection,
        ws="none",
        host=settings.host,
        port=settings.port,
        workers=settings.processes,
        limit_concurrency=settings.max_connections,
        timeout_keep_alive=75,
        timeout_worker_healthcheck=HUNG_SECONDS,
        timeout_graceful_shutdown=int(settings.answer_seconds) + 5,
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
        access_log=False,
        server_header=False,
        date_header=False,
        log_config=None,
    )
