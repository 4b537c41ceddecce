// SPDX-License-Identifier: BSD-3-Clause
//
// Stream rates, and the gaps between frames that they imply. Times are picoseconds with 64
// fractional bits, so that a year of frames does not drift noticeably: a gap per frame, or per bit
// of a frame, is rounded up by less than 2^-64 ps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/frame.h"

namespace sluice::engine::pktgen {

inline constexpr uint64_t kPsPerSecond = 1'000'000'000'000;
/// A time that is never reached.
inline constexpr uint64_t kNever = ~uint64_t{0};

/// Picoseconds, in units of 2^-64.
using Ticks = unsigned __int128;
constexpr Ticks TicksOf(uint64_t ps) { return Ticks{ps} << 64; }
constexpr uint64_t PsOf(Ticks ticks) { return static_cast<uint64_t>(ticks >> 64); }

/// Returns the number of bits that a frame of `length` bytes, without FCS, occupies on the wire,
/// including FCS, preamble and gap.
constexpr uint64_t LayerOneBits(uint64_t length) {
  return 8 * (length + packet::kFcsBytes + packet::kWireOverheadBytes);
}

struct Rate {
  enum class Unit : uint8_t {
    kUnlimited,  ///< As fast as frames are accepted.
    kPackets,    ///< Packets per second.
    kBits,       ///< Layer-1 bits per second.
    kPercent,    ///< Percent of the line rate.
  };
  Unit unit = Unit::kUnlimited;
  double value = 0;

  friend bool operator==(const Rate&, const Rate&) = default;
};

/// Parses e.g. "10Mpps", "10M", "5Gbps", "80%" or "max" (unlimited). Returns nullopt if `text` is
/// invalid or not within 0.001 … 10^12 packets, 1 … 10^13 bits, 0.0001 … 100 %.
std::optional<Rate> ParseRate(std::string_view text);
/// Help text for invalid rates.
inline constexpr std::string_view kRateFix =
    "a rate above 0, such as 500k or 10Mpps (packets/s), 5Gbps (layer-1 bits/s), 80% (of the line "
    "rate) or max";

/// The time from the start of one frame to the start of the next. Rounded up, so that no second
/// contains more frames than the rate allows.
class Gap {
 public:
  /// Creates a gap of 0: frames follow each other immediately.
  Gap() = default;
  /// `line_bps` is the line rate in bits per second, used for percentages. It must be above 0.
  Gap(const Rate& rate, uint64_t line_bps);

  /// Returns the longer gap for a worker that sends `part` of every `whole` frames.
  Gap Share(uint64_t part, uint64_t whole) const;
  /// Returns the time from the start of a frame of `length` bytes, without FCS, to the start of the
  /// next frame.
  Ticks Behind(uint32_t length) const { return per_frame_ + per_bit_ * LayerOneBits(length); }

 private:
  Ticks per_frame_ = 0;  ///< If not 0, per_bit_ is 0.
  Ticks per_bit_ = 0;
};

/// A part of a schedule: a rate from `start_ps` up to, but excluding, `end_ps`.
struct Phase {
  uint64_t start_ps = 0;
  uint64_t end_ps = kNever;
  Rate rate;

  friend bool operator==(const Phase&, const Phase&) = default;
};

/// Parses consecutive phases with durations in s, ms or us, e.g. "10Mpps:10s,pause:1s,20Mpps:10s".
/// If the text is invalid, returns nullopt and writes a help text to `fix`.
std::optional<std::vector<Phase>> ParseSchedule(std::string_view text, std::string* fix);

/// Sorts phases by their start. Returns an error that names overlapping phases, or an empty string.
std::string OrderPhases(std::vector<Phase>* phases);

}  // namespace sluice::engine::pktgen
