# SPDX-License-Identifier: BSD-3-Clause
"""Whether two sets of samples differ by more than noise. Pure.

Noise only adds cycles to a sample, and takes packets from it, so that the better samples of each
set say more than the worse ones. One set is better if its k best samples are all better than every
sample of the other. If both came from one distribution, whatever it is, every order of all samples
would be as likely as any other; k is the least number that makes such an order rare enough."""
from math import comb

CHANCE = 0.01  # Of being told apart, both ways together, with nothing but noise between them.
TOO_FEW, NOISE = "too few samples", "within noise"


def rank(better, worse):
    """The least k for so many samples of each; None if there are too few for any."""
    for k in range(1, better + 1):
        # The k best of all are of one set: places of the other set among the rest, over all places.
        if 2 * comb(better + worse - k, worse) <= CHANCE * comb(better + worse, worse):
            return k
    return None


def tell_apart(ours, theirs, best=min):
    """"better" or "worse", of ours; or why neither can be said."""
    if not rank(len(ours), len(theirs)) or not rank(len(theirs), len(ours)):
        return TOO_FEW
    sign = 1 if best is min else -1
    ours, theirs = (sorted(sign * value for value in values) for values in (ours, theirs))
    if ours[rank(len(ours), len(theirs)) - 1] < theirs[0]:
        return "better"
    if theirs[rank(len(theirs), len(ours)) - 1] < ours[0]:
        return "worse"
    return NOISE
