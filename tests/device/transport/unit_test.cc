// SPDX-License-Identifier: BSD-3-Clause
//
// The transport unit in front of a NIC in memory. The peer is a stack of TCP; the host is this
// test, which writes and reads records byte by byte.
#include "device/transport/unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device/transport/nic_lab.h"
#include "packet/byte_stream.h"
#include "packet/own_addresses.h"
#include "regs/transport.h"
#include "transport/stack.h"

namespace sluice::device::transport {
namespace {

namespace layout = regs::transport;
using ::sluice::transport::End;
using ::sluice::transport::Events;
using ::sluice::transport::Peer;
using ::sluice::transport::Stack;
using test::Frames;
using test::NicLab;

constexpr uint16_t kPort = 80;
constexpr uint32_t kRing = 4096;
constexpr packet::MacAddress kNicMac{2, 0, 0, 0, 0, 1}, kPeerMac{2, 0, 0, 0, 0, 2};
using Bytes = std::vector<uint8_t>;

packet::OwnAddresses Addresses(const packet::MacAddress& mac, const char* list) {
  packet::OwnAddresses own(mac);
  std::string error;
  EXPECT_TRUE(own.Add(list, &error)) << error;
  return own;
}

layout::Configuration Usual(uint32_t connections = 4) {
  return test::ConfigurationOf(Addresses(kNicMac, "10.0.0.1,fd00::1"), {kPort}, connections, kRing);
}

/// The host at the other end of the wire.
struct Remote final : Events {
  Remote() {
    std::string error;
    stack =
        Stack::Create({.own = Addresses(kPeerMac, "10.0.0.2,fd00::2"), .seed = 1}, *this, &error);
    EXPECT_NE(stack, nullptr) << error;
  }
  bool Output(const uint8_t* frame, uint32_t bytes) override {
    sent.emplace_back(frame, frame + bytes);
    return true;
  }
  bool Opened(uint32_t id, const Peer& /*peer*/) override {
    opened.push_back(id);
    return true;
  }
  void Received(uint32_t id, const uint8_t* data, uint32_t bytes) override {
    received.append(reinterpret_cast<const char*>(data), bytes);
    stack->Consume(id, bytes);
  }
  void HalfClosed(uint32_t /*id*/) override { half_closed = true; }
  void RoomFreed(uint32_t /*id*/) override {}
  void Closed(uint32_t /*id*/, End end) override { ends.push_back(end); }

  Frames sent;
  std::vector<uint32_t> opened;
  std::string received;
  bool half_closed = false;
  std::vector<End> ends;
  std::unique_ptr<Stack> stack;  // Last, because its destructor sends frames.
};

struct Lab {
  explicit Lab(const layout::Configuration& configuration = Usual()) : nic(configuration) {}

  /// Carries frames until none is left, sending these frames of the host first. Appends frames for
  /// the host to to_host.
  void Run(Frames from_host = {}) {
    for (bool first = true; first || !remote.sent.empty() || !from_host.empty(); first = false) {
      nic.Receive(std::exchange(remote.sent, {}));
      for (auto& frame : nic.ToHost()) to_host.push_back(std::move(frame));
      for (const auto& frame : nic.Send(std::exchange(from_host, {}))) {
        remote.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
      }
    }
  }
  /// Lets time pass, with timers.
  void Wait(uint64_t ns) {
    for (const uint64_t end = now + ns; now < end;) {
      now += Stack::kTickNs;
      nic.unit->SetTime(now);
      remote.stack->Advance(now);
      Run();
    }
  }
  void Connect(const Peer& peer = {packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, 1234}) {
    EXPECT_TRUE(remote.stack->Connect(peer, kNicMac));
    Run();
  }
  void Send(uint32_t id, const std::string& text) {
    remote.stack->Write(id, reinterpret_cast<const uint8_t*>(text.data()),
                        static_cast<uint32_t>(text.size()));
    remote.stack->Flush(id);
    Run();
  }
  /// Returns the record of the frame for the host that arrived last.
  layout::Record Last() const {
    layout::Record record{};
    EXPECT_FALSE(to_host.empty());
    if (!to_host.empty()) {
      EXPECT_EQ(to_host.back().size(), layout::kRecordBytes);
      std::memcpy(&record, to_host.back().data() + layout::kRecordOffset, sizeof(record));
    }
    return record;
  }
  std::string Ring(uint32_t connection, bool to_send, uint32_t bytes) {
    const uint8_t* const at =
        nic.rings.memory + layout::RingsOf(connection, kRing) + (to_send ? kRing : 0);
    return {reinterpret_cast<const char*>(at), bytes};
  }

