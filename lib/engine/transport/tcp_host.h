// SPDX-License-Identifier: BSD-3-Clause
//
// Runs an engine for byte streams on an interface that carries frames. TCP runs on the host, in the
// worker (transport/stack.h), or in the NIC (transport/nic_streams.h). TcpHost is an engine for
// frames, so it works on every interface. All frames of a connection must reach the same worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/transport/tcp_counts.h"
#include "engine/transport/unread_bytes.h"
#include "packet/byte_stream.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "transport/nic_streams.h"
#include "transport/stack.h"

namespace sluice::engine {

struct TcpHostOptions {
  transport::StackOptions stack;
  std::vector<uint16_t> ports;  ///< The ports that accept connections, in host order.
  transport::Rings rings{};     ///< Of the NIC's unit, which has the values above too.
  /// Limit of the memory for unread bytes of all connections. Bytes of a connection wait there
  /// while its engine needs more bytes or room.
  uint64_t unread_bytes = 256u << 20;
  uint64_t cycles_per_second = 0;  ///< Frequency of the `now` arguments.
};

/// Tcp is transport::Stack, or transport::NicStreams if the NIC ends the connections.
template <packet::ByteStreamEngine Streams, typename Tcp = transport::Stack>
class TcpHost final : public packet::Engine {
 public:
  static constexpr bool kOwnFramesOnly = true;

  /// Creates the stack. `counts` must outlive the engine. `make()` constructs `Streams` in place.
  /// On failure returns nullopt and sets `error` to one line.
  template <typename Make>
  static std::optional<TcpHost> Create(const TcpHostOptions& options, TcpCounts& counts, Make make,
                                       std::string* error) {
    auto core = std::make_unique<Core>(options, counts, make);
    if constexpr (kHasRings) {
      if (Streams::kMaxAnswerBytes > options.rings.ring_bytes / 2) {
        *error = "rings of " + std::to_string(options.rings.ring_bytes) +
                 " bytes are too small for the longest answer: give a larger --tcp_ring";
        return std::nullopt;
      }
      core->stack = std::make_unique<Tcp>(options.rings, *core);
      return TcpHost(std::move(core));
    } else {
      core->stack = Tcp::Create(options.stack, *core, error);
      if (core->stack == nullptr) return std::nullopt;
      for (const uint16_t port : options.ports) {
        if (core->stack->Listen(port)) continue;
        *error = "cannot listen on TCP port " + std::to_string(port);
        return std::nullopt;
      }
      return TcpHost(std::move(core));
    }
  }

  void set_outbox(packet::Outbox outbox) override { core_->outbox = outbox; }
  /// Passes on frames that are not TCP segments for an own address and port.
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    core_->now = now;
    return core_->stack->Input(frame.data, frame.length) ? packet::kConsume : packet::kPass;
  }
  void AtRest(uint64_t now) override { core_->AtRest(now); }
  /// Resets all connections.
  void Leave() override {
    for (transport::ConnectionId id = 0; id < core_->connections.size(); ++id) {
      if (core_->connections[id].open) core_->stack->Abort(id);
    }
    core_->streams.Leave(core_->now);
    core_->PublishCounts();
  }

 private:
  /// Received bytes stay in the connection's ring until they are consumed.
  static constexpr bool kHasRings = std::is_same_v<Tcp, transport::NicStreams>;

  struct Connection {
    typename Streams::Connection state;
    UnreadBytes unread;
    uint32_t in_both = 0;  ///< Bytes at the end of `unread` that are in the ring, too.
    bool open = false;
    bool ended = false;       ///< The peer will send no more bytes.
    bool finished = false;    ///< Nothing more will be sent; further bytes are discarded.
    bool needs_room = false;  ///< The engine lacked its maximum of room and made no progress.
  };

  /// The state that the stack refers to. It does not move.
  struct Core final : transport::Events {
    template <typename Make>
    Core(const TcpHostOptions& options, TcpCounts& counts, Make& make)
        : streams(make()),
          published(counts),
          limit{options.unread_bytes},
          cycles_per_second(options.cycles_per_second),
          cycles_per_tick(options.cycles_per_second * (transport::Stack::kTickNs / 1'000'000) /
                          1000),
          connections(options.stack.max_connections),
          room(transport::Stack::kSendBytes) {}

