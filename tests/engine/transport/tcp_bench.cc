// SPDX-License-Identifier: BSD-3-Clause
//
// A worker that echoes messages of TCP connections, for callgrind: TcpHost with StreamEcho, on
// frames in memory. The client runs in the same thread, so the count is the same on every run.
// WorkerTcp contains the worker's instructions and, with `nic`, UnitReceive and UnitTransmit those
// of the NIC's transport unit. In each round 32 messages are sent, in turns of all connections.
//
//   tcp_bench CONNECTIONS BYTES MESSAGES [nic [RING_KIB]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/transport/nic_lab.h"
#include "engine/echo/stream_echo.h"
#include "engine/transport/tcp_host.h"
#include "packet/own_addresses.h"
#include "transport/stack.h"

namespace {

using namespace sluice;  // NOLINT
using test::Frames;
using transport::ConnectionId;
using transport::Stack;

constexpr uint16_t kPort = 7;
constexpr uint32_t kBurst = 32;
constexpr uint64_t kCyclesPerSecond = 1'000'000'000;
constexpr packet::MacAddress kServerMac{2, 0, 0, 0, 0, 1}, kClientMac{2, 0, 0, 0, 0, 2};

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "tcp_bench: %s\n", why.c_str());
  std::exit(1);
}

packet::OwnAddresses Addresses(const packet::MacAddress& mac, const char* list) {
  packet::OwnAddresses own(mac);
  std::string error;
  if (!own.Add(list, &error)) Fail(error);
  return own;
}

/// The frames that the worker sends.
struct Sent {
  bool Send(const uint8_t* frame, uint32_t length) {
    frames.emplace_back(frame, frame + length);
    return true;
  }
  Frames frames;
};

struct Client final : transport::Events {
  bool Output(const uint8_t* frame, uint32_t bytes) override {
    frames.emplace_back(frame, frame + bytes);
    return true;
  }
  bool Opened(ConnectionId id, const packet::StreamPeer& /*peer*/) override {
    opened.push_back(id);
    return true;
  }
  void Received(ConnectionId id, const uint8_t* /*data*/, uint32_t bytes) override {
    received += bytes;
    stack->Consume(id, bytes);
  }
  void HalfClosed(ConnectionId /*id*/) override {}
  void RoomFreed(ConnectionId /*id*/) override {}
  void Closed(ConnectionId /*id*/, transport::End /*end*/) override {}

  Frames frames;
  std::vector<ConnectionId> opened;
  uint64_t received = 0;
  std::unique_ptr<Stack> stack;  // Last, because its destructor sends frames.
};

template <typename Host>
[[gnu::always_inline]] inline void Process(Host& host, Frames& frames, uint64_t now) {
  for (auto& bytes : frames) {
    packet::Frame frame{bytes.data(), static_cast<uint32_t>(bytes.size()), 0, 0};
    if (host.Process(frame, now) != packet::kConsume) Fail("a frame was not consumed");
  }
  host.AtRest(now);
}
/// The work of a worker on the frames that it received. OpenTcp is not counted.
template <typename Host>
[[gnu::noinline]] void WorkerTcp(Host& host, Frames& frames, uint64_t now) {
  Process(host, frames, now);
}
template <typename Host>
[[gnu::noinline, gnu::no_icf]] void OpenTcp(Host& host, Frames& frames, uint64_t now) {
  Process(host, frames, now);
}

/// The work of the NIC on frames from the wire and from the host. The functions of Open are not
/// counted.
[[gnu::noinline]] void UnitReceive(test::NicLab& nic, const Frames& frames) {
  if (nic.Receive(frames) != frames.size()) Fail("the NIC has no room");
}
[[gnu::noinline]] Frames UnitTransmit(test::NicLab& nic, Frames frames) {
  return nic.Send(std::move(frames));
}
[[gnu::noinline, gnu::no_icf]] void OpenReceive(test::NicLab& nic, const Frames& frames) {
  if (nic.Receive(frames) != frames.size()) Fail("the NIC has no room");
}
[[gnu::noinline, gnu::no_icf]] Frames OpenTransmit(test::NicLab& nic, Frames frames) {
  return nic.Send(std::move(frames));
}

/// Frames that the worker received and sent.
struct Crossings {
  uint64_t frames = 0, bytes = 0;
  void Add(const Frames& added) {
    frames += added.size();
    for (const auto& frame : added) bytes += frame.size();
  }
};

