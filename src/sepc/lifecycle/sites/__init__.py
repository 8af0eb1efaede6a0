"""One promise from the counts of many sites, whose rows stay where they are."""

from sepc.lifecycle.sites._certificate import Ledger, SiteCertificate, certify
from sepc.lifecycle.sites._site_counts import Cell, SiteCounts, count_site

__all__ = ["Cell", "Ledger", "SiteCertificate", "SiteCounts", "certify", "count_site"]
