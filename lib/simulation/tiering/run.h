// SPDX-License-Identifier: BSD-3-Clause
//
// Memory tiering in virtual time: a trace of accesses, a host with two tiers and an agent, over
// either channel. The ticks are minutes long beside what a channel takes; so an agent's answers to
// a tick are enforced before the next accesses.
#pragma once

#include <cstdint>
#include <vector>

#include "bar/tlp.h"
#include "engine/tiering/agent.h"
#include "engine/tiering/host.h"
#include "simulation/tiering/traces.h"

namespace sluice::simulation {

enum class TieringChannel : uint8_t { kWave, kSwap };

struct TieringRun {
  TieringChannel channel = TieringChannel::kWave;
  uint32_t pages = 16384;
  double fast_share = 0.21;  ///< Of `pages`: what the fast tier holds.
  double warm_up = 0.5;      ///< Share of `ticks` before it is measured.
  uint32_t ticks = 2000;     ///< Of the trace, at most.
  uint32_t bulk_pieces = 8;  ///< Of scans under way.
  uint32_t bulk_piece_bytes = 12'288;
  engine::tiering::HostOptions host;
  engine::tiering::LearnerOptions learner;
};

struct TieringResult {
  std::vector<double> share;  ///< Of accesses in the fast tier, by rounds of 9.6 s.
  double measured_share = 0;  ///< After the warm-up.
  double lru_share = 0;
  double oracle_share = 0;
  uint64_t accesses = 0;
  uint32_t ticks = 0;
  uint32_t mapped_pages = 0;
  uint32_t fast_capacity = 0;
  uint32_t most_fast_pages = 0;  ///< In use at the end of any tick.
  double mean_fast_pages = 0;    ///< After the warm-up.
  uint64_t promoted = 0, demoted = 0;
  uint64_t full_rate_scans = 0;  ///< Regions that scanning all at the fastest rate would scan.
  uint64_t bulk_bytes = 0, scan_bytes = 0;
  bar::LinkBytes link;  ///< Of items.
  engine::tiering::HostCounters host;
  engine::tiering::AgentCounters agent;
  engine::tiering::LearnerCounters learner;
  std::vector<uint32_t> arms;  ///< Regions whose learnt best arm is the i-th, in the end.
  const char* violation = nullptr;
};

TieringResult PlayTiering(const TieringRun& run, const AccessSource& source);

/// Row W11: pages that a DMA engine reports a second at `bits_per_second` of payload, 64 bits each
/// as page table entries are, or as many as our scan records take.
double PageTableEntriesPerSecond(double bits_per_second);
double ScannedPagesPerSecond(double bits_per_second);

}  // namespace sluice::simulation
