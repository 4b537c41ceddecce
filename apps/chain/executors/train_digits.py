#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes digit_weights.cc, the weights of the network in digit_network.h. Reads images from
standard input, each as a byte with the digit and the pixels:

    stage_runner digits 1 4000 | train_digits.py > digit_weights.cc

(stage_runner is a program of the tests). The weights are computed by ridge regression, least
squares with a penalty for large weights. It has a closed-form solution, so the result is
deterministic. The weights are rounded to 8 bits, which hides differences in the last bits of
sums."""
import sys

import numpy

SIDE, POOL, PIXEL_STEP, DIGITS = 28, 4, 4, 10
PENALTY = 3e4
FILTERS = numpy.array([[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], [[0, 1, 2], [-1, 0, 1], [-2, -1, 0]]])


def filters():
    """The eight directions: the two above, turned."""
    return numpy.stack([numpy.rot90(FILTERS[i % 2], i // 2) for i in range(8)])


def features(images):
    """(n, 8, 7, 7): the largest answer of each filter in each 4 x 4 places; whole numbers."""
    small = images.reshape(-1, SIDE, SIDE).astype(numpy.int64) // PIXEL_STEP
    padded = numpy.pad(small, ((0, 0), (1, 1), (1, 1)))
    answers = numpy.zeros((len(small), 8, SIDE, SIDE), numpy.int64)
    for row in range(3):
        for column in range(3):
            part = padded[:, row:row + SIDE, column:column + SIDE]
            answers += filters()[:, row, column][None, :, None, None] * part[:, None]
    pooled = answers.reshape(len(small), 8, SIDE // POOL, POOL, SIDE // POOL, POOL).max((3, 5))
    return numpy.maximum(pooled, 0)


def read(stream):
    """Labels and images of a stream."""
    records = numpy.frombuffer(stream.read(), numpy.uint8).reshape(-1, 1 + SIDE * SIDE)
    return records[:, 0], records[:, 1:]


def train(labels, images):
    """Weights of 8 bits (digits, features), biases, and the score that a right digit is to have."""
    known = features(images).reshape(len(images), -1).astype(numpy.float64)
    wanted = (labels[:, None] == numpy.arange(DIGITS)).astype(numpy.float64)
    mean, aim = known.mean(0), wanted.mean(0)
    known -= mean
    square = known.T @ known + PENALTY * len(known) / 1000 * numpy.eye(known.shape[1])
    weights = numpy.linalg.solve(square, known.T @ (wanted - aim))
    scale = 127 / numpy.abs(weights).max()
    whole = numpy.rint(weights * scale).astype(numpy.int64)
    bias = numpy.rint(aim * scale - mean @ whole).astype(numpy.int64)
    return whole.T, bias, int(numpy.rint(scale))


def source(weights, bias, scale):
    """The file."""
    def numbers(row):
        lines, line = [], "     "
        for number in row:
            text = f" {number},"
            if len(line) + len(text) > 100:
                lines.append(line)
                line = "     "
            line += text
        return "\n".join(lines + [line])[:-1].lstrip()
    rows = ",\n     ".join("{" + numbers(row) + "}" for row in weights)
    return f"""// SPDX-License-Identifier: BSD-3-Clause
//
// Made by train_digits.py; a test makes it again.
#include "digit_network.h"

namespace sluice::chain_app {{

// clang-format off
const std::array<std::array<int8_t, kFeatures>, kDigits> kDigitWeights =
    {{{{{rows}}}}};

const std::array<int32_t, kDigits> kDigitBias =
    {{{", ".join(map(str, bias))}}};
// clang-format on
const int32_t kDigitScale = {scale};

}}  // namespace sluice::chain_app
"""


if __name__ == "__main__":
    sys.stdout.write(source(*train(*read(sys.stdin.buffer))))
