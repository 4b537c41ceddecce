// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/meter.h"

#include <algorithm>
#include <optional>

#include "engine/telemetry/five_tuple.h"
#include "engine/workload/random.h"
#include "packet/flow_key.h"
#include "packet/plain.h"

namespace sluice::engine::telemetry {

namespace {

uint64_t CyclesOf(uint64_t ns, uint64_t cycles_per_second) {
  const auto cycles = static_cast<unsigned __int128>(ns) * cycles_per_second / 1'000'000'000;
  return std::max<uint64_t>(1, static_cast<uint64_t>(cycles));
}

}  // namespace

Meter::Meter(const Setup& setup, uint32_t worker, uint64_t cycles_per_second, uint64_t now)
    : rows_(setup.rows),
      slots_(static_cast<uint32_t>(setup.keys.size()) * setup.rows),
      oracle_(setup.oracle_one_in != 0),
      samples_(slots_, workload::Mix(workload::Mix(setup.seed) + worker)),
      pacer_(setup, cycles_per_second, now),
      epoch_cycles_(CyclesOf(setup.epoch_ns, cycles_per_second)),
      epochs_{std::make_unique<Epoch>(setup), std::make_unique<Epoch>(setup)} {
  Begin(epochs_[0].get(), now, pacer_.BeginEpoch(0));
}

void Meter::Begin(Epoch* epoch, uint64_t now, double wished) {
  filling_ = epoch;
  total_ = {};
  longest_ = 0;
  noted_pkts_ = 0;
  epoch->number = now / epoch_cycles_;
  epoch->start_cycles = now;
  epoch_end_ = (epoch->number + 1) * epoch_cycles_;
  SetProbability(ProbabilityOf(wished));
  epoch->least_probability = samples_.probability();
}

void Meter::SetProbability(double probability) {
  asked_probability_ = probability;
  samples_.SetProbability(probability);
  filling_->last_probability = samples_.probability();
  filling_->least_probability = std::min(filling_->least_probability, samples_.probability());
  every_packet_ = samples_.weight() == kUnit || oracle_ ||
                  std::ranges::any_of(filling_->counters, [](const FlowCounter& counter) {
                    return counter.exact().watching();
                  });
  left_ = kNever;
  // The current gap is redrawn, which is valid because geometric gaps are memoryless.
  if (samples_.weight() != kUnit) {
    const RowSampler::Sample first = samples_.Next();
    slot_ = first.row;
    left_ = first.frames - 1;
  }
}

void Meter::NoteExactPkts() {
  if (samples_.weight() == kUnit) filling_->exact_pkts += total_.pkts - noted_pkts_;
  noted_pkts_ = total_.pkts;
}

void Meter::AtRest(uint64_t now) {
  if (now >= epoch_end_) Close(now);
  filling_->total = total_;
  const double probability = ProbabilityOf(pacer_.Adapt(now, filling_->total.pkts, *filling_));
  if (probability != asked_probability_) {
    NoteExactPkts();
    SetProbability(probability);
  }
}

bool Meter::Finish(uint64_t now) { return Close(now); }

bool Meter::Close(uint64_t now) {
  if (closed_.load(std::memory_order_acquire) != nullptr) return false;
  Epoch* const full = filling_;
  for (FlowCounter& counter : full->counters) counter.Settle();
  NoteExactPkts();
  full->total = total_;
  full->longest_bytes = longest_;
  full->end_cycles = std::max(now, full->start_cycles);
  Begin(epochs_[full == epochs_[0].get()].get(), now, pacer_.BeginEpoch(full->total.pkts));
  closed_.store(full, std::memory_order_release);
  return true;
}

void Meter::Release() {
  Epoch* const read = closed_.load(std::memory_order_relaxed);
  if (read == nullptr) return;
  read->Clear();
  closed_.store(nullptr, std::memory_order_release);
}

void Meter::CountRows(std::span<const Sampled> sampled) {
  const int64_t weight = samples_.weight();
  for (const auto& [frame, length, slot] : sampled) {
    uint32_t row = slot;
    FlowCounter* counter = filling_->counters.data();
    for (; row >= rows_; row -= rows_) ++counter;
    const bool plain = packet::IsPlainUdpOrTcp(frame, length);
    if (plain && counter->spec().kind == KeyKind::kFiveTuple) [[likely]] {
      packet::WritePlainFlowKey(frame, &counter->next_key());
      counter->CountRow(row, weight, length);
    } else if (const auto five_tuple = FiveTupleOf(frame, length)) {
      counter->next_key() = counter->spec().Of(*five_tuple);
      counter->CountRow(row, weight, length);
    } else {
      filling_->other += weight;
    }
  }
}

/// Divides the frames into parts, each of which ends after a frame with sampled rows. Counts each
/// part key by key, then the sampled rows of the part's last frame.
void Meter::CountFrames(std::span<const Seen> seen) {
  for (std::span<const Seen> rest = seen; !rest.empty();) {
    const bool ends_with_sample = left_ < rest.size();
    const auto frames = rest.first(ends_with_sample ? left_ + 1 : rest.size());
    for (FlowCounter& counter : filling_->counters) CountKeys(&counter, frames);
    left_ = ends_with_sample ? CountSamplesOf(frames.back()) - 1 : left_ - frames.size();
    rest = rest.subspan(frames.size());
  }
  if (oracle_) CountForOracles(seen);
}

void Meter::CountKeys(FlowCounter* counter, std::span<const Seen> frames) {
  const bool whole = samples_.weight() == kUnit;
  const bool five_tuples = counter->spec().kind == KeyKind::kFiveTuple;
  for (const auto& [frame, length] : frames) {
    if (five_tuples && packet::IsPlainUdpOrTcp(frame, length)) [[likely]] {
      counter->CountPacket(packet::PlainFlow(frame), length, whole);
    } else if (const auto five_tuple = FiveTupleOf(frame, length)) {
      counter->CountPacket(counter->spec().Of(*five_tuple), length, whole);
    } else if (whole) {
      filling_->other += kUnit * static_cast<int64_t>(rows_);
    }
  }
}

/// Counts the sampled rows of a frame. Returns the number of frames to the next one with a sampled
/// row.
uint64_t Meter::CountSamplesOf(const Seen& frame) {
  for (;;) {
    const Sampled sampled{frame.frame, frame.length, slot_};
    CountRows({&sampled, 1});
    const RowSampler::Sample next = samples_.Next();
    slot_ = next.row;
    if (next.frames != 0) return next.frames;
  }
}

void Meter::CountForOracles(std::span<const Seen> seen) {
  for (const Seen& frame : seen) {
    const std::optional<packet::FlowKey> five_tuple = FiveTupleOf(frame.frame, frame.length);
    if (!five_tuple) continue;
    for (FlowCounter& counter : filling_->counters) {
      const packet::FlowKey key = counter.spec().Of(*five_tuple);
      if (counter.oracle().Chooses(counter.HashOf(key))) counter.oracle().Count(key, frame.length);
    }
  }
}

}  // namespace sluice::engine::telemetry
