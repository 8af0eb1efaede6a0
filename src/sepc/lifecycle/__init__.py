"""A model after deployment: audit and repair it, monitor it, send rows to a person, and erase rows from it."""

from sepc.estimators.decided_rows import rows_digest
from sepc.io.signatures import sign, verify
from sepc.lifecycle._changed_parts import ChangedRows
from sepc.lifecycle._paired_decisions import ChangeCounts
from sepc.lifecycle.audit import Audit, OverallTest, RegionTests, audit
from sepc.lifecycle.comparison import Comparison
from sepc.lifecycle.disjuncts import Disjunct, Range
from sepc.lifecycle.forget import Erasure, forget, verify_receipt
from sepc.lifecycle.monitoring.alarms import Alarm, FeatureShift
from sepc.lifecycle.monitoring.column_guesses import ColumnChange
from sepc.lifecycle.monitoring.monitor import Monitor
from sepc.lifecycle.plan import ChangePlan, row_digest
from sepc.lifecycle.plan_check import PlanCheck, PlanLine, check_plan
from sepc.lifecycle.receipts import Receipt, ReceiptError, Salts
from sepc.lifecycle.region_models import RepairResult
from sepc.lifecycle.repair import repair
from sepc.lifecycle.reviewing.batch import Plan, Purpose, Review
from sepc.lifecycle.reviewing.certificate import BandLabels, Certificate
from sepc.lifecycle.reviewing.queue import ReviewQueue
from sepc.reporting.bill_of_materials import bill_of_materials
from sepc.reporting.card import model_card

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
    "audit",
    "bill_of_materials",
    "check_plan",
    "forget",
    "model_card",
    "repair",
    "row_digest",
    "rows_digest",
    "sign",
    "verify",
    "verify_receipt",
]
