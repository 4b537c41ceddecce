// SPDX-License-Identifier: BSD-3-Clause
#include "transport/stack.h"

#include <gtest/gtest.h>

#include <thread>

#include "packet/bytes.h"
#include "packet/checksum.h"
#include "packet/ethernet.h"
#include "packet/parse.h"
#include "packet/rewrite.h"
#include "transport/siphash.h"
#include "wire.h"

namespace sluice::transport {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(SipHashTest, MatchesThePublishedVectors) {
  const SipKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(SipHash(key, {}), 0x726fdb47dd0e0e31);
  const uint64_t words[] = {0x0706050403020100};
  EXPECT_EQ(SipHash(key, words), 0x93f5f5799a932462);
}

class Families : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ip, Families, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "v6" : "v4"; });

TEST_P(Families, TransfersBothWaysAndCloses) {
  Wire wire;
  wire.client().to_send = 3'000'000;
  wire.server().to_send = 2'000'000;
  const ConnectionId id = wire.Connect(GetParam());
  wire.Run(10 * kSecond, [&] { return wire.client().closed == 1 && wire.server().closed == 1; });
  EXPECT_EQ(wire.client().connection(id).received, 2'000'000u);
  EXPECT_EQ(wire.client().connection(id).end, End::kFinished);
  ASSERT_EQ(wire.server().connections().size(), 1u);
  const Host::Connection& at_server = wire.server().connections().begin()->second;
  EXPECT_EQ(at_server.received, 3'000'000u);
  EXPECT_EQ(at_server.end, End::kFinished);
  EXPECT_EQ(at_server.peer.local_port, 80);
  EXPECT_EQ(wire.client().stack().connections(), 0u);
  EXPECT_EQ(wire.server().stack().counters().finished, 1u);
  EXPECT_EQ(wire.server().stack().counters().retransmitted, 0u);
  EXPECT_GT(wire.client().room_freed, 0u);
  // Segments must be full, and there must be at most one acknowledgement for every two of them.
  EXPECT_LT(wire.frames, 5'000'000 / 1400 * 3 / 2 + 1000);
}

TEST(StackTest, AHalfClosedConnectionCarriesBytesTheOtherWay) {
  Wire wire;
  wire.client().to_send = 10;
  wire.server().to_send = 1'000'000;
  wire.server().patient = true;
  const ConnectionId id = wire.Connect();
  wire.Run(10 * kSecond, [&] { return wire.client().closed == 1 && wire.server().closed == 1; });
  EXPECT_EQ(wire.client().connection(id).received, 1'000'000u);
  EXPECT_EQ(wire.client().connection(id).end, End::kFinished);
  EXPECT_EQ(wire.server().connections().begin()->second.end, End::kFinished);
}

/// Opens a connection that stays open.
ConnectionId Open(Wire& wire) {
  wire.client().finish = wire.server().finish = false;
  const ConnectionId id = wire.Connect();
  wire.Run(kSecond, [&] { return wire.server().opened == 1 && wire.client().opened == 1; });
  EXPECT_EQ(wire.server().stack().connections(), 1u);
  return id;
}

TEST(StackTest, AbortResetsThePeer) {
  Wire wire;
  const ConnectionId id = Open(wire);
  wire.client().stack().Abort(id);
  EXPECT_EQ(wire.client().connection(id).end, End::kAborted);
  EXPECT_EQ(wire.client().closed, 1u);
  wire.Run(kSecond);
  EXPECT_EQ(wire.server().connection(0).end, End::kReset);
  EXPECT_EQ(wire.server().stack().counters().reset, 1u);
  EXPECT_EQ(wire.server().stack().connections(), 0u);
}

