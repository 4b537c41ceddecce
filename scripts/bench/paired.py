# SPDX-License-Identifier: BSD-3-Clause
"""Compares two things by neighbors: samples of the same round, which ran under the same conditions.
Pure functions.

If both cost the same, exchanging the samples of a round changes nothing, however noisy the host is:
their difference is as likely to be d as -d. So Wilcoxon's signed-rank test (Biometrics Bulletin 1,
1945) is exact and needs no quiet machine. It ranks differences of rates, not of costs: noise only
adds to a cost, whereas rates that noise makes small have small differences.

The ratio is Hodges' and Lehmann's estimate (Annals of Mathematical Statistics 34, 1963): the median
of the ratios of any two rounds combined, (x_i + x_j) / (y_i + y_j). The test counts how many of
these are above 1, so its interval is made of the same ratios: it excludes 1 if the test would
reject "both are equal", and it always contains the estimate."""
from functools import lru_cache
from statistics import median

CONFIDENCE = 0.95
MIN_PAIRS = 6     # Fewer pairs cannot yield an interval with this confidence.
MOST_PAIRS = 200  # Only the first pairs are used, because the work grows quadratically.


@lru_cache
def tails(pairs):
    """Returns how many of the 2^pairs outcomes have a sum of the ranks 1 to `pairs` of at most 0,
    1, …"""
    counts = [1]
    for rank in range(1, pairs + 1):
        counts += [0] * rank
        counts = [count + (counts[total - rank] if total >= rank else 0)
                  for total, count in enumerate(counts)]
    for total in range(1, len(counts)):
        counts[total] += counts[total - 1]
    return counts


def chance_of(pairs, against):
    """Returns the two-sided probability that equal things differ at least this much: `against` of
    the ratios of two rounds are on the side of 1 with fewer ratios."""
    return min(2 * tails(pairs)[against] / 2 ** pairs, 1.0)


def least_pairs(chance):
    """Returns the smallest number of pairs that can reach a probability if all of them agree."""
    pairs = 1
    while chance_of(pairs, 0) > chance:
        pairs += 1
    return pairs


def ratio(ours, theirs):
    """Compares two lists of rates, round by round: {value, low, high, pairs, chance}. With fewer
    than MIN_PAIRS, the interval is the range of the ratios."""
    return over_two_rounds(ours, theirs, lambda x, y, u, v: (x + u) / (y + v))


def cost_ratio(ours, theirs):
    """Compares two lists of costs, whose rates are 1 / cost: the ratio of their rates to ours,
    which is the ratio of our costs to theirs."""
    return over_two_rounds(ours, theirs, lambda x, y, u, v: x * u * (y + v) / (y * v * (x + u)))


def over_two_rounds(ours, theirs, together):
    """`together` returns the ratio of two rounds, given our figure and theirs in each."""
    rounds = list(zip(ours, theirs))[:MOST_PAIRS]
    found = sorted(together(*one, *other) for number, one in enumerate(rounds)
                   for other in rounds[number:])
    against = min(sum(one <= 1 for one in found), sum(one >= 1 for one in found))
    cut = outside(len(rounds))
    return {"value": median(found), "low": found[cut], "high": found[-1 - cut],
            "pairs": len(rounds), "chance": chance_of(len(rounds), against)}


@lru_cache
def outside(pairs):
    """Returns how many ratios of two rounds are outside the interval, at either end."""
    rejected = sum(chance_of(pairs, against) <= 1 - CONFIDENCE
                   for against in range(len(tails(pairs))))
    return max(rejected - 1, 0)


def inverse(found):
    """Returns the reciprocal of a ratio."""
    return found | {"value": 1 / found["value"], "low": 1 / found["high"], "high": 1 / found["low"]}


def at_most(found, limit):
    """Returns whether a ratio is at most `limit`; None if its interval contains the limit, or if
    there are too few pairs for an interval."""
    if found["pairs"] < MIN_PAIRS or found["low"] <= limit < found["high"]:
        return None
    return found["high"] <= limit
