// SPDX-License-Identifier: BSD-3-Clause
//
// A memory tiering policy after SOL's SmartMemory (Wang et al., ASPLOS'22). It learns a scan period
// per region by Thompson sampling, distinguishes hot and cold pages by their access rates, and
// migrates batches of pages until the fast tier serves the target share of accesses. It has SOL's
// four safeguards against wrong models:
//
// - data: impossible records are ignored. If a round has too many of them, no migrations are
//   planned.
// - model: a random tenth of the regions is scanned at the full rate. If the periods that the model
//   chose there were clearly worse than the best ones, the model is discarded.
// - default: in the epoch after the model was discarded, all regions are scanned at the full rate,
//   and pages move only if the actuator safeguard acts.
// - actuator: if the fast tier serves less than the target share, for any reason, hot pages move at
//   once and often, and pages are demoted only to make room for them.
//
// The code is pure: the host's ticks are the only clock, and results are deterministic for a given
// seed. Reset allocates the models. The number of pages bounds all memory.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

#include "simulation/tiering/abi.h"
#include "simulation/tiering/access_rates.h"
#include "simulation/tiering/placement.h"
#include "simulation/tiering/scan_periods.h"

namespace sluice::simulation::tiering {

struct LearnerOptions {
  double target = 0.8;  ///< Target share of accesses that the fast tier serves.
  /// No more pages are promoted while the share exceeds the target by this much.
  double margin = 0.02;
  /// The actuator safeguard acts if the share is more than this below the target.
  double slack = 0.02;
  GoodScan good_scan = {};
  double validated = 0.1;  ///< Fraction of regions that are scanned at the full rate.
  /// Maximum mean regret of the validated regions. The model has failed if it is exceeded.
  double max_regret = 0.35;
  uint32_t warm_up_epochs = 4;  ///< Number of epochs of a region before its model is validated.
  double max_invalid = 0.25;    ///< Maximum fraction of invalid records per round.
  float keep = 0.9f;            ///< Factor by which each epoch reduces evidence about periods.
  uint32_t max_moves = 4096;    ///< Maximum number of pages moved per round.
  uint64_t seed = 1;
};

struct LearnerCounters {
  uint64_t records = 0;
  uint64_t invalid_records = 0;
  uint64_t invalid_ticks = 0;
  uint64_t rounds = 0;  ///< Number of rounds in which migrations were planned.
  /// Number of rounds without migrations because too many records were invalid.
  uint64_t withheld_rounds = 0;
  uint64_t epochs = 0;
  uint64_t failed_validations = 0;
  uint64_t default_epochs = 0;
  uint64_t actuator_trips = 0;
  uint64_t elements = 0;  ///< Number of elements in decisions.
  uint64_t elements_done = 0;
  uint64_t elements_refused = 0;  ///< Elements that the host refused, e.g. due to a changed page.
};

class Learner {
 public:
  explicit Learner(const LearnerOptions& options) : options_(options), random_(options.seed) {}

  /// Discards the models and pending requests. Called for a new host. `pages` must be a multiple of
  /// kRegionPages and at most kMaxPages.
  void Reset(uint32_t pages, uint32_t fast_capacity);

  void OnScan(const ScanRecord& record);
  /// Counts an invalid record, or a piece of records that was damaged in transfer.
  void OnInvalidScan() { ++counters_.invalid_records, ++round_invalid_; }
  /// Handles the end of a tick. `fast_used` is the number of fast pages in use. The other arguments
  /// are the numbers of accesses to each tier during the tick. Ignores the tick if `fast_used`
  /// exceeds the capacity.
  void OnTick(uint32_t fast_used, uint64_t fast_accesses, uint64_t slow_accesses);

  /// Clears `out` and moves the next elements to commit to it, at most `most`. Returns their
  /// number.
  uint32_t Dequeue(std::vector<Element>& out, uint32_t most);
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
    Generation generation = 0;  ///< Generation at the last scan.
    uint64_t mapped = 0;
    uint64_t fast = 0;
    /// Pages whose migration by this agent was done or refused since the last scan.
    uint64_t moved = 0;
    uint8_t host_arm = 0;  ///< Arm that the host is using.
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

}  // namespace sluice::simulation::tiering
