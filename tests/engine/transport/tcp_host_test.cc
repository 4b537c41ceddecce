// SPDX-License-Identifier: BSD-3-Clause
//
// TcpHost over a queue in memory, with a stack of TCP as the client. The file is compiled twice:
// TCP of the server runs on the host or, with TCP_IN_NIC, in the transport unit of a NIC.
#include "engine/transport/tcp_host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/transport/nic_lab.h"
#include "engine/echo/stream_echo.h"
#include "nic/fake_queue.h"
#include "packet/byte_stream.h"
#include "packet/own_addresses.h"
#include "transport/stack.h"

namespace sluice::engine {
namespace {

using packet::AfterTurn;
using packet::StreamTurn;
using transport::ConnectionId;
using transport::End;
using transport::Stack;

constexpr uint16_t kPort = 7;
constexpr uint64_t kCyclesPerSecond = 1'000'000'000;
constexpr packet::MacAddress kServerMac{2, 0, 0, 0, 0, 1}, kClientMac{2, 0, 0, 0, 0, 2};

packet::OwnAddresses Addresses(const packet::MacAddress& mac, const char* list) {
  packet::OwnAddresses own(mac);
  std::string error;
  EXPECT_TRUE(own.Add(list, &error)) << error;
  return own;
}

/// The client: a stack whose connections are recorded.
struct Client final : transport::Events {
  struct Connection {
    std::string received;
    bool half_closed = false;
    std::optional<End> end;
  };

  Client() {
    std::string error;
    stack = Stack::Create({.own = Addresses(kClientMac, "10.0.0.2"), .seed = 1}, *this, &error);
    EXPECT_NE(stack, nullptr) << error;
  }

  bool Output(const uint8_t* frame, uint32_t bytes) override {
    sent.emplace_back(frame, frame + bytes);
    return true;
  }
  bool Opened(ConnectionId id, const packet::StreamPeer& /*peer*/) override {
    opened.push_back(id);
    connections.resize(std::max<size_t>(connections.size(), id + 1));
    connections[id] = {};
    return true;
  }
  void Received(ConnectionId id, const uint8_t* data, uint32_t bytes) override {
    connections[id].received.append(reinterpret_cast<const char*>(data), bytes);
    if (reads) stack->Consume(id, bytes);
  }
  void HalfClosed(ConnectionId id) override { connections[id].half_closed = true; }
  void RoomFreed(ConnectionId /*id*/) override {}
  void Closed(ConnectionId id, End end) override {
    if (id < connections.size()) connections[id].end = end;
  }

  bool reads = true;  ///< Whether received bytes are acknowledged to the stack as read.
  std::vector<std::vector<uint8_t>> sent;
  std::vector<ConnectionId> opened;
  std::vector<Connection> connections;
  std::unique_ptr<Stack> stack;  // Last, because its destructor sends frames.
};

#ifdef TCP_IN_NIC
using Tcp = transport::NicStreams;
constexpr bool kInNic = true;
#else
using Tcp = Stack;
constexpr bool kInNic = false;
#endif

/// A client and a host with an engine, connected by two queues. Time is virtual.
template <typename Streams>
struct Lab {
  explicit Lab(uint64_t unread_bytes = 1 << 20, uint32_t ring_bytes = Stack::kWindowBytes) {
    TcpHostOptions options;
    options.stack = {.own = Addresses(kServerMac, "10.0.0.1"), .seed = 2};
    options.ports = {kPort};
    if (kInNic) {
      nic.emplace(test::ConfigurationOf(options.stack.own, options.ports, 128, ring_bytes));
      EXPECT_EQ(nic->status(), regs::transport::kStatusPresent | regs::transport::kStatusActive);
      options.rings = nic->rings;
    }
    options.unread_bytes = unread_bytes;
    options.cycles_per_second = kCyclesPerSecond;
    std::string error;
    auto made = TcpHost<Streams, Tcp>::Create(
        options, counts, [] { return Streams(); }, &error);
    EXPECT_TRUE(made) << error;
    host.emplace(*std::move(made));
    host->set_outbox(queue.outbox());
  }

