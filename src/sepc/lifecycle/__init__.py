"""A model after deployment: audit it with feedback, repair what fails, watch it, and ask a person."""

from sepc.lifecycle.audit import audit
from sepc.lifecycle.monitor import Monitor
from sepc.lifecycle.repair import repair
from sepc.lifecycle.review import ReviewQueue

__all__ = ["Monitor", "ReviewQueue", "audit", "repair"]
