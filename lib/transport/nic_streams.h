// SPDX-License-Identifier: BSD-3-Clause
//
// The host's end of a NIC's transport unit (regs/transport.h), for one worker. It has the functions
// of Stack, and calls the same Events, but TCP runs in the NIC: the worker receives records about
// rings that the NIC fills, and writes bytes to send into rings that the NIC reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "regs/transport.h"
#include "transport/stack.h"

namespace sluice::transport {

/// The rings of all connections, in memory that the host shares with the unit.
struct Rings {
  uint8_t* memory;       ///< 2 · connections · ring_bytes bytes.
  uint32_t connections;  ///< As in regs::transport::Configuration.
  uint32_t ring_bytes;
  /// The unit's MAC address, first octet in the lowest byte. A new address means that the unit has
  /// lost all connections, because the device lost its power.
  const std::atomic<uint64_t>* unit_mac;
};

class NicStreams {
 public:
  /// `events` must outlive the object; Output sends records instead of segments. Workers share
  /// `rings`: the NIC steers all records of a connection to one worker.
  NicStreams(const Rings& rings, Events& events)
      : rings_(rings), unit_mac_(UnitMac()), events_(events), connections_(rings.connections) {}
  NicStreams(const NicStreams&) = delete;
  NicStreams& operator=(const NicStreams&) = delete;

  /// Processes a record from the unit. Returns false if the frame is not a record.
  bool Input(const uint8_t* frame, uint32_t bytes);
  /// Ends all connections with End::kReset if the unit has lost them. Called from time to time.
  void Watch() {
    if (const uint64_t mac = UnitMac(); mac != unit_mac_) [[unlikely]]
      EndAll(mac);
  }
  /// Sends the last record of each connection again, because some records were lost.
  void Repeat();
  /// Sends the records for which the interface had no room before. Cheap if there are none.
  void Retry();

  /// Returns the number of bytes that Write accepts now.
  uint32_t Room(ConnectionId id) const {
    const Connection& c = connections_[id];
    return c.open && !c.finished ? rings_.ring_bytes - (c.written - c.taken) : 0;
  }
  /// Returns the memory for the next bytes to send. It has Room(id) bytes, of which the first ones
  /// are contiguous.
  std::span<uint8_t> Space(ConnectionId id) const;
  /// Appends bytes to the outgoing direction. `data` may be that of Space, which is not copied.
  void Write(ConnectionId id, const uint8_t* data, uint32_t bytes);
  /// Tells the unit about written bytes.
  void Flush(ConnectionId id) {
    if (connections_[id].written != connections_[id].told_written) Tell(id);
  }
  /// Returns the received bytes that were not passed to Consume, up to the end of the ring. `more`
  /// is set if others follow at the start of the ring.
  std::span<const uint8_t> Unread(ConnectionId id, bool* more) const;
  /// Returns the number of received bytes that were not passed to Consume.
  uint32_t UnreadBytes(ConnectionId id) const {
    return connections_[id].received - connections_[id].consumed;
  }
  uint32_t ring_bytes() const { return rings_.ring_bytes; }
  /// Returns `bytes` bytes of the ring to the unit.
  void Consume(ConnectionId id, uint32_t bytes);
  void Finish(ConnectionId id);
  void Abort(ConnectionId id);

  uint32_t connections() const { return open_; }
  const StackCounters& counters() const { return counters_; }

 private:
  struct Connection {
    bool open = false;
    bool half_closed = false;
    bool finished = false;  ///< Finish was called.
    bool wants_room = false;
    bool untold = false;  ///< In untold_.
    uint8_t flags = 0;    ///< Flags of the next record: kFinish, kAbort, kRelease.
    uint16_t life = 0;
    uint32_t received = 0, consumed = 0, told_consumed = 0;
    uint32_t written = 0, taken = 0, told_written = 0;
  };

  uint64_t UnitMac() const { return rings_.unit_mac->load(std::memory_order_acquire); }
  void EndAll(uint64_t new_mac);
  uint8_t* Ring(ConnectionId id, bool to_send) const {
    return rings_.memory + regs::transport::RingsOf(id, rings_.ring_bytes) +
           (to_send ? rings_.ring_bytes : 0);
  }
  void Open(ConnectionId id, const regs::transport::Record& record, const uint8_t* frame);
  void Update(ConnectionId id, const regs::transport::Record& record);
  void Close(ConnectionId id, End end);
  void Tell(ConnectionId id);
  bool SendRecord(ConnectionId id);

  const Rings rings_;
  uint64_t unit_mac_;  ///< The unit that knows the connections.
  Events& events_;
  std::vector<Connection> connections_;
  std::vector<ConnectionId> untold_;  ///< Connections whose record could not be sent.
  uint32_t open_ = 0;
  StackCounters counters_;
};

}  // namespace sluice::transport