/// Carries frames until no end sends any. `nic` may be null.
template <bool kCounted, typename Host>
void Exchange(Host& host, test::NicLab* nic, Sent& sent, Client& client, Crossings& crossings,
              uint64_t now) {
  while (!client.frames.empty() || !sent.frames.empty()) {
    Frames received = std::exchange(client.frames, {});
    if (nic != nullptr) {
      kCounted ? UnitReceive(*nic, received) : OpenReceive(*nic, received);
      received = nic->ToHost();
    }
    sent.frames.reserve(2 * received.size() + 64);
    crossings.Add(received);
    kCounted ? WorkerTcp(host, received, now) : OpenTcp(host, received, now);
    Frames answers = std::exchange(sent.frames, {});
    crossings.Add(answers);
    if (nic != nullptr) {
      answers = kCounted ? UnitTransmit(*nic, std::move(answers))
                         : OpenTransmit(*nic, std::move(answers));
    }
    for (const auto& frame : answers) {
      client.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
    }
  }
}

template <typename Tcp>
int Run(uint32_t connections, uint32_t bytes, uint32_t messages, uint32_t ring_bytes) {
  std::string error;
  engine::TcpCounts counts;
  engine::TcpHostOptions options;
  options.stack = {.own = Addresses(kServerMac, "10.0.0.1"), .seed = 1};
  options.ports = {kPort};
  options.cycles_per_second = kCyclesPerSecond;
  std::unique_ptr<test::NicLab> nic;
  if (ring_bytes != 0) {
    nic = std::make_unique<test::NicLab>(
        test::ConfigurationOf(options.stack.own, options.ports, connections, ring_bytes));
    options.rings = nic->rings;
  }
  auto host = engine::TcpHost<engine::StreamEcho, Tcp>::Create(
      options, counts, [] { return engine::StreamEcho(); }, &error);
  if (!host) Fail(error);
  Sent sent;
  host->set_outbox(packet::Outbox::To(sent));
  Client client;
  client.stack =
      Stack::Create({.own = Addresses(kClientMac, "10.0.0.2"), .seed = 2}, client, &error);
  if (client.stack == nullptr) Fail(error);

  uint64_t now = kCyclesPerSecond;
  Crossings crossings;
  const auto exchange = [&]<bool kCounted>() {
    if (nic != nullptr) nic->unit->SetTime(now);
    Exchange<kCounted>(*host, nic.get(), sent, client, crossings, now);
    now += kCyclesPerSecond / 100'000;
    client.stack->Advance(now);
  };
  packet::StreamPeer peer;
  peer.address = packet::ToIpv4Mapped({10, 0, 0, 1});
  peer.port = kPort;
  for (uint32_t i = 0; i < connections; ++i) {
    peer.local_port = static_cast<uint16_t>(1024 + i);
    if (!client.stack->Connect(peer, kServerMac)) Fail("cannot connect");
    exchange.template operator()<false>();
  }
  if (client.opened.size() != connections) Fail("not all connections opened");
  crossings = {};

  const std::vector<uint8_t> message(bytes, 'x');
  const uint32_t burst = std::min(kBurst, messages);
  const uint32_t shares = (burst + connections - 1) / connections;  // Messages of a connection.
  uint32_t next = 0, sent_messages = 0;
  while (sent_messages < messages) {
    for (uint32_t done = 0; done != bytes;) {
      uint32_t part = bytes - done;
      for (uint32_t i = 0; i < burst; ++i) {
        part = std::min(part, client.stack->Room(client.opened[(next + i) % connections]) / shares);
      }
      for (uint32_t i = 0; i < burst; ++i) {
        const ConnectionId id = client.opened[(next + i) % connections];
        client.stack->Write(id, message.data() + done, part);
        client.stack->Flush(id);
      }
      done += part;
      exchange.template operator()<true>();
    }
    next += burst;
    sent_messages += burst;
  }
  for (uint32_t i = 0; i < 100 && client.received != uint64_t{sent_messages} * bytes; ++i) {
    now += kCyclesPerSecond / 20;
    client.stack->Advance(now);
    exchange.template operator()<true>();
  }
  if (client.received != uint64_t{sent_messages} * bytes) Fail("not all bytes returned");
  std::printf("%u requests, %.2f frames and %.0f bytes each\n", sent_messages,
              static_cast<double>(crossings.frames) / sent_messages,
              static_cast<double>(crossings.bytes) / sent_messages);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto number = [&](int i) {
    return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
  };
  if (argc == 4) return Run<Stack>(number(1), number(2), number(3), 0);
  return Run<transport::NicStreams>(number(1), number(2), number(3),
                                    1024 * (argc > 5 ? number(5) : 64));
}
