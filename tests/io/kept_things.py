"""What is kept beside the files of a release: rows, and the figures of a monitor and of a queue."""

import numpy as np
from optional import package_or_skip


def rows_of(kept):
    """Rows to decide on, as an array or a table with dates."""
    if "rows" in kept:
        return np.array(kept["rows"])
    pd = package_or_skip("pandas")
    table = pd.DataFrame(kept["columns"]["data"], columns=kept["columns"]["columns"])
    return table.assign(**{name: pd.to_datetime(table[name]) for name in kept["dates"]})


def figures_of_monitor(monitor):
    """Words may change from release to release; these may not."""
    alarms = [[alarm.kind, alarm.region, alarm.n_rows, alarm.before, alarm.now] for alarm in monitor.alarms]
    return {"n_rows": monitor.n_rows, "alarms": alarms}


def figures_of_queue(queue):
    certificate = queue.certificate()
    counts = [certificate.n_labels, certificate.n_errors, certificate.n_waiting]
    return {"counts": counts, "is_certified": certificate.is_certified, "coverage": certificate.coverage}