TEST(StackTest, TheUserMayAbortInEveryCall) {
  for (int call = 0; call < 3; ++call) {
    Wire wire;
    wire.client().to_send = 100'000;
    const auto abort = [&](ConnectionId id) { wire.server().stack().Abort(id); };
    if (call == 0) wire.server().on_opened = abort;
    if (call == 1) wire.server().on_received = abort;
    if (call == 2) {
      wire.server().on_received = [&](ConnectionId id) {
        // The identifier can be reused immediately by another connection.
        abort(id);
        ConnectionId other = 0;
        ASSERT_TRUE(wire.server().stack().Connect({wire.Server().address, 9, 0}, {2, 0, 0, 0, 0, 9},
                                                  &other));
        EXPECT_EQ(other, id);
      };
    }
    const ConnectionId id = wire.Connect();
    wire.Run(kSecond);
    EXPECT_EQ(wire.client().connection(id).end, End::kReset);
    EXPECT_EQ(wire.server().connection(0).end, End::kAborted);
    EXPECT_EQ(wire.server().closed, 1u);
  }
}

TEST(StackTest, DestructionResetsConnections) {
  Wire wire;
  Open(wire);
  Frame last;
  wire.on_frame = [&](bool, const Frame& frame) { last = frame; };
  wire.server().Destroy();
  EXPECT_EQ(wire.server().closed, 0u);
  ASSERT_EQ(last.size(), 54u);
  EXPECT_EQ(last[47] & 4, 4);
}

TEST(StackTest, SynsBeyondALimitAreRefused) {
  for (const bool per_peer : {false, true}) {
    StackOptions options;
    (per_peer ? options.max_connections_per_peer : options.max_connections) = 2;
    Wire wire(1, {}, options);
    wire.client().finish = wire.server().finish = false;
    for (int i = 0; i < 3; ++i) {
      wire.Connect();
      wire.Run(kSecond / 10);
    }
    EXPECT_EQ(wire.server().stack().connections(), 2u);
    EXPECT_EQ(wire.server().stack().counters().refused, 1u);
    EXPECT_EQ(wire.client().stack().counters().reset, 1u);
    EXPECT_EQ(wire.client().connection(2).end, End::kReset);
    // When a connection ends, there is room for another one.
    wire.client().stack().Abort(0);
    wire.Run(kSecond / 10);
    wire.Connect();
    wire.Run(kSecond / 10);
    EXPECT_EQ(wire.server().stack().connections(), 2u);
    EXPECT_EQ(wire.server().stack().counters().opened, 3u);
  }
}

TEST(StackTest, TheUserRefuses) {
  Wire wire;
  wire.server().accept = false;
  const ConnectionId id = wire.Connect();
  wire.Run(kSecond);
  EXPECT_EQ(wire.client().connection(id).end, End::kReset);
  EXPECT_EQ(wire.server().closed, 0u);
  EXPECT_EQ(wire.server().stack().counters().refused, 1u);
  EXPECT_EQ(wire.server().stack().counters().opened, 0u);
}

TEST(StackTest, ConnectionsTimeOut) {
  {
    Wire wire;  // The SYN is not answered.
    wire.cut = true;
    const ConnectionId id = wire.Connect();
    wire.Run(30 * kSecond, [&] { return wire.client().closed == 1; });
    EXPECT_EQ(wire.client().connection(id).end, End::kTimedOut);
  }
  {
    Wire wire;  // Data is not acknowledged.
    const ConnectionId id = Open(wire);
    wire.client().to_send = 10;
    wire.cut = true;
    wire.client().Send(id);
    wire.Run(1000 * kSecond, [&] { return wire.client().closed == 1; });
    EXPECT_EQ(wire.client().connection(id).end, End::kTimedOut);
    EXPECT_GE(wire.client().stack().counters().retransmitted, 5u);
  }
  for (const bool half_closed : {false, true}) {
    Wire wire;  // The connection is idle, and its peer is gone.
    const ConnectionId id = Open(wire);
    if (half_closed) wire.client().stack().Finish(id);
    wire.Run(kSecond);
    wire.Run(300 * kSecond);
    EXPECT_EQ(wire.client().stack().connections(), 1u);
    wire.cut = true;
    wire.Run(130 * kSecond);
    EXPECT_EQ(wire.client().connection(id).end, End::kTimedOut) << half_closed;
    EXPECT_EQ(wire.server().connection(0).end, End::kTimedOut) << half_closed;
    EXPECT_EQ(wire.client().closed, 1u);
  }
}

