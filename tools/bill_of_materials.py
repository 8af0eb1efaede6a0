"""A build hook that puts a bill of materials into the wheel: what it is, and what it needs, as CycloneDX."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

# Of this version of CycloneDX. Nothing in the file depends on when or where it is built.
SPECIFICATION = "1.6"


class BillOfMaterials(BuildHookInterface):
    """Writes ``sepc.cdx.json``, which hatchling puts into ``.dist-info/sboms``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file before a wheel is built."""
        if self.target_name != "wheel" or version == "editable":
            return
        core = self.metadata.core
        bill = bill_of_materials(core.name, self.metadata.version, core.license_expression, core.dependencies)
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / f"{core.name}.cdx.json"
        path.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove it when the wheel is built."""
        if hasattr(self, "folder"):
            self.folder.cleanup()


def bill_of_materials(name: str, version: str, license_expression: str, needed: list[str]) -> dict[str, Any]:
    """The library, and what it cannot run without; extras are left to those who install them."""
    own = f"pkg:pypi/{name}@{version}"
    main = {"type": "library", "bom-ref": own, "name": name, "version": version, "purl": own}
    parts = []
    for requirement in sorted(map(Requirement, needed), key=lambda requirement: requirement.name):
        address = f"pkg:pypi/{requirement.name}"
        part = {"type": "library", "bom-ref": address, "name": requirement.name, "purl": address}
        parts.append(part | {"properties": [{"name": "sepc:requirement", "value": str(requirement.specifier)}]})
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {"component": main | {"licenses": [{"expression": license_expression}]}},
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }
