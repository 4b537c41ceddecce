// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stepper.h"

#include <algorithm>
#include <string_view>

#include "regs/vectors.h"

namespace sluice::emulator {

Stepper::Stepper(bar::PostedQueue* queue, device::Device& device, Wire& wire, bool pause)
    : queue_(queue),
      device_(&device),
      wire_(wire),
      pause_(pause),
      base_(device.Counters().size()) {}

void Stepper::Connect(bar::PostedQueue* queue, device::Device& device) {
  abandoned_ += Outstanding();
  const auto counters = device_->Counters();
  for (size_t i = 0; i < counters.size(); ++i) base_[i] += counters[i].value;
  queue_ = queue;
  device_ = &device;
  device_->SetCarrier(carrier_);
  interrupts_ = nullptr;
  SetMastering(true);
}

void Stepper::SetInterrupts(device::InterruptSink* sink) {
  interrupts_ = sink;
  device_->SetInterrupts(sink);
}

void Stepper::SetMastering(bool on) {
  mastering_ = on;
  device_->SetMastering(on);
}

void Stepper::CarrierChanged(bool up) {
  carrier_ = up;
  device_->SetCarrier(up);
  if (interrupts_ != nullptr) interrupts_->Raise(regs::kPortVector);
}

void Stepper::EnableWire(bool enabled, uint64_t now_ns) {
  if (enabled && !enabled_) wire_.Start(now_ns);
  enabled_ = enabled;
}

bool Stepper::Step(uint64_t now_ns) {
  now_ns_ = now_ns;
  device_->SetTime(now_ns);
  uint64_t work = 0;
  if (queue_ != nullptr) {
    work = queue_->Drain(
        kRegisterBudget,
        [this](bar::RegisterAccess access) {
          device_->WriteRegister(access.offset, access.bytes, access.value);
        },
        [this](bar::RegisterAccess access) {
          return device_->ReadRegister(access.offset, access.bytes);
        });
  }
  if (!mastering_) return work != 0;
  if (enabled_) {
    const auto frames = wire_.Pull(now_ns, kBurst);
    if (!frames.empty()) {
      const uint32_t taken = device_->Receive(frames, pause_);
      wire_.Consumed(taken);
      taken_ += taken;
      work += taken;
    }
  }
  // Ready sends frames that are waiting on the wire. It must be called even if the device is not
  // waiting for the wire.
  if (wire_.Ready() || !pause_) work += device_->Transmit(*this, kBurst);
  return work != 0;
}

void Stepper::Deliver(std::span<const device::WireFrame> frames) {
  returned_ += frames.size();
  for (const device::WireFrame& frame : frames) returned_bytes_ += frame.length;
  wire_.Deliver(now_ns_, frames);
}

uint64_t Stepper::Lost() const {
  const WireTotals& totals = wire_.totals();
  if (!wire_.IsSource()) return 0;
  return enabled_ ? totals.gaps : Less(totals.offered, totals.recognised);
}

uint64_t Stepper::Accepted() const {
  const auto counters = device_->Counters();
  for (size_t i = 0; i < counters.size(); ++i) {
    if (counters[i].name == device::kReceivedCounter) return base_[i] + counters[i].value;
  }
  return taken_;
}

uint64_t Stepper::Outstanding() const {
  if (!wire_.IsSource()) return 0;
  const auto extra = wire_.Counters();
  const auto injected =
      std::find_if(extra.begin(), extra.end(),
                   [](const device::Counter& counter) { return counter.name == "fault_dup"; });
  const uint64_t duplicates = injected != extra.end() ? injected->value : 0;
  const WireTotals& totals = wire_.totals();
  const uint64_t distinct = Less(returned_, totals.duplicated + totals.foreign);
  return Less(Less(Accepted(), duplicates), distinct + abandoned_);
}

template <typename Emit>
void Stepper::Visit(Emit&& emit) {
  const auto counters = device_->Counters();
  for (size_t i = 0; i < counters.size(); ++i) {
    emit("model_", counters[i].name, base_[i] + counters[i].value);
  }
  const WireTotals& totals = wire_.totals();
  emit("wire_", "offered", totals.offered);
  emit("wire_", "accepted", Accepted());
  emit("wire_", "returned", returned_);
  emit("wire_", "returned_bytes", returned_bytes_);
  emit("wire_", "outstanding", Outstanding());
  emit("wire_", "abandoned", abandoned_);
  emit("wire_", "lost", Lost());
  emit("wire_", "corrupted", totals.corrupted);
  emit("wire_", "foreign", totals.foreign);
  emit("wire_", "duplicated", totals.duplicated);
  emit("wire_", "reordered", totals.reordered);
  emit("wire_", "late", totals.late);
  emit("wire_", "verified", totals.verified);
  emit("wire_", "skipped", totals.skipped);
  for (const device::Counter& counter : wire_.Counters()) {
    emit("wire_", counter.name, counter.value);
  }
}

std::vector<std::string> Stepper::Names() {
  std::vector<std::string> names;
  Visit([&](std::string_view prefix, std::string_view name, uint64_t) {
    names.push_back(std::string(prefix).append(name));
  });
  return names;
}

void Stepper::Read(std::vector<uint64_t>& values) {
  values.clear();
  Visit([&](std::string_view, std::string_view, uint64_t value) { values.push_back(value); });
}

}  // namespace sluice::emulator
