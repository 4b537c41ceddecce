// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/chain/stages.h"

#include <algorithm>
#include <cstring>

namespace sluice::simulation {
namespace {

using namespace device::pcie_switch;  // NOLINT

}  // namespace

void WriteBytes(SwitchNode& node, PortId port, uint64_t address, std::span<const uint8_t> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kMaxPayload) {
    Tlp tlp;
    tlp.requester = port;
    tlp.address = address + at;
    tlp.length = static_cast<uint32_t>(std::min<size_t>(bytes.size() - at, kMaxPayload));
    std::memcpy(tlp.payload.data(), bytes.data() + at, tlp.length);
    node.Send(port, tlp);
  }
}

void StreamDevice::SetWriter(uint64_t window, uint32_t granules, bool credits) {
  writer_.emplace(window, granules, port_);
  if (!credits) writer_->IgnoreCredits();
}

void StreamDevice::SetReader(uint64_t reg, uint32_t buffer_bytes, uint32_t fifo) {
  reader_.emplace(BarOf(port_) + kStreamBuffer, buffer_bytes, reg, port_);
  buffer_bytes_ = buffer_bytes;
  fifo_limit_ = fifo;
}

void StreamDevice::Put(uint32_t number, std::span<const uint8_t> data) {
  writer_->Put({.message = number}, data);
  Write();
}

void StreamDevice::Write() {
  Tlp tlp;
  while (writer_ && node_->MaySend(port_) && writer_->Next(tlp)) node_->Send(port_, tlp);
  Work();  // The writer may now have room for another answer.
}

void StreamDevice::Receive(const Tlp& tlp) {
  if (tlp.kind != TlpKind::kWrite) return;
  if (reader_ && reader_->Owns(tlp.address)) {
    if (fifo_limit_ == 0) {
      reader_->Accept(tlp);
    } else {
      fifo_.push_back(tlp);
      Absorb();
    }
    Work();
  } else if (writer_ && tlp.address == BarOf(port_) + kControl) {
    writer_->SetFreed(LoadFrom<uint64_t>(tlp.payload.data()));
    Write();
  }
}

/// For use without credits: moves TLPs from the port's FIFO to the buffer until the buffer is full.
void StreamDevice::Absorb() {
  while (!fifo_.empty() &&
         reader_->received() + fifo_.front().length - reader_->consumed() <= buffer_bytes_) {
    reader_->Accept(fifo_.front());
    fifo_.pop_front();
  }
}

void StreamDevice::Work() {
  if (working_ || !reader_ || !reader_->Whole() || (writer_ && writer_->waiting() != 0)) return;
  working_ = true;
  node_->queue().After(compute_, [this] {
    const auto message = reader_->Pop();
    working_ = false;
    ++consumed_;
    Finish(*message);
  });
}

void StreamDevice::Finish(const Message& message) {
  if (sink_ != nullptr) {
    sink_(message);
  } else if (writer_) {
    std::vector<uint8_t> data = message.data;
    if (!data.empty()) ++data[0];
    writer_->Put({.message = message.header.message, .key = message.header.key}, data);
  }
  Write();
  Tlp tlp;
  if (fifo_limit_ == 0 && reader_->Credits(tlp)) node_->Send(port_, tlp);
  if (fifo_limit_ != 0) Absorb();
  Work();
  node_->Kick();
}

void DescriptorDevice::Receive(const Tlp& tlp) {
  if (tlp.kind == TlpKind::kCompletion) {
    Arrived(tlp);
  } else if (tlp.address == BarOf(port_) + kDoorbell) {
    rung_ = LoadFrom<uint32_t>(tlp.payload.data());
    Fetch();
  }
}

void DescriptorDevice::Fetch() {
  if (waits_ != Waits::kNothing || fetched_ == rung_) return;
  waits_ = Waits::kDescriptor;
  Read(ring_ + fetched_++ % slots_ * sizeof(LegacyDescriptor), sizeof(LegacyDescriptor));
}

void DescriptorDevice::Read(uint64_t address, uint32_t bytes) {
  data_.assign(bytes, 0);
  missing_ = bytes;
  for (uint32_t at = 0; at < bytes; at += kMaxReadRequest) {
    Tlp tlp;
    tlp.kind = TlpKind::kRead;
    tlp.requester = port_;
    tlp.tag = static_cast<uint8_t>(at / kMaxReadRequest);
    tlp.address = address + at;
    tlp.length = std::min(bytes - at, kMaxReadRequest);
    node_->Send(port_, tlp);
  }
}

void DescriptorDevice::Arrived(const Tlp& tlp) {
  std::memcpy(data_.data() + tlp.tag * kMaxReadRequest + tlp.address, tlp.payload.data(),
              tlp.length);
  missing_ -= tlp.length;
  if (missing_ != 0) return;
  if (waits_ == Waits::kDescriptor) {
    descriptor_ = LoadFrom<LegacyDescriptor>(data_.data());
    waits_ = Waits::kData;
    Read(descriptor_.input, descriptor_.length);
  } else {
    node_->queue().After(compute_, [this] { Finish(); });
  }
}

void DescriptorDevice::Finish() {
  const LegacyRecord record{.sequence = descriptor_.sequence,
                            .length = descriptor_.capacity == 0 ? 0 : descriptor_.length};
  std::vector<uint8_t> result(sizeof record + record.length);
  StoreTo(result.data(), record);
  if (record.length != 0) {
    std::copy(data_.begin(), data_.end(), result.begin() + sizeof record);
    ++result[sizeof record];
  }
  if (descriptor_.output != 0) WriteBytes(*node_, port_, descriptor_.output, result);
  if (descriptor_.capacity == 0 && sink_ != nullptr) sink_(data_);
  waits_ = Waits::kNothing;
  Fetch();
  node_->Kick();
}

}  // namespace sluice::simulation