  NicLab nic;
  Remote remote;
  Frames to_host;
  uint64_t now = 1'000'000'000;
};

/// Returns a frame of the host with this record.
Bytes FromHost(uint8_t flags, uint16_t connection, uint16_t life, uint32_t received,
               uint32_t sent) {
  Bytes frame(layout::kRecordBytes, 0);
  std::copy(test::kUnitMac.begin(), test::kUnitMac.end(), frame.begin());
  layout::Record record{};
  record.flags = flags;
  record.connection = connection;
  record.life = life;
  record.counts = {received, sent};
  std::memcpy(frame.data() + layout::kRecordOffset, &record, sizeof(record));
  return frame;
}

/// Returns a UDP frame to the NIC.
Bytes Datagram(uint8_t number) {
  Bytes frame(60, 0);
  std::copy(kNicMac.begin(), kNicMac.end(), frame.begin());
  std::copy(kPeerMac.begin(), kPeerMac.end(), frame.begin() + 6);
  frame[12] = 8, frame[14] = 0x45, frame[17] = 46, frame[22] = 64, frame[23] = 17;
  frame[59] = number;
  return frame;
}

TEST(TransportUnit, PassesAllFramesUntilItIsConfigured) {
  Lab lab(Usual());
  lab.nic.unit->WriteRegister(NicLab::kRegister, 8, 0);
  EXPECT_EQ(lab.nic.status(), layout::kStatusPresent);
  Bytes forged = Datagram(1);
  std::copy(test::kUnitMac.begin(), test::kUnitMac.end(), forged.begin() + 6);
  EXPECT_TRUE(lab.remote.stack->Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, 1}, kNicMac));
  Frames frames = std::exchange(lab.remote.sent, {});
  frames.push_back(forged);
  EXPECT_EQ(lab.nic.Receive(frames), 2u);
  EXPECT_EQ(lab.nic.ToHost(), frames);
  const Frames records{FromHost(0, 0, 0, 1, 1)};
  EXPECT_EQ(lab.nic.Send(records), records);
}

TEST(TransportUnit, RejectsInvalidConfigurations) {
  const auto status = [](auto change) {
    layout::Configuration configuration = Usual();
    change(configuration);
    NicLab nic(Usual());
    layout::Configuration* const at = reinterpret_cast<layout::Configuration*>(nic.memory());
    configuration.rings = at->rings;
    *at = configuration;
    nic.unit->WriteRegister(NicLab::kRegister, 8, NicLab::kBus);
    return nic.status();
  };
  const uint64_t active = layout::kStatusPresent | layout::kStatusActive;
  const uint64_t rejected = layout::kStatusPresent | layout::kStatusRejected;
  EXPECT_EQ(status([](auto&) {}), active);
  EXPECT_EQ(status([](auto& c) { c.connections = 0; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.connections = layout::kMaxConnections + 1; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.connections_per_peer = 0; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ring_bytes = layout::kMinRing / 2; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ring_bytes = layout::kMinRing + 1; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ring_bytes = layout::kMaxRing * 2; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.port_count = 0; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.port_count = layout::kMaxPorts + 1; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ports[0] = 0; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ipv4_count = layout::kMaxAddresses + 1; }), rejected);
  EXPECT_EQ(status([](auto& c) { c.ipv6_count = layout::kMaxAddresses + 1; }), rejected);
  NicLab nic(Usual());
  nic.unit->WriteRegister(NicLab::kRegister, 4, NicLab::kBus);
  EXPECT_EQ(nic.status(), active) << "a store of 4 bytes has no effect";
  nic.unit->WriteRegister(NicLab::kRegister, 8, NicLab::kBus - 1);
  EXPECT_EQ(nic.status(), rejected) << "memory that the host has not registered";
}

