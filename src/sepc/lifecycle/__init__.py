"""A model after deployment: audit and repair it, monitor it, send rows to a person, and erase rows from it."""

from sepc.lifecycle.auditing.audit import Audit, audit
from sepc.lifecycle.auditing.disjuncts import Disjunct, Range
from sepc.lifecycle.auditing.overall_test import OverallTest
from sepc.lifecycle.auditing.region_tests import RegionTests
from sepc.lifecycle.change_plans.checking import check_plan
from sepc.lifecycle.change_plans.plan import ChangePlan
from sepc.lifecycle.change_plans.plan_check import PlanCheck
from sepc.lifecycle.change_plans.plan_lines import PlanLine
from sepc.lifecycle.change_plans.planned_rows import row_digest
from sepc.lifecycle.column_changes.column_change import ColumnChange
from sepc.lifecycle.comparing.changed_rows import ChangedRows
from sepc.lifecycle.comparing.comparison import Comparison
from sepc.lifecycle.comparing.tallies import ChangeCounts
from sepc.lifecycle.comparing.term_shifts import TermShift
from sepc.lifecycle.erasing.forgetting import Erasure, forget
from sepc.lifecycle.erasing.receipt import Receipt, ReceiptError
from sepc.lifecycle.erasing.salts import Salts
from sepc.lifecycle.erasing.verifying import verify_receipt
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
    "ChangeCounts",
    "ChangePlan",
    "ChangedRows",
    "ColumnChange",
    "Comparison",
    "Disjunct",
    "Erasure",
    "FeatureShift",
    "Monitor",
    "OverallTest",
    "Plan",
    "PlanCheck",
    "PlanLine",
    "Purpose",
    "Range",
    "Receipt",
    "ReceiptError",
    "RegionTests",
    "RepairResult",
    "Review",
    "ReviewQueue",
    "Salts",
    "TermShift",
    "audit",
    "check_plan",
    "forget",
    "from_label_studio",
    "label_config",
    "query_strategy",
    "repair",
    "row_digest",
    "to_label_studio",
    "verify_receipt",
]
