// SPDX-License-Identifier: BSD-3-Clause
#include "device/transport/unit.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "device/transport/connections.h"
#include "device/transport/counters.h"
#include "packet/bytes.h"
#include "packet/ethernet.h"
#include "packet/parse.h"
#include "regs/transport.h"
#include "transport/stack.h"

namespace sluice::device::transport {
namespace {

namespace layout = regs::transport;
using ::sluice::transport::Stack;

/// Returns false for IPv4 packets of other protocols and for frames that are not IP.
bool MayBeTcp(const WireFrame& frame) {
  if (frame.length < packet::kEthernetHeaderBytes + packet::kIpv4MinHeaderBytes) return false;
  const uint16_t type = packet::LoadBe16(frame.data + 12);
  return type == packet::kEtherTypeIpv6 ||
         (type == packet::kEtherTypeIpv4 && frame.data[23] == packet::kProtocolTcp);
}

class Unit final : public Device {
 public:
  Unit(std::unique_ptr<Device> nic, const bar::DmaSpace& memory, Placement placement)
      : nic_(std::move(nic)), memory_(memory), placement_(placement) {
    const auto rows = ZeroCounters(kEventRows);
    const auto inner = nic_->Counters();
    counters_.assign(inner.begin(), inner.end());
    counters_.insert(counters_.end(), rows.begin(), rows.end());
  }

  void WriteRegister(uint32_t offset, uint32_t bytes, uint64_t value) override {
    if (offset - placement_.unit < layout::kRegisterBytes) {
      if (offset == placement_.unit && bytes == 8) Configure(value);
      return;
    }
    if (Resets(offset, value) || (bytes == 8 && Resets(offset + 4, value >> 32))) Configure(0);
    nic_->WriteRegister(offset, bytes, value);
  }
  uint64_t ReadRegister(uint32_t offset, uint32_t bytes) override {
    if (offset - placement_.unit >= layout::kRegisterBytes) {
      return nic_->ReadRegister(offset, bytes);
    }
    if (offset != placement_.unit) return 0;
    return layout::kStatusPresent | (connections_ != nullptr ? layout::kStatusActive : 0) |
           (rejected_ ? layout::kStatusRejected : 0);
  }
  void SetTime(uint64_t now_ns) override {
    now_ns_ = now_ns;
    nic_->SetTime(now_ns);
    if (connections_ != nullptr && mastering_) connections_->Advance(now_ns);
  }
  void SetInterrupts(InterruptSink* sink) override { nic_->SetInterrupts(sink); }
  void SetPermanentAddress(std::span<const uint8_t, 6> address) override {
    nic_->SetPermanentAddress(address);
  }
  void SetCarrier(bool up) override { nic_->SetCarrier(up); }
  void SetMastering(bool on) override {
    mastering_ = on;
    nic_->SetMastering(on);
  }
  void MemoryTaken() override { nic_->MemoryTaken(); }

  uint32_t Receive(std::span<const WireFrame> frames, bool pause) override;
  uint32_t Transmit(FrameSink& sink, uint32_t budget) override;
  void HostDied(FrameSink& sink) override {
    Configure(0);
    outgoing_.Deliver(sink);
    nic_->HostDied(sink);
  }
  std::span<const Counter> Counters() override;

 private:
  /// Separates the host's records from its frames.
  class Filter final : public FrameSink {
   public:
    Filter(Connections& connections, FrameSink& wire) : connections_(connections), wire_(wire) {}
    void Deliver(std::span<const WireFrame> frames) override {
      size_t first = 0;
      for (size_t i = 0; i < frames.size(); ++i) {
        if (frames[i].length < 6 || !connections_.IsUnit(frames[i].data)) continue;
        if (i != first) wire_.Deliver(frames.subspan(first, i - first));
        connections_.TakeRecord(frames[i]);
        first = i + 1;
      }
      if (first != frames.size()) wire_.Deliver(frames.subspan(first));
    }

   private:
    Connections& connections_;
    FrameSink& wire_;
  };

