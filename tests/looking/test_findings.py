"""Findings are in order, and shown as a card, a frame and lines."""

from optional import package_or_skip

from sepc.looking.findings import Finding, Findings, Severity

pd = package_or_skip("pandas")

HANDLED = Finding("no", Severity.HANDLED, "an id, such as 1003", "Ids say nothing about new rows", "Left out")
WRONG = Finding("labels", Severity.WRONG, "'sick' and 'sikc'", "A typo would be a class", "Correct them")


def test_the_worst_comes_first():
    findings = Findings.of([HANDLED, WRONG], n_rows=200, n_looked_at=100)
    assert list(findings) == [WRONG, HANDLED]
    assert findings[0] is WRONG
    assert str(findings).splitlines()[1] == "no: an id, such as 1003. Ids say nothing about new rows. Left out."
    assert findings.to_frame()["about"].tolist() == ["labels", "no"]
    assert "2 findings in a sample of 100 of 200 rows" in repr(findings)
    assert "0 findings in 10 rows" in repr(Findings.of([], 10, 10))
