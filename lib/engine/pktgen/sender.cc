// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/sender.h"

#include <algorithm>

namespace sluice::engine::pktgen {

Sender::Sender(const Traffic& traffic, uint32_t worker, std::vector<SequenceWindow*> windows,
               uint64_t patience_ps)
    : worker_(worker),
      run_(traffic.options().run),
      patience_ps_(patience_ps),
      counters_(traffic.streams()) {
  for (size_t i = 0; i < traffic.streams(); ++i) {
    const Share& share = traffic.share(i, worker);
    streams_.push_back({&share, share.departures, windows[i]});
  }
  FindNext();
}

inline void Sender::PlanNext(uint32_t index, uint64_t departure_ps, bool scheduled) {
  Stream& stream = streams_[index];
  plan_[planned_++] = {index, stream.next, departure_ps, &stream.share->frames.entry(stream.entry),
                       scheduled};
  ++stream.next;
  if (++stream.entry == stream.share->frames.size()) stream.entry = 0;
}

uint32_t Sender::Plan(uint64_t now_ps) {
  if (planned_ > 0) GiveUpLate(now_ps);
  if (next_due_ps_ <= now_ps) PlanDue(now_ps);
  for (Stream& stream : streams_) stream.window->Reach(stream.next);
  return planned_;
}

void Sender::PlanDue(uint64_t now_ps) {
  if (now_ps - next_due_ps_ > patience_ps_) [[unlikely]]
    GiveUpDue(now_ps - patience_ps_);
  const bool alone = streams_.size() == 1;
  while (planned_ < kMostPlanned && next_due_ps_ <= now_ps) {
    Stream& stream = streams_[next_];
    const uint32_t length = stream.share->frames.entry(stream.entry).length;
    if (stream.departures.unlimited()) {
      PlanNext(next_, now_ps, false);
    } else {
      PlanNext(next_, next_due_ps_, true);
    }
    ++stream.turns;
    stream.departures.Advance(length, now_ps);
    if (alone) {
      next_due_ps_ = DueOf(stream);
    } else {
      FindNext();
    }
  }
}

/// Finds the stream that is due next. If several streams are due at the same time, selects one
/// round robin.
void Sender::FindNext() {
  const auto count = static_cast<uint32_t>(streams_.size());
  const uint32_t last = next_;
  next_due_ps_ = kNever;
  for (uint32_t i = 1; i <= count; ++i) {
    const uint32_t stream = last + i < count ? last + i : last + i - count;
    const uint64_t due = DueOf(streams_[stream]);
    if (due >= next_due_ps_) continue;
    next_due_ps_ = due;
    next_ = stream;
  }
}

void Sender::GiveUpLate(uint64_t now_ps) {
  // Few frames are late, and these are usually the first ones.
  const auto late = [&](const Planned& frame) {
    return frame.scheduled && frame.departure_ps + patience_ps_ < now_ps;
  };
  const uint32_t count = planned_;
  if (!std::any_of(plan_.begin(), plan_.begin() + count, late)) return;
  const std::array<Planned, kMostPlanned> old = plan_;
  for (uint32_t i = 0; i < count; ++i) {
    Stream& stream = streams_[old[i].stream];
    // The remaining frames are renumbered from the first planned one on.
    stream.next = std::min(stream.next, old[i].sequence);
    stream.entry = stream.next % stream.share->frames.size();
  }
  planned_ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (late(old[i])) {
      SentCounters::Add(counters_[old[i].stream].unsent, 1);
    } else {
      PlanNext(old[i].stream, old[i].departure_ps, old[i].scheduled);
    }
  }
}

/// Discards due frames that are not planned yet.
void Sender::GiveUpDue(uint64_t before_ps) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    if (DueOf(stream) >= before_ps) continue;
    const uint64_t limit = stream.share->limit;
    const uint64_t gone =
        stream.departures.Skip(before_ps, stream.share->frames.entry(stream.entry).length,
                               limit > 0 ? limit - stream.turns : ~uint64_t{0});
    stream.turns += gone;
    SentCounters::Add(counters_[i].unsent, gone);
  }
  FindNext();
}

void Sender::Sent(uint32_t count, uint64_t now_ps) {
  if (count == 0) return;
  uint64_t earliest_ps = now_ps;
  for (uint32_t i = 0; i < count;) {
    const uint32_t stream = plan_[i].stream;
    const uint32_t first = i;
    uint64_t bytes = 0;
    // Consecutive frames of one stream are counted together.
    for (; i < count && plan_[i].stream == stream; ++i) {
      const Planned& frame = plan_[i];
      bytes += frame.entry->length;
      earliest_ps = std::min(earliest_ps, frame.departure_ps);
      if (!frame.entry->tagged) [[unlikely]]
        ForgetUntagged(frame);
    }
    SentCounters::Add(counters_[stream].pkts, i - first);
    SentCounters::Add(counters_[stream].bytes, bytes);
  }
  last_ps_.store(now_ps, std::memory_order_relaxed);
  const uint64_t late_ns = (now_ps - earliest_ps) / 1000;
  if (late_ns > latest_ns()) latest_ns_.store(late_ns, std::memory_order_relaxed);
  if (count < planned_) {
    std::copy(plan_.begin() + count, plan_.begin() + planned_, plan_.begin());
  }
  planned_ -= count;
}

void Sender::ForgetUntagged(const Planned& frame) {
  SentCounters::Add(counters_[frame.stream].untagged, 1);
  uint64_t number;  // Unused: Mark is called only so that the frame does not count as missing.
  streams_[frame.stream].window->Mark(static_cast<uint32_t>(frame.sequence), &number);
}

void Sender::Stop(uint64_t at_ps) {
  for (uint32_t i = 0; i < planned_; ++i) {
    const Planned& frame = plan_[i];
    SentCounters::Add(counters_[frame.stream].unsent,
                      frame.scheduled && frame.departure_ps < at_ps);
  }
  planned_ = 0;
  GiveUpDue(at_ps);
  next_due_ps_ = kNever;
}

}  // namespace sluice::engine::pktgen
