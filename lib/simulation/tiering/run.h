// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates memory tiering in virtual time: a trace of accesses, a host with two tiers, and an
// agent over either kind of channel. A tick is far longer than a channel's latency, so the agent's
// answers to a tick are enforced before the next accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "bar/tlp.h"
#include "simulation/tiering/agent.h"
#include "simulation/tiering/host.h"
#include "simulation/tiering/traces.h"

namespace sluice::simulation {

enum class TieringChannel : uint8_t { kWave, kSwap };

struct TieringRun {
  TieringChannel channel = TieringChannel::kWave;
  uint32_t pages = 16384;
  double fast_share = 0.21;  ///< Capacity of the fast tier, as a fraction of `pages`.
  double warm_up = 0.5;      ///< Fraction of `ticks` that precedes the measurement.
  uint32_t ticks = 2000;     ///< Maximum number of ticks to play.
  uint32_t bulk_pieces = 8;  ///< Buffer pieces for scans in flight.
  uint32_t bulk_piece_bytes = 12'288;
  tiering::HostOptions host;
  tiering::LearnerOptions learner;
};

struct TieringResult {
  std::vector<double> share;  ///< Fraction of accesses in the fast tier, per round of 9.6 s.
  double measured_share = 0;  ///< Fraction of accesses served by the fast tier after the warm-up.
  double lru_share = 0;
  double oracle_share = 0;
  uint64_t accesses = 0;
  uint32_t ticks = 0;
  uint32_t mapped_pages = 0;
  uint32_t fast_capacity = 0;
  uint32_t most_fast_pages = 0;  ///< Maximum number of fast-tier pages at the end of a tick.
  double mean_fast_pages = 0;    ///< Mean number of pages in the fast tier after the warm-up.
  uint64_t promoted = 0, demoted = 0;
  /// Number of region scans if all regions were scanned at the fastest rate.
  uint64_t full_rate_scans = 0;
  uint64_t bulk_bytes = 0, scan_bytes = 0;
  bar::LinkBytes link;  ///< Link bytes used by items.
  tiering::HostCounters host;
  tiering::AgentCounters agent;
  tiering::LearnerCounters learner;
  /// For each arm, the number of regions for which it was the best according to the model at the
  /// end.
  std::vector<uint32_t> arms;
  const char* violation = nullptr;
};

TieringResult PlayTiering(const TieringRun& run, const AccessSource& source);

/// Row W11 of docs/paper_tables.md: the number of pages per second that a DMA engine can report
/// with a payload rate of `bits_per_second`. The first function counts 64 bits per page, which is
/// the size of a page table entry; the second counts scan records.
double PageTableEntriesPerSecond(double bits_per_second);
double ScannedPagesPerSecond(double bits_per_second);

}  // namespace sluice::simulation
