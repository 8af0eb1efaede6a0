"""Spend the significance level on sites that report one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from sepc.errors import FormatError
from sepc.io.atomic_files import write_whole
from sepc.sites.site_counts import SiteCounts

FORMAT = "sepc-site-ledger-1"


@dataclass(frozen=True)
class Ledger:
    """The counts that promises were made from so far, in the order in which they came.

    The k-th counts that a site reports, and the k-th set of sites that is certified together, get the share
    1 / (k (k + 1)) of the significance level. These shares add up to at most 1, however many follow.

    Attributes
    ----------
    sites : tuple of str
        Digests of the counts of single sites.
    sets : tuple of str
        Digests of the sets of counts that were certified together.
    """

    sites: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    def with_counts(self, counts: Sequence[SiteCounts]) -> Self:
        """The ledger with these counts added, those that are new, and with the set of them."""
        new = (one.digest for one in counts)
        sites = tuple(dict.fromkeys((*self.sites, *new)))
        return replace(self, sites=sites, sets=tuple(dict.fromkeys((*self.sets, set_digest(counts)))))

    def share_of_site(self, counts: SiteCounts) -> float:
        """The share of the level for the promise of one site."""
        return _share(self.sites.index(counts.digest) + 1)

    def share_of_set(self, counts: Sequence[SiteCounts]) -> float:
        """The share of the level for the promise of these sites together."""
        return _share(self.sets.index(set_digest(counts)) + 1)

    def save(self, path: str | Path) -> None:
        """Write the ledger to a JSON file."""
        content = {"format": FORMAT, "sites": list(self.sites), "sets": list(self.sets)}
        write_whole(path, (json.dumps(content, indent=1) + "\n").encode())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file written by `save`."""
        try:
            content: Any = json.loads(Path(path).read_bytes())
        except ValueError as error:
            raise FormatError(f"{path} is not a ledger of sites: it is not JSON.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FormatError(f"{path} is not a ledger of sites: its format is not {FORMAT}.")
        lists: list[Any] = [content.get("sites"), content.get("sets")]
        for one in lists:
            if not isinstance(one, list) or not all(isinstance(digest, str) for digest in one):
                raise FormatError(f"{path} is not a ledger of sites: a list of digests is missing.")
            if len(set(one)) < len(one):
                raise FormatError(f"{path} is not a valid ledger of sites: a digest occurs twice.")
        return cls(*(tuple(one) for one in lists))


def set_digest(counts: Sequence[SiteCounts]) -> str:
    """A digest of a set of counts, in whatever order they are given."""
    return sha256("\n".join(sorted(one.digest for one in counts)).encode()).hexdigest()


def _share(place: int) -> float:
    return 1.0 / (place * (place + 1))
