# SPDX-License-Identifier: BSD-3-Clause
"""Decides whether two sets of samples differ by more than noise. Pure functions.

Noise only adds cycles to a sample, and loses packets, so the better samples of each set are more
significant than the worse ones. One set is better if its k best samples are all better than every
sample of the other. If both came from the same distribution, whichever it is, every order of all
samples would be equally likely; k is the smallest number that makes such an order sufficiently
improbable."""
from math import comb

CHANCE = 0.01  # Two-sided probability that a reported difference is only noise.
TOO_FEW, NOISE = "too few samples", "within noise"


def rank(better, worse):
    """Returns the smallest k for these numbers of samples; None if there are too few for any."""
    for k in range(1, better + 1):
        # The probability that the k best values are all in one set: the number of ways to place the
        # other set among the remaining values, divided by the number of all ways to place it.
        if 2 * comb(better + worse - k, worse) <= CHANCE * comb(better + worse, worse):
            return k
    return None


def tell_apart(ours, theirs, best=min):
    """Returns "better" or "worse" for our set, or the reason for no verdict."""
    if not rank(len(ours), len(theirs)) or not rank(len(theirs), len(ours)):
        return TOO_FEW
    sign = 1 if best is min else -1
    ours, theirs = (sorted(sign * value for value in values) for values in (ours, theirs))
    if ours[rank(len(ours), len(theirs)) - 1] < theirs[0]:
        return "better"
    if theirs[rank(len(theirs), len(ours)) - 1] < ours[0]:
        return "worse"
    return NOISE
