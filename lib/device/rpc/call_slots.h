// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that the device holds: what is needed to answer them, and the arguments of those that wait.
// A call comes in a frame, or a service makes it (nested_call.h) while it has another one, its
// parent, to answer.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "device/rpc/call_queue.h"
#include "device/rpc/host_port.h"
#include "device/rpc/nested_call.h"
#include "packet/datagram.h"
#include "rpc/message.h"

namespace sluice::device::rpc {

/// How a suspended call goes on.
struct Continuation {
  CallHead head;
  NestedStatus status = NestedStatus::kSuccess;
  ProcessId callee = 0;    ///< After kSuccess: whose procedure returned what is kept in XDR.
  uint32_t procedure = 0;  ///< In its table.
};

struct CallSlot {
  static constexpr CallId kNone = ~CallId{0};

  packet::Datagram datagram;  ///< Of a call that came in a frame.
  uint32_t procedure = 0;     ///< In its service's table.
  uint32_t wire_bytes = 0;  ///< Of what is kept in XDR; 0: arguments that went to the host at once.
  bool nested = false;      ///< A service made it.
  bool continues = false;   ///< What its process gets next is the continuation, not the arguments.
  uint32_t depth = 0;       ///< Calls between it and the one that came in a frame.
  CallId parent = kNone;    ///< Who waits for its reply; kNone of a nested call: nobody any more.
  CallId child = kNone;     ///< Whose reply it waits for.
  Continuation continuation;
  /// Of a call that has ended: the error that is still to be sent.
  ::sluice::rpc::AcceptStat error = ::sluice::rpc::AcceptStat::kSystemErr;
  CallTrace trace;
  /// Ethernet with two tags, IPv6, UDP: the longest headers that a call may have.
  std::array<uint8_t, 72> headers{};
};

/// A fixed number of slots.
class CallSlots {
 public:
  /// No arguments on the wire are longer: a datagram's message with the shortest header.
  static constexpr uint32_t kArgumentBytes = 65536;

  explicit CallSlots(uint32_t slots)
      : slots_(slots), xids_(slots), arguments_(new uint8_t[size_t{slots} * kArgumentBytes]) {
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
  const CallSlot& operator[](CallId id) const { return slots_[id]; }
  /// The transaction of a call that came in a frame, apart from its slot, because those of all
  /// calls that wait are looked through.
  uint32_t& xid(CallId id) { return xids_[id]; }
  uint32_t xid(CallId id) const { return xids_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  /// At most kArgumentBytes.
  void Keep(CallId id, std::span<const uint8_t> arguments) {
    std::memcpy(Arguments(id), arguments.data(), arguments.size());
    slots_[id].wire_bytes = static_cast<uint32_t>(arguments.size());
  }
  /// Where to write what is kept instead; the caller sets wire_bytes.
  std::span<uint8_t> Room(CallId id) { return {Arguments(id), kArgumentBytes}; }
  std::span<const uint8_t> Kept(CallId id) const {
    return {arguments_.get() + size_t{id} * kArgumentBytes, slots_[id].wire_bytes};
  }

 private:
  uint8_t* Arguments(CallId id) { return arguments_.get() + size_t{id} * kArgumentBytes; }

  std::vector<CallSlot> slots_;
  std::vector<uint32_t> xids_;
  std::unique_ptr<uint8_t[]> arguments_;  ///< Not touched before it is used.
  std::vector<CallId> free_;
};

}  // namespace sluice::device::rpc
