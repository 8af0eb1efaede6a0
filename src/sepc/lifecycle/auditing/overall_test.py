"""Whether all rows together are wrong more often than the trust of their decisions claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from sepc._typing import BoolArray, FloatArray
from sepc.cards import ShownOnOneLine
from sepc.wording import AS_SET, p_in_short, percent

# The share of the audit's level for all rows together; the regions share the rest.
PART_OF_ALL_ROWS = 0.25
# Up to this many rows are added one by one; longer sums use a fast Fourier transform.
ONE_BY_ONE = 64


@dataclass(frozen=True, repr=False)
class OverallTest(ShownOnOneLine):
    """The test of all rows together.

    Attributes
    ----------
    n_rows, n_errors : int
        Feedback rows, and the wrong ones.
    expected : float
        Errors expected by the trust of the decisions: the sum of 1 - trust.
    deviation : float
        Standard deviation of the number of errors, if the claims are true.
    p_value : float
        Chance of at least this many errors, if the claims are true.
    level : float
        The significance level: true claims fail the test with at most this probability.
    """

    n_rows: int
    n_errors: int
    expected: float
    deviation: float
    p_value: float
    level: float

    @property
    def fails(self) -> bool:
        """Whether there are more errors than claimed."""
        return self.p_value <= self.level

    @property
    def z(self) -> float:
        """How many standard deviations the errors exceed their expected number by; 0 if the deviation is 0."""
        return (self.n_errors - self.expected) / self.deviation if self.deviation > 0.0 else 0.0

    def summary(self) -> str:
        """The result in a sentence."""
        counts = f"{self.n_errors:,} of {self.n_rows:,} rows are wrong, {self.expected:,.1f} expected by trust"
        chance = f"z {self.z:.1f}, p {p_in_short(self.p_value, '= ')}, level {percent(self.level, AS_SET)}"
        if self.fails:
            return f"The model as a whole is wrong more often than it claims: {counts} ({chance})."
        return f"As a whole the model is not wrong more often than it claims: {counts} ({chance})."


def check_all_rows(wrong: BoolArray, claimed_risk: FloatArray, fdr: float) -> OverallTest:
    """Test the number of errors of all rows against the sum of the risks that the decisions claim.

    Examples
    --------
    >>> wrong = np.arange(1000) < 130
    >>> test = check_all_rows(wrong, np.full(1000, 0.1), fdr=0.1)
    >>> test.fails, round(test.z, 1), round(test.p_value, 4)
    (True, 3.2, 0.0013)
    """
    n_errors, risk = int(wrong.sum()), np.clip(claimed_risk, 0.0, 1.0)
    deviation = float(np.sqrt((risk * (1.0 - risk)).sum()))
    chance = tail_of_sum(n_errors, risk)
    return OverallTest(len(wrong), n_errors, float(risk.sum()), deviation, chance, PART_OF_ALL_ROWS * fdr)


def tail_of_sum(n_errors: int, risk: FloatArray) -> float:
    """The chance of at least `n_errors`, if each row is wrong with its own probability: a Poisson-binomial tail.

    Rows are added up in pairs, and these in pairs again, by fast Fourier transforms. That is exact but for round-off,
    which is below 1e-10 for up to a million rows; smaller probabilities are known only to be small.

    Examples
    --------
    >>> round(tail_of_sum(2, np.array([0.5, 0.5])), 6), round(tail_of_sum(1, np.array([0.1, 0.2])), 6)
    (0.25, 0.28)
    """
    if n_errors <= 0:
        return 1.0
    if n_errors > len(risk):
        return 0.0
    return float(np.clip(_chances(risk)[n_errors:].sum(), 0.0, 1.0))


def _chances(risk: FloatArray) -> FloatArray:
    """The chances of 0, 1, 2 and more errors."""
    n_sums = -(-len(risk) // ONE_BY_ONE)
    rows = np.zeros(n_sums * ONE_BY_ONE)
    rows[: len(risk)] = risk
    sums = np.zeros((n_sums, ONE_BY_ONE + 1))
    sums[:, 0] = 1.0
    for one_row in rows.reshape(n_sums, ONE_BY_ONE).T[:, :, None]:
        sums = sums * (1.0 - one_row) + np.roll(sums, 1, axis=1) * one_row
    while len(sums) > 1:
        if len(sums) % 2:
            sums = np.pad(sums, ((0, 1), (0, 0)))
            sums[-1, 0] = 1.0
        size = 2 * sums.shape[1] - 1
        length = next_fast_len(size, real=True)
        transforms = rfft(sums, length, axis=1)
        sums = np.maximum(irfft(transforms[::2] * transforms[1::2], length, axis=1)[:, :size], 0.0)
    return np.asarray(sums[0])
