// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/faults.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "emulator/options.h"
#include "packet/quantity.h"

namespace sluice::emulator {
namespace {

/// Parses one fault. Returns an empty string, or a hint about the correct form.
std::string_view ReadFault(std::string_view kind, std::string_view amount, FaultOptions* faults) {
  if (kind == "delay") {
    return ReadDuration(amount, &faults->delay_ns) ? "" : "give a time, as in delay:50us";
  }
  if (kind == "linkdown") {
    const auto [period, length] = Cut(amount, '/');
    const bool read = ReadDuration(period, &faults->down_period_ns) &&
                      ReadDuration(length, &faults->down_length_ns) &&
                      faults->down_length_ns < faults->down_period_ns;
    return read ? ""
                : "give PERIOD/OUTAGE with an outage shorter than the period, as in "
                  "linkdown:1s/100ms";
  }
  if (kind == "police") {
    const auto [rate, frames] = Cut(amount, '/');
    const bool read = packet::ReadPacketRate(rate, &faults->police_pps) &&
                      (frames.empty() || ReadNumber(frames, 1u, 1u << 30, &faults->police_frames));
    return read ? "" : "give packets/s and the size of a burst in frames, as in police:2.5M/64";
  }
  double* const probability = kind == "drop"      ? &faults->drop
                              : kind == "dup"     ? &faults->duplicate
                              : kind == "reorder" ? &faults->reorder
                              : kind == "corrupt" ? &faults->corrupt
                                                  : nullptr;
  if (probability == nullptr)
    return "unknown fault; use drop, dup, reorder, corrupt, delay, linkdown or police";
  return ReadNumber(amount, 0, 1, probability) ? "" : "give a probability 0…1, as in drop:0.01";
}

}  // namespace

bool FaultOptions::Read(std::string_view text, std::string* error) {
  return ReadList(text, '+', [&](std::string_view fault) {
    const auto [kind, amount] = Cut(fault, ':');
    const std::string_view fix = ReadFault(kind, amount, this);
    return fix.empty() || Refuse("faults", fault, fix, error);
  });
}

FaultyWire::FaultyWire(std::unique_ptr<Wire> inner, const FaultOptions& options)
    : inner_(std::move(inner)), options_(options), random_(options.seed) {
  const auto own = device::ZeroCounters(FaultCounters::kRows);
  counters_.assign(own.begin(), own.end());
  for (const device::Counter& counter : inner_->Counters()) counters_.push_back(counter);
}

void FaultyWire::Start(uint64_t now_ns) {
  if (!started_) start_ns_ = now_ns;
  started_ = true;
  inner_->Start(now_ns);
}

bool FaultyWire::LinkUp(uint64_t now_ns) {
  if (options_.down_period_ns != 0 && started_ &&
      (now_ns - start_ns_) % options_.down_period_ns >=
          options_.down_period_ns - options_.down_length_ns) {
    return false;
  }
  return inner_->LinkUp(now_ns);
}

std::span<const device::WireFrame> FaultyWire::Pull(uint64_t now_ns, uint32_t max) {
  if (!LinkUp(now_ns)) return {};
  // If frames are delayed, they are queued as soon as the source provides them; otherwise they are
  // queued when the device pulls them.
  const uint32_t capacity = options_.delay_ns != 0 ? kFrames : std::max(max, kMostForOne);
  bool dry = false;
  // Limits the loop in case all frames of an endless source are dropped.
  uint32_t pulled = 0;
  while (!dry && pulled < capacity && fifo_.size() + kMostForOne <= capacity) {
    const uint32_t room = (capacity - fifo_.size()) / kMostForOne;
    const auto frames = inner_->Pull(now_ns, std::min(room, max));
    for (const device::WireFrame& frame : frames) Inject(frame, now_ns);
    inner_->Consumed(static_cast<uint32_t>(frames.size()));
    dry = frames.empty();
    pulled += static_cast<uint32_t>(frames.size());
  }
  if (dry && fifo_.size() == 0) ReleaseHeld(now_ns);
  return fifo_.Front(now_ns, max);
}

// Implements the generic cell rate algorithm of ITU-T I.371 in its virtual-scheduling form.
bool FaultyWire::Exceeds(uint64_t now_ns) {
  const double gap_ns = 1e9 / options_.police_pps;
  const auto now = static_cast<double>(now_ns);
  const double until = std::max(policed_until_ns_, now);
  if (until - now > (options_.police_frames - 1) * gap_ns) return true;
  policed_until_ns_ = until + gap_ns;
  return false;
}

void FaultyWire::Inject(const device::WireFrame& frame, uint64_t now_ns) {
  if (options_.police_pps > 0 && Exceeds(now_ns)) {
    ++counts_[kPolice];
    return;
  }
  if (Chance(options_.drop)) {
    ++counts_[kDrop];
    return;
  }
  if (held_.empty() && Chance(options_.reorder)) {
    held_.assign(frame.data, frame.data + frame.length);
    held_for_ = 0;
    return;
  }
  const bool passes_held = !held_.empty() && SameFlowAsHeld(frame);
  Append(frame, now_ns);
  if (Chance(options_.duplicate)) {
    Append(frame, now_ns);
    ++counts_[kDuplicate];
  }
  if (passes_held) {
    ++counts_[kReorder];
    ReleaseHeld(now_ns);
  } else if (!held_.empty() && ++held_for_ == kMostHeld) {
    ReleaseHeld(now_ns);
  }
}

void FaultyWire::Append(const device::WireFrame& frame, uint64_t now_ns) {
  uint8_t* copy = fifo_.Push(frame, now_ns + options_.delay_ns);
  if (copy == nullptr) {  // Not enough bytes are free. Happens only with jumbo frames.
    ++counts_[kDrop];
    return;
  }
  if (options_.delay_ns != 0) ++counts_[kDelay];
  if (frame.length != 0 && Chance(options_.corrupt)) {
    const uint32_t quarter = std::max(frame.length / 4, 1u);
    const uint64_t draw = random_();
    copy[frame.length - 1 - (draw >> 8) % quarter] ^= static_cast<uint8_t>(1u << (draw & 7));
    ++counts_[kCorrupt];
  }
}

void FaultyWire::ReleaseHeld(uint64_t now_ns) {
  if (held_.empty()) return;
  Append({held_.data(), static_cast<uint32_t>(held_.size())}, now_ns);
  held_.clear();
}

bool FaultyWire::SameFlowAsHeld(const device::WireFrame& frame) const {
  // The compared bytes are the IPv4 addresses and ports. In frames without these, the bytes are
  // arbitrary, so they may differ between frames of the same flow.
  constexpr uint32_t kOffset = 26;
  constexpr uint32_t kBytesOfKey = 12;
  return frame.length >= kOffset + kBytesOfKey && held_.size() >= kOffset + kBytesOfKey &&
         std::memcmp(frame.data + kOffset, held_.data() + kOffset, kBytesOfKey) == 0;
}

void FaultyWire::Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) {
  if (LinkUp(now_ns)) {
    inner_->Deliver(now_ns, frames);
  } else {
    counts_[kLinkDown] += frames.size();
  }
}

std::span<const device::Counter> FaultyWire::Counters() {
  for (uint32_t i = 0; i < kKinds; ++i) counters_[i].value = counts_[i];
  const auto inner = inner_->Counters();
  std::copy(inner.begin(), inner.end(), counters_.begin() + kKinds);
  return counters_;
}

}  // namespace sluice::emulator
