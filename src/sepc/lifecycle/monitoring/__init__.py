"""Monitors: raise alarms when the rows or the error rates change."""
