"""A review queue at a glance."""

from __future__ import annotations

from sepc.cards import Card
from sepc.lifecycle.reviewing.certificate import Certificate
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.wording import counted, decimal, percent

HEAD = ("trust from", "share of rows", "labels", "wrong", "certified")


def queue_card(certificate: Certificate, n_open: int, n_reviews: int, budget: int, evidence: Evidence | None) -> Card:
    """What is promised and certified, how much was reviewed, and how many rows wait for a person, band by band."""
    waiting = f"{counted(n_open, 'row')} in {counted(n_reviews, 'review')}" if n_open else "no row"
    if certificate.n_waiting:
        waiting += f"; {counted(certificate.n_waiting, 'label')} held back until earlier ones come"
    facts = {name: value for name, value in certificate.facts() if name != "held back"} | {"waiting": waiting}
    facts["places"] = f"{budget:,} a day"
    share = f"{percent(certificate.coverage)} of rows certified"
    title = f"ReviewQueue: {share if certificate.is_certified else 'nothing certified yet'}"
    return Card(title, tuple(facts.items()), HEAD, () if evidence is None else _bands(evidence))


def _bands(evidence: Evidence) -> tuple[tuple[str, ...], ...]:
    bands = evidence.bands
    return tuple(
        (
            decimal(bands.least_trust[h]),
            percent(bands.share[h]),
            f"{int(evidence.n_labels[h]):,}",
            f"{int(evidence.n_errors[h]):,}",
            "yes" if h <= evidence.certified else "not yet",
        )
        for h in range(len(bands))
    )
