// SPDX-License-Identifier: BSD-3-Clause
//
// What the operator chooses. Equal in all workers whose epochs are merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/telemetry/key_spec.h"

namespace sluice::engine::telemetry {

enum class SketchKind : uint8_t {
  kCountSketch,  ///< Errors of both signs, ε·L2 (Charikar, Chen and Farach-Colton, 2002).
  kCountMin,     ///< Never too little while unsampled, ε·L1 (Cormode and Muthukrishnan, 2005).
};

/// Who decides about the probability of updates (NitroSketch, SIGCOMM'19, section 4.3).
enum class Pace : uint8_t {
  kFixed,           ///< Setup::probability from the first packet on.
  kAlwaysCorrect,   ///< 1 until an epoch's sketches have converged, then Setup::probability.
  kAlwaysLineRate,  ///< 1 up to Setup::full_rate_pps, 2^-1 … 2^-7 beyond; chosen every 100 ms.
};

/// "count_sketch", "count_min".
std::optional<SketchKind> SketchByName(std::string_view name);
/// "fixed", "correct", "line_rate".
std::optional<Pace> PaceByName(std::string_view name);

struct Setup {
  static constexpr uint32_t kMaxKeys = 8;
  static constexpr uint32_t kMaxRows = 16;
  static constexpr uint32_t kMaxColumns = 1 << 24;
  static constexpr uint32_t kMaxLevels = 24;
  static constexpr uint32_t kMaxTopK = 10'000;
  static constexpr uint32_t kMaxExactFlows = 1 << 24;

  std::vector<KeySpec> keys{KeySpec{}};  ///< 1 … kMaxKeys, none twice.
  SketchKind sketch = SketchKind::kCountSketch;
  uint32_t rows = 8;           ///< 3 … kMaxRows.
  uint32_t columns = 1 << 16;  ///< A power of two, 16 … kMaxColumns.
  uint32_t top_k = 100;        ///< Heavy hitters that are reported; 1 … kMaxTopK.
  /// kAlwaysCorrect: flows that are counted packet by packet until an epoch has more (ExactFlows);
  /// 0: none. Each takes 72 bytes or more, twice. 0 … kMaxExactFlows.
  uint32_t exact_flows = 1 << 14;
  /// UnivMon: levels of sketches of halved sets of flows, for entropy and distinct flows. 1: none.
  uint32_t levels = 1;
  uint32_t level_columns = 1 << 13;  ///< Of each level but the first. A power of two, from 16.
  uint32_t level_top_k = 250;        ///< Flows that each level knows; 16 … kMaxTopK.

  Pace pace = Pace::kAlwaysCorrect;
  /// (0, 1], not below 2^-16. Taken as the nearest one whose inverse is a multiple of 1/256.
  double probability = 0.01;
  double full_rate_pps = 1e6;  ///< Of one worker, kAlwaysLineRate: up to here all is counted.

  uint64_t epoch_ns = 1'000'000'000;   ///< 1 ms … 1 h.
  double heavy_hitter_share = 0.0005;  ///< [0, 1]
  double change_share = 0.0005;        ///< [0, 1]
  double confidence = 0.95;            ///< Of all bounds. [0.5, 0.9999]
  /// One of so many flows, chosen by hash, is counted exactly; 0: none. Costs a hash per packet.
  uint32_t oracle_one_in = 0;
  uint32_t oracle_flows = 1 << 14;  ///< Of each key: at most so many; 1 … 2^20.
  /// Hashes and samples. Secret where strangers send: who knows it can make flows collide.
  uint64_t seed = 1;

  friend bool operator==(const Setup&, const Setup&) = default;

  /// What is wrong, naming the member; empty if nothing is.
  std::string Error() const;
};

}  // namespace sluice::engine::telemetry
