// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that the device holds: what is needed to answer them, and the arguments of those that wait.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "device/rpc/call_queue.h"
#include "device/rpc/host_port.h"
#include "packet/datagram.h"

namespace sluice::device::rpc {

struct CallSlot {
  packet::Datagram datagram;
  uint32_t procedure = 0;  ///< In its service's table.
  uint32_t wire_bytes = 0;  ///< Of the arguments kept in XDR; 0: they went to the host at once.
  CallTrace trace;
  /// Ethernet with two tags, IPv6, UDP: the longest headers that a call may have.
  std::array<uint8_t, 72> headers{};
};

/// A fixed number of slots.
class CallSlots {
 public:
  /// Longest arguments on the wire: those of the longest frame.
  static constexpr uint32_t kArgumentBytes = 9728;

  explicit CallSlots(uint32_t slots)
      : slots_(slots), arguments_(new uint8_t[size_t{slots} * kArgumentBytes]) {
    for (uint32_t i = slots; i != 0; --i) free_.push_back(i - 1);
  }

  bool empty() const { return free_.empty(); }  ///< There is no free slot.
  /// Only while not empty().
  CallId Take() {
    const CallId id = free_.back();
    free_.pop_back();
    return id;
  }
  void Release(CallId id) { free_.push_back(id); }

  CallSlot& operator[](CallId id) { return slots_[id]; }
  /// At most kArgumentBytes.
  void Keep(CallId id, std::span<const uint8_t> arguments) {
    std::memcpy(Arguments(id), arguments.data(), arguments.size());
    slots_[id].wire_bytes = static_cast<uint32_t>(arguments.size());
  }
  std::span<const uint8_t> Kept(CallId id) const {
    return {arguments_.get() + size_t{id} * kArgumentBytes, slots_[id].wire_bytes};
  }

 private:
  uint8_t* Arguments(CallId id) { return arguments_.get() + size_t{id} * kArgumentBytes; }

  std::vector<CallSlot> slots_;
  std::unique_ptr<uint8_t[]> arguments_;  ///< Not touched before it is used.
  std::vector<CallId> free_;
};

}  // namespace sluice::device::rpc
