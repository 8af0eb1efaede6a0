"""Fitted models as SQL, for tables that stay in their database."""

from sepc.sql.exporting import export

__all__ = ["export"]
