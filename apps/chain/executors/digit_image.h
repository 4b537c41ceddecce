// SPDX-License-Identifier: BSD-3-Clause
//
// Images of digits, as if written by hand: slanted, shifted, thick or thin, on a noisy ground.
// Drawn with integers alone, so that they are the same on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::chain_app {

inline constexpr uint32_t kImageSide = 28;
inline constexpr uint32_t kImageBytes = kImageSide * kImageSide;
inline constexpr uint32_t kDigits = 10;

/// Draws image `number` of those that `seed` makes: rows of pixels, 0 dark to 255 bright, the digit
/// bright. Returns which digit it is.
uint8_t DrawDigit(uint64_t seed, uint64_t number, std::span<uint8_t, kImageBytes> image);

}  // namespace sluice::chain_app
