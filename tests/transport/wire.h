// SPDX-License-Identifier: BSD-3-Clause
//
// Two stacks connected by a wire in virtual time. The wire can lose, duplicate, delay and corrupt
// frames.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "transport/stack.h"

namespace sluice::transport {

using Frame = std::vector<uint8_t>;

/// The bytes that every connection in these tests sends: a random block, repeated. The block's
/// length is odd, so that the same position in different frames contains different bytes.
inline const uint8_t* Pattern(uint64_t offset, uint64_t* contiguous) {
  static const std::vector<uint8_t> block = [] {
    std::vector<uint8_t> bytes(1'000'003);
    std::mt19937_64 random(1);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    return bytes;
  }();
  *contiguous = block.size() - offset % block.size();
  return block.data() + offset % block.size();
}

/// Writes the length and the checksums of a TCP segment over IPv4. The IPv4 header has no options.
inline void SetChecksum(Frame& frame) {
  const auto bytes = static_cast<uint16_t>(frame.size() - 34);
  packet::StoreBe16(frame.data() + 16, static_cast<uint16_t>(bytes + 20));
  packet::Store<uint16_t>(frame.data() + 24, 0);
  packet::Store(frame.data() + 24, packet::FinishChecksum(packet::SumBytes(frame.data() + 14, 20)));
  packet::Store<uint16_t>(frame.data() + 50, 0);
  packet::Store(frame.data() + 50,
                packet::FinishChecksum(packet::SumBytes(
                    frame.data() + 34, bytes,
                    packet::PseudoHeaderSumIpv4(frame.data() + 14, packet::kProtocolTcp, bytes))));
}

/// One end: a stack, and an application that sends `to_send` bytes of the pattern on each
/// connection, checks the received bytes, and finishes.
class Host : public Events {
 public:
  struct Connection {
    Peer peer;
    uint64_t sent = 0, received = 0, unread = 0;
    bool open = true, half_closed = false, finished = false;
    End end = End::kFinished;
  };

  /// `output` sends a frame.
  Host(StackOptions options, std::function<void(const uint8_t*, uint32_t)> output)
      : options_(std::move(options)), output_(std::move(output)) {
    std::string error;
    stack_ = Stack::Create(options_, *this, &error);
    EXPECT_NE(stack_, nullptr) << error;
  }

  Stack& stack() { return *stack_; }
  void Destroy() { stack_.reset(); }
  const StackOptions& options() const { return options_; }
  Connection& connection(ConnectionId id) { return connections_[id]; }
  /// Connections by id, including those that have ended.
  std::map<ConnectionId, Connection>& connections() { return connections_; }

  uint64_t to_send = 0;    ///< Bytes that each connection sends.
  bool finish = true;      ///< Finish after to_send bytes; if `patient` is set, only after the peer
                           ///< has finished.
  bool patient = false;    ///< Finish only after the peer has finished.
  bool read = true;        ///< Consume received bytes at once.
  bool accept = true;      ///< The return value of Opened.
  bool can_output = true;  ///< The return value of Output.
  uint64_t room_freed = 0, opened = 0, closed = 0;
  uint64_t max_unread = 0;
  std::function<void(ConnectionId)> on_received, on_opened;

