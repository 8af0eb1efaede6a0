"""What `pip install` of a tool brings, and how long it takes to import; each in an environment of its own.

Newest versions that pip finds for this Python, nothing held back. Sizes are those of all files that pip installed,
without byte code; imports are timed as processor seconds of fresh processes, the first of them not counted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from statistics import median
from typing import Any

from sepc_benchmarks.install_size import build, packages, run

# What is asked of pip, and the import.
TOOLS = {
    "scikit-learn": "from sklearn.ensemble import HistGradientBoostingClassifier",
    "crepes": "from crepes import WrapClassifier",
    "mapie": "from mapie.classification import SplitConformalClassifier",
    "shap": "import shap",
    "interpret-core": "from interpret.glassbox import ExplainableBoostingClassifier",
    "lime": "from lime.lime_tabular import LimeTabularExplainer",
    "dice-ml": "import dice_ml",
    "cleanlab": "from cleanlab.filter import find_label_issues",
    "river": "from river.drift import ADWIN",
    "frouros": "from frouros.detectors.data_drift import KSTest",
    "evidently": "from evidently import Report",
    "nannyml": "import nannyml",
    "alibi-detect": "from alibi_detect.cd import KSDrift",
    "alibi": "from alibi.confidence import TrustScore",
}
# Needed by the import, though pip is not told so.
ALSO = {"crepes": "scikit-learn"}
N_RUNS = 4
LONGEST_SECONDS = 300


def all_installs(smallest: bool) -> list[dict[str, Any]]:
    """A record for each tool, and one for us; at the smallest size, for the environment that runs this."""
    if smallest:
        return [record("this environment", Path(sys.executable), "from sepc import SEPClassifier", 1)]
    records = []
    for name, statement in {"sepc": "from sepc import SEPClassifier", **TOOLS}.items():
        with tempfile.TemporaryDirectory(prefix="peer-") as folder:
            wanted = [str(build(Path(folder) / "dist")) if name == "sepc" else name]
            wanted += [ALSO[name]] if name in ALSO else []
            try:
                python = environment_with(wanted, Path(folder) / "home")
                records.append(record(name, python, statement, N_RUNS))
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
                print(f"{name}: {failed}", getattr(failed, "stderr", ""), file=sys.stderr)
                records.append({"`pip install`": f"{name}: does not install, or not import, here"})
        print(f"done: {records[-1]}", file=sys.stderr, flush=True)
    return records


def environment_with(wanted: list[str], home: Path) -> Path:
    """The interpreter of a new environment with a package and what it needs."""
    venv.create(home)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile", *wanted]
    subprocess.run(pip, capture_output=True, text=True, check=True, timeout=LONGEST_SECONDS)
    return python


def import_seconds(python: Path, statement: str, n_runs: int) -> float:
    """The median of processor seconds in fresh processes; of several the first, which writes byte code, is left out."""
    code = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    times = [float(run(python, "-I", "-c", code)) for _ in range(n_runs)]
    return median(times[1:] or times)


def record(name: str, python: Path, statement: str, n_runs: int) -> dict[str, Any]:
    """Packages, megabytes and seconds of one environment."""
    found = packages(python)
    version = next((one for package, (one, _) in found.items() if package.lower().replace("_", "-") == name), "")
    return {
        "`pip install`": " ".join(filter(None, (name, version, ALSO.get(name)))),
        "packages": len(found),
        "MB": round(sum(size for _, size in found.values()) / 1e6),
        "seconds to import": import_seconds(python, statement, n_runs),
        "imported": f"`{statement}`",
    }


if __name__ == "__main__":
    import json

    print(json.dumps(all_installs("--smallest" in sys.argv), indent=1))
