"""Monitors: alarms when the rows or the errors change."""