  /// Carries frames until none is left or one second of virtual time has passed.
  void Run() {
    for (uint32_t idle = 0; idle < 20;) {
      bool moved = false;
      test::Frames to_host = std::exchange(client.sent, {});
      if (nic) {
        EXPECT_EQ(nic->Receive(to_host), to_host.size());
        to_host = nic->ToHost();
      }
      for (auto& frame : to_host) {
        queue.Receive(std::move(frame));
        moved = true;
      }
      while (queue.Poll(*host, now) != 0) {
      }
      test::Frames from_host = queue.Sent();
      if (lose) {
        queue.counters().tx_full += from_host.size();
        from_host.clear();
      }
      moved |= !from_host.empty();
      if (nic) from_host = nic->Send(std::move(from_host));
      for (const auto& frame : from_host) {
        // A segment of a connection that the client has aborted is not processed.
        client.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
        moved = true;
      }
      if (moved) {
        idle = 0;
        continue;
      }
      ++idle;
      now += Stack::kTickNs;
      host->AtRest(now);
      client.stack->Advance(now);
      if (nic) nic->unit->SetTime(now);
    }
  }
  ConnectionId Connect() {
    packet::StreamPeer peer;
    peer.address = packet::ToIpv4Mapped({10, 0, 0, 1});
    peer.port = kPort;
    EXPECT_TRUE(client.stack->Connect(peer, kServerMac));
    const size_t before = client.opened.size();
    Run();
    EXPECT_EQ(client.opened.size(), before + 1);
    return client.opened.empty() ? 0 : client.opened.back();
  }
  /// Sends `text`, carrying frames whenever there is no room.
  void Send(ConnectionId id, std::string_view text) {
    while (!text.empty() && !client.connections[id].end) {
      const auto count =
          std::min<uint32_t>(client.stack->Room(id), static_cast<uint32_t>(text.size()));
      client.stack->Write(id, reinterpret_cast<const uint8_t*>(text.data()), count);
      client.stack->Flush(id);
      text.remove_prefix(count);
      Run();
    }
  }
  const std::string& received(ConnectionId id) const { return client.connections[id].received; }
  std::optional<End> end(ConnectionId id) const { return client.connections[id].end; }

