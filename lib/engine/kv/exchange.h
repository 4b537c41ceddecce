// SPDX-License-Identifier: BSD-3-Clause
//
// The state of a datagram that is being answered, as protocols see it. Requests are served in
// order. At a request that only another worker may serve, this worker stops: the datagram and the
// partial answer go to that worker, which continues there. The unread bytes of a byte stream are
// served as a datagram, too; its last request may then be incomplete.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "engine/kv/access.h"
#include "engine/kv/counters.h"

namespace sluice::engine::kv {

/// The answer to one datagram, appended to server memory. Bytes that do not fit are not appended
/// and set overflowed().
class Reply {
 public:
  explicit Reply(std::span<uint8_t> room, size_t used = 0) : room_(room), used_(used) {}
  /// Creates a reply in `first`, which MoveToRoom moves to `room`. `room` is at least as long. In
  /// MICA's protocol, `first` is the memory of the datagram, where answers overwrite requests that
  /// are already served. The protocol must call MoveToRoom before an answer that does not fit into
  /// `first` or extends beyond its request.
  static Reply Movable(std::span<uint8_t> first, std::span<uint8_t> room) {
    Reply reply(first);
    reply.later_ = room;
    return reply;
  }
  /// Returns whether the reply has not been moved yet.
  bool movable() const { return later_.data() != nullptr; }
  /// Returns the size to which the reply can grow, with MoveToRoom if necessary.
  size_t capacity() const { return movable() ? later_.size() : room_.size(); }
  void MoveToRoom() {
    std::memcpy(later_.data(), room_.data(), used_);
    room_ = std::exchange(later_, {});
  }

  /// Appends `bytes` for the caller to fill. Returns null if they do not fit.
  uint8_t* Extend(size_t bytes) {
    if (bytes > room_.size() - used_) {
      overflowed_ = true;
      return nullptr;
    }
    uint8_t* const place = room_.data() + used_;
    used_ += bytes;
    return place;
  }
  bool Add(Bytes bytes) {
    uint8_t* const place = Extend(bytes.size());
    if (place == nullptr) return false;
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    return true;
  }
  bool Add(std::string_view text) {
    return Add(Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  }
  /// Truncates the reply to an earlier length.
  void Cut(size_t used) {
    used_ = used;
    overflowed_ = false;
  }
  uint8_t* begin() const { return room_.data(); }
  size_t size() const { return used_; }
  size_t room() const { return room_.size() - used_; }
  bool overflowed() const { return overflowed_; }
  Bytes bytes() const { return room_.first(used_); }

 private:
  std::span<uint8_t> room_;
  std::span<uint8_t> later_;
  size_t used_;
  bool overflowed_ = false;
};

enum class Progress : uint8_t {
  kDone,     ///< All requests are served: send the reply unless it is empty.
  kEnd,      ///< Like kDone, but the last request ends the session: close the stream.
  kForeign,  ///< Exchange::owner must serve the request at Exchange::position.
  kRefused,  ///< The datagram is not of this protocol: drop it as malformed.
  kMore,     ///< A stream: the request at Exchange::position is incomplete.
  kRoom,     ///< A stream: send the reply, and continue at Exchange::position with an empty one.
};

/// Information about the server that is reported to clients.
struct ServerFacts {
  std::string_view version;  ///< Refers to static storage.
  uint32_t pid = 0;
  uint32_t started_unix_s = 0;  ///< Seconds since 1970.
  uint16_t udp_port = 0;        ///< Port of memcached's protocols; 0: not served over UDP.
  uint16_t tcp_port = 0;        ///< The same for TCP.
};

/// The progress of serving a datagram. A protocol is a function Progress(Exchange&, Access&,
/// Reply&, ProtocolCounters&) that starts or continues at `position`.
struct Exchange {
  /// UDP payload, or unread bytes of a stream. The part from `position` on does not change until
  /// the exchange ends.
  Bytes datagram;
  /// Offset of the next request; 0: not started. Exceeds the size of `datagram` if the last request
  /// of a stream is followed by data that must be skipped. The answer to that request, which is the
  /// part of the reply from `reply_before` on, should not be sent earlier.
  size_t position = 0;
  /// Progress within that request, in units that the protocol defines; 0: not started.
  uint32_t within = 0;
  /// 0: a datagram. Else a stream; after kMore, the length of the incomplete request as far as it
  /// is known.
  uint32_t wanted = 0;
  /// Length of the reply before the request at `position`, if `within` is not 0.
  size_t reply_before = 0;
  uint32_t now_s = 0;   ///< Time of the items' clock. At least 1, because 0 means "never".
  uint32_t unix_s = 0;  ///< Seconds since 1970 at now_s: for memcached's absolute times.
  uint32_t owner = 0;   ///< kForeign: the worker that may serve the request.
  /// Amplification limit: maximum length of the reply. memcached's protocols do not serve a request
  /// if its shortest answer would not fit. A limit of 1024 or more always suffices for the first
  /// request.
  uint32_t max_reply_bytes = 0;
  const ServerFacts* server = nullptr;  ///< Null: do not report any facts.

  /// Returns the number of bytes by which `reply` may still grow.
  size_t RoomOf(const Reply& reply) const {
    const size_t allowed = max_reply_bytes - std::min<size_t>(reply.size(), max_reply_bytes);
    return std::min(allowed, reply.room());
  }
  bool is_stream() const { return wanted != 0; }
  /// Moves the reply of a stream to larger memory. The request that ends at `next` is then the last
  /// one that is served. Returns whether the reply may then grow by `bytes`.
  bool FitsElsewhere(size_t bytes, Reply& reply, size_t next) {
    if (!is_stream() || !reply.movable()) return false;
    reply.MoveToRoom();
    datagram = datagram.first(next);
    return bytes <= RoomOf(reply);
  }
};

}  // namespace sluice::engine::kv
