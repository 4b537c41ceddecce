// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/flow_counter.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

#include "engine/workload/random.h"

namespace sluice::engine::telemetry {

namespace {

using Flow = KnownFlows::Flow;

Shape ShapeOf(const Setup& setup, uint32_t level, uint64_t seed) {
  return {level == 0 ? setup.sketch : SketchKind::kCountSketch, setup.rows,
          level == 0 ? setup.columns : setup.level_columns, seed};
}

/// Returns a level's capacity for known flows. The first level knows at least twice as many flows
/// as are reported, because the order of the smallest reported flows is decided only at the end of
/// the epoch.
uint32_t KnownIn(const Setup& setup, uint32_t level) {
  static_assert(2 * Setup::kMaxTopK <= KnownFlows::kMaxCapacity);
  const uint32_t reported = level == 0 ? 2 * setup.top_k : 0;
  return setup.levels > 1 ? std::max(reported, setup.level_top_k) : reported;
}

/// Returns the capacity of the table. Only kAlwaysCorrect has a table, because other paces bound
/// the cost per packet and do not read every packet.
uint32_t ExactIn(const Setup& setup) {
  return setup.pace == Pace::kAlwaysCorrect ? setup.exact_flows : 0;
}

/// Returns the number of flows that a closed table still counts. It is several times the number of
/// reported flows, because the largest flows are not known yet when the table closes.
uint32_t MostHeavy(const Setup& setup) { return std::max(512u, 4 * setup.top_k); }

/// Returns the estimate in units of KnownFlows::Flow: the sum over all rows.
Flow EstimateOf(const Sketch& sketch, const packet::FlowKey& key, uint64_t hash) {
  const uint32_t rows = sketch.shape().rows;
  double packets[Setup::kMaxRows], bytes[Setup::kMaxRows];
  for (uint32_t row = 0; row < rows; ++row) {
    const Cell reading = sketch.PlaceOf(row, hash).Read();
    packets[row] = static_cast<double>(reading.packets);
    bytes[row] = static_cast<double>(reading.bytes);
  }
  return {.key = key,
          .hash = hash,
          .count = static_cast<int64_t>(MiddleOf(packets, rows) * rows),
          .bytes = static_cast<int64_t>(MiddleOf(bytes, rows) * rows)};
}

/// Returns whether the result of EstimateOf may be above `least`, in units of Flow: whether more
/// rows have a reading above `least` than EstimateOf ignores.
bool MayExceed(const Sketch& sketch, uint64_t hash, int64_t least) {
  const uint32_t rows = sketch.shape().rows;
  uint32_t above = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    above += sketch.PlaceOf(row, hash).Read().packets * rows > least;
  }
  return above > TrimmedRows(rows);
}

/// Handles a packet of an unknown flow that may be larger than the smallest known flow. If the
/// unknown flow's estimate is larger, replaces the smallest known flow; otherwise, records a
/// rejection. `level.known` must be full.
void Challenge(Level& level, const packet::FlowKey& key, uint64_t hash) {
  const int64_t least = level.known.Least();
  if (MayExceed(level.sketch, hash, least)) {
    const Flow flow = EstimateOf(level.sketch, key, hash);
    if (flow.count > least) return level.known.Insert(flow);
  }
  level.known.TurnAway();
}

}  // namespace

FlowCounter::FlowCounter(const Setup& setup, size_t key)
    : spec_(setup.keys[key]),
      exact_(ExactIn(setup), MostHeavy(setup)),
      deepest_(uint64_t{1} << (setup.levels - 1)),
      oracle_(setup.oracle_one_in, setup.oracle_flows, ~setup.seed) {
  workload::Random random(workload::Mix(setup.seed) + key);
  for (uint64_t& salt : salts_) salt = random.Next();
  salts_[5] |= 1;  // The factor must be odd.
  depth_salt_ = random.Next();
  size_t cells = 0;
  for (uint32_t i = 0; i < setup.levels; ++i) cells += ShapeOf(setup, i, 0).cells();
  AllocateCells(cells);
  Cell* cell = cells_.get();
  levels_.reserve(setup.levels);
  for (uint32_t i = 0; i < setup.levels; ++i) {
    const Shape shape = ShapeOf(setup, i, random.Next());
    levels_.push_back({Sketch(shape, cell), KnownFlows(KnownIn(setup, i))});
    cell += shape.cells();
  }
}

/// Allocates huge pages if the host has them, because counters are accessed randomly.
void FlowCounter::AllocateCells(size_t cells) {
  constexpr size_t kPage = size_t{2} << 20;
  cells_bytes_ = (cells * sizeof(Cell) + kPage - 1) / kPage * kPage;
  auto* const memory = static_cast<Cell*>(std::aligned_alloc(kPage, cells_bytes_));
  if (memory == nullptr) throw std::bad_alloc();
  cells_.reset(memory);
  madvise(memory, cells_bytes_, MADV_HUGEPAGE);
  std::uninitialized_value_construct_n(memory, cells);
}

void FlowCounter::Settle() {
  const auto updates = std::span(pending_).first(pending_count_);
  for (const Pending& update : updates) CountRowIn(levels_[0], update, update.place);
  if (levels_.size() > 1) {
    for (const Pending& update : updates) {
      const uint32_t depth = DepthOf(update.hash);
      for (uint32_t at = 1; at <= depth; ++at) {
        CountRowIn(levels_[at], update, levels_[at].sketch.PlaceOf(update.row, update.hash));
      }
    }
  }
  pending_count_ = 0;
}

