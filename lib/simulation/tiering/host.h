// SPDX-License-Identifier: BSD-3-Clause
//
// The host's side of memory tiering. Scans access bits at the intervals that the agent requested,
// reports the results, and enforces valid decisions. If there is no agent, or the agent is silent,
// the host runs a default action every 9.6 s. The default action is a second-chance policy: pages
// that were accessed in both of the last two periods move to the fast tier; if that tier is full,
// pages that were accessed in neither period are demoted.
//
// In each tick, call Tick() once, then Poll() any number of times. The host uses no clock and no
// lock, and allocates only in the constructor and in the default action.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "offload/item.h"
#include "simulation/tiering/abi.h"
#include "simulation/tiering/bulk.h"
#include "simulation/tiering/page_table.h"

namespace sluice::simulation::tiering {

struct HostOptions {
  uint32_t slots = 4;  ///< Maximum number of pending decisions.
  /// The agent counts as silent after more than this number of ticks (3 s) without a valid
  /// decision.
  uint32_t watchdog_ticks = 10;
};

struct HostCounters {
  uint64_t scanned_regions = 0;
  /// Number of times that a due region was deferred to the next tick because the agent had not read
  /// earlier scans.
  uint64_t deferred_regions = 0;
  uint64_t decisions = 0;
  std::array<uint64_t, kVerdicts> verdicts{};         ///< Verdicts on decisions.
  std::array<uint64_t, kElementStatuses> elements{};  ///< Results of elements in valid decisions.
  uint64_t watchdog_expired = 0;
  uint64_t introductions = 0;  ///< Number of geometry events sent to agents.
  uint64_t default_actions = 0;
  uint64_t default_moves = 0;  ///< Number of pages that default actions moved.
};

/// `table` and `channel` must outlive the host. `down` contains scan results. Piece i of `up`
/// contains the elements for slot i, so `up` must have `slots` pieces of kMaxElements elements.
template <offload::HostChannel C>
class TieringHost {
 public:
  TieringHost(PageTable& table, C& channel, Bulk down, Bulk up, const HostOptions& options)
      : table_(&table),
        channel_(&channel),
        down_(down),
        up_(up),
        options_(options),
        regions_(table.regions()),
        records_(down.piece_bytes() / sizeof(ScanRecord)) {}

  /// Ends a tick (kTickNanoseconds): reports due scans and the tick to the agent. While alone() is
  /// true, runs the default action every kSlowestTicks ticks instead.
  void Tick() {
    ++tick_;
    const uint64_t fast = table_->accesses(Tier::kFast) - reported_[0];
    const uint64_t slow = table_->accesses(Tier::kSlow) - reported_[1];
    reported_ = {reported_[0] + fast, reported_[1] + slow};
    if (channel_->PollRestart()) Introduce();
    if (!alone_ && tick_ - heard_ > options_.watchdog_ticks) {
      ++counters_.watchdog_expired;
      alone_ = true;
    }
    if (alone_) {
      if (tick_ % kSlowestTicks == 0) DefaultAction();
    } else {
      ReportScans();
      channel_->Send(Encode(Event{.kind = EventKind::kTick,
                                  .tick = tick_,
                                  .a = table_->fast_used(),
                                  .c = fast,
                                  .d = slow}));
    }
    channel_->Flush();
  }

  /// Enforces decisions. Returns the number of completed decisions.
  uint32_t Poll() {
    uint32_t ended = 0;
    if (channel_->PollRestart()) Introduce();
    for (offload::Slot slot = 0; slot != options_.slots; ++slot) channel_->Prefetch(slot);
    for (offload::Slot slot = 0; slot != options_.slots; ++slot) {
      Judge judge{this, {}};
      if (channel_->Decide(slot, judge) == offload::Decided::kNone) continue;
      ++counters_.decisions;
      ++counters_.verdicts[static_cast<uint32_t>(judge.ruled.verdict)];
      ++ended;
    }
    return ended;
  }

