"""How many of a few draws may break a promise before a test fails."""

from scipy.stats import binom

# The chance that any test in this folder fails although all promises are just kept, and the tests that share it.
CHANCE, N_TESTS = 1e-4, 180
# Attacks that once broke a promise, and so many draws that what broke it would be seen again.
RARE_LABELS = {"300 rare codes in 4 % of rows": 60, "every rare label is unique, 4 %": 60}
LATE_LABELS = {
    "4 % wrong, reviews with an error 30 days late": 20,
    "short reviews with an error 10 days late": 40,
    "reviews with an error never come back": 20,
}
MERGED_AGAIN = {
    "workers merged into a fresh monitor, twelve times": 20,
    "workers merged in pairs, twelve times": 20,
}
BROKEN_ONCE = RARE_LABELS | LATE_LABELS | MERGED_AGAIN


def most_broken(n_draws: int, level: float) -> int:
    """So many broken draws, or fewer, are no proof that a promise is broken more often than the level."""
    return int(binom.isf(CHANCE / N_TESTS, n_draws, level))


def holds(attack, n_draws: int) -> bool:
    """Whether an attack broke its promise no more often than chance explains; no draw is made that changes nothing."""
    most, n_broken = most_broken(n_draws, attack.level), 0
    for draw in range(n_draws):
        n_broken += attack.count(range(draw, draw + 1))
        n_left = n_draws - draw - 1
        if n_broken > most or n_broken + n_left <= most:
            break
    return n_broken <= most
