// SPDX-License-Identifier: BSD-3-Clause
//
// The agent's side of memory tiering. Receives scans and ticks, lets a Learner decide, and commits
// the Learner's requests in batches. An agent that is new or has lost events requests all state
// from the host. Until it receives the geometry, it ignores all other events and makes no
// decisions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "offload/item.h"
#include "simulation/tiering/abi.h"
#include "simulation/tiering/bulk.h"
#include "simulation/tiering/learner.h"

namespace sluice::simulation::tiering {

struct AgentOptions {
  uint32_t slots = 4;              ///< Must equal the host's number of slots.
  uint32_t max_pages = kMaxPages;  ///< The agent does not serve a host with more pages.
  LearnerOptions learner;
};

struct AgentCounters {
  uint64_t events = 0;
  uint64_t unknown_events = 0;  ///< Events of another version or kind, or an invalid geometry.
  /// Pieces of scans that do not match the size or checksum in the item.
  uint64_t damaged_pieces = 0;
  uint64_t decisions = 0;
  uint64_t refused_decisions = 0;
  uint64_t losses = 0;
};

/// `channel` must outlive the agent. `down` and `up` must refer to the host's memory. Used by one
/// thread.
template <offload::NicChannel C>
class Agent {
 public:
  Agent(C& channel, Bulk down, Bulk up, const AgentOptions& options)
      : channel_(&channel),
        down_(down),
        up_(up),
        options_(options),
        learner_(options.learner),
        records_(down.piece_bytes() / sizeof(ScanRecord)),
        under_way_(options.slots) {
    channel_->RequestRestart();
  }

  /// Handles events and outcomes and commits decisions. Returns the total number of events,
  /// outcomes and decisions.
  uint32_t Step() {
    if (channel_->PollLoss()) {
      ++counters_.losses;
      introduced_ = false;
      for (Batch& batch : under_way_) batch.committed = false;
      channel_->RequestRestart();
    }
    uint32_t done = 0;
    offload::Item item;
    while (done != kBudget && channel_->Receive(item)) {
      Hear(DecodeEvent(item));
      ++done;
    }
    for (offload::Slot slot = 0; slot != options_.slots; ++slot) done += PollOutcome(slot);
    for (offload::Slot slot = 0; slot != options_.slots; ++slot) done += Commit(slot);
    return done;
  }

  const AgentCounters& counters() const { return counters_; }
  const Learner& learner() const { return learner_; }

 private:
  static constexpr uint32_t kBudget = 256;

  struct Batch {
    std::vector<Element> elements;
    uint64_t number = 0;
    bool committed = false;
  };

  void Hear(const Event& event) {
    ++counters_.events;
    if (event.version != kAbiVersion) {
      ++counters_.unknown_events;
    } else if (event.kind == EventKind::kGeometry) {
      Meet(event);
    } else if (event.kind == EventKind::kScans) {
      if (introduced_) ReadScans(event);
    } else if (event.kind == EventKind::kTick) {
      if (introduced_) learner_.OnTick(event.a, event.c, event.d);
      answer_ = introduced_;
    } else {
      ++counters_.unknown_events;
    }
  }

  void Meet(const Event& event) {
    introduced_ = event.a != 0 && event.a <= options_.max_pages && event.a % kRegionPages == 0 &&
                  event.b <= event.a;
    counters_.unknown_events += !introduced_;
    if (!introduced_) return;
    learner_.Reset(event.a, event.b);
    scans_seen_ = event.c;
    // Outcomes of earlier decisions must not affect a new learner.
    for (Batch& batch : under_way_) batch.elements.clear();
  }

  void ReadScans(const Event& event) {
    scans_seen_ = std::max(scans_seen_, event.c);
    const std::span to = std::span(records_).first(std::min<size_t>(event.b, records_.size()));
    if (event.b > records_.size() || !down_.Read(event.a, to) ||
        Checksum(std::as_bytes(to)) != event.d) {
      ++counters_.damaged_pieces;
      learner_.OnInvalidScan();
      return;
    }
    for (const ScanRecord& record : to) learner_.OnScan(record);
  }

  bool PollOutcome(offload::Slot slot) {
    Batch& batch = under_way_[slot];
    offload::Item item;
    offload::Decided how;
    if (!batch.committed || !channel_->PollOutcome(slot, item, how)) return false;
    batch.committed = false;
    const Outcome outcome = DecodeOutcome(item);
    const bool enforced = how == offload::Decided::kEnforced &&
                          outcome.verdict == Verdict::kUnderstood && outcome.number == batch.number;
    counters_.refused_decisions += !enforced;
    for (size_t i = 0; i != batch.elements.size(); ++i) {
      learner_.OnOutcome(batch.elements[i], enforced && (outcome.done >> i & 1) != 0);
    }
    return true;
  }

  bool Commit(offload::Slot slot) {
    Batch& batch = under_way_[slot];
    if (!introduced_ || batch.committed || !channel_->CanCommit(slot)) return false;
    // An empty decision shows that the agent is alive and which scans it has read.
    if (learner_.Dequeue(batch.elements, kMaxElements) == 0 && !answer_) return false;
    const std::span<const Element> from = batch.elements;
    if (!from.empty()) up_.Write(slot, from);
    batch.number = ++counters_.decisions;
    batch.committed = true;
    answer_ = false;
    channel_->Commit(slot,
                     Encode(Decision{.elements = static_cast<uint16_t>(from.size()),
                                     .checksum = Checksum(std::as_bytes(from)),
                                     .scans_seen = scans_seen_,
                                     .number = batch.number}),
                     offload::Urgency::kPrestaged);
    return true;
  }

  C* channel_;
  Bulk down_;
  Bulk up_;
  AgentOptions options_;
  Learner learner_;
  AgentCounters counters_;
  std::vector<ScanRecord> records_;
  std::vector<Batch> under_way_;
  uint64_t scans_seen_ = 0;
  bool introduced_ = false;
  bool answer_ = false;  ///< The last tick has not been answered with a decision yet.
};

}  // namespace sluice::simulation::tiering
