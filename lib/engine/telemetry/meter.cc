// SPDX-License-Identifier: BSD-3-Clause
#include "engine/telemetry/meter.h"

#include <algorithm>
#include <optional>

#include "engine/kv/workload/random.h"
#include "engine/telemetry/five_tuple.h"
#include "packet/flow_key.h"

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
      gaps_(kv::workload::Mix(kv::workload::Mix(setup.seed) + worker)),
      pacer_(setup, cycles_per_second, now),
      epoch_cycles_(CyclesOf(setup.epoch_ns, cycles_per_second)),
      epochs_{std::make_unique<Epoch>(setup), std::make_unique<Epoch>(setup)} {
  Begin(epochs_[0].get(), now, pacer_.BeginEpoch(0));
}

void Meter::Begin(Epoch* epoch, uint64_t now, double probability) {
  filling_ = epoch;
  left_ = upto_ = bytes_ = 0;
  longest_ = 0;
  noted_pkts_ = 0;
  epoch->number = now / epoch_cycles_;
  epoch->start_cycles = now;
  epoch_end_ = (epoch->number + 1) * epoch_cycles_;
  SetProbability(probability);
  epoch->least_probability = gaps_.probability();
}

void Meter::SetProbability(double probability) {
  asked_probability_ = probability;
  gaps_.SetProbability(probability);
  filling_->last_probability = gaps_.probability();
  filling_->least_probability = std::min(filling_->least_probability, gaps_.probability());
  every_packet_ = gaps_.weight() == kUnit || oracle_;
  upto_ -= left_;
  left_ = sampled_left_ = 0;
  // The gap under way is drawn anew: geometric gaps have no memory.
  if (gaps_.weight() != kUnit) {
    const uint32_t frame = FrameOf(gaps_.Next() - 1);
    every_packet_ ? sampled_left_ = frame : left_ = frame;
  }
  upto_ += left_;
}

/// The frame of the next sample, which lies `slot` slots behind the first one of frame 0.
uint32_t Meter::FrameOf(uint32_t slot) {
  const uint32_t frame = slot / slots_;
  slot_ = slot - frame * slots_;
  return frame;
}

void Meter::NoteExactPkts() {
  if (gaps_.weight() == kUnit) filling_->exact_pkts += total().pkts - noted_pkts_;
  noted_pkts_ = total().pkts;
}

void Meter::AtRest(uint64_t now) {
  if (now >= epoch_end_) Close(now);
  filling_->total = total();
  const double probability = pacer_.Adapt(now, filling_->total.pkts, *filling_);
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
  full->total = total();
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

void Meter::Count(const uint8_t* frame, uint32_t length) {
  if (!every_packet_) {
    left_ = CountRows(frame, length);
    upto_ += left_;
  } else if (gaps_.weight() == kUnit) {
    CountWhole(frame, length);
  } else {
    CountExactly(frame, length);
    sampled_left_ = sampled_left_ == 0 ? CountRows(frame, length) : sampled_left_ - 1;
  }
  ++upto_;
}

void Meter::CountWhole(const uint8_t* frame, uint32_t length) {
  const std::optional<packet::FlowKey> five_tuple = FiveTupleOf(frame, length);
  if (!five_tuple) {
    filling_->other += kUnit * static_cast<int64_t>(slots_);
    return;
  }
  for (FlowCounter& counter : filling_->counters) {
    const packet::FlowKey key = counter.spec().Of(*five_tuple);
    const uint64_t hash = counter.HashOf(key);
    counter.CountWhole(key, hash, length);
    if (oracle_ && counter.oracle().Chooses(hash)) counter.oracle().Count(key, length);
  }
}

void Meter::CountExactly(const uint8_t* frame, uint32_t length) {
  const std::optional<packet::FlowKey> five_tuple = FiveTupleOf(frame, length);
  if (!five_tuple) return;
  for (FlowCounter& counter : filling_->counters) {
    const packet::FlowKey key = counter.spec().Of(*five_tuple);
    if (counter.oracle().Chooses(counter.HashOf(key))) counter.oracle().Count(key, length);
  }
}

/// Of the rows from slot_ on; returns how many frames lie between this one and the next that is
/// sampled.
uint32_t Meter::CountRows(const uint8_t* frame, uint32_t length) {
  const std::optional<packet::FlowKey> five_tuple = FiveTupleOf(frame, length);
  const int64_t weight = gaps_.weight();
  uint32_t slot = slot_;
  do {
    if (!five_tuple) {
      filling_->other += weight;
      continue;
    }
    uint32_t row = slot;
    FlowCounter* counter = filling_->counters.data();
    for (; row >= rows_; row -= rows_) ++counter;
    if (counter->spec().kind == KeyKind::kFiveTuple) {
      counter->CountRow(*five_tuple, row, weight, length);
    } else {
      counter->CountRow(counter->spec().Of(*five_tuple), row, weight, length);
    }
  } while ((slot += gaps_.Next()) < slots_);
  return FrameOf(slot) - 1;
}

}  // namespace sluice::engine::telemetry