TEST(TransportUnit, ReportsANewConnectionAndItsBytes) {
  Lab lab;
  lab.Connect();
  ASSERT_EQ(lab.to_host.size(), 1u);
  const Bytes& frame = lab.to_host[0];
  // Ethernet, IPv4 of 50 bytes from the peer, UDP with both ports.
  EXPECT_EQ(Bytes(frame.begin(), frame.begin() + 42),
            (Bytes{2,    0, 0,  0,  0, 1, 0x02,      0x53,       0x6c, 0x75,  0x54, 0x43, 8,  0,  //
                   0x45, 0, 0,  50, 0, 0, 0x40,      0,          64,   17,    0x26, 0xb9, 10, 0,
                   0,    2, 10, 0,  0, 1, 1234 >> 8, 1234 & 255, 0,    kPort, 0,    30,   0,  0}));
  // Flags, end, connection, life, and the peer's address.
  EXPECT_EQ(
      Bytes(frame.begin() + 42, frame.end()),
      (Bytes{
          layout::kOpened, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2}));
  lab.Send(0, "hello");
  EXPECT_EQ(lab.to_host.size(), 2u);
  EXPECT_EQ(lab.Last().flags, 0);
  EXPECT_EQ(lab.Last().counts.received, 5u);
  EXPECT_EQ(lab.Last().counts.sent, 0u);
  EXPECT_EQ(lab.Ring(0, false, 5), "hello");

  std::memcpy(lab.nic.rings.memory + kRing, "answer", 6);
  lab.Run({FromHost(0, 0, 0, 5, 6)});
  EXPECT_EQ(lab.remote.received, "answer");
  lab.remote.stack->Finish(0);
  lab.Run();
  EXPECT_EQ(lab.Last().flags, layout::kHalfClosed);
  lab.Run({FromHost(layout::kFinish, 0, 0, 5, 6)});
  EXPECT_EQ(lab.Last().flags, layout::kHalfClosed | layout::kClosed);
  EXPECT_EQ(lab.Last().end, static_cast<uint8_t>(End::kFinished));
  EXPECT_EQ(lab.nic.Count("transport_bad_records"), 0u);
}

TEST(TransportUnit, ReportsPeersOfIpv6) {
  Lab lab;
  packet::Ipv6Address to{0xfd};
  to[15] = 1;
  lab.Connect({to, kPort, 99});
  packet::Ipv6Address from{0xfd};
  from[15] = 2;
  EXPECT_EQ(lab.Last().peer, from);
}

/// The counts of a record include all earlier ones, so a NIC without room loses none.
TEST(TransportUnit, KeepsRecordsForWhichTheNicHasNoRoom) {
  Lab lab;
  lab.Connect();
  lab.nic.SetRoom(0);
  for (int i = 0; i < 10; ++i) lab.Send(0, "x");
  EXPECT_EQ(lab.to_host.size(), 1u);
  lab.nic.SetRoom(SIZE_MAX);
  lab.Run();
  ASSERT_EQ(lab.to_host.size(), 2u);
  EXPECT_EQ(lab.Last().counts.received, 10u);
}

