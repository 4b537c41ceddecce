// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that the device is handling: the data needed to answer them, and the arguments of
// waiting calls. A call either arrives in a frame or is made by a service (nested_call.h) while it
// handles another call, its parent.
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

/// State from which a suspended call continues.
struct Continuation {
  CallHead head;
  NestedStatus status = NestedStatus::kSuccess;
  ProcessId callee = 0;    ///< After kSuccess: the process that returned the stored XDR.
  uint32_t procedure = 0;  ///< Index in the callee's procedure table.
};

struct CallSlot {
  static constexpr CallId kNone = ~CallId{0};

  packet::Datagram datagram;  ///< Set if the call arrived in a frame.
  uint32_t procedure = 0;     ///< Index in the service's procedure table.
  uint32_t wire_bytes = 0;    ///< Size in bytes of the stored XDR (the arguments, or a child's
                              ///< results); 0 if none is stored.
  bool nested = false;        ///< The call was made by a service.
  /// The call continues after a suspension: its process next gets the continuation, not the
  /// arguments.
  bool continues = false;
  /// Nesting depth: number of the call's ancestors; 0 for a call from a frame.
  uint32_t depth = 0;
  /// Call that waits for the reply to this one. For a nested call, kNone means that the parent no
  /// longer waits for it.
  CallId parent = kNone;
  CallId child = kNone;  ///< Call whose reply this call waits for.
  Continuation continuation;
  /// Error that must still be sent if the call has ended.
  ::sluice::rpc::AcceptStat error = ::sluice::rpc::AcceptStat::kSystemErr;
  CallTrace trace;
  /// Room for the longest headers of a call: Ethernet with two tags, IPv6, UDP.
  std::array<uint8_t, 72> headers{};
};

/// The slots of all calls. The number of slots is fixed.
class CallSlots {
 public:
  /// Maximum size of arguments on the wire: those of a datagram with the shortest header.
  static constexpr uint32_t kArgumentBytes = 65536;

  explicit CallSlots(uint32_t slots)
      : slots_(slots), xids_(slots), arguments_(new uint8_t[size_t{slots} * kArgumentBytes]) {
    for (uint32_t i = slots; i != 0; --i) free_.push_back(i - 1);
  }

  bool empty() const { return free_.empty(); }  ///< Returns whether no slot is free.
  /// Requires !empty().
  CallId Allocate() {
    const CallId id = free_.back();
    free_.pop_back();
    return id;
  }
  void Release(CallId id) { free_.push_back(id); }

  CallSlot& operator[](CallId id) { return slots_[id]; }
  const CallSlot& operator[](CallId id) const { return slots_[id]; }
  /// Returns the XID of a call that arrived in a frame. XIDs are stored outside the slots, because
  /// the search for duplicates reads the XIDs of all waiting calls.
  uint32_t& xid(CallId id) { return xids_[id]; }
  uint32_t xid(CallId id) const { return xids_[id]; }
  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  /// Stores the arguments of a call, at most kArgumentBytes.
  void Keep(CallId id, std::span<const uint8_t> arguments) {
    std::memcpy(Arguments(id), arguments.data(), arguments.size());
    slots_[id].wire_bytes = static_cast<uint32_t>(arguments.size());
  }
  /// Returns the call's memory for XDR. The caller writes the XDR and sets wire_bytes.
  std::span<uint8_t> Room(CallId id) { return {Arguments(id), kArgumentBytes}; }
  std::span<const uint8_t> Kept(CallId id) const {
    return {arguments_.get() + size_t{id} * kArgumentBytes, slots_[id].wire_bytes};
  }

 private:
  uint8_t* Arguments(CallId id) { return arguments_.get() + size_t{id} * kArgumentBytes; }

  std::vector<CallSlot> slots_;
  std::vector<uint32_t> xids_;
  /// Not initialized, so that unused memory is never touched.
  std::unique_ptr<uint8_t[]> arguments_;
  std::vector<CallId> free_;
};

}  // namespace sluice::device::rpc
