"""Attacks on promises are those of `benchmarks/attacking`, with fewer draws."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
