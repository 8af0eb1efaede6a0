"""Views of a fitted model for people: a report for a terminal or a browser, and a model card."""

from sepc.report.card import model_card
from sepc.report.reporting import Report, report

__all__ = ["Report", "model_card", "report"]