TEST(TransportUnit, KeepsTheOrderOfOtherFrames) {
  Lab lab;
  lab.Connect();
  lab.to_host.clear();
  lab.remote.stack->Write(0, reinterpret_cast<const uint8_t*>("abc"), 3);
  lab.remote.stack->Flush(0);
  Frames frames{Datagram(1), Datagram(2)};
  frames.insert(frames.end(), lab.remote.sent.begin(), lab.remote.sent.end());
  lab.remote.sent.clear();
  frames.push_back(Datagram(3));
  lab.nic.SetRoom(1);
  EXPECT_EQ(lab.nic.Receive(frames), 1u);
  EXPECT_EQ(lab.nic.Count("transport_rx_bytes"), 0u) << "the segment is offered again";
  lab.nic.SetRoom(SIZE_MAX);
  frames.erase(frames.begin());
  EXPECT_EQ(lab.nic.Receive(frames), 3u);
  const Frames seen = lab.nic.ToHost();
  ASSERT_EQ(seen.size(), 4u);
  for (uint8_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i], Datagram(i + 1));
  EXPECT_EQ(lab.Ring(0, false, 3), "abc");
}

TEST(TransportUnit, DropsRecordsFromTheWire) {
  Lab lab;
  lab.Connect();
  lab.to_host.clear();
  Bytes forged = FromHost(layout::kClosed, 0, 0, 0, 0);
  std::copy(kNicMac.begin(), kNicMac.end(), forged.begin());
  std::copy(test::kUnitMac.begin(), test::kUnitMac.end(), forged.begin() + 6);
  // A frame to the unit comes from the wire, and is therefore no record either.
  const Bytes to_unit = FromHost(layout::kAbort, 0, 0, 0, 0);
  EXPECT_EQ(lab.nic.Receive({forged, to_unit}), 2u);
  EXPECT_EQ(lab.nic.ToHost(), Frames{to_unit});
  EXPECT_EQ(lab.nic.Count("transport_rx_forged"), 1u);
  lab.Send(0, "x");
  EXPECT_EQ(lab.Last().counts.received, 1u) << "the connection is open";
}

TEST(TransportUnit, LimitsConnectionsUntilTheHostReleasesThem) {
  Lab lab(Usual(2));
  for (uint16_t port = 1; port <= 3; ++port) {
    lab.Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, port});
  }
  EXPECT_EQ(lab.remote.opened.size(), 2u);
  lab.remote.stack->Abort(lab.remote.opened[0]);
  lab.Run();
  ASSERT_EQ(lab.Last().flags, layout::kClosed);
  const uint16_t connection = lab.Last().connection;
  EXPECT_EQ(lab.Last().end, static_cast<uint8_t>(End::kReset));
  lab.Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, 4});
  lab.Wait(1'000'000'000);
  EXPECT_NE(lab.Last().flags, layout::kOpened) << "the host still uses the rings";
  lab.Run({FromHost(layout::kRelease, connection, 0, 0, 0)});
  lab.Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, 5});
  EXPECT_EQ(lab.Last().flags, layout::kOpened);
  EXPECT_EQ(lab.Last().connection, connection);
  EXPECT_EQ(lab.Last().life, 1);
  EXPECT_EQ(lab.nic.Count("transport_bad_records"), 0u);
}

TEST(TransportUnit, ResetsAConnectionWhoseHostBreaksTheProtocol) {
  uint64_t bad = 0;
  const auto ends = [&](const Frames& frames) {
    Lab lab;
    lab.Connect();
    lab.Send(0, "abc");
    lab.Run(frames);
    bad += lab.nic.Count("transport_bad_records");
    return lab.remote.ends;
  };
  const std::vector<End> reset{End::kReset}, none;
  EXPECT_EQ(ends({FromHost(0, 0, 0, 4, 0)}), reset) << "more than was received";
  EXPECT_EQ(ends({FromHost(0, 0, 0, 0, kRing + 1)}), reset) << "more than the ring contains";
  EXPECT_EQ(ends({FromHost(layout::kRelease, 0, 0, 0, 0)}), reset) << "a connection that is open";
  EXPECT_EQ(bad, 3u);
  EXPECT_EQ(ends({FromHost(0, 0, 1, 4, 0)}), none) << "another life";
  EXPECT_EQ(bad, 3u) << "a stale record is ignored";
  EXPECT_EQ(ends({FromHost(0, 1, 0, 4, 0)}), none) << "a connection that is free";
  EXPECT_EQ(ends({FromHost(0, 4, 0, 4, 0)}), none) << "no connection";
  EXPECT_EQ(ends({FromHost(0, 0xffff, 0, 4, 0)}), none);
  EXPECT_EQ(bad, 6u);
}

