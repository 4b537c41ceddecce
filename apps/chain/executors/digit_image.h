// SPDX-License-Identifier: BSD-3-Clause
//
// Images of digits that look handwritten: slanted, shifted, thick or thin, on a noisy background.
// They are drawn with integers only, so they are equal on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::chain_app {

inline constexpr uint32_t kImageSide = 28;
inline constexpr uint32_t kImageBytes = kImageSide * kImageSide;
inline constexpr uint32_t kDigits = 10;

/// Draws image `number` of the sequence with seed `seed`: rows of pixels, 0 dark to 255 bright; the
/// digit is bright. Returns the digit.
uint8_t DrawDigit(uint64_t seed, uint64_t number, std::span<uint8_t, kImageBytes> image);

}  // namespace sluice::chain_app
