// SPDX-License-Identifier: BSD-3-Clause
//
// The contract between an engine that serves byte streams and the code that runs it. Instead of
// frames, such an engine sees the bytes of a connection, in order and contiguous. Like a frame
// engine (engine.h), it is a pure function: unread bytes and time → number of bytes consumed, and
// bytes to send. engine/transport/tcp_host.h runs it over the frames of any interface.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "packet/rewrite.h"

namespace sluice::packet {

/// The first bytes of an address ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2).
inline constexpr std::array<uint8_t, 12> kIpv4Mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/// Returns whether `address` is ::ffff:a.b.c.d. The last four bytes are then the IPv4 address.
inline bool IsIpv4Mapped(const Ipv6Address& address) {
  return std::equal(kIpv4Mapped.begin(), kIpv4Mapped.end(), address.begin());
}
/// Returns ::ffff:a.b.c.d.
constexpr Ipv6Address ToIpv4Mapped(const Ipv4Address& address) {
  Ipv6Address mapped{};
  std::copy(kIpv4Mapped.begin(), kIpv4Mapped.end(), mapped.begin());
  std::copy(address.begin(), address.end(), mapped.begin() + kIpv4Mapped.size());
  return mapped;
}

/// The remote end of a connection. An IPv4 address is stored in the form described at IsIpv4Mapped.
struct StreamPeer {
  Ipv6Address address{};
  uint16_t port = 0;        ///< Host order.
  uint16_t local_port = 0;  ///< Host order.
};

/// How a connection continues after a turn.
enum class AfterTurn : uint8_t {
  kContinue,
  kFinish,  ///< Nothing more will be sent. Unread bytes and bytes that arrive later are discarded.
  kAbort,   ///< The connection is reset at once, and unacknowledged bytes are lost.
};

/// One turn of an engine on one connection.
struct StreamTurn {
  const uint8_t* data;  ///< The unread bytes; valid during the turn.
  uint32_t bytes;       ///< May be 0 if `ended` is set.
  bool ended;           ///< The peer will send no more bytes.
  uint8_t* room;        ///< Memory for bytes to send.
  uint32_t room_bytes;  ///< Size of `room`.

  // Results.
  uint32_t consumed = 0;  ///< Number of bytes that the engine has processed, at most `bytes`.
  uint32_t written = 0;   ///< Number of bytes to send, at most `room_bytes`.
  AfterTurn after = AfterTurn::kContinue;
};

/// Base class of all byte-stream engines. An engine is a final class with
///   struct Connection        the engine's state of one connection; a default-constructed object is
///                            the state of a new connection;
///   void Process(Connection&, StreamTurn&, uint64_t now)   handles one turn. It is called again
///                            at once if it consumed or wrote bytes and unread bytes are left. A
///                            call without progress means that the engine needs more bytes or more
///                            room; it is called again when either has grown.
/// `now` is in TSC cycles. One worker calls all functions.
class StreamEngine {
 public:
  // Constants, which an engine overrides by a constant of the same name.

  /// The engine always makes progress if this many unread bytes and kMaxAnswerBytes of room are
  /// available. If a turn then makes no progress, the connection is aborted.
  static constexpr uint32_t kMaxRequestBytes = 1;
  /// Room in bytes with which the engine can always make progress.
  static constexpr uint32_t kMaxAnswerBytes = 1;

  // Hooks. Those that have a Connection parameter are not virtual, because its type differs between
  // engines.

  /// Returns whether to accept the connection.
  template <typename Connection>
  bool Accept(Connection& /*connection*/, const StreamPeer& /*peer*/, uint64_t /*now*/) {
    return true;
  }
  /// Called when the connection has ended. `complete` means that turns have processed all bytes
  /// that the peer sent.
  template <typename Connection>
  void Closed(Connection& /*connection*/, bool /*complete*/, uint64_t /*now*/) {}
  /// Called often, between frames.
  virtual void AtRest(uint64_t /*now*/) {}
  /// Called when the worker ends, after all open connections have been closed.
  virtual void Leave(uint64_t /*now*/) {}

 protected:
  ~StreamEngine() = default;
};

template <typename E>
concept ByteStreamEngine = std::derived_from<E, StreamEngine> && std::is_final_v<E> &&
    std::default_initializable<typename E::Connection> &&
    requires(E engine, typename E::Connection& connection, StreamTurn& turn, uint64_t now) {
  { engine.Process(connection, turn, now) } -> std::same_as<void>;
};

}  // namespace sluice::packet
