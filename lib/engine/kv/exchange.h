// SPDX-License-Identifier: BSD-3-Clause
//
// A datagram being answered, as protocols see it. Requests are served in their order. One that
// only another worker may serve ends the work here: the datagram goes to that worker, with the
// answer so far, and continues there.
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

/// The answer of one datagram: bytes behind one another, in memory that the server lends. What
/// does not fit marks it as too long, and nothing more is added.
class Reply {
 public:
  explicit Reply(std::span<uint8_t> room, size_t used = 0) : room_(room), used_(used) {}
  /// Begins in the memory of the datagram itself, over requests that are served. A protocol that
  /// writes there sees to it that no answer reaches beyond its request, and moves it first if one
  /// would. `room` is at least as long as the datagram.
  static Reply OverRequests(std::span<uint8_t> datagram, std::span<uint8_t> room) {
    Reply reply(datagram);
    reply.later_ = room;
    return reply;
  }
  bool over_requests() const { return later_.data() != nullptr; }
  /// Of all that it may come to, moved at need.
  size_t capacity() const { return over_requests() ? later_.size() : room_.size(); }
  void MoveToRoom() {
    std::memcpy(later_.data(), room_.data(), used_);
    room_ = std::exchange(later_, {});
  }

  /// `bytes` more, to be filled in; null: no room.
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
  /// Back to an earlier length.
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
  kDone,     ///< All requests are served: send the reply, if it is not empty.
  kForeign,  ///< The request at Exchange::position is another worker's: Exchange::owner.
  kRefused,  ///< The datagram is none of this protocol: drop it, as malformed.
};

/// What a server says of itself when a client asks.
struct ServerFacts {
  std::string_view version;  ///< Static storage.
  uint32_t pid = 0;
  uint32_t started_unix_s = 0;  ///< Seconds since 1970.
  uint16_t udp_port = 0;        ///< Of memcached's protocols.
};

/// Where a datagram stands. Protocols are functions Progress(Exchange&, Access&, Reply&,
/// ProtocolCounters&) that begin, or go on, at `position`.
struct Exchange {
  /// UDP payload. From `position` on it stays as it is until the exchange ends.
  Bytes datagram;
  size_t position = 0;  ///< Of the next request; 0: nothing was done yet.
  /// How far that request has come, in units of the protocol's own; 0: it was not begun.
  uint32_t within = 0;
  size_t reply_before = 0;  ///< The reply's length when it was begun, if `within` is not 0.
  uint32_t now_s = 0;       ///< Of the items' expiry. At least 1: 0 stands for never.
  uint32_t unix_s = 0;      ///< Seconds since 1970 at now_s: memcached's absolute times.
  uint32_t owner = 0;       ///< kForeign: the worker that may serve it.
  /// Amplification bound: the reply may not be longer. memcached's protocols serve no request
  /// for whose shortest answer there is no room left; from 1024 on, there is for the first.
  uint32_t max_reply_bytes = 0;
  const ServerFacts* server = nullptr;  ///< Null: it says nothing.

  /// By how much `reply` may still grow.
  size_t RoomOf(const Reply& reply) const {
    const size_t allowed = max_reply_bytes - std::min<size_t>(reply.size(), max_reply_bytes);
    return std::min(allowed, reply.room());
  }
};

}  // namespace sluice::engine::kv
