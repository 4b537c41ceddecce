// SPDX-License-Identifier: BSD-3-Clause
//
// A small convolutional network that reads digits: eight filters of 3 x 3 pixels that answer to
// edges of eight directions, rectified, the largest of every 4 x 4 places, and a weighted sum of
// these for each digit.
//
// All numbers are integers, and no sum passes 2^24: in 32-bit floats every order of adding yields
// them exactly, on any machine, with any library. Here it is computed the plain way, for whoever
// checks another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "digit_image.h"

namespace sluice::chain_app {

inline constexpr uint32_t kFilters = 8;
inline constexpr uint32_t kFilterSide = 3;
inline constexpr uint32_t kPool = 4;
inline constexpr uint32_t kPooledSide = kImageSide / kPool;
inline constexpr uint32_t kFeatures = kFilters * kPooledSide * kPooledSide;
/// Pixels are divided by this, rounding down.
inline constexpr uint32_t kPixelStep = 4;

/// By filter, row, column; the image is 0 beyond its edges.
inline constexpr std::array<std::array<int8_t, kFilterSide * kFilterSide>, kFilters> kEdgeFilters =
    {{{-1, 0, 1, -2, 0, 2, -1, 0, 1},
      {0, 1, 2, -1, 0, 1, -2, -1, 0},
      {1, 2, 1, 0, 0, 0, -1, -2, -1},
      {2, 1, 0, 1, 0, -1, 0, -1, -2},
      {1, 0, -1, 2, 0, -2, 1, 0, -1},
      {0, -1, -2, 1, 0, -1, 2, 1, 0},
      {-1, -2, -1, 0, 0, 0, 1, 2, 1},
      {-2, -1, 0, -1, 0, 1, 0, 1, 2}}};

// digit_weights.cc, made by train_digits.py.
/// By digit, filter, row, column.
extern const std::array<std::array<int8_t, kFeatures>, kDigits> kDigitWeights;
extern const std::array<int32_t, kDigits> kDigitBias;
/// What the score of the right digit is meant to be; that of the others, 0.
extern const int32_t kDigitScale;

/// Of each digit.
using Scores = std::array<int32_t, kDigits>;
Scores ScoreDigit(std::span<const uint8_t, kImageBytes> image);

/// What a network says of an image.
struct Reading {
  uint8_t digit = 0;          ///< Of the highest score; of two, the lower digit.
  int32_t ahead_percent = 0;  ///< Of the next digit, in kDigitScale; 0 to 10000.
};
Reading Read(const Scores& scores);

}  // namespace sluice::chain_app
