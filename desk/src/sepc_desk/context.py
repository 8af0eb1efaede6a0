"""What a decision depends on besides its row: the model, software versions, and features of the processor."""

from __future__ import annotations

import hashlib
import importlib
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from threadpoolctl import threadpool_info

from sepc_desk import version_of

LIBRARIES = ("sepc", "numpy", "scipy", "scikit-learn", "pandas")
# Where Linux lists the features of the processor.
CPU_INFO = Path("/proc/cpuinfo")


@cache
def machine() -> dict[str, Any]:
    """Versions and processor features on which the last bits of a decision may depend."""
    return {
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in LIBRARIES},
        "processor": {
            "machine": platform.machine(),
            "byte_order": sys.byteorder,
            "blas": sorted(
                {f"{own.get('internal_api')} {own.get('version')} {own.get('architecture')}" for own in _blas()}
            ),
            "features": _features(),
        },
    }


def _blas() -> list[dict[str, Any]]:
    # Only loaded libraries are listed, and deciding loads this one sooner or later.
    importlib.import_module("scipy.linalg")
    return [own for own in threadpool_info() if own.get("user_api") == "blas"]


def _features() -> str:
    """A digest of the instruction sets that the processor has; empty if the system does not list them."""
    if not CPU_INFO.exists():
        return ""
    lines = CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    flags = next((line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(" ".join(sorted(flags.split())).encode()).hexdigest()[:16]


def context_of(name: str, digest: str, acceptance: dict[str, Any]) -> tuple[str, str]:
    """The context of a model's decisions on this machine, as JSON text, and the digest that entries refer to it by."""
    content = {"model": {"name": name, "digest": digest, "acceptance": acceptance}, **machine()}
    text = orjson.dumps(content, option=orjson.OPT_SORT_KEYS).decode()
    return digest_of_context(text), text


def digest_of_context(text: str) -> str:
    """The digest of a context's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What differs between two machines, in words."""
    found = []
    for part in ("versions", "processor"):
        for name in sorted(set(before[part]) | set(now[part])):
            old, new = before[part].get(name), now[part].get(name)
            if old != new:
                found.append(f"{name} was {old} and is now {new}")
    return found
