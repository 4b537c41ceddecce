// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/setup.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::telemetry {

namespace {

// Returns false for NaN.
template <typename T>
bool Within(T value, T least, T most) {
  return value >= least && value <= most;
}

}  // namespace

std::optional<SketchKind> SketchByName(std::string_view name) {
  if (name == "count_sketch") return SketchKind::kCountSketch;
  if (name == "count_min") return SketchKind::kCountMin;
  return std::nullopt;
}

std::optional<Pace> PaceByName(std::string_view name) {
  if (name == "fixed") return Pace::kFixed;
  if (name == "correct") return Pace::kAlwaysCorrect;
  if (name == "line_rate") return Pace::kAlwaysLineRate;
  return std::nullopt;
}

std::string Setup::Error() const {
  if (keys.empty() || keys.size() > kMaxKeys) {
    return "keys: give 1 to " + std::to_string(kMaxKeys);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].ipv4_bits > 32) return "keys: a prefix of IPv4 has at most 32 bits";
    if (keys[i].ipv6_bits > 128) return "keys: a prefix of IPv6 has at most 128 bits";
    if (std::count(keys.begin(), keys.end(), keys[i]) != 1) return "keys: give each key once";
  }
  if (!Within<uint32_t>(rows, 3, kMaxRows)) return "rows: give 3 to " + std::to_string(kMaxRows);
  if (!std::has_single_bit(columns) || !Within<uint32_t>(columns, 16, kMaxColumns)) {
    return "columns: give a power of two, 16 to " + std::to_string(kMaxColumns);
  }
  if (!Within<uint32_t>(top_k, 1, kMaxTopK)) return "top_k: give 1 to " + std::to_string(kMaxTopK);
  if (exact_flows > kMaxExactFlows) {
    return "exact_flows: give 0 to " + std::to_string(kMaxExactFlows);
  }
  if (!Within<uint32_t>(levels, 1, kMaxLevels))
    return "levels: give 1 to " + std::to_string(kMaxLevels);
  if (!std::has_single_bit(level_columns) || !Within<uint32_t>(level_columns, 16, kMaxColumns)) {
    return "level_columns: give a power of two, 16 to " + std::to_string(kMaxColumns);
  }
  if (!Within<uint32_t>(level_top_k, 16, kMaxTopK)) {
    return "level_top_k: give 16 to " + std::to_string(kMaxTopK);
  }
  if (!Within(probability, 0x1p-16, 1.0)) return "probability: give 2^-16 to 1";
  if (!Within(full_rate_pps, 1.0, 1e12)) return "full_rate_pps: give 1 to 1e12";
  if (!Within<uint64_t>(epoch_ns, 1'000'000, 3'600'000'000'000))
    return "epoch_ns: give 1 ms to 1 h";
  if (!Within(heavy_hitter_share, 0.0, 1.0)) return "heavy_hitter_share: give 0 to 1";
  if (!Within(change_share, 0.0, 1.0)) return "change_share: give 0 to 1";
  if (!Within(confidence, 0.5, 0.9999)) return "confidence: give 0.5 to 0.9999";
  if (!Within<uint32_t>(oracle_flows, 1, 1 << 20)) return "oracle_flows: give 1 to 2^20";
  return "";
}

}  // namespace sluice::engine::telemetry
