"""One promise from the counts of many sites, whose rows stay where they are."""

from sepc.sites.certificate import SiteCertificate, SitePromise
from sepc.sites.certifying import certify
from sepc.sites.counting import count_site
from sepc.sites.ledger import Ledger
from sepc.sites.site_counts import Cell, SiteCounts

__all__ = ["Cell", "Ledger", "SiteCertificate", "SiteCounts", "SitePromise", "certify", "count_site"]
