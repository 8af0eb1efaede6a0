"""Whether all rows together are wrong more often than the trust of their decisions claims."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from sepc._typing import BoolArray, FloatArray
from sepc.cards import ShownOnOneLine
from sepc.wording import AS_SET, p_in_short, percent

# The share of the audit's level for all rows together; regions have the rest.
PART_OF_ALL_ROWS = 0.25
# The exact distribution takes rows times frequencies; from this many on it is approximated.
MOST_CELLS = 4 * 10**6
# Frequencies for so many deviations on both sides, beyond which no chance is left that a double could hold.
WIDTH = 10.0


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
        The test fails with at most this chance, if the claims are true.
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
        """How many deviations more errors there are than expected; 0 if none can be expected or avoided."""
        return (self.n_errors - self.expected) / self.deviation if self.deviation > 0.0 else 0.0

    def summary(self) -> str:
        """The result in a sentence."""
        counts = f"{self.n_errors:,} of {self.n_rows:,} rows are wrong, {self.expected:,.1f} expected by trust"
        chance = f"z {self.z:.1f}, p {p_in_short(self.p_value, '= ')}, level {percent(self.level, AS_SET)}"
        if self.fails:
            return f"The model as a whole is wrong more often than it claims: {counts} ({chance})."
        return f"As a whole the model is not wrong more often than it claims: {counts} ({chance})."


def check_all_rows(wrong: BoolArray, claimed_risk: FloatArray, fdr: float) -> OverallTest:
    """Test the number of errors of all rows against the sum of what the decisions claim.

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

    By the discrete Fourier transform of its characteristic function; for very many rows by the normal distribution with
    corrections for skewness and whole numbers, whose error is then below one in a thousand of the chance itself.

    Examples
    --------
    >>> round(tail_of_sum(2, np.array([0.5, 0.5])), 6), round(tail_of_sum(1, np.array([0.1, 0.2])), 6)
    (0.25, 0.28)
    """
    mean, variance = float(risk.sum()), float((risk * (1.0 - risk)).sum())
    if n_errors <= 0:
        return 1.0
    if n_errors > len(risk):
        return 0.0
    deviation = np.sqrt(variance)
    first = max(int(mean - WIDTH * deviation) - 50, 0)
    size = int(max(mean + WIDTH * deviation, n_errors)) + 100 - first
    if size * len(risk) > MOST_CELLS:
        return _normal_tail(n_errors, mean, float(deviation), risk)
    return float(np.clip(_chances(risk, first, size)[max(n_errors - first, 0) :].sum(), 0.0, 1.0))


def _chances(risk: FloatArray, first: int, size: int) -> FloatArray:
    """The chances of `first`, `first` + 1 and so on, which are nearly all there are."""
    # The distribution is as good as zero outside these numbers, so a transform of their length does not overlap.
    angle = 2.0 * np.pi * np.arange(size) / size
    transform = np.empty(size, dtype=np.complex128)
    for start in range(0, size, 256):
        own = angle[start : start + 256, None]
        factors = 1.0 + risk * np.expm1(1j * own)
        # The product in logarithms, as that of many small factors would underflow.
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(factors)).sum(axis=1) + 1j * np.angle(factors).sum(axis=1)
        transform[start : start + 256] = np.exp(logs - 1j * first * own[:, 0])
    return np.maximum(np.fft.fft(transform).real / size, 0.0)


def _normal_tail(n_errors: int, mean: float, deviation: float, risk: FloatArray) -> float:
    z = (n_errors - 0.5 - mean) / deviation
    skewness = float((risk * (1.0 - risk) * (1.0 - 2.0 * risk)).sum()) / deviation**3
    return float(np.clip(ndtr(-z) + skewness * (z**2 - 1.0) / 6.0 * norm.pdf(z), 0.0, 1.0))
