// SPDX-License-Identifier: BSD-3-Clause
//
// TCP for one thread: one instance of lwIP, which terminates connections to the addresses of a
// port. It receives and sends Ethernet frames, has no thread or clock of its own, and reports
// events to its user through callbacks. The device's transport unit and hosts without such a unit
// use the same class.
//
// lwIP keeps its state in global variables. Each Stack therefore loads a private copy of the
// library that contains lwIP (lwip/), so any number of stacks can run in one process, each in one
// thread, without locks. lwIP searches a list for a connection, so Stack distributes connections
// over many short lists by the hash of their addresses and ports (RFC 9293 section 3.1).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "packet/byte_stream.h"
#include "packet/own_addresses.h"
#include "packet/rewrite.h"

namespace sluice::transport {

/// Limits of one stack. They bound the memory that a peer can occupy.
struct StackOptions {
  packet::OwnAddresses own;          ///< IPv4 and IPv6 addresses, and the source MAC address.
  uint32_t max_connections = 16384;  ///< 1 … kMaxConnections. Further SYNs are refused.
  /// Maximum number of connections per peer address. Further SYNs are refused.
  uint32_t max_connections_per_peer = 16384;
  uint64_t seed = 0;  ///< Seeds initial sequence numbers (RFC 6528); should be random.
  /// Maximum number of unread bytes of a connection, kMinWindowBytes … Stack::kWindowBytes.
  uint32_t window_bytes = 256 * 1024;
};
inline constexpr uint32_t kMinWindowBytes = 4096;

/// Number of a connection in its stack, less than StackOptions::max_connections. Numbers are reused
/// after Events::Closed.
using ConnectionId = uint32_t;

/// The remote end of a connection.
using Peer = packet::StreamPeer;

/// Why a connection ended.
enum class End : uint8_t {
  kFinished,  ///< Both directions were closed in order.
  kReset,     ///< The peer sent RST.
  kTimedOut,  ///< The peer did not acknowledge data or probes in time.
  kAborted,   ///< This end called Abort, or ran out of memory.
};

/// Calls from a stack to its user. Each call is made inside Input, Advance or another call of the
/// stack. During a call, the user may call all functions of the stack except Input and Advance;
/// during Output, it may call none.
class Events {
 public:
  virtual ~Events() = default;

  /// Sends an Ethernet frame of `bytes` bytes, which is valid during the call. Returns false if the
  /// frame cannot be sent now; TCP then retransmits it later.
  virtual bool Output(const uint8_t* frame, uint32_t bytes) = 0;
  /// Called when a peer has opened a connection. Returns false to refuse it with a reset; Closed is
  /// then not called.
  virtual bool Opened(ConnectionId id, const Peer& peer) = 0;
  /// Passes the next `bytes` bytes of a connection, which are valid during the call. They count as
  /// received but unread until Consume.
  virtual void Received(ConnectionId id, const uint8_t* data, uint32_t bytes) = 0;
  /// Called when the peer will send no more bytes. This end may still send.
  virtual void HalfClosed(ConnectionId id) = 0;
  /// Called when room has become available after a Write that left little room.
  virtual void RoomFreed(ConnectionId id) = 0;
  /// Called when the connection has ended. No further call uses this id until it is opened again.
  virtual void Closed(ConnectionId id, End end) = 0;
};

/// Counters of a stack, which never decrease.
struct StackCounters {
  uint64_t opened = 0;  ///< Connections that were established.
  /// SYNs that were refused because of a limit or by the user, or that a later SYN replaced before
  /// the handshake was complete.
  uint64_t refused = 0;
  uint64_t finished = 0;       ///< Connections with End::kFinished.
  uint64_t reset = 0;          ///< Connections with End::kReset.
  uint64_t timed_out = 0;      ///< Connections with End::kTimedOut.
  uint64_t aborted = 0;        ///< Connections with End::kAborted.
  uint64_t rx_segments = 0;    ///< TCP segments received.
  uint64_t tx_segments = 0;    ///< TCP segments sent.
  uint64_t retransmitted = 0;  ///< Segments sent again.
  uint64_t bad_segments = 0;   ///< Segments with a wrong checksum or length.
  uint64_t output_failed = 0;  ///< Frames that Events::Output did not accept.
  uint64_t no_memory = 0;      ///< Number of times that an lwIP pool was empty.

  /// Counts a connection that has ended.
  void CountEnd(End end) {
    uint64_t* const by_end[] = {&finished, &reset, &timed_out, &aborted};
    ++*by_end[static_cast<uint8_t>(end)];
  }
};

class Stack {
 public:
  static constexpr uint32_t kMaxConnections = 16384;
  /// Largest receive window: the maximum number of unread bytes of a connection.
  static constexpr uint32_t kWindowBytes = 256 * 1024;
  /// Maximum number of bytes per connection that are written but not acknowledged.
  static constexpr uint32_t kSendBytes = 256 * 1024;

  /// Returns whether this build contains lwIP.
  static bool Available();
  /// Creates a stack, which calls `events`. `events` must outlive the stack. On failure returns
  /// null and sets `error` to one line. Slow, because it loads a library.
  static std::unique_ptr<Stack> Create(const StackOptions& options, Events& events,
                                       std::string* error);
  /// Ends all connections with resets. Calls no function of `events` except Output.
  ~Stack();
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  /// Accepts connections to `port` (in host order, not 0) on all own addresses. Returns false if
  /// there is no memory or the port is in use.
  bool Listen(uint16_t port);
  /// Opens a connection to `peer`, whose frames are sent to `mac`. If peer.local_port is 0, a port
  /// is chosen. Opened is called when the connection is established, and Closed if it fails. Sets
  /// `id` unless it is null. Returns false if there is no memory or own address, or if the
  /// connection already exists.
  bool Connect(const Peer& peer, const packet::MacAddress& mac, ConnectionId* id = nullptr);

  /// Processes one Ethernet frame, which is only read, and only during the call. Returns false and
  /// does not process the frame if it is not a TCP segment for an own address and port.
  bool Input(const uint8_t* frame, uint32_t bytes);
  /// Sets the time and runs the timers that have expired. Time never goes backwards. Must be called
  /// at least every kTickNs while there are connections. Calls within a tick are cheap.
  void Advance(uint64_t now_ns);
  static constexpr uint64_t kTickNs = 50'000'000;

  /// Returns the number of bytes that Write accepts now, 0 … kSendBytes.
  uint32_t Room(ConnectionId id) const;
  /// Appends a copy of `bytes` bytes to the outgoing direction. `bytes` must not exceed Room(id).
  /// The bytes are sent by the next Flush. If Room(id) is then less than half of kSendBytes,
  /// RoomFreed will be called.
  void Write(ConnectionId id, const uint8_t* data, uint32_t bytes);
  /// Sends the written bytes of the connection, as far as the peer's window and congestion control
  /// permit.
  void Flush(ConnectionId id);
  /// Reports that the user has processed `bytes` more received bytes, which opens the window.
  void Consume(ConnectionId id, uint32_t bytes);
  /// Closes the outgoing direction after all written bytes. Closed is called when both directions
  /// are closed. Further bytes from the peer are still passed to Received.
  void Finish(ConnectionId id);
  /// Resets the connection. Closed is called with End::kAborted before this returns.
  void Abort(ConnectionId id);

  uint32_t connections() const;  ///< Returns the number of open connections.
  const StackCounters& counters() const;

 private:
  class Impl;
  explicit Stack(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::transport
