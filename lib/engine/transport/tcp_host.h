// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a byte-stream engine on an interface that carries frames. TCP runs on the host, in the
// worker (transport/stack.h). TcpHost is a frame engine, so it works on every interface. All frames
// of a connection must reach the same worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/transport/tcp_counts.h"
#include "engine/transport/unread_bytes.h"
#include "packet/byte_stream.h"
#include "packet/engine.h"
#include "packet/frame.h"
#include "packet/outbox.h"
#include "transport/stack.h"

namespace sluice::engine {

struct TcpHostOptions {
  transport::StackOptions stack;
  std::vector<uint16_t> ports;  ///< The ports that accept connections, in host order.
  /// Memory limit for the unread bytes of all connections. A connection's bytes stay unread while
  /// its engine needs more input or more room for its output.
  uint64_t unread_bytes = 256u << 20;
  uint64_t cycles_per_second = 0;  ///< Frequency of the `now` arguments.
};

template <packet::ByteStreamEngine Streams>
class TcpHost final : public packet::Engine {
 public:
  static constexpr bool kOwnFramesOnly = true;

  /// Creates the stack. `counts` must outlive the engine. `make()` constructs `Streams` in place.
  /// On failure returns nullopt and sets `error` to one line.
  template <typename Make>
  static std::optional<TcpHost> Create(const TcpHostOptions& options, TcpCounts& counts, Make make,
                                       std::string* error) {
    auto core = std::make_unique<Core>(options, counts, make);
    core->stack = transport::Stack::Create(options.stack, *core, error);
    if (core->stack == nullptr) return std::nullopt;
    for (const uint16_t port : options.ports) {
      if (core->stack->Listen(port)) continue;
      *error = "cannot listen on TCP port " + std::to_string(port);
      return std::nullopt;
    }
    return TcpHost(std::move(core));
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
  struct Connection {
    typename Streams::Connection state;
    UnreadBytes unread;
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
      const bool complete = connection.ended && connection.unread.size() == 0;
      counts.discarded_bytes += connection.unread.size();
      connection.unread.Clear(limit);
      connection.open = false;
      streams.Closed(connection.state, complete, now);
    }

    void AtRest(uint64_t new_now) {
      now = new_now;
      streams.AtRest(now);
      if (now - last_tick < cycles_per_tick) [[likely]]
        return;
      last_tick = now;
      const auto ns = static_cast<unsigned __int128>(now) * 1'000'000'000 / cycles_per_second;
      stack->Advance(static_cast<uint64_t>(ns));
      PublishCounts();
    }
    void PublishCounts() {
      static_cast<transport::StackCounters&>(counts) = stack->counters();
      counts.open = stack->connections();
      Publish(counts, published);
    }
    void Continue(transport::ConnectionId id);
    uint32_t Turns(transport::ConnectionId id, const uint8_t* data, uint32_t bytes);

    Streams streams;
    packet::Outbox outbox;
    uint64_t now = 0;
    TcpCounts counts;  ///< Counters of this worker; `published` is a copy for other threads.
    TcpCounts& published;
    UnreadLimit limit;
    const uint64_t cycles_per_second;
    const uint64_t cycles_per_tick;
    uint64_t last_tick = 0;
    std::vector<Connection> connections;      ///< By ConnectionId.
    std::vector<uint8_t> room;                ///< Buffer for what an engine writes in a turn.
    std::unique_ptr<transport::Stack> stack;  ///< Last, because its destructor sends frames.
  };

  explicit TcpHost(std::unique_ptr<Core> core) : core_(std::move(core)) {}

  std::unique_ptr<Core> core_;
};

/// Lets the engine process the bytes in place, unless earlier bytes are unread. Keeps the bytes
/// that the engine does not consume.
template <packet::ByteStreamEngine Streams>
void TcpHost<Streams>::Core::Received(transport::ConnectionId id, const uint8_t* data,
                                      uint32_t bytes) {
  Connection& connection = connections[id];
  counts.rx_bytes += bytes;
  const bool in_place = connection.unread.size() == 0;
  const uint32_t used = in_place ? Turns(id, data, bytes) : 0;
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
template <packet::ByteStreamEngine Streams>
void TcpHost<Streams>::Core::Continue(transport::ConnectionId id) {
  Connection& connection = connections[id];
  const uint32_t used = Turns(id, connection.unread.data(), connection.unread.size());
  if (connection.open) connection.unread.Remove(used, limit);
}

/// Runs turns until the engine makes no progress. Returns the number of bytes consumed. The
/// connection may be closed afterwards.
template <packet::ByteStreamEngine Streams>
uint32_t TcpHost<Streams>::Core::Turns(transport::ConnectionId id, const uint8_t* data,
                                       uint32_t bytes) {
  Connection& connection = connections[id];
  const bool was_finished = connection.finished;
  uint32_t used = 0;
  bool wrote = false;
  for (bool progress = true; progress && !connection.finished;) {
    const auto room_bytes = std::min<uint32_t>(stack->Room(id), static_cast<uint32_t>(room.size()));
    packet::StreamTurn turn{data + used, bytes - used, connection.ended, room.data(), room_bytes};
    streams.Process(connection.state, turn, now);
    if (turn.written != 0) {
      stack->Write(id, room.data(), turn.written);
      counts.tx_bytes += turn.written;
      wrote = true;
    }
    used += turn.consumed;
    if (turn.after == packet::AfterTurn::kAbort) {
      stack->Abort(id);
      return used;
    }
    const bool short_of_room = room_bytes < Streams::kMaxAnswerBytes;
    progress = turn.consumed != 0 || turn.written != 0;
    connection.needs_room = !progress && short_of_room;
    if (!progress && !short_of_room && bytes - used >= Streams::kMaxRequestBytes) {
      ++counts.request_too_long;
      stack->Abort(id);
      return used;
    }
    // A stream that has ended is finished once the engine has processed all that it can.
    connection.finished = turn.after == packet::AfterTurn::kFinish ||
                          (connection.ended && !progress && !short_of_room);
    progress &= used != bytes || connection.ended;
  }
  if (connection.finished) {
    counts.discarded_bytes += bytes - used;
    used = bytes;
  }
  if (used != 0) stack->Consume(id, used);
  if (connection.finished && !was_finished) {
    stack->Finish(id);
  } else if (wrote) {
    stack->Flush(id);
  }
  return used;
}

}  // namespace sluice::engine
