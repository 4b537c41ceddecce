// SPDX-License-Identifier: BSD-3-Clause
//
// Images of digits that look handwritten: slanted, shifted, thick or thin, on a noisy background.
// They are drawn with integer arithmetic only, so they are identical on every machine.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::chain_app {

inline constexpr uint32_t kImageSide = 28;
inline constexpr uint32_t kImageBytes = kImageSide * kImageSide;
inline constexpr uint32_t kDigits = 10;

/// Draws image `number` of the sequence with seed `seed` as rows of pixels, from 0 (dark) to 255
/// (bright). The digit is bright. Returns the digit.
uint8_t DrawDigit(uint64_t seed, uint64_t number, std::span<uint8_t, kImageBytes> image);

}  // namespace sluice::chain_app
