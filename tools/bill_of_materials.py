"""The software bill of materials: what a wheel of this library needs, for programs that look for known weaknesses.

Hatchling runs the hook below whenever it builds a wheel, from the repository or from the source archive, and puts the
document into ``.dist-info/sboms/``, as PEP 770 says. It is CycloneDX in JSON. The wheel is Python alone and bundles
nothing, so the document lists what `pyproject.toml` requires, with the versions allowed; which version is there,
the installer decides. The same sources give the same bytes: no time and no random number goes into it.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE_NAME = "sepc.cdx.json"
SPECIFICATION = "1.6"


class BillOfMaterials(BuildHookInterface):
    """Adds the document to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the document where the build finds it."""
        core = self.metadata.core
        document = document_of(
            core.name, self.metadata.version, core.license_expression, core.dependencies, core.optional_dependencies
        )
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, FILE_NAME)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove it again; the wheel has a copy."""
        self.folder.cleanup()


def document_of(
    name: str, version: str, license_expression: str, required: Iterable[str], extras: Mapping[str, Iterable[str]]
) -> dict[str, Any]:
    """The bill of materials of a package, given its requirements and those of each extra."""
    own = {
        "type": "library",
        "bom-ref": _address(name, version),
        "name": name,
        "version": version,
        "purl": _address(name, version),
        "licenses": [{"expression": license_expression}],
    }
    components = _components(name, required, extras)
    needed = [{"ref": own["bom-ref"], "dependsOn": [component["bom-ref"] for component in components]}]
    content = {
        "metadata": {"component": own},
        "components": components,
        "dependencies": needed + [{"ref": component["bom-ref"]} for component in components],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": SPECIFICATION, "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return head | content


def _components(name: str, required: Iterable[str], extras: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    """What is required, and after it what only extras need, each once and in the order of names."""
    always = {canonicalize_name(one.name): one for one in map(Requirement, required)}
    sometimes: dict[str, list[tuple[str, Requirement]]] = {}
    for extra, texts in sorted(extras.items()):
        for one in map(Requirement, texts):
            # An extra that stands for others of our own needs nothing itself.
            if (other := canonicalize_name(one.name)) not in {*always, canonicalize_name(name)}:
                sometimes.setdefault(other, []).append((extra, one))
    components = [_component(key, "required", [("", always[key])]) for key in sorted(always)]
    return components + [_component(key, "optional", sometimes[key]) for key in sorted(sometimes)]


def _component(name: str, scope: str, asked: list[tuple[str, Requirement]]) -> dict[str, Any]:
    allowed = sorted({f"{one.name}{_extras(one)}{one.specifier}" for _, one in asked})
    properties = [{"name": "sepc:requirement", "value": text} for text in allowed]
    properties += [{"name": "sepc:extra", "value": extra} for extra, _ in asked if extra]
    address = _address(name)
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "scope": scope,
        "purl": address,
        "properties": properties,
    }


def _extras(requirement: Requirement) -> str:
    return f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""


def _address(name: str, version: str = "") -> str:
    """The package URL, without a version where the installer chooses it."""
    return f"pkg:pypi/{canonicalize_name(name)}" + (f"@{version}" if version else "")
