// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/trial.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::pktgen {

namespace {

using Seen = SeenCounters;

/// Total number of sequence numbers in all windows, or more if the minimum window size requires it.
/// This number suffices for more than a second at 10 Mpps.
constexpr uint64_t kNumbers = uint64_t{1} << 24;

uint64_t Less(uint64_t from, uint64_t amount) { return from - std::min(from, amount); }

}  // namespace

Trial::Trial(const Traffic& traffic, const TrialOptions& options) : traffic_(traffic) {
  const uint32_t workers = traffic.options().workers;
  const size_t count = traffic.streams() * workers;
  const uint64_t numbers = std::max(std::bit_floor(kNumbers / count), 16 * SequenceWindow::kMargin);
  std::vector<SequenceWindow*> all;
  for (size_t i = 0; i < count; ++i) {
    windows_.push_back(std::make_unique<SequenceWindow>(numbers, workers > 1));
    all.push_back(windows_.back().get());
  }
  for (uint32_t worker = 0; worker < workers; ++worker) {
    std::vector<SequenceWindow*> own;
    for (size_t stream = 0; stream < traffic.streams(); ++stream) {
      own.push_back(all[stream * workers + worker]);
    }
    workers_.push_back({std::make_unique<Sender>(traffic, worker, own, options.patience_ps),
                        std::make_unique<Checker>(traffic, all, options.bytes)});
  }
}

StreamResult Trial::ResultOf(size_t stream, bool at_rest) const {
  StreamResult result;
  result.name = traffic_.name(stream);
  // Tagged frames that were sent but not received, because they returned corrupted.
  uint64_t excused = 0;
  uint64_t extents = 0;
  uint64_t variation_ns = 0;
  uint64_t variations = 0;
  for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
    // Receive counters are read before send counters, so that a frame in between counts as in
    // flight.
    const Seen& seen = workers_[worker].checker->counters(stream);
    result.received_bytes += seen.Get(Seen::kBytes);
    result.duplicated += seen.Get(Seen::kDuplicated);
    result.reordered += seen.Get(Seen::kReordered);
    extents += seen.Get(Seen::kExtent);
    result.reorder_extent_max = std::max(result.reorder_extent_max, seen.Get(Seen::kMostExtent));
    excused += seen.Get(Seen::kDamaged) + seen.Get(Seen::kUnreadable);
    result.corrupted += seen.Get(Seen::kDamagedTwice);
    result.late += seen.Get(Seen::kLate);
    result.latency.Add(seen.latency.Snapshot());
    variation_ns += seen.Get(Seen::kVariation);
    variations += Less(seen.latency.recorded(), 1);
  }
  for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
    const SentCounters& sent = workers_[worker].sender->counters(stream);
    const uint64_t pkts = sent.pkts.load(std::memory_order_relaxed);
    result.sent += pkts;
    result.sent_bytes += sent.bytes.load(std::memory_order_relaxed);
    result.unsent += sent.unsent.load(std::memory_order_relaxed);
    result.untagged += sent.untagged.load(std::memory_order_relaxed);
    if (!at_rest) continue;
    for (const Gone& gone : windows_[stream * workers_.size() + worker]->Missing(pkts)) {
      result.ranges.push_back({worker, gone});
    }
  }
  if (variations > 0) {
    result.delay_variation_mean_ns =
        static_cast<double>(variation_ns) / static_cast<double>(variations);
  }
  result.received = result.latency.count();
  result.corrupted += excused;
  result.lost = Less(result.sent, result.received + result.untagged + excused);
  if (result.reordered > 0) {
    result.reorder_extent_mean =
        static_cast<double>(extents) / static_cast<double>(result.reordered);
  }
  return result;
}

TrialResult Trial::Result(bool at_rest, uint64_t taken_back) const {
  TrialResult result;
  for (size_t stream = 0; stream < traffic_.streams(); ++stream) {
    StreamResult& one = result.streams.emplace_back(ResultOf(stream, at_rest));
    const uint64_t unsent = std::min(taken_back, one.lost);
    taken_back -= unsent;
    one.lost -= unsent;
    one.sent -= unsent;
    one.unsent += unsent;
  }
  uint64_t untagged = 0;
  for (const StreamResult& stream : result.streams) untagged += stream.untagged;
  for (const Worker& worker : workers_) {
    result.others += worker.checker->others();
    result.latest_ns = std::max(result.latest_ns, worker.sender->latest_ns());
    result.last_ps = std::max(result.last_ps, worker.sender->last_ps());
  }
  result.others = Less(result.others, untagged);
  return result;
}

uint64_t Trial::DuePs() const {
  uint64_t due_ps = 0;
  for (size_t stream = 0; stream < traffic_.streams(); ++stream) {
    // If workers send in turn, the stream ends when the next worker would send.
    uint64_t until_ps = traffic_.end_ps();
    for (uint32_t worker = 0; worker < workers_.size(); ++worker) {
      if (traffic_.share(stream, worker).departures.due_ps() == kNever)
        continue;  // The worker has no frames.
      until_ps = std::min(until_ps, workers_[worker].sender->until_ps(stream));
    }
    due_ps = std::max(due_ps, until_ps);
  }
  return due_ps;
}

uint64_t Trial::Outstanding() const {
  uint64_t outstanding = 0;
  for (size_t stream = 0; stream < traffic_.streams(); ++stream) {
    uint64_t back = 0;
    uint64_t sent = 0;
    for (const Worker& worker : workers_) {
      const Seen& seen = worker.checker->counters(stream);
      back += seen.latency.recorded() + seen.Get(Seen::kDamaged) + seen.Get(Seen::kUnreadable);
    }
    for (const Worker& worker : workers_) {
      const SentCounters& counters = worker.sender->counters(stream);
      sent += counters.pkts.load(std::memory_order_relaxed) -
              counters.untagged.load(std::memory_order_relaxed);
    }
    outstanding += Less(sent, back);
  }
  return outstanding;
}

StreamResult TrialResult::Sum() const {
  StreamResult sum;
  double extents = 0;
  for (const StreamResult& one : streams) {
    sum.sent += one.sent;
    sum.sent_bytes += one.sent_bytes;
    sum.unsent += one.unsent;
    sum.untagged += one.untagged;
    sum.received += one.received;
    sum.received_bytes += one.received_bytes;
    sum.lost += one.lost;
    sum.corrupted += one.corrupted;
    sum.duplicated += one.duplicated;
    sum.reordered += one.reordered;
    sum.reorder_extent_max = std::max(sum.reorder_extent_max, one.reorder_extent_max);
    extents += one.reorder_extent_mean * static_cast<double>(one.reordered);
    sum.late += one.late;
    sum.latency.Add(one.latency);
  }
  if (sum.reordered > 0) sum.reorder_extent_mean = extents / static_cast<double>(sum.reordered);
  return sum;
}

}  // namespace sluice::engine::pktgen