inline void FlowCounter::CountRowIn(Level& level, const Pending& update, Sketch::Place place) {
  const int64_t bytes = update.weight * update.bytes;
  const int64_t reading = Sketch::Add(place, update.weight, bytes);
  const uint64_t hash = update.hash;
  const bool known = level.known.AddIfKnown(hash, update.weight, bytes);
  // `distance` is negative if the reading times the number of rows is above the floor. The mask
  // makes the result 0 for a known flow, so that both conditions form one branch, which is
  // predictable because they rarely hold together.
  const int64_t distance = level.known.floor() - reading * level.sketch.shape().rows;
  if ((distance & (int64_t{known} - 1)) < 0) [[unlikely]] {
    if (!level.known.full()) {
      level.known.Insert({update.key, hash, update.weight, bytes, 1, 1});
    } else if (reading * level.sketch.shape().rows > level.known.Least()) {
      // This row's reading is large, so all rows are checked. If the check rejects a large flow, a
      // later packet of that flow repeats the check.
      Challenge(level, update.key, hash);
    } else {
      level.known.TurnAway();
    }
  } else {
    level.known.TurnAwayUnless(known);
  }
}

/// Counts a packet for which exact().CountKnown returned false.
void FlowCounter::CountUnknown(const packet::FlowKey& key, uint64_t hash, uint32_t bytes,
                               bool whole) {
  if (!exact_.CountNew(key, hash, bytes) && whole) CountWhole(key, hash, bytes);
}

void FlowCounter::CountWhole(const packet::FlowKey& key, uint64_t hash, uint32_t bytes) {
  const uint32_t depth = DepthOf(hash);
  for (uint32_t i = 0; i <= depth; ++i) CountWholeIn(levels_[i], key, hash, bytes);
}

void FlowCounter::CountWholeIn(Level& level, const packet::FlowKey& key, uint64_t hash,
                               uint32_t bytes) {
  const uint32_t rows = level.sketch.shape().rows;
  Flow* const flow = level.known.Find(hash);
  const bool challenges = flow == nullptr && level.known.full();
  const int64_t least = challenges ? level.known.Least() : 0;
  uint32_t above = 0;  // Rows whose reading is large.
  for (uint32_t row = 0; row < rows; ++row) {
    const int64_t reading =
        level.sketch.AddSquaring(row, level.sketch.PlaceOf(row, hash), kUnit, kUnit * bytes);
    above += reading * rows > least;
  }
  const int64_t count = kUnit * rows;
  if (flow != nullptr) {
    KnownFlows::Add(*flow, count, count * bytes, rows);
  } else if (!challenges) {
    level.known.Insert({key, hash, count, count * bytes, rows, 1});
  } else if (above > rows / 2) {
    Challenge(level, key, hash);
  } else {
    level.known.TurnAway();
  }
}

void FlowCounter::Clear() {
  pending_count_ = 0;
  exact_.Clear();
  for (Level& level : levels_) {
    level.sketch.Clear();
    level.known.Clear();
  }
  oracle_.Clear();
}

void FlowCounter::Restore(size_t level, std::span<const Cell> cells, std::span<const Flow> flows,
                          bool complete) {
  Level& mine = levels_[level];
  mine.sketch.Restore(cells);
  mine.known.Clear();
  for (const Flow& flow : flows) mine.known.Insert(flow);
  if (!complete) mine.known.TurnAway();
}

void FlowCounter::Merge(const FlowCounter& other) {
  exact_.Merge(other.exact_);
  for (size_t i = 0; i < levels_.size(); ++i) MergeLevel(levels_[i], other.levels_[i]);
  oracle_.Merge(other.oracle_);
}

/// Merges the flows that either level knows and keeps the largest, up to the capacity. A level's
/// contribution to a flow is its count if known, 0 if the level is complete, otherwise the sketch's
/// estimate.
void FlowCounter::MergeLevel(Level& mine, const Level& theirs) {
  const auto counted = [](const Level& level, const Flow& flow) {
    const Flow* const known = level.known.Find(flow.hash);
    if (known != nullptr) return *known;
    if (level.known.complete()) return Flow{.key = flow.key, .hash = flow.hash, .whole = 1};
    return EstimateOf(level.sketch, flow.key, flow.hash);
  };
  std::vector<Flow> flows;
  const auto add = [&](const Flow& flow) {
    Flow sum = counted(mine, flow);
    const Flow more = counted(theirs, flow);
    KnownFlows::Add(sum, more.count, more.bytes, more.samples);
    sum.whole &= more.whole;
    flows.push_back(sum);
  };
  for (const Flow& flow : mine.known.flows()) add(flow);
  for (const Flow& flow : theirs.known.flows()) {
    if (mine.known.Find(flow.hash) == nullptr) add(flow);
  }
  const bool complete = mine.known.complete() && theirs.known.complete();
  std::sort(flows.begin(), flows.end(),
            [](const Flow& a, const Flow& b) { return a.count > b.count; });
  mine.sketch.Merge(theirs.sketch);
  mine.known.Clear();
  for (const Flow& flow : flows) {
    if (mine.known.full()) {
      mine.known.TurnAway();
      break;
    }
    mine.known.Insert(flow);
  }
  if (!complete) mine.known.TurnAway();
}

uint64_t FlowCounter::bytes() const {
  uint64_t bytes = cells_bytes_ + exact_.bytes() + oracle_.bytes() + sizeof(*this);
  for (const Level& level : levels_) bytes += level.known.bytes();
  return bytes;
}

}  // namespace sluice::engine::telemetry