TEST(StackTest, ASlowReaderClosesTheWindow) {
  Wire wire;
  wire.server().read = false;
  wire.client().to_send = 2'000'000;
  const ConnectionId id = wire.Connect();
  wire.Run(10 * kSecond);
  Host::Connection& at_server = wire.server().connection(0);
  EXPECT_EQ(at_server.received, uint64_t{Stack::kWindowBytes});
  EXPECT_LE(wire.client().connection(id).sent, at_server.received + Stack::kSendBytes);
  // Probes keep the connection alive, and detect that the window has opened even if its update was
  // lost.
  wire.Run(200 * kSecond);
  EXPECT_EQ(wire.server().closed, 0u);
  wire.cut = true;
  wire.server().read = true;
  wire.server().Read(0);
  wire.cut = false;
  wire.Run(300 * kSecond, [&] { return wire.client().closed == 1; });
  EXPECT_EQ(at_server.received, 2'000'000u);
  EXPECT_LE(wire.server().max_unread, uint64_t{Stack::kWindowBytes});
}

TEST(StackTest, ManySmallWritesAreBounded) {
  Wire wire;
  const ConnectionId id = Open(wire);
  Stack& stack = wire.client().stack();
  EXPECT_EQ(stack.Room(id), Stack::kSendBytes);
  uint64_t writes = 0;
  for (; stack.Room(id) != 0; ++writes) {
    uint64_t contiguous = 0;
    stack.Write(id, Pattern(writes, &contiguous), 1);
    stack.Flush(id);
    ASSERT_LT(writes, 1'000'000u);
  }
  wire.Run(20 * kSecond);
  EXPECT_EQ(wire.server().connection(0).received, writes);
  EXPECT_GE(wire.client().room_freed, 1u);
  EXPECT_EQ(stack.Room(id), Stack::kSendBytes);
  EXPECT_EQ(stack.counters().no_memory, 0u);
}

