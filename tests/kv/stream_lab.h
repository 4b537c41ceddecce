// SPDX-License-Identifier: BSD-3-Clause
//
// A store and its server for byte streams, and connections that run it as engine::TcpHost does.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "engine/kv/stream_server.h"

namespace sluice::engine::kv {

class StreamLab {
 public:
  static constexpr uint64_t kHz = 1'000'000'000;

  explicit StreamLab(Mode mode = Mode::kCache, int partitions = 2,
                     const ServiceOptions& options = Options())
      : store(MakeStore(mode, partitions)), server(store, options, kHz) {
    server.AtRest(100 * kHz);
  }
  StreamLab(const StreamLab&) = delete;

  static ServiceOptions Options() {
    ServiceOptions options;
    options.unix_epoch_s = 1'700'000'000;
    options.facts.version = "1.6.18-test";
    return options;
  }
  const ProtocolCounters& counters() const { return store.traffic.front()->memcached; }

  Store store;
  StreamServer server;

 private:
  static Store MakeStore(Mode mode, int partitions) {
    Store store;
    for (int i = 0; i < partitions; ++i) {
      store.partitions.emplace_back(
          PartitionOptions{.mode = mode, .memory_bytes = 16 << 20, .items = 1000});
    }
    store.allow_flush = true;
    return store;
  }
};

/// One connection. `room` limits the bytes that a turn may write. A turn that makes no progress is
/// repeated with as much room as the engine requires.
class StreamLabConnection {
 public:
  explicit StreamLabConnection(StreamLab& lab, uint32_t room = 256 * 1024)
      : lab_(lab), room_(room) {}
  StreamLabConnection(const StreamLabConnection&) = delete;
  ~StreamLabConnection() { lab_.server.Closed(state_, false, 0); }

  /// Passes bytes to the engine. Returns what it sends, unless the connection is closed.
  std::string Send(std::string_view bytes) {
    std::string answer;
    unread_ += bytes;
    for (bool enough = false; !closed_ && !unread_.empty();) {
      const uint32_t room_bytes = enough ? std::max(room_, StreamServer::kMaxAnswerBytes) : room_;
      // Allocations of exact size, so that a sanitizer detects accesses beyond their ends.
      const auto data = std::make_unique_for_overwrite<uint8_t[]>(unread_.size());
      std::memcpy(data.get(), unread_.data(), unread_.size());
      const auto room = std::make_unique_for_overwrite<uint8_t[]>(room_bytes);
      packet::StreamTurn turn{data.get(), static_cast<uint32_t>(unread_.size()), false, room.get(),
                              room_bytes};
      lab_.server.Process(state_, turn, 0);
      if (turn.consumed > turn.bytes || turn.written > room_bytes) return "overrun";
      answer.append(reinterpret_cast<const char*>(room.get()), turn.written);
      unread_.erase(0, turn.consumed);
      closed_ = turn.after != packet::AfterTurn::kContinue;
      const bool progress = turn.consumed != 0 || turn.written != 0;
      if (!closed_ && !progress && room_bytes >= StreamServer::kMaxAnswerBytes) {
        if (unread_.size() >= StreamServer::kMaxRequestBytes) return "no progress";
        break;
      }
      enough = !progress;
    }
    return answer;
  }
  bool closed() const { return closed_; }
  size_t unread() const { return unread_.size(); }
  const StreamServer::Connection& state() const { return state_; }

 private:
  StreamLab& lab_;
  uint32_t room_;
  StreamServer::Connection state_;
  std::string unread_;
  bool closed_ = false;
};

}  // namespace sluice::engine::kv