  uint32_t tick() const { return tick_; }
  /// Returns whether there is no agent or the agent is silent.
  bool alone() const { return alone_; }
  const HostCounters& counters() const { return counters_; }
  /// Returns the number of bytes copied for scan results and elements.
  uint64_t bulk_bytes() const { return down_.bytes() + up_.bytes(); }
  uint64_t scan_bytes() const { return down_.bytes(); }

 private:
  struct RegionSchedule {
    uint32_t scanned = 0;   ///< Tick of the last scan; 0 if never.
    uint64_t accessed = 0;  ///< Pages accessed in the period before the last DefaultAction.
    uint8_t arm = 0;
  };

  /// Checks and enforces decisions. Check copies the elements, because a peer may overwrite them,
  /// and Apply enforces the copy.
  struct Judge {
    offload::Ruling Check(offload::Slot slot, const offload::Item& item, offload::Item& outcome) {
      const Decision decision = DecodeDecision(item);
      count = 0;
      ruled = {.verdict = host->Read(slot, decision, elements), .number = decision.number};
      if (ruled.verdict == Verdict::kUnderstood) {
        count = decision.elements;
        scans_seen = decision.scans_seen;
        host->table_->Check(std::span(elements).first(count), statuses);
        for (uint32_t i = 0; i != count; ++i) {
          ruled.done |= uint64_t{statuses[i] == ElementStatus::kDone} << i;
        }
      }
      ruled.generation = host->table_->generation();
      ruled.fast_used = host->table_->fast_used();
      ruled.fast_capacity = host->table_->fast_capacity();
      outcome = Encode(ruled);
      return ruled.verdict == Verdict::kUnderstood ? offload::Ruling::kEnforce
                                                   : offload::Ruling::kRefuse;
    }
    void Apply(offload::Slot, const offload::Item&) { host->Enforce(*this); }

    TieringHost* host;
    Outcome ruled;
    std::array<Element, kMaxElements> elements{};
    std::array<ElementStatus, kMaxElements> statuses{};
    uint32_t count = 0;
    uint64_t scans_seen = 0;
  };

  Verdict Read(offload::Slot slot, const Decision& decision,
               std::array<Element, kMaxElements>& elements) {
    if (decision.version != kAbiVersion) return Verdict::kBadVersion;
    if (decision.elements > kMaxElements) return Verdict::kBadCount;
    if (decision.scans_seen > sent_) return Verdict::kBadSequence;
    const std::span to = std::span(elements).first(decision.elements);
    if (!to.empty() && !up_.Read(slot, to)) return Verdict::kBadCount;
    if (Checksum(std::as_bytes(to)) != decision.checksum) return Verdict::kBadChecksum;
    return Verdict::kUnderstood;
  }

  void Enforce(const Judge& judge) {
    given_back_ = std::max(given_back_, judge.scans_seen);
    heard_ = tick_;
    for (uint32_t i = 0; i != judge.count; ++i) {
      const Element& e = judge.elements[i];
      ++counters_.elements[static_cast<uint32_t>(judge.statuses[i])];
      if (judge.statuses[i] != ElementStatus::kDone) continue;
      if (e.kind == Element::kMigrate) {
        table_->Migrate(e);
      } else {
        for (uint32_t k = 0; k != e.count; ++k) regions_[e.first + k].arm = e.value;
      }
    }
    // The agent counted as silent, so it did not receive the events of that time.
    if (alone_) Introduce();
  }

  /// Sends the geometry to a new agent and resets the schedule: all regions are due and have the
  /// shortest period.
  void Introduce() {
    ++counters_.introductions;
    alone_ = false;
    heard_ = tick_;
    given_back_ = sent_;
    for (RegionSchedule& r : regions_) r = {};
    channel_->Send(Encode(Event{.kind = EventKind::kGeometry,
                                .tick = tick_,
                                .a = table_->pages(),
                                .b = table_->fast_capacity(),
                                .c = sent_}));
  }

