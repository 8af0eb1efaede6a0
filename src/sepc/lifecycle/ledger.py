"""The ledger of a plan: every look at the rows, each line chained to the one before it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from sepc.errors import RefusedLookError
from sepc.io.atomic_files import write_whole
from sepc.wording import counted

ENDING = ".ledger.jsonl"
START = "0" * 64
FIELDS = ("look", "date", "plan", "rows", "old", "candidate", "passed", "lines", "previous", "digest")


@dataclass(frozen=True)
class LookId:
    """What a look is at: digests of the plan, of the table, of the model in use and of the candidate."""

    plan: str
    rows: str
    old: str
    candidate: str


@dataclass(frozen=True)
class Ledger:
    """The looks so far."""

    path: Path
    looks: tuple[dict[str, Any], ...] = ()

    @classmethod
    def beside(cls, plan: str | os.PathLike[str]) -> Ledger:
        """Read the ledger of a plan, and raise if a line of it was changed; empty if there is none yet."""
        path = Path(plan)
        path = path.with_name(path.stem + ENDING)
        if not path.exists():
            return cls(path)
        looks = []
        previous = START
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            look = _look_from(line)
            if (
                look is None
                or look["look"] != number
                or look["previous"] != previous
                or look["digest"] != _digest(look)
            ):
                raise RefusedLookError(
                    f"{path}, line {number}: this is not the line that check_plan wrote after the one before it. "
                    "Restore the ledger from a copy; what was judged cannot be judged again."
                )
            looks.append(look)
            previous = look["digest"]
        return cls(path, tuple(looks))

    @property
    def head(self) -> str:
        """The digest of the last line, which stands for the whole ledger."""
        return str(self.looks[-1]["digest"]) if self.looks else START

    def before(self, asked: LookId, most: int) -> dict[str, Any] | None:
        """The earlier look at the same candidate; None if it is a new one that may be judged."""
        if not self.looks:
            return None
        first = self.looks[0]
        for name, what in (("plan", "the plan"), ("rows", "the table"), ("old", "the old model")):
            if first[name] != getattr(asked, name):
                raise RefusedLookError(
                    f"{what[0].upper()}{what[1:]} is not the one of the first look in {self.path.name}. To judge with "
                    "another one, write a new plan with fresh rows."
                )
        same = next((look for look in self.looks if look["candidate"] == asked.candidate), None)
        if same is None and len(self.looks) >= most:
            raise RefusedLookError(
                f"The plan allows {counted(most, 'candidate')}, and {self.path.name} has {len(self.looks):,}. To judge "
                "another one, write a new plan with fresh rows."
            )
        return same

    def record(self, asked: LookId, passed: bool, lines: list[dict[str, Any]]) -> Ledger:
        """Write another look to the file, and return the ledger with it."""
        look: dict[str, Any] = {
            "look": len(self.looks) + 1,
            "date": datetime.now(UTC).date().isoformat(),
            **vars(asked),
            "passed": passed,
            "lines": lines,
            "previous": self.head,
        }
        look["digest"] = _digest(look)
        looks = (*self.looks, look)
        text = "".join(json.dumps(each, ensure_ascii=False, allow_nan=False) + "\n" for each in looks)
        write_whole(self.path, text.encode("utf-8"))
        return Ledger(self.path, looks)


def _look_from(line: str) -> dict[str, Any] | None:
    try:
        look = json.loads(line)
    except json.JSONDecodeError:
        return None
    return look if isinstance(look, dict) and tuple(look) == FIELDS else None


def _digest(look: dict[str, Any]) -> str:
    content = {name: value for name, value in look.items() if name != "digest"}
    return sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()