  void Send(ConnectionId id) {
    Connection& c = connections_[id];
    while (c.open && c.sent < to_send) {
      uint64_t bytes = 0;
      const uint8_t* data = Pattern(c.sent, &bytes);
      bytes = std::min({bytes, to_send - c.sent, uint64_t{stack_->Room(id)}, uint64_t{100'000}});
      if (bytes == 0) break;
      stack_->Write(id, data, static_cast<uint32_t>(bytes));
      c.sent += bytes;
    }
    if (finish && c.open && !c.finished && c.sent == to_send && (!patient || c.half_closed)) {
      c.finished = true;
      stack_->Finish(id);
    }
    stack_->Flush(id);
  }

  void Read(ConnectionId id) {
    Connection& c = connections_[id];
    stack_->Consume(id, static_cast<uint32_t>(c.unread));
    c.unread = 0;
  }

  bool Output(const uint8_t* frame, uint32_t bytes) override {
    if (can_output) output_(frame, bytes);
    return can_output;
  }
  bool Opened(ConnectionId id, const Peer& peer) override {
    ++opened;
    if (!accept) return false;
    connections_[id] = {};
    connections_[id].peer = peer;
    if (on_opened) on_opened(id);
    Send(id);
    return true;
  }
  void Received(ConnectionId id, const uint8_t* data, uint32_t bytes) override {
    Connection& c = connections_[id];
    ASSERT_TRUE(c.open);
    c.unread += bytes;
    max_unread = std::max(max_unread, c.unread);
    while (bytes != 0) {
      uint64_t size = 0;
      const uint8_t* expected = Pattern(c.received, &size);
      size = std::min<uint64_t>(size, bytes);
      ASSERT_EQ(std::memcmp(data, expected, size), 0) << "after " << c.received << " bytes";
      data += size, bytes -= static_cast<uint32_t>(size), c.received += size;
    }
    if (read) Read(id);
    if (on_received) on_received(id);
  }
  void HalfClosed(ConnectionId id) override {
    EXPECT_FALSE(std::exchange(connections_[id].half_closed, true));
    Send(id);
  }
  void RoomFreed(ConnectionId id) override {
    ++room_freed;
    Send(id);
  }
  void Closed(ConnectionId id, End end) override {
    ++closed;
    EXPECT_TRUE(std::exchange(connections_[id].open, false));
    connections_[id].end = end;
  }

 private:
  StackOptions options_;
  std::function<void(const uint8_t*, uint32_t)> output_;
  std::map<ConnectionId, Connection> connections_;
  std::unique_ptr<Stack> stack_;
};

class Wire {
 public:
  explicit Wire(uint64_t seed = 1, StackOptions a = {}, StackOptions b = {}) : random_(seed) {
    std::string error;
    EXPECT_TRUE(a.own.Add("10.0.0.1,fd00::1", &error) && b.own.Add("10.0.0.2,fd00::2", &error));
    a.own.set_mac({2, 0, 0, 0, 0, 1});
    b.own.set_mac({2, 0, 0, 0, 0, 2});
    a.seed = seed, b.seed = seed + 1;
    client_ = std::make_unique<Host>(
        a, [this](const uint8_t* frame, uint32_t bytes) { Send(true, frame, bytes); });
    server_ = std::make_unique<Host>(
        b, [this](const uint8_t* frame, uint32_t bytes) { Send(false, frame, bytes); });
    Advance();
    EXPECT_TRUE(server_->stack().Listen(80));
  }

  ~Wire() {
    on_frame = nullptr;
    cut = true;
    client_->Destroy();
    server_->Destroy();
  }

  Host& client() { return *client_; }
  Host& server() { return *server_; }

  static Peer Server(bool ipv6 = false, uint16_t port = 80) {
    Peer peer{};
    if (ipv6) {
      peer.address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    } else {
      peer.address = packet::ToIpv4Mapped({10, 0, 0, 2});
    }
    peer.port = port;
    return peer;
  }
  ConnectionId Connect(bool ipv6 = false) {
    ConnectionId id = 0;
    EXPECT_TRUE(client_->stack().Connect(Server(ipv6), server_->options().own.mac(), &id));
    return id;
  }

  /// Delivers frames and runs timers for this duration, or until `done` returns true.
  void Run(
      uint64_t ns, const std::function<bool()>& done = [] { return false; }) {
    const uint64_t end = now + ns;
    while (!done()) {
      const uint64_t tick = std::min(end, now + Stack::kTickNs);
      if (!flights_.empty() && flights_.top().time <= tick) {
        Flight flight = flights_.top();
        flights_.pop();
        now = std::max(now, flight.time);
        Advance();
        Deliver(*flight.to, flight.frame);
      } else if (now == end) {
        break;
      } else {
        now = tick;
        Advance();
      }
    }
  }

  void Send(bool from_client, const uint8_t* bytes, uint32_t size) {
    ++frames;
    Frame frame(bytes, bytes + size);
    if (on_frame) on_frame(from_client, frame);
    const auto chance = [&](double p) {
      return p != 0 && std::generate_canonical<double, 32>(random_) < p;
    };
    if (cut || chance(loss)) return;
    const int copies = chance(duplication) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      uint64_t time = now + latency_ns;
      if (chance(reordering)) time += random_() % (20 * latency_ns);
      Frame copy = frame;
      if (chance(corruption))
        copy[random_() % copy.size()] ^= static_cast<uint8_t>(1u << random_() % 8);
      flights_.push({time, order_++, (from_client ? server_ : client_).get(), std::move(copy)});
    }
  }

  /// Passes a copy of the frame that ends at the end of the copy's memory, and overwrites the copy
  /// afterwards.
  static bool Deliver(Host& to, const Frame& frame) {
    const auto copy = std::make_unique<uint8_t[]>(frame.size());
    std::memcpy(copy.get(), frame.data(), frame.size());
    const bool processed = to.stack().Input(copy.get(), static_cast<uint32_t>(frame.size()));
    EXPECT_EQ(std::memcmp(copy.get(), frame.data(), frame.size()), 0);
    std::memset(copy.get(), 0xee, frame.size());
    return processed;
  }

  uint64_t now = 1'000'000'000;
  uint64_t latency_ns = 50'000;
  uint64_t frames = 0;
  double loss = 0, duplication = 0, reordering = 0, corruption = 0;
  bool cut = false;
  std::function<void(bool from_client, const Frame&)> on_frame;

 private:
  struct Flight {
    uint64_t time, order;
    Host* to;
    Frame frame;
    bool operator<(const Flight& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };

  void Advance() {
    client_->stack().Advance(now);
    server_->stack().Advance(now);
  }

  std::mt19937_64 random_;
  std::priority_queue<Flight> flights_;
  uint64_t order_ = 0;
  std::unique_ptr<Host> client_, server_;
};

}  // namespace sluice::transport
