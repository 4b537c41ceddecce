// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/rate.h"

#include <algorithm>
#include <cmath>

#include "packet/quantity.h"

namespace sluice::engine::pktgen {

namespace {

using Unit = Rate::Unit;

bool EndsWith(std::string_view* text, std::string_view suffix) {
  if (!text->ends_with(suffix)) return false;
  text->remove_suffix(suffix.size());
  return true;
}

struct Bounds {
  double least, most;
};
constexpr Bounds BoundsOf(Unit unit) {
  if (unit == Unit::kPackets) return {1e-3, 1e12};
  return unit == Unit::kBits ? Bounds{1, 1e13} : Bounds{1e-4, 100};
}

// Parses a time of 1 us … 10^6 s. Returns picoseconds.
std::optional<uint64_t> ParseTime(std::string_view text) {
  double ns = 0;
  if (!packet::ReadQuantity(text, packet::kTimeUnits, 1e3, 1e15, &ns)) return std::nullopt;
  return static_cast<uint64_t>(std::llround(ns * 1e3));
}

Ticks CeilDivide(Ticks dividend, Ticks divisor) { return (dividend + divisor - 1) / divisor; }

}  // namespace

std::optional<Rate> ParseRate(std::string_view text) {
  if (text == "max") return Rate{};
  Unit unit = Unit::kPackets;
  if (EndsWith(&text, "%")) {
    unit = Unit::kPercent;
  } else if (EndsWith(&text, "bps")) {
    unit = Unit::kBits;
  } else {
    EndsWith(&text, "pps");
  }
  const auto [least, most] = BoundsOf(unit);
  double value = 0;
  if (!packet::ReadQuantity(text, packet::kMultiples, least, most, &value)) return std::nullopt;
  return Rate{unit, value};
}

Gap::Gap(const Rate& rate, uint64_t line_bps) {
  constexpr uint64_t kMillion = 1'000'000;
  if (rate.unit == Unit::kPackets) {
    // Rates are whole numbers of packets per 10^6 seconds.
    const auto packets = static_cast<uint64_t>(std::llround(rate.value * 1e6));
    per_frame_ = CeilDivide(TicksOf(kPsPerSecond) * kMillion, packets);
  } else if (rate.unit == Unit::kBits) {
    const auto bits = static_cast<uint64_t>(std::llround(rate.value));
    per_bit_ = CeilDivide(TicksOf(kPsPerSecond), bits);
  } else if (rate.unit == Unit::kPercent) {
    const auto share = static_cast<uint64_t>(std::llround(rate.value * 1e4));  // Unit: 10^-6.
    per_bit_ = CeilDivide(TicksOf(kPsPerSecond) * kMillion, Ticks{line_bps} * share);
  }
}

Gap Gap::Share(uint64_t part, uint64_t whole) const {
  Gap longer;
  longer.per_frame_ = CeilDivide(per_frame_, part) * whole;
  longer.per_bit_ = CeilDivide(per_bit_, part) * whole;
  return longer;
}

std::optional<std::vector<Phase>> ParseSchedule(std::string_view text, std::string* fix) {
  std::vector<Phase> phases;
  uint64_t at_ps = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view phase = text.substr(0, comma);
    const size_t colon = std::min(phase.find(':'), phase.size());
    const std::string_view rate_text = phase.substr(0, colon);
    const auto rate = ParseRate(rate_text);
    const auto length = ParseTime(phase.substr(std::min(colon + 1, phase.size())));
    if ((!rate && rate_text != "pause") || !length || *length > kNever / 2 - at_ps) {
      *fix = std::string("\"").append(phase).append(
          "\": invalid phase: give RATE:TIME,RATE:TIME, as in 10Mpps:10s,pause:1s,80%:500ms");
      return std::nullopt;
    }
    if (rate) phases.push_back({at_ps, at_ps + *length, *rate});
    at_ps += *length;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  if (!phases.empty()) return phases;
  *fix = "all phases are pauses: give at least one RATE:TIME";
  return std::nullopt;
}

std::string OrderPhases(std::vector<Phase>* phases) {
  std::ranges::sort(*phases, {}, &Phase::start_ps);
  const auto overlap = std::ranges::adjacent_find(
      *phases, [](const Phase& a, const Phase& b) { return b.start_ps < a.end_ps; });
  if (overlap == phases->end()) return "";
  const auto seconds = [](uint64_t ps) {
    return std::to_string(static_cast<double>(ps) / static_cast<double>(kPsPerSecond)) + " s";
  };
  return "the phase that begins at " + seconds(overlap[1].start_ps) +
         " overlaps the one that begins at " + seconds(overlap->start_ps);
}

}  // namespace sluice::engine::pktgen