    // transport::Events
    bool Output(const uint8_t* frame, uint32_t bytes) override { return outbox.Send(frame, bytes); }
    bool Opened(transport::ConnectionId id, const packet::StreamPeer& peer) override {
      Connection& connection = connections[id];
      connection.state = {};
      connection.ended = connection.finished = connection.needs_room = false;
      return connection.open = streams.Accept(connection.state, peer, now);
    }
    void Received(transport::ConnectionId id, const uint8_t* data, uint32_t bytes) override;
    void HalfClosed(transport::ConnectionId id) override {
      connections[id].ended = true;
      Continue(id);
    }
    void RoomFreed(transport::ConnectionId id) override {
      if (connections[id].needs_room) Continue(id);
    }
    void Closed(transport::ConnectionId id, transport::End /*end*/) override {
      Connection& connection = connections[id];
      const uint32_t left = Left(id);
      const bool complete = connection.ended && left == 0;
      counts.discarded_bytes += left;
      connection.unread.Clear(limit);
      connection.open = false;
      streams.Closed(connection.state, complete, now);
    }

    void AtRest(uint64_t new_now) {
      now = new_now;
      streams.AtRest(now);
      if constexpr (kHasRings) stack->Retry();
      if (now - last_tick < cycles_per_tick) [[likely]]
        return;
      last_tick = now;
      if constexpr (kHasRings) {
        stack->Watch();
        if (std::exchange(unsent, outbox.unsent()) != outbox.unsent()) stack->Repeat();
      } else {
        const auto ns = static_cast<unsigned __int128>(now) * 1'000'000'000 / cycles_per_second;
        stack->Advance(static_cast<uint64_t>(ns));
      }
      PublishCounts();
    }
    void PublishCounts() {
      static_cast<transport::StackCounters&>(counts) = stack->counters();
      counts.open = stack->connections();
      Publish(counts, published);
    }
    void Continue(transport::ConnectionId id);
    void ContinueInRing(transport::ConnectionId id);
    uint32_t Turns(transport::ConnectionId id, const uint8_t* data, uint32_t bytes, bool ended,
                   bool consume = true);
    /// Aborts a connection after the engine has processed `used` of its bytes.
    void Abort(transport::ConnectionId id, uint32_t used, bool in_ring) {
      if constexpr (kHasRings) {
        in_ring ? stack->Consume(id, used) : connections[id].unread.Remove(used, limit);
      }
      stack->Abort(id);
    }
    /// Returns the number of bytes that the engine has not processed.
    uint32_t Left(transport::ConnectionId id) const {
      uint32_t left = connections[id].unread.size();
      if constexpr (kHasRings) left += stack->UnreadBytes(id) - connections[id].in_both;
      return left;
    }
    /// Returns memory for the engine's next bytes.
    std::span<uint8_t> Space(transport::ConnectionId id) {
      const uint32_t bytes = stack->Room(id);
      if constexpr (kHasRings) {
        // An engine needs contiguous room.
        const std::span<uint8_t> space = stack->Space(id);
        if (space.size() == bytes || space.size() >= Streams::kMaxAnswerBytes) return space;
      }
      return {room.data(), std::min<size_t>(bytes, room.size())};
    }

    Streams streams;
    packet::Outbox outbox;
    uint64_t now = 0;
    TcpCounts counts;  ///< Counters of this worker; `published` is a copy for other threads.
    TcpCounts& published;
    UnreadLimit limit;
    const uint64_t cycles_per_second;
    const uint64_t cycles_per_tick;
    uint64_t last_tick = 0;
    uint64_t unsent = 0;                  ///< Value of Outbox::unsent at the last tick.
    std::vector<Connection> connections;  ///< By ConnectionId.
    std::vector<uint8_t> room;            ///< Bytes that an engine writes in a turn.
    std::unique_ptr<Tcp> stack;           ///< Last, because its destructor sends frames.
  };

  explicit TcpHost(std::unique_ptr<Core> core) : core_(std::move(core)) {}

  std::unique_ptr<Core> core_;
};

/// Lets the engine process the bytes where they lie, unless earlier bytes are unread. Keeps those
/// that it does not consume.
template <packet::ByteStreamEngine Streams, typename Tcp>
void TcpHost<Streams, Tcp>::Core::Received(transport::ConnectionId id, const uint8_t* data,
                                           uint32_t bytes) {
  Connection& connection = connections[id];
  counts.rx_bytes += bytes;
  if constexpr (kHasRings) return ContinueInRing(id);
  const bool in_place = connection.unread.size() == 0;
  const uint32_t used = in_place ? Turns(id, data, bytes, connection.ended) : 0;
  if (!connection.open) {
    counts.discarded_bytes += bytes - used;
    return;
  }
  if (!connection.unread.Append(data + used, bytes - used, limit)) {
    ++counts.memory_limit;
    counts.discarded_bytes += bytes - used;
    stack->Abort(id);
  } else if (!in_place) {
    Continue(id);
  }
}