  bool Due(const RegionSchedule& r) const {
    return r.scanned == 0 || tick_ - r.scanned >= PeriodTicks(r.arm);
  }

  /// Returns whether a piece is free and the channel has room for two items: the piece and the
  /// tick.
  bool CanReport() { return sent_ - given_back_ != down_.pieces() && channel_->room() > 1; }

  void ReportScans() {
    uint32_t filled = 0;
    const Region first = next_;
    const uint64_t deferred_before = counters_.deferred_regions;
    for (uint32_t n = 0; n != table_->regions(); ++n) {
      const Region region = (first + n) % table_->regions();
      RegionSchedule& r = regions_[region];
      if (!Due(r)) continue;
      if (filled == 0 && !CanReport()) {
        // The next tick starts with this region, so that no region is deferred forever.
        if (counters_.deferred_regions++ == deferred_before) next_ = region;
        continue;
      }
      records_[filled++] = table_->Scan(region, r.scanned == 0 ? 0 : tick_ - r.scanned);
      r.scanned = tick_;
      ++counters_.scanned_regions;
      if (filled == records_.size()) {
        SendPiece(filled);
        filled = 0;
      }
    }
    if (filled != 0) SendPiece(filled);
  }

  void SendPiece(uint32_t records) {
    const std::span from = std::span<const ScanRecord>(records_).first(records);
    const auto piece = static_cast<uint32_t>(sent_ % down_.pieces());
    down_.Write(piece, from);
    const Event event{.kind = EventKind::kScans,
                      .tick = tick_,
                      .a = piece,
                      .b = records,
                      .c = sent_ + 1,
                      .d = Checksum(std::as_bytes(from))};
    if (channel_->Send(Encode(event))) ++sent_;
  }

  void DefaultAction() {
    ++counters_.default_actions;
    std::vector<Vpn>& up = hot_;
    std::vector<Vpn>& down = cold_;
    up.clear();
    down.clear();
    for (Region region = 0; region != table_->regions(); ++region) {
      const ScanRecord s = table_->Scan(region, kSlowestTicks);
      uint64_t& before = regions_[region].accessed;
      const uint64_t hot = s.accessed & before & ~s.fast;
      const uint64_t cold = s.fast & ~s.accessed & ~before;
      before = s.accessed;
      for (uint64_t w = hot; w != 0; w &= w - 1) {
        up.push_back(region * kRegionPages + static_cast<uint32_t>(std::countr_zero(w)));
      }
      for (uint64_t w = cold; w != 0; w &= w - 1) {
        down.push_back(region * kRegionPages + static_cast<uint32_t>(std::countr_zero(w)));
      }
    }
    for (size_t i = 0, k = 0; i != up.size(); ++i) {
      if (table_->fast_used() == table_->fast_capacity()) {
        if (k == down.size()) return;
        Move(down[k++], Tier::kSlow);
      }
      Move(up[i], Tier::kFast);
    }
  }
  void Move(Vpn page, Tier tier) {
    counters_.default_moves +=
        table_->Migrate({.first = page, .count = 1, .value = static_cast<uint8_t>(tier)});
  }

  PageTable* table_;
  C* channel_;
  Bulk down_;
  Bulk up_;
  HostOptions options_;
  HostCounters counters_;
  std::vector<RegionSchedule> regions_;
  std::vector<ScanRecord> records_;  ///< Records in the piece that is being filled.
  std::vector<Vpn> hot_, cold_;
  std::array<uint64_t, 2> reported_{};  ///< Number of reported accesses, by tier.
  uint64_t sent_ = 0;                   ///< Number of scan pieces sent.
  uint64_t given_back_ = 0;
  uint32_t tick_ = 0;
  uint32_t heard_ = 0;  ///< Tick of the last valid decision or introduction.
  Region next_ = 0;
  bool alone_ = true;
};

}  // namespace sluice::simulation::tiering