  uint64_t& Count(Event event) { return tally_[static_cast<uint32_t>(event)]; }
  bool Resets(uint32_t offset, uint64_t value) const {
    return placement_.reset_value != 0 && offset == placement_.reset_offset &&
           static_cast<uint32_t>(value) == placement_.reset_value;
  }
  void Configure(uint64_t bus);
  /// Adds the counters of TCP to `tally`.
  void AddTcp(Tally& tally) const {
    const ::sluice::transport::StackCounters& tcp = connections_->tcp();
    tally[static_cast<uint32_t>(Event::kRxSegments)] += tcp.rx_segments;
    tally[static_cast<uint32_t>(Event::kRetransmitted)] += tcp.retransmitted;
    tally[static_cast<uint32_t>(Event::kOpened)] += tcp.opened;
    tally[static_cast<uint32_t>(Event::kRefused)] += tcp.refused;
  }

  const std::unique_ptr<Device> nic_;
  const bar::DmaSpace& memory_;
  const Placement placement_;
  uint64_t now_ns_ = 0;
  bool rejected_ = false;
  bool mastering_ = true;
  Tally tally_{};
  std::vector<Counter> counters_;  ///< Those of nic_, and the unit's.
  Outgoing outgoing_;
  std::unique_ptr<Connections> connections_;  ///< Null while the unit is not active.
};

void Unit::Configure(uint64_t bus) {
  if (connections_ != nullptr) {
    AddTcp(tally_);
    connections_.reset();
  }
  rejected_ = false;
  if (bus == 0) return;
  layout::Configuration configuration;
  const uint8_t* const from =
      mastering_ ? memory_.TranslateLocal(bus, sizeof(configuration)) : nullptr;
  if (from != nullptr) {
    std::memcpy(&configuration, from, sizeof(configuration));
    connections_ = Connections::Create(configuration, memory_, tally_, outgoing_);
  }
  rejected_ = connections_ == nullptr;
  if (!rejected_) connections_->Advance(now_ns_);
}

uint32_t Unit::Receive(std::span<const WireFrame> frames, bool pause) {
  if (connections_ == nullptr) return nic_->Receive(frames, pause);
  size_t first = 0;  // First frame that the NIC has not received yet.
  bool has_room = true;
  const auto pass_until = [&](size_t end) {
    if (first == end) return;
    const auto run = frames.subspan(first, end - first);
    first += nic_->Receive(run, pause);
    has_room = first == end;
  };
  for (size_t i = 0; i < frames.size() && has_room; ++i) {
    const WireFrame& frame = frames[i];
    const bool forged = frame.length >= 12 && connections_->IsUnit(frame.data + 6);
    if (!forged && !MayBeTcp(frame)) continue;
    pass_until(i);  // First, because the frame is offered again if the NIC has no room.
    if (!has_room) break;
    Count(Event::kRxForged) += forged;
    if (forged || connections_->Input(frame)) first = i + 1;
  }
  if (has_room) pass_until(frames.size());
  connections_->Report(*nic_);
  return static_cast<uint32_t>(first);
}

uint32_t Unit::Transmit(FrameSink& sink, uint32_t budget) {
  uint32_t count = outgoing_.Deliver(sink);
  if (connections_ == nullptr) return count + nic_->Transmit(sink, budget);
  Filter filter(*connections_, sink);
  count += nic_->Transmit(filter, budget);
  connections_->Report(*nic_);
  return count + outgoing_.Deliver(sink);
}

std::span<const Counter> Unit::Counters() {
  const auto inner = nic_->Counters();
  std::copy(inner.begin(), inner.end(), counters_.begin());
  Tally all = tally_;
  if (connections_ != nullptr) AddTcp(all);
  for (uint32_t i = 0; i < kEvents; ++i) counters_[inner.size() + i].value = all[i];
  return counters_;
}

}  // namespace

std::unique_ptr<Device> WithUnit(std::unique_ptr<Device> nic, const bar::DmaSpace& memory,
                                 Placement placement) {
  if (!Stack::Available()) return nic;
  return std::make_unique<Unit>(std::move(nic), memory, placement);
}

}  // namespace sluice::device::transport