/// Lets the engine process the unread bytes.
template <packet::ByteStreamEngine Streams, typename Tcp>
void TcpHost<Streams, Tcp>::Core::Continue(transport::ConnectionId id) {
  if constexpr (kHasRings) return ContinueInRing(id);
  Connection& connection = connections[id];
  const UnreadBytes& unread = connection.unread;
  const uint32_t used = Turns(id, unread.data(), unread.size(), connection.ended);
  if (connection.open) connection.unread.Remove(used, limit);
}

/// Lets the engine process the bytes in the connection's ring. Bytes are copied only if a request
/// continues at the start of the ring, or needs more than half of the ring.
template <packet::ByteStreamEngine Streams, typename Tcp>
void TcpHost<Streams, Tcp>::Core::ContinueInRing(transport::ConnectionId id) {
  Connection& connection = connections[id];
  UnreadBytes& unread = connection.unread;
  // Otherwise the copies of a connection whose peer does not read would grow.
  if (connection.needs_room && stack->Room(id) < Streams::kMaxAnswerBytes) return;
  uint32_t copied = 4096;  // Bytes of the ring that are appended to `unread` at once.
  for (;;) {
    bool more;
    std::span<const uint8_t> ring = stack->Unread(id, &more);
    const bool in_place = unread.size() == 0;
    uint32_t rest;
    if (in_place) {
      const auto bytes = static_cast<uint32_t>(ring.size());
      const uint32_t used = Turns(id, ring.data(), bytes, connection.ended && !more);
      if (!connection.open || connection.needs_room) return;
      if (used == bytes && more) continue;
      if (used == bytes || (!more && bytes - used <= stack->ring_bytes() / 2)) return;
      ring = ring.subspan(used);
      rest = bytes - used;
    } else {
      rest = std::min(static_cast<uint32_t>(ring.size()), copied);
      more |= rest != ring.size();
    }
    if (!unread.Append(ring.data(), rest, limit)) {
      ++counts.memory_limit;
      stack->Abort(id);
      return;
    }
    if (in_place) {
      stack->Consume(id, rest);
      continue;
    }
    const uint32_t before = unread.size();
    connection.in_both = rest;
    const uint32_t used = Turns(id, unread.data(), before, connection.ended && !more, false);
    connection.in_both = 0;
    if (!connection.open) return;
    if (before - used <= rest) {
      // The bytes that are left are still in the ring.
      stack->Consume(id, rest - (before - used));
      unread.Remove(before, limit);
    } else if (connection.needs_room) {
      unread.RemoveLast(rest);
      unread.Remove(used, limit);
    } else {
      stack->Consume(id, rest);
      unread.Remove(used, limit);
      copied *= 2;
      if (!more) return;
    }
    if (connection.needs_room) return;
  }
}

/// Runs turns until the engine makes no progress. Returns the number of bytes consumed. The
/// connection may be closed afterwards. `ended`: the peer sends no byte after these. `consume`: the
/// bytes are those that the stack passed on last.
template <packet::ByteStreamEngine Streams, typename Tcp>
uint32_t TcpHost<Streams, Tcp>::Core::Turns(transport::ConnectionId id, const uint8_t* data,
                                            uint32_t bytes, bool ended, bool consume) {
  Connection& connection = connections[id];
  const bool was_finished = connection.finished;
  uint32_t used = 0;
  bool wrote = false;
  for (bool progress = true; progress && !connection.finished;) {
    const std::span<uint8_t> space = Space(id);
    const auto room_bytes = static_cast<uint32_t>(space.size());
    packet::StreamTurn turn{data + used, bytes - used, ended, space.data(), room_bytes};
    streams.Process(connection.state, turn, now);
    if (turn.written != 0) {
      stack->Write(id, space.data(), turn.written);
      counts.tx_bytes += turn.written;
      wrote = true;
    }
    used += turn.consumed;
    if (turn.after == packet::AfterTurn::kAbort) {
      Abort(id, used, consume);
      return used;
    }
    const bool short_of_room = room_bytes < Streams::kMaxAnswerBytes;
    progress = turn.consumed != 0 || turn.written != 0;
    connection.needs_room = !progress && short_of_room;
    if (!progress && !short_of_room && bytes - used >= Streams::kMaxRequestBytes) {
      ++counts.request_too_long;
      Abort(id, used, consume);
      return used;
    }
    // A stream that ended is finished once the engine has processed all that it can.
    connection.finished =
        turn.after == packet::AfterTurn::kFinish || (ended && !progress && !short_of_room);
    progress &= used != bytes || ended;
  }
  if (connection.finished) {
    counts.discarded_bytes += bytes - used;
    used = bytes;
  }
  if (consume && used != 0) stack->Consume(id, used);
  if (connection.finished && !was_finished) {
    stack->Finish(id);
  } else if (wrote) {
    stack->Flush(id);
  }
  return used;
}

}  // namespace sluice::engine
