"""A model after deployment: audit it with feedback, repair it, monitor it, and send rows to a person."""

from sepc.lifecycle.auditing.audit import Audit, audit
from sepc.lifecycle.auditing.disjuncts import Disjunct, Range
from sepc.lifecycle.auditing.overall_test import OverallTest
from sepc.lifecycle.auditing.region_tests import RegionTests
from sepc.lifecycle.column_changes.column_change import ColumnChange
from sepc.lifecycle.monitoring.alarms import Alarm
from sepc.lifecycle.monitoring.feature_shift import FeatureShift
from sepc.lifecycle.monitoring.monitor import Monitor
from sepc.lifecycle.repairing.repair import repair
from sepc.lifecycle.repairing.repair_result import RepairResult
from sepc.lifecycle.reviewing.certificate import BandLabels, Certificate
from sepc.lifecycle.reviewing.label_studio import from_label_studio, label_config, to_label_studio
from sepc.lifecycle.reviewing.query_strategy import query_strategy
from sepc.lifecycle.reviewing.review_batch import Plan, Purpose, Review
from sepc.lifecycle.reviewing.review_queue import ReviewQueue

__all__ = [
    "Alarm",
    "Audit",
    "BandLabels",
    "Certificate",
    "ColumnChange",
    "Disjunct",
    "FeatureShift",
    "Monitor",
    "OverallTest",
    "Plan",
    "Purpose",
    "Range",
    "RegionTests",
    "RepairResult",
    "Review",
    "ReviewQueue",
    "audit",
    "from_label_studio",
    "label_config",
    "query_strategy",
    "repair",
    "to_label_studio",
]
