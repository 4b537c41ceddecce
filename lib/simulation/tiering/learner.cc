// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/tiering/learner.h"

#include <algorithm>
#include <bit>

namespace sluice::simulation::tiering {

namespace {

// A round lasts as long as the slowest scan period, so that every region has new data.
constexpr uint32_t kRoundTicks = kSlowestTicks;
// A round may end early after this interval, if the fast tier serves too few accesses or the
// actuator safeguard acts.
constexpr uint32_t kUrgentRoundTicks = kSlowestTicks / 4;

}  // namespace

void Learner::Reset(uint32_t pages, uint32_t fast_capacity) {
  regions_.assign(std::min(pages, kMaxPages) / kRegionPages, {});
  sorted_.clear();
  sorted_.reserve(regions_.size() * kRegionPages);
  wishes_.clear();
  fast_capacity_ = fast_capacity;
  fast_used_ = 0;
  epoch_ticks_ = round_ticks_ = 0;
  round_fast_ = round_slow_ = round_records_ = round_invalid_ = 0;
  default_ = mitigating_ = false;
  BeginEpoch();
}

bool Learner::Sound(const ScanRecord& record) const {
  return record.region < regions_.size() && (record.accessed & ~record.mapped) == 0 &&
         (record.fast & ~record.mapped) == 0 &&
         record.generation >= regions_[record.region].generation;
}

void Learner::OnScan(const ScanRecord& record) {
  ++counters_.records;
  ++round_records_;
  if (!Sound(record)) {
    OnInvalidScan();
    return;
  }
  RegionModel& r = regions_[record.region];
  r.generation = record.generation;
  r.mapped = record.mapped;
  r.fast = record.fast;
  r.moved = 0;
  // The first scan's period is unknown.
  if (record.ticks != 0 && r.seen) {
    r.rates.Learn(record);
    if (record.mapped != 0) r.periods.Learn(record, options_.good_scan);
  }
  r.seen = true;
}

void Learner::OnTick(uint32_t fast_used, uint64_t fast_accesses, uint64_t slow_accesses) {
  if (regions_.empty()) return;
  if (fast_used > fast_capacity_) {
    ++counters_.invalid_ticks;
    return;
  }
  fast_used_ = fast_used;
  round_fast_ += fast_accesses;
  round_slow_ += slow_accesses;
  if (++epoch_ticks_ == kEpochTicks) {
    EndEpoch();
    BeginEpoch();
  }
  ++round_ticks_;
  const bool look = round_ticks_ % kUrgentRoundTicks == 0;
  if (round_ticks_ == kRoundTicks || (look && (mitigating_ || RoundShare() < Limit()))) EndRound();
}

// --- Scan periods.

void Learner::BeginEpoch() {
  epoch_ticks_ = 0;
  std::bernoulli_distribution validate(options_.validated);
  for (RegionModel& r : regions_) r.periods.Begin(default_ || validate(random_), random_);
  WishPeriods();
}

void Learner::EndEpoch() {
  ++counters_.epochs;
  counters_.default_epochs += default_;
  double regret = 0;
  uint32_t judged = 0;
  for (RegionModel& r : regions_) {
    if (r.periods.at_full_rate() && !default_ && r.mapped != 0 &&
        r.periods.epochs() >= options_.warm_up_epochs) {
      regret += r.periods.Regret();
      ++judged;
    }
    r.periods.End(options_.keep);
  }
  default_ = judged != 0 && regret > options_.max_regret * judged;
  if (!default_) return;
  ++counters_.failed_validations;
  for (RegionModel& r : regions_) r.periods.Forget();
}

void Learner::WishPeriods() {
  for (Region i = 0; i != regions_.size();) {
    const auto arm = static_cast<uint8_t>(regions_[i].periods.arm());
    const Region first = i;
    while (i != regions_.size() && regions_[i].periods.arm() == arm && i - first != UINT16_MAX) ++i;
    const bool known = std::all_of(regions_.begin() + first, regions_.begin() + i,
                                   [arm](const RegionModel& r) { return r.host_arm == arm; });
    if (known) continue;
    wishes_.push_back({.first = first,
                       .count = static_cast<uint16_t>(i - first),
                       .kind = Element::kScanPeriod,
                       .value = arm});
  }
}

// --- Migrations.

double Learner::RoundShare() const {
  const uint64_t all = round_fast_ + round_slow_;
  return all == 0 ? 1 : static_cast<double>(round_fast_) / static_cast<double>(all);
}

// Returns the share of accesses below which the actuator safeguard acts. Once it acts, it continues
// until the target share is reached.
double Learner::Limit() const { return options_.target - (mitigating_ ? 0 : options_.slack); }

void Learner::EndRound() {
  const double share = RoundShare();
  const bool trusted = static_cast<double>(round_invalid_) <=
                       options_.max_invalid * static_cast<double>(round_records_);
  const bool too_little = share < Limit();
  if (!mitigating_ && too_little) ++counters_.actuator_trips;
  mitigating_ = too_little;

  const double fast = static_cast<double>(round_fast_) / round_ticks_;
  const double slow = static_cast<double>(round_slow_) / round_ticks_;
  round_fast_ = round_slow_ = round_records_ = round_invalid_ = 0;
  round_ticks_ = 0;
  if (!trusted) {
    ++counters_.withheld_rounds;
    return;
  }
  if (default_ && !mitigating_) return;
  PlanMoves(fast, slow, share >= options_.target + options_.margin);
}

void Learner::PlanMoves(double fast_per_tick, double slow_per_tick, bool enough) {
  ++counters_.rounds;
  // Discards planned migrations that have not been committed, because new ones replace them.
  std::erase_if(wishes_, [](const Element& e) { return e.kind == Element::kMigrate; });
  sorted_.clear();
  double slow_estimate = 0;
  for (Region region = 0; region != regions_.size(); ++region) {
    const RegionModel& r = regions_[region];
    for (uint64_t left = r.mapped; left != 0; left &= left - 1) {
      const uint32_t i = static_cast<uint32_t>(std::countr_zero(left));
      sorted_.push_back({.rate = static_cast<float>(r.rates.rate(i)),
                         .page = region * kRegionPages + i,
                         .fast = (r.fast >> i & 1) != 0,
                         .fixed = (r.moved >> i & 1) != 0});
      if (!sorted_.back().fast) slow_estimate += sorted_.back().rate;
    }
  }
  // Access bits underestimate the number of accesses, often by a large factor. The host's counters
  // provide the correct scale.
  const double seen = slow_per_tick == 0 ? 1 : std::min(slow_estimate / slow_per_tick, 1.0);
  const double may_be_slow = 1 - options_.target - options_.margin;
  const Moves moves =
      Place(sorted_, {.fast_capacity = fast_capacity_,
                      .fast_used = fast_used_,
                      .slow_rate = may_be_slow * (fast_per_tick + slow_per_tick) * seen,
                      .fill = !enough,
                      .shrink = enough && !mitigating_,
                      .advantage = mitigating_ ? 1.0f : 1.25f,
                      .max_moves = options_.max_moves});
  WishMigrations(moves.demote, Tier::kSlow);
  WishMigrations(moves.promote, Tier::kFast);
}

void Learner::WishMigrations(const std::vector<Vpn>& pages, Tier target) {
  for (size_t i = 0; i != pages.size();) {
    const Vpn first = pages[i];
    const Region region = first / kRegionPages;
    uint16_t count = 0;
    while (i != pages.size() && pages[i] == first + count && pages[i] / kRegionPages == region) {
      ++count, ++i;
    }
    wishes_.push_back({.first = first,
                       .count = count,
                       .kind = Element::kMigrate,
                       .value = static_cast<uint8_t>(target),
                       .generation = regions_[region].generation});
  }
}

uint32_t Learner::Dequeue(std::vector<Element>& out, uint32_t most) {
  out.clear();
  while (out.size() != most && !wishes_.empty()) {
    out.push_back(wishes_.front());
    wishes_.pop_front();
  }
  counters_.elements += out.size();
  return static_cast<uint32_t>(out.size());
}

void Learner::OnOutcome(const Element& element, bool done) {
  ++(done ? counters_.elements_done : counters_.elements_refused);
  if (element.kind == Element::kScanPeriod) {
    const size_t end = std::min<size_t>(regions_.size(), size_t{element.first} + element.count);
    for (size_t i = element.first; done && i < end; ++i) regions_[i].host_arm = element.value;
    return;
  }
  // The pages of a refused element are also marked, because the host would refuse it again before
  // the next scan.
  for (uint32_t i = 0; i != element.count; ++i) {
    const Vpn page = element.first + i;
    if (page / kRegionPages >= regions_.size()) return;
    RegionModel& r = regions_[page / kRegionPages];
    const uint64_t bit = uint64_t{1} << page % kRegionPages;
    r.moved |= bit;
    if (done && element.value == static_cast<uint8_t>(Tier::kFast)) r.fast |= bit;
    if (done && element.value == static_cast<uint8_t>(Tier::kSlow)) r.fast &= ~bit;
  }
}

}  // namespace sluice::simulation::tiering
