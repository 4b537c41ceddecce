// SPDX-License-Identifier: BSD-3-Clause
//
// How much a stream sends, and what that means in time. Times are picoseconds with 64 fractional
// bits, so that a year of frames adds up without drift: a gap is off by less than 2^-64 ps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/frame.h"

namespace sluice::engine::pktgen {

inline constexpr uint64_t kPsPerSecond = 1'000'000'000'000;
/// A time that does not come.
inline constexpr uint64_t kNever = ~uint64_t{0};

/// Picoseconds, in units of 2^-64.
using Ticks = unsigned __int128;
constexpr Ticks TicksOf(uint64_t ps) { return Ticks{ps} << 64; }
constexpr uint64_t PsOf(Ticks ticks) { return static_cast<uint64_t>(ticks >> 64); }

/// Bits that a frame of `length` bytes, without FCS, takes on the wire: with FCS, preamble and gap.
constexpr uint64_t LayerOneBits(uint64_t length) {
  return 8 * (length + packet::kFcsBytes + packet::kWireOverheadBytes);
}

struct Rate {
  enum class Unit : uint8_t {
    kUnlimited,  ///< As fast as frames are taken.
    kPackets,    ///< A second.
    kBits,       ///< A second, on layer 1.
    kPercent,    ///< Of the line.
  };
  Unit unit = Unit::kUnlimited;
  double value = 0;

  friend bool operator==(const Rate&, const Rate&) = default;
};

/// "10Mpps" or "10M", "5Gbps", "80%", "max": unlimited. Nothing if `text` is none of these, or is
/// not within 0.001 … 10^12 packets, 1 … 10^13 bits, 0.0001 … 100 %.
std::optional<Rate> ParseRate(std::string_view text);
/// What to give instead.
inline constexpr std::string_view kRateFix =
    "a rate above 0 as 500k or 10Mpps (packets/s), 5Gbps (layer-1 bits/s), 80% (of the line) "
    "or max";

/// The time from one frame to the next. Rounded up: a second never has a frame too many.
class Gap {
 public:
  /// None: frames follow each other at once.
  Gap() = default;
  /// `line_bps`: bits per second of the line, for percentages; above 0.
  Gap(const Rate& rate, uint64_t line_bps);

  /// The gap of whoever sends `part` frames of each `whole`: longer.
  Gap Share(uint64_t part, uint64_t whole) const;
  /// From a frame of `length` bytes, without FCS, to its successor.
  Ticks Behind(uint32_t length) const { return per_frame_ + per_bit_ * LayerOneBits(length); }

 private:
  Ticks per_frame_ = 0;  ///< One of the two is 0.
  Ticks per_bit_ = 0;
};

/// A part of a schedule: a rate from `start_ps` on, up to and without `end_ps`.
struct Phase {
  uint64_t start_ps = 0;
  uint64_t end_ps = kNever;
  Rate rate;

  friend bool operator==(const Phase&, const Phase&) = default;
};

/// "10Mpps:10s,pause:1s,20Mpps:10s": phases one behind the other; times in s, ms or us. Nothing,
/// with what to write instead in `fix`, if it is no schedule.
std::optional<std::vector<Phase>> ParseSchedule(std::string_view text, std::string* fix);

/// Sorts phases by their start. Empty, or which two overlap.
std::string OrderPhases(std::vector<Phase>* phases);

}  // namespace sluice::engine::pktgen
