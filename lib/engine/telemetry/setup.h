// SPDX-License-Identifier: BSD-3-Clause
//
// The operator's settings. They must be equal in all workers whose epochs are merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

enum class SketchKind : uint8_t {
  /// Errors have both signs and scale with ε·L2 (Charikar, Chen and Farach-Colton, 2002).
  kCountSketch,
  kCountMin,  ///< Never underestimates if every packet is counted; errors scale with ε·L1 (Cormode
              ///< and Muthukrishnan, 2005).
};

/// Policy for choosing the probability of row updates (NitroSketch, SIGCOMM'19, section 4.3).
enum class Pace : uint8_t {
  kFixed,           ///< Setup::probability from the first packet on.
  kAlwaysCorrect,   ///< 1 until the epoch's sketches have converged, then Setup::probability.
  kAlwaysLineRate,  ///< 1 up to Setup::full_rate_pps, 2^-1 … 2^-7 above it. Chosen every 100 ms.
};

/// Returns the kind named "count_sketch" or "count_min"; nullopt for other names.
std::optional<SketchKind> SketchByName(std::string_view name);
/// Returns the pace named "fixed", "correct" or "line_rate"; nullopt for other names.
std::optional<Pace> PaceByName(std::string_view name);

struct Setup {
  static constexpr uint32_t kMaxKeys = 8;
  static constexpr uint32_t kMaxRows = 16;
  static constexpr uint32_t kMaxColumns = 1 << 24;
  static constexpr uint32_t kMaxLevels = 24;
  static constexpr uint32_t kMaxTopK = 10'000;
  static constexpr uint32_t kMaxExactFlows = 1 << 24;

  std::vector<KeySpec> keys{KeySpec{}};  ///< 1 … kMaxKeys, without duplicates.
  SketchKind sketch = SketchKind::kCountSketch;
  uint32_t rows = 8;           ///< 3 … kMaxRows.
  uint32_t columns = 1 << 16;  ///< A power of two, 16 … kMaxColumns.
  uint32_t top_k = 100;        ///< Maximum number of reported heavy hitters; 1 … kMaxTopK.
  /// kAlwaysCorrect: capacity of a key's table (ExactFlows). An epoch's flows are counted exactly
  /// until their number exceeds the capacity; 0 disables the table. Each flow needs at least 72
  /// bytes in each of two buffers. 0 … kMaxExactFlows.
  uint32_t exact_flows = 1 << 14;
  /// UnivMon: number of levels, for entropy and distinct flows. Each level's sketch counts half of
  /// the previous level's flows. 1 disables UnivMon.
  uint32_t levels = 1;
  /// Columns of each level except the first. A power of two, 16 … kMaxColumns.
  uint32_t level_columns = 1 << 13;
  uint32_t level_top_k = 250;  ///< Known flows per level; 16 … kMaxTopK.

  Pace pace = Pace::kAlwaysCorrect;
  /// Probability of row updates, in [2^-16, 1]. Rounded to the nearest value whose inverse is a
  /// multiple of 1/256.
  double probability = 0.01;
  /// kAlwaysLineRate: maximum rate per worker at which all packets are counted.
  double full_rate_pps = 1e6;

  uint64_t epoch_ns = 1'000'000'000;   ///< 1 ms … 1 h.
  double heavy_hitter_share = 0.0005;  ///< [0, 1]
  double change_share = 0.0005;        ///< [0, 1]
  double confidence = 0.95;            ///< Confidence level of all bounds, in [0.5, 0.9999].
  /// The oracle counts one in this many flows exactly, chosen by hash; 0 disables the oracle. If it
  /// is enabled, every packet is parsed, and hashed once per key.
  uint32_t oracle_one_in = 0;
  /// Maximum number of flows that the oracle counts per key; 1 … 2^20.
  uint32_t oracle_flows = 1 << 14;
  /// Seed for hashes and samples. Keep it secret if traffic is untrusted, because an attacker who
  /// knows it can create colliding flows.
  uint64_t seed = 1;

  friend bool operator==(const Setup&, const Setup&) = default;

  /// Returns an error message that names the invalid member, or an empty string if the setup is
  /// valid.
  std::string Error() const;
};

}  // namespace sluice::engine::telemetry
