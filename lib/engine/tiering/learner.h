// SPDX-License-Identifier: BSD-3-Clause
//
// A memory tiering policy after SOL's SmartMemory (Wang et al., ASPLOS'22): per region a scan
// period learnt by Thompson sampling, hot and cold pages told apart by their access rates, batches
// of migrations until the fast tier takes the share of accesses that is wanted. And SOL's four
// safeguards, because what is learnt may be wrong:
//   data       a record that cannot be is not learnt from; with too many of them in a round
//              nothing is decided
//   model      a random tenth of the regions is scanned at the full rate; if the model chose
//              clearly worse periods there than were possible, it is forgotten
//   default    and for an epoch everything is scanned at the full rate and nothing moves
//   actuator   if the fast tier takes less than it should, whatever the reason, hot pages move at
//              once and often, and nothing leaves but for them
//
// Pure: no clock but the host's ticks, deterministic by its seed. Memory is taken by Reset and
// bounded by the number of pages.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "engine/tiering/abi.h"
#include "engine/tiering/access_rates.h"
#include "engine/tiering/placement.h"
#include "engine/tiering/scan_periods.h"

namespace sluice::engine::tiering {

struct LearnerOptions {
  double target = 0.8;   ///< Share of accesses that the fast tier is to take.
  double margin = 0.02;  ///< Above that no page need move.
  double slack = 0.02;   ///< Below that by so much: the actuator safeguard.
  GoodScan good_scan = {};
  double validated = 0.1;       ///< Share of regions that are scanned at the full rate.
  double max_regret = 0.35;     ///< Mean of the validated regions; above it the model has failed.
  uint32_t warm_up_epochs = 4;  ///< Of a region, before its model is judged.
  double max_invalid = 0.25;    ///< Share of a round's records.
  float keep = 0.9f;            ///< Of what was learnt of periods, from epoch to epoch.
  uint32_t max_moves = 4096;    ///< Pages, a round.
  uint64_t seed = 1;
};

struct LearnerCounters {
  uint64_t records = 0;
  uint64_t invalid_records = 0;
  uint64_t invalid_ticks = 0;
  uint64_t rounds = 0;           ///< Times that pages were sorted and moves planned.
  uint64_t withheld_rounds = 0;  ///< Nothing was decided: too much of the data was invalid.
  uint64_t epochs = 0;
  uint64_t failed_validations = 0;
  uint64_t default_epochs = 0;
  uint64_t actuator_trips = 0;
  uint64_t elements = 0;  ///< Decided.
  uint64_t elements_done = 0;
  uint64_t elements_refused = 0;  ///< By the host: it knew better.
};

class Learner {
 public:
  explicit Learner(const LearnerOptions& options) : options_(options), random_(options.seed) {}

  /// A host appeared, and everything known is void. At most kMaxPages, in whole regions.
  void Reset(uint32_t pages, uint32_t fast_capacity);

  void OnScan(const ScanRecord& record);
  /// A record that was damaged on the way.
  void OnInvalidScan() { ++counters_.invalid_records, ++round_invalid_; }
  /// The end of a tick, and accesses in it.
  void OnTick(uint32_t fast_used, uint64_t fast_accesses, uint64_t slow_accesses);

  /// The next elements to commit, at most `most`, into `out`. Returns how many.
  uint32_t Take(std::vector<Element>& out, uint32_t most);
  /// What became of an element.
  void OnOutcome(const Element& element, bool done);

  const LearnerCounters& counters() const { return counters_; }
  bool in_default() const { return default_; }
  bool mitigating() const { return mitigating_; }
  uint32_t regions() const { return static_cast<uint32_t>(regions_.size()); }
  const ScanPeriods& periods(Region region) const { return regions_[region].periods; }

 private:
  struct RegionModel {
    AccessRates rates;
    ScanPeriods periods;
    Generation generation = 0;  ///< Of the last scan.
    uint64_t mapped = 0;
    uint64_t fast = 0;
    uint64_t moved = 0;    ///< By us, since the last scan.
    uint8_t host_arm = 0;  ///< That the host plays.
    bool seen = false;
  };

  bool Sound(const ScanRecord& record) const;
  void BeginEpoch();
  void EndEpoch();
  void WishPeriods();
  double RoundShare() const;
  double Limit() const;
  void EndRound();
  void PlanMoves(double fast_per_tick, double slow_per_tick, bool enough);
  void WishMigrations(const std::vector<Vpn>& pages, Tier target);

  LearnerOptions options_;
  LearnerCounters counters_;
  std::mt19937_64 random_;
  std::vector<RegionModel> regions_;
  std::vector<PageRate> sorted_;
  std::deque<Element> wishes_;
  uint32_t fast_capacity_ = 0;
  uint32_t fast_used_ = 0;
  uint32_t epoch_ticks_ = 0;
  uint32_t round_ticks_ = 0;
  uint64_t round_fast_ = 0, round_slow_ = 0;
  uint64_t round_records_ = 0, round_invalid_ = 0;
  bool default_ = false;
  bool mitigating_ = false;
};

}  // namespace sluice::engine::tiering
