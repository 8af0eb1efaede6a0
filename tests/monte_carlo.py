"""Whether draws are compatible with a level: the one rule by which Monte Carlo tests fail."""

from scipy.stats import beta

CONFIDENCE = 0.99


def exceeds(n_broken: int, n_draws: int, level: float) -> bool:
    """Whether the 99 % lower (Clopper-Pearson) bound of the rate exceeds the level: chance does not explain it."""
    bound = beta.ppf(1.0 - CONFIDENCE, n_broken, n_draws - n_broken + 1) if n_broken else 0.0
    return bool(bound > level)