  bool lose = false;  ///< The interface loses the frames of the host, and counts them.
  std::optional<test::NicLab> nic;
  nic::FakeQueue queue;
  TcpCounts counts;
  std::optional<TcpHost<Streams, Tcp>> host;
  Client client;
  uint64_t now = 1'000'000'000;
};

std::string RandomText(size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(TcpHost, EchoesAMebibyte) {
  Lab<StreamEcho> lab;
  const ConnectionId id = lab.Connect();
  const std::string text = RandomText(1 << 20);
  lab.Send(id, text);
  lab.client.stack->Finish(id);
  lab.Run();
  EXPECT_TRUE(lab.received(id) == text);
  EXPECT_TRUE(lab.client.connections[id].half_closed);
  EXPECT_EQ(lab.counts.rx_bytes, text.size());
  EXPECT_EQ(lab.counts.tx_bytes, text.size());
  EXPECT_EQ(lab.counts.discarded_bytes, 0u);
}

TEST(TcpHost, KeepsConnectionsApart) {
  Lab<StreamEcho> lab;
  std::vector<ConnectionId> ids;
  for (uint32_t i = 0; i < 100; ++i) ids.push_back(lab.Connect());
  for (uint32_t i = 0; i < 100; ++i) lab.Send(ids[i], std::to_string(i));
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(lab.received(ids[i]), std::to_string(i));
}

/// A peer that does not read fills the window and the buffer. Nothing must be lost when it reads
/// again.
TEST(TcpHost, WaitsForASlowReader) {
  Lab<StreamEcho> lab;
  const ConnectionId id = lab.Connect();
  lab.client.reads = false;
  const std::string text = RandomText(size_t{8} * Stack::kSendBytes);
  size_t sent = 0;
  for (uint32_t turn = 0; turn < 200 && sent < text.size(); ++turn) {
    const auto count = std::min<size_t>(lab.client.stack->Room(id), text.size() - sent);
    lab.client.stack->Write(id, reinterpret_cast<const uint8_t*>(&text[sent]),
                            static_cast<uint32_t>(count));
    lab.client.stack->Flush(id);
    sent += count;
    lab.Run();
  }
  ASSERT_LT(sent, text.size());  // Back pressure reached the sender.
  EXPECT_LE(lab.received(id).size(), Stack::kWindowBytes);
  lab.client.reads = true;
  lab.client.stack->Consume(id, static_cast<uint32_t>(lab.received(id).size()));
  lab.Send(id, std::string_view(text).substr(sent));
  lab.Run();
  EXPECT_TRUE(lab.received(id) == text);
}

/// Answers each line by its length. Commands: "quit" finishes, "abort" aborts.
struct LineLengths final : packet::StreamEngine {
  static constexpr uint32_t kMaxRequestBytes = 5000;
  static constexpr uint32_t kMaxAnswerBytes = 16;
  struct Connection {
    uint32_t lines = 0;
  };

  void Process(Connection& connection, StreamTurn& turn, uint64_t /*now*/) {
    const uint8_t* const end = std::find(turn.data, turn.data + turn.bytes, '\n');
    if (end == turn.data + turn.bytes || turn.room_bytes < kMaxAnswerBytes) return;
    const std::string_view line(reinterpret_cast<const char*>(turn.data), end - turn.data);
    turn.consumed = static_cast<uint32_t>(line.size()) + 1;
    if (line == "quit") turn.after = AfterTurn::kFinish;
    if (line == "abort") turn.after = AfterTurn::kAbort;
    if (turn.after != AfterTurn::kContinue) return;
    const std::string answer =
        std::to_string(++connection.lines) + ":" + std::to_string(line.size()) + "\n";
    std::copy(answer.begin(), answer.end(), turn.room);
    turn.written = static_cast<uint32_t>(answer.size());
  }
};

TEST(TcpHost, KeepsIncompleteRequests) {
  std::mt19937 random(3);
  std::string text, answers;
  for (uint32_t line = 1; line <= 500; ++line) {
    const uint32_t length = random() % (line % 50 == 0 ? 4500 : 40);
    text.append(length, 'x').append("\n");
    answers += std::to_string(line) + ":" + std::to_string(length) + "\n";
  }
  Lab<LineLengths> lab;
  const ConnectionId id = lab.Connect();
  for (size_t at = 0; at < text.size();) {
    const size_t count = std::min<size_t>(1 + random() % 300, text.size() - at);
    lab.Send(id, std::string_view(text).substr(at, count));
    at += count;
  }
  EXPECT_EQ(lab.received(id), answers);
}

TEST(TcpHost, FinishesAndAborts) {
  Lab<LineLengths> lab;
  const ConnectionId finished = lab.Connect();
  lab.Send(finished, "ab\nquit\nlater\n");
  EXPECT_EQ(lab.received(finished), "1:2\n");
  EXPECT_TRUE(lab.client.connections[finished].half_closed);
  lab.client.stack->Finish(finished);
  lab.Run();
  EXPECT_EQ(lab.counts.discarded_bytes, 6u);
  const ConnectionId aborted = lab.Connect();
  lab.Send(aborted, "abort\n");
  EXPECT_EQ(lab.end(aborted), End::kReset);
  lab.Run();
  EXPECT_EQ(lab.counts.finished, 1u);
  EXPECT_EQ(lab.counts.aborted, 1u);
}

TEST(TcpHost, EndsWithAnIncompleteRequest) {
  Lab<LineLengths> lab;
  const ConnectionId id = lab.Connect();
  lab.Send(id, "ab\nno end");
  lab.client.stack->Finish(id);
  lab.Run();
  EXPECT_EQ(lab.received(id), "1:2\n");
  EXPECT_TRUE(lab.client.connections[id].half_closed);
  EXPECT_EQ(lab.counts.discarded_bytes, 6u);
}

TEST(TcpHost, AbortsARequestThatIsTooLong) {
  Lab<LineLengths> lab;
  const ConnectionId id = lab.Connect();
  lab.Send(id, std::string(LineLengths::kMaxRequestBytes - 1, 'x'));
  EXPECT_FALSE(lab.end(id));
  lab.Send(id, "x");
  EXPECT_EQ(lab.end(id), End::kReset);
  lab.Run();
  EXPECT_EQ(lab.counts.request_too_long, 1u);
  EXPECT_EQ(lab.counts.discarded_bytes, LineLengths::kMaxRequestBytes);
}

TEST(TcpHost, LimitsTheMemoryForUnreadBytes) {
  if (kInNic) GTEST_SKIP() << "unread bytes stay in the rings";
  Lab<LineLengths> lab(16'384);
  std::vector<ConnectionId> ids;
  for (uint32_t i = 0; i < 8; ++i) {
    ids.push_back(lab.Connect());
    lab.Send(ids.back(), std::string(2000, 'x'));
  }
  uint32_t reset = 0;
  for (const ConnectionId id : ids) reset += lab.end(id).has_value() ? 1 : 0;
  EXPECT_EQ(reset, 4u);
  // The memory of ended connections is free again.
  for (const ConnectionId id : ids) {
    if (!lab.end(id)) lab.client.stack->Abort(id);
  }
  lab.Run();
  const ConnectionId id = lab.Connect();
  lab.Send(id, std::string(2000, 'x'));
  lab.Send(id, "\n");
  EXPECT_EQ(lab.received(id), "1:2000\n");
  EXPECT_EQ(lab.counts.memory_limit, reset);
}

/// Refuses peers with an odd port.
struct EvenPorts final : packet::StreamEngine {
  struct Connection {};
  bool Accept(Connection& /*connection*/, const packet::StreamPeer& peer, uint64_t /*now*/) {
    return peer.port % 2 == 0;
  }
  void Process(Connection& /*connection*/, StreamTurn& turn, uint64_t /*now*/) {
    turn.consumed = turn.bytes;
  }
};

/// Requests cross the ends of small rings, and answers their ends.
TEST(TcpHost, KeepsBytesInOrderInSmallRings) {
  Lab<LineLengths> lines(1 << 20, 16384);
  Lab<StreamEcho> echo(1 << 20, 4096);
  std::mt19937 random(5);
  std::string text, answers;
  for (uint32_t line = 1; line <= 3000; ++line) {
    const uint32_t length = random() % (line % 100 == 0 ? 4900 : 60);
    text.append(length, 'x').append("\n");
    answers += std::to_string(line) + ":" + std::to_string(length) + "\n";
  }
  const ConnectionId id = lines.Connect();
  lines.Send(id, text);
  lines.client.stack->Finish(id);
  lines.Run();
  EXPECT_EQ(lines.received(id), answers);
  EXPECT_EQ(lines.counts.discarded_bytes, 0u);
  const ConnectionId other = echo.Connect();
  const std::string bytes = RandomText(1 << 20);
  echo.Send(other, bytes);
  EXPECT_TRUE(echo.received(other) == bytes);
}

/// A peer that does not read blocks the engine; requests then wait in the ring, not in memory.
TEST(TcpHost, CopiesNothingForAPeerThatDoesNotRead) {
  Lab<LineLengths> lab(kInNic ? 1 << 16 : 1 << 20, 16384);
  const ConnectionId id = lab.Connect();
  lab.client.reads = false;
  std::string text, answers;
  for (uint32_t line = 1; line <= 150'000; ++line) {
    text += line % 3 == 0 ? "xx\n" : "x\n";
    answers += std::to_string(line) + (line % 3 == 0 ? ":2\n" : ":1\n");
  }
  size_t sent = 0;
  for (uint32_t turn = 0; turn < 100 && sent < text.size(); ++turn) {
    const auto count = std::min<size_t>(lab.client.stack->Room(id), text.size() - sent);
    lab.client.stack->Write(id, reinterpret_cast<const uint8_t*>(&text[sent]),
                            static_cast<uint32_t>(count));
    lab.client.stack->Flush(id);
    sent += count;
    lab.Run();
  }
  EXPECT_EQ(lab.counts.memory_limit, 0u);
  EXPECT_FALSE(lab.end(id));
  lab.client.reads = true;
  lab.client.stack->Consume(id, static_cast<uint32_t>(lab.received(id).size()));
  lab.Run();
  lab.Send(id, std::string_view(text).substr(sent));
  lab.Run();
  EXPECT_TRUE(lab.received(id) == answers) << lab.received(id).size();
}

/// An interface can lose frames that it had accepted; it counts them.
TEST(TcpHost, RepeatsWhatTheInterfaceLoses) {
  Lab<StreamEcho> lab;
  const ConnectionId id = lab.Connect();
  lab.lose = true;
  lab.Send(id, "hello");
  EXPECT_EQ(lab.received(id), "");
  lab.lose = false;
  lab.now += 10 * kCyclesPerSecond;  // The host's TCP waits longer after each loss.
  lab.Run();
  EXPECT_EQ(lab.received(id), "hello");
}

TEST(TcpHost, LetsTheEngineRefuse) {
  Lab<EvenPorts> lab;
  packet::StreamPeer peer;
  peer.address = packet::ToIpv4Mapped({10, 0, 0, 1});
  peer.port = kPort;
  for (peer.local_port = 1000; peer.local_port < 1010; ++peer.local_port) {
    EXPECT_TRUE(lab.client.stack->Connect(peer, kServerMac));
  }
  lab.Run();
  EXPECT_EQ(lab.counts.open, 5u);
  EXPECT_EQ(lab.counts.refused, 5u);
}

TEST(TcpHost, PassesOtherFramesOn) {
  Lab<StreamEcho> lab;
  std::vector<uint8_t> frame(60, 0);
  packet::Frame other{frame.data(), 60, 0, 0};
  EXPECT_EQ(lab.host->Process(other, lab.now), packet::kPass);
}

}  // namespace
}  // namespace sluice::engine