TEST(StackTest, OutputThatFailsIsRepeated) {
  Wire wire;
  const ConnectionId id = Open(wire);
  wire.client().to_send = 100'000;
  wire.client().can_output = false;
  wire.client().Send(id);
  wire.Run(kSecond / 20);
  EXPECT_GT(wire.client().stack().counters().output_failed, 0u);
  wire.client().can_output = true;
  wire.Run(2 * kSecond);
  EXPECT_EQ(wire.server().connection(0).received, 100'000u);
}

TEST(StackTest, TimeWaitDoesNotUseUpConnections) {
  StackOptions options;
  options.max_connections = 4;
  Wire wire(1, options, options);
  for (uint64_t i = 0; i < 100; ++i) {
    wire.Connect();
    wire.Run(kSecond, [&] { return wire.client().closed > i && wire.server().closed > i; });
    ASSERT_EQ(wire.client().closed, i + 1);
  }
  EXPECT_EQ(wire.server().stack().counters().finished, 100u);
}

TEST(StackTest, AnAddressAndPortCanBeUsedAgain) {
  Wire wire;
  wire.client().patient = true;  // The server enters TIME-WAIT.
  Peer peer = Wire::Server();
  peer.local_port = 5000;
  for (uint64_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(wire.client().stack().Connect(peer, wire.server().options().own.mac()));
    EXPECT_FALSE(wire.client().stack().Connect(peer, wire.server().options().own.mac()));
    wire.Run(kSecond, [&] { return wire.client().closed == i && wire.server().closed == i; });
    ASSERT_EQ(wire.client().stack().counters().finished, i);
    ASSERT_EQ(wire.server().stack().counters().finished, i);
  }
}

/// Sets the IPv4 source address of a SYN, and corrects both checksums.
void SetSource(Frame& frame, uint32_t address) {
  packet::SetIpv4Address(
      frame.data(), packet::Parse(frame.data(), static_cast<uint32_t>(frame.size())),
      packet::End::kSource,
      {static_cast<uint8_t>(11 + (address >> 24)), static_cast<uint8_t>(address >> 16),
       static_cast<uint8_t>(address >> 8), static_cast<uint8_t>(address)});
}

/// Returns two frames that the client sends: the first when it connects, and then one with data.
std::pair<Frame, Frame> SynAndData() {
  Wire wire;
  Frame syn, data;
  wire.on_frame = [&](bool from_client, const Frame& frame) {
    if (!from_client) return;
    if (syn.empty()) syn = frame;
    if (data.size() < frame.size()) data = frame;
  };
  wire.client().to_send = 700;
  wire.Connect();
  wire.Run(kSecond);
  return {syn, data};
}

TEST(StackTest, ASynFloodIsBounded) {
  Wire wire;
  Frame syn = SynAndData().first;
  uint64_t answers = 0;
  wire.on_frame = [&](bool from_client, const Frame&) { answers += !from_client; };
  constexpr uint32_t kSyns = 20'000;
  for (uint32_t i = 0; i < kSyns; ++i) {
    SetSource(syn, i);
    ASSERT_TRUE(wire.Deliver(wire.server(), syn));
  }
  EXPECT_EQ(answers, kSyns);
  EXPECT_EQ(wire.server().stack().counters().refused, kSyns - 1024);
  EXPECT_EQ(wire.server().stack().counters().no_memory, 0u);
  EXPECT_EQ(wire.server().opened, 0u);
  wire.client().to_send = 1000;
  wire.Connect();
  wire.Run(kSecond, [&] { return wire.server().closed == 1; });
  EXPECT_EQ(wire.server().stack().counters().finished, 1u);
  // Handshakes that are not completed end without a callback.
  wire.Run(60 * kSecond);
  EXPECT_EQ(wire.server().closed, 1u);
}

TEST(StackTest, OtherFramesAreNotProcessed) {
  Wire wire;
  const Frame syn = SynAndData().first;
  const auto refused = [&](const std::function<void(Frame&)>& change) {
    Frame frame = syn;
    change(frame);
    const uint64_t segments = wire.server().stack().counters().rx_segments;
    return !wire.Deliver(wire.server(), frame) &&
           wire.server().stack().counters().rx_segments == segments;
  };
  const auto set = [](size_t at, uint8_t value) {
    return [=](Frame& frame) { frame[at] = value; };
  };
  EXPECT_TRUE(refused(set(0, 0xff)));   // Another destination.
  EXPECT_TRUE(refused(set(5, 9)));      // Another destination.
  EXPECT_TRUE(refused(set(6, 1)));      // The source is a group address.
  EXPECT_TRUE(refused(set(13, 6)));     // ARP.
  EXPECT_TRUE(refused(set(23, 17)));    // UDP.
  EXPECT_TRUE(refused(set(20, 0x20)));  // A fragment.
  EXPECT_TRUE(refused(set(21, 1)));     // A later fragment.
  EXPECT_TRUE(refused(set(26, 224)));   // The source is a multicast address.
  EXPECT_TRUE(refused(set(26, 255)));
  EXPECT_TRUE(refused(set(26, 127)));
  EXPECT_TRUE(refused(set(26, 0)));
  EXPECT_TRUE(refused(set(29, 2)));   // The source is the host's own address.
  EXPECT_TRUE(refused(set(33, 3)));   // Another address.
  EXPECT_TRUE(refused(set(37, 81)));  // Another port.
  EXPECT_TRUE(refused([](Frame& frame) {
    frame.insert(frame.begin() + 12, {0x81, 0, 0, 1});  // A VLAN tag.
  }));
  EXPECT_EQ(wire.server().stack().counters().bad_segments, 0u);
  EXPECT_TRUE(refused(set(46, 0x40)));  // The header length is 16 bytes.
  EXPECT_EQ(wire.server().stack().counters().bad_segments, 1u);
  Frame corrupted = syn;
  corrupted.back() ^= 1;
  EXPECT_TRUE(wire.Deliver(wire.server(), corrupted));
  EXPECT_EQ(wire.server().stack().counters().bad_segments, 2u);
  corrupted = syn;
  corrupted[22] ^= 1;  // Changes the TTL, which only the IPv4 checksum covers.
  EXPECT_TRUE(wire.Deliver(wire.server(), corrupted));
  EXPECT_EQ(wire.server().stack().counters().bad_segments, 3u);
  EXPECT_TRUE(wire.Deliver(wire.server(), syn));
}

TEST(StackTest, TruncatedFramesAreNotProcessed) {
  const auto [syn, data] = SynAndData();
  ASSERT_EQ(data.size(), 14u + 20 + 20 + 700);
  for (const Frame& frame : {syn, data}) {
    Wire wire;
    for (size_t bytes = 0; bytes < frame.size(); ++bytes) {
      EXPECT_FALSE(wire.Deliver(wire.server(), Frame(frame.begin(), frame.begin() + bytes)));
    }
    EXPECT_EQ(wire.server().stack().counters().rx_segments, 0u);
  }
}

TEST(StackTest, ASegmentWithoutConnectionIsReset) {
  Wire wire;
  const Frame data = SynAndData().second;
  Frame answer;
  wire.on_frame = [&](bool, const Frame& frame) { answer = frame; };
  EXPECT_TRUE(wire.Deliver(wire.server(), data));
  ASSERT_EQ(answer.size(), 54u);
  EXPECT_EQ(answer[47] & 4, 4);
  EXPECT_TRUE(std::equal(answer.begin(), answer.begin() + 6, data.begin() + 6));
}

/// A peer that sends segments with random flags, options and lengths, near the window of an open
/// connection. The bytes of the stream do not matter here.
TEST(StackTest, RandomSegmentsHarmNobody) {
  class Sink : public Host {
   public:
    using Host::Host;
    void Received(ConnectionId id, const uint8_t*, uint32_t bytes) override {
      received += bytes;
      stack().Consume(id, bytes);
      if (received % 3 == 0) stack().Abort(id);
    }
    uint64_t received = 0;
  };
  const Frame syn = SynAndData().first;
  StackOptions options;
  std::string error;
  ASSERT_TRUE(options.own.Add("10.0.0.2", &error));
  options.own.set_mac({2, 0, 0, 0, 0, 2});
  options.max_connections = 50;
  constexpr uint16_t kFirstPort = 1000, kPorts = 60;
  struct {
    uint32_t sequence = 0, acknowledged = 0;  // Numbers in the stack's last segment.
  } peers[kPorts];
  Sink sink(options, [&](const uint8_t* frame, uint32_t) {
    auto& peer = peers[packet::LoadBe16(frame + 36) - kFirstPort];
    peer.sequence = packet::LoadBe32(frame + 38);
    if ((frame[47] & 16) != 0) peer.acknowledged = packet::LoadBe32(frame + 42);
  });
  sink.finish = false;
  sink.to_send = 50'000;
  ASSERT_TRUE(sink.stack().Listen(80));
  std::mt19937_64 random(5);
  uint64_t now = 0;
  for (int i = 0; i < 200'000; ++i) {
    Frame frame = syn;
    const uint32_t option_bytes = random() % 4 == 0 ? random() % 11 * 4 : 0;
    frame.resize(54 + option_bytes + (random() % 2 == 0 ? random() % 1200 : 0));
    for (uint32_t at = 54; at < 54 + option_bytes; ++at) {
      frame[at] = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 11);
    }
    const auto peer = static_cast<uint16_t>(random() % kPorts);
    packet::StoreBe16(frame.data() + 34, kFirstPort + peer);
    const auto near = [&](uint32_t value, uint32_t range) {
      return random() % 3 == 0 ? value
                               : value + static_cast<uint32_t>(random() % range) - range / 4;
    };
    packet::StoreBe32(frame.data() + 38, near(peers[peer].acknowledged, 20'000));
    packet::StoreBe32(frame.data() + 42,
                      near(peers[peer].sequence + 1, random() % 2 == 0 ? 4 : 60'000));
    frame[46] = static_cast<uint8_t>((5 + option_bytes / 4) << 4);
    const uint8_t flags[] = {2, 16, 16, 16, 24, 17, 4, 20};
    frame[47] = random() % 20 == 0 ? static_cast<uint8_t>(random()) : flags[random() % 8];
    packet::StoreBe16(frame.data() + 48, static_cast<uint16_t>(random() % 3 == 0 ? 0 : random()));
    SetChecksum(frame);
    Wire::Deliver(sink, frame);
    if (random() % 100 == 0) sink.stack().Advance(now += random() % 200'000'000);
  }
  EXPECT_GT(sink.opened, 1000u);
  EXPECT_GT(sink.received, 100'000u);
  const StackCounters& counters = sink.stack().counters();
  EXPECT_EQ(counters.no_memory, 0u);
  EXPECT_EQ(counters.bad_segments, 0u);
  EXPECT_EQ(sink.opened - sink.closed, sink.stack().connections());
  EXPECT_EQ(counters.opened, sink.opened);
  EXPECT_EQ(counters.finished + counters.reset + counters.timed_out + counters.aborted,
            sink.closed);
  for (auto& [id, connection] : sink.connections()) {
    if (connection.open) sink.stack().Abort(id);
  }
  EXPECT_EQ(sink.stack().connections(), 0u);
}

TEST(StackTest, StacksRunInThreads) {
  const auto run = [] {
    Wire wire;
    wire.client().to_send = wire.server().to_send = 5'000'000;
    wire.loss = 0.01;
    const ConnectionId id = wire.Connect();
    wire.Run(100 * kSecond, [&] { return wire.client().closed == 1 && wire.server().closed == 1; });
    EXPECT_EQ(wire.client().connection(id).received, 5'000'000u);
    EXPECT_EQ(wire.server().connection(0).received, 5'000'000u);
  };
  std::thread first(run), second(run);
  first.join();
  second.join();
}

TEST(StackTest, TenThousandConnectionsTransferAtOnce) {
  constexpr uint32_t kConnections = 10'000;
  Wire wire;
  wire.client().to_send = wire.server().to_send = 3000;
  wire.client().finish = wire.server().finish = false;
  for (uint32_t i = 0; i < kConnections; ++i) {
    wire.Connect(i % 2 == 1);
    if (i % 500 == 0) wire.Run(kSecond / 1000);
  }
  wire.Run(kSecond / 2);
  EXPECT_EQ(wire.server().stack().connections(), kConnections);
  // The timers of all connections are running.
  wire.cut = true;
  wire.client().to_send = 3010;
  for (const auto& [id, connection] : wire.client().connections()) wire.client().Send(id);
  wire.Run(kSecond);
  EXPECT_GE(wire.client().stack().counters().retransmitted, kConnections);
  wire.cut = false;
  wire.Run(4 * kSecond);
  for (Host* host : {&wire.client(), &wire.server()}) {
    ASSERT_EQ(host->connections().size(), kConnections);
    for (const auto& [id, connection] : host->connections()) {
      ASSERT_EQ(connection.received, host == &wire.server() ? 3010u : 3000u);
    }
  }
  EXPECT_EQ(wire.server().stack().counters().refused, 0u);
}

TEST(StackTest, CreateRejectsBadLimits) {
  Wire wire;
  std::string error;
  StackOptions options;
  for (const uint32_t connections : {0u, Stack::kMaxConnections + 1}) {
    options.max_connections = connections;
    EXPECT_EQ(Stack::Create(options, wire.client(), &error), nullptr);
    EXPECT_EQ(error, "the number of connections must be 1 to 16384");
  }
  EXPECT_FALSE(wire.server().stack().Listen(80));
  EXPECT_FALSE(wire.server().stack().Listen(0));
}

}  // namespace
}  // namespace sluice::transport
