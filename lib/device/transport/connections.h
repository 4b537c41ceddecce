// SPDX-License-Identifier: BSD-3-Clause
//
// The connections of a transport unit under one configuration: moves bytes between TCP and the
// rings in host memory, and exchanges records with the host.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "bar/dma.h"
#include "device/device.h"
#include "device/transport/counters.h"
#include "regs/transport.h"
#include "transport/record_frame.h"
#include "transport/stack.h"

namespace sluice::device::transport {

/// Counts of the unit's own events; those of TCP are added when they are read.
using Tally = std::array<uint64_t, kEvents>;

/// Frames that wait for the wire.
class Outgoing {
 public:
  /// Copies a frame. Returns false if too many frames wait.
  bool Append(const uint8_t* frame, uint32_t bytes);
  /// Delivers all frames. Returns their number.
  uint32_t Deliver(FrameSink& sink);

 private:
  static constexpr size_t kMaxFrames = 8192;
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> lengths_;
  std::vector<WireFrame> frames_;
};

class Connections final : public ::sluice::transport::Events {
 public:
  /// Starts TCP. Returns null if the configuration is invalid or memory is short. The references
  /// must outlive the object, whose destructor resets all connections.
  static std::unique_ptr<Connections> Create(const regs::transport::Configuration& configuration,
                                             const bar::DmaSpace& memory, Tally& tally,
                                             Outgoing& outgoing);

  /// Processes a frame from the wire. Returns false if it is not a segment for the unit.
  bool Input(const WireFrame& frame) { return stack_->Input(frame.data, frame.length); }
  void Advance(uint64_t now_ns) { stack_->Advance(now_ns); }
  /// Returns whether the six bytes at `mac` are the unit's MAC address.
  bool IsUnit(const uint8_t* mac) const {
    return std::memcmp(mac, configuration_.unit_mac.data(), configuration_.unit_mac.size()) == 0;
  }
  /// Processes a frame that the host sent to the unit.
  void TakeRecord(const WireFrame& frame);
  /// Passes records about all changes to `nic`, as far as it has room.
  void Report(Device& nic);
  const ::sluice::transport::StackCounters& tcp() const { return stack_->counters(); }

  // transport::Events
  bool Output(const uint8_t* frame, uint32_t bytes) override;
  bool Opened(uint32_t id, const ::sluice::transport::Peer& peer) override;
  void Received(uint32_t id, const uint8_t* data, uint32_t bytes) override;
  void HalfClosed(uint32_t id) override;
  void RoomFreed(uint32_t id) override;
  void Closed(uint32_t id, ::sluice::transport::End end) override;

 private:
  using Record = regs::transport::Record;
  using Frame = ::sluice::transport::RecordFrame;
  enum class State : uint8_t { kFree, kOpen, kClosed };

  /// A connection as the host knows it. It outlives that of TCP until the host releases it.
  struct Slot {
    State state = State::kFree;
    uint8_t flags = 0;  ///< kHalfClosed, kClosed; kOpened until that record is written.
    uint8_t end = 0;
    bool changed = false;  ///< In changed_.
    bool finish = false;   ///< The host sends no byte after `written`.
    uint16_t life = 0;
    uint32_t id = 0;  ///< Number of the connection in stack_, if open.
    uint32_t received = 0,
             processed = 0;           ///< Bytes written by the unit, and processed by the host.
    uint32_t written = 0, taken = 0;  ///< Bytes written by the host, and read by the unit.
    uint32_t reported = 0;            ///< `taken` in the last record.
    ::sluice::transport::Peer peer;
  };

  Connections(const regs::transport::Configuration& configuration, const bar::DmaSpace& memory,
              Tally& tally, Outgoing& outgoing);
  uint64_t& Count(Event event) { return tally_[static_cast<uint32_t>(event)]; }
  void Changed(uint32_t number);
  /// Returns the byte at `position` of a ring, and in `bytes` the number of contiguous bytes there,
  /// at most `bytes`. Returns null on a fault.
  uint8_t* At(uint32_t number, bool to_send, uint32_t position, uint32_t* bytes);
  void Pump(uint32_t number);
  void Reject(uint32_t number);
  void Write(uint32_t number, bool opened, Frame& frame) const;

  const regs::transport::Configuration configuration_;
  const bar::DmaSpace& memory_;
  Tally& tally_;
  Outgoing& outgoing_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;     ///< Slots.
  std::vector<uint32_t> slot_of_;  ///< By number in stack_.
  std::deque<uint32_t> changed_;   ///< Slots whose state the host does not know yet.
  std::unique_ptr<::sluice::transport::Stack> stack_;  ///< Last: its destructor sends frames.
};

}  // namespace sluice::device::transport