/// Frames of a hostile host, at each length, and random ones.
TEST(TransportUnit, SurvivesAnyRecord) {
  std::mt19937 random(11);
  Lab lab;
  for (uint32_t round = 0; round < 20'000; ++round) {
    if (round % 50 == 0) {
      const auto port = static_cast<uint16_t>(1024 + round / 50);
      lab.remote.stack->Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, port}, kNicMac);
    }
    Bytes frame = FromHost(static_cast<uint8_t>(random()), random() % 5,
                           static_cast<uint16_t>(random() % 3), random() % 9, random() % 9000);
    if (random() % 4 == 0) frame.resize(random() % (layout::kRecordBytes + 1));
    if (random() % 8 == 0) {
      for (size_t i = 42; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(random());
    }
    lab.Run({frame});
    for (const uint32_t id : std::exchange(lab.remote.opened, {})) {
      if (random() % 2 == 0) lab.remote.stack->Write(id, frame.data(), frame.size());
      lab.remote.stack->Flush(id);
    }
    lab.to_host.clear();
  }
  EXPECT_GT(lab.nic.Count("transport_bad_records"), 1000u);
  EXPECT_GT(lab.nic.Count("transport_opened"), 10u);
}

TEST(TransportUnit, ResetsConnectionsOfADeadHost) {
  Lab lab;
  for (uint16_t port = 1; port <= 3; ++port) {
    lab.Connect({packet::ToIpv4Mapped({10, 0, 0, 1}), kPort, port});
  }
  lab.nic.unit->HostDied(lab.nic);
  for (const auto& frame : lab.nic.ToWire()) {
    lab.remote.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
  }
  EXPECT_EQ(lab.remote.ends, (std::vector<End>{End::kReset, End::kReset, End::kReset}));
}

TEST(TransportUnit, ResetsConnectionsOfTheEarlierConfiguration) {
  Lab lab;
  lab.Connect();
  lab.nic.unit->WriteRegister(NicLab::kRegister, 8, NicLab::kBus);
  lab.Run();
  EXPECT_EQ(lab.remote.ends, std::vector<End>{End::kReset});
  EXPECT_EQ(lab.nic.Count("transport_opened"), 1u) << "counters continue";
  lab.Connect();
  EXPECT_EQ(lab.nic.Count("transport_opened"), 2u);
}

TEST(TransportUnit, CountsAFaultIfTheRingsAreGone) {
  Lab lab;
  lab.Connect();
  lab.nic.dma.Remove(NicLab::kBus);
  lab.Send(0, "abc");
  EXPECT_EQ(lab.nic.Count("transport_faults"), 1u);
  EXPECT_EQ(lab.remote.ends, std::vector<End>{End::kReset});
}

/// A peer that sends more than the ring holds waits for the host.
TEST(TransportUnit, ClosesTheWindowOfAFullRing) {
  Lab lab;
  lab.Connect();
  std::string text(3 * kRing, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 + i / 256);
  lab.Send(0, text);
  lab.Wait(500'000'000);
  EXPECT_EQ(lab.Last().counts.received, kRing);
  std::string seen;
  for (uint32_t round = 0; round < 5 && seen.size() < text.size(); ++round) {
    const std::string ring = lab.Ring(0, false, kRing);
    while (seen.size() < lab.Last().counts.received) seen += ring[seen.size() % kRing];
    lab.Run({FromHost(0, 0, 0, static_cast<uint32_t>(seen.size()), 0)});
    lab.Wait(3'000'000'000);  // Enough for a probe of the window.
  }
  EXPECT_TRUE(seen == text);
}

}  // namespace
}  // namespace sluice::device::transport
