// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a worker that echoes messages on TCP connections, for callgrind: TcpHost with StreamEcho,
// with frames in memory. The client runs in the same thread, so the count is the same on every run.
// Only WorkerTcp is counted. In each round, the next 32 connections in turn send a message.
//
//   tcp_bench CONNECTIONS BYTES MESSAGES
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/echo/stream_echo.h"
#include "engine/transport/tcp_host.h"
#include "packet/own_addresses.h"
#include "transport/stack.h"

namespace {

using namespace sluice;  // NOLINT
using transport::ConnectionId;
using transport::Stack;
using Host = engine::TcpHost<engine::StreamEcho>;
using Frames = std::vector<std::vector<uint8_t>>;

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

/// The work that a worker does for the frames that it received.
[[gnu::noinline]] void WorkerTcp(Host& host, Frames& frames, uint64_t now) {
  for (auto& bytes : frames) {
    packet::Frame frame{bytes.data(), static_cast<uint32_t>(bytes.size()), 0, 0};
    if (host.Process(frame, now) != packet::kConsume) Fail("a frame was not consumed");
  }
  host.AtRest(now);
}

/// Carries frames between the ends until neither sends any.
void Exchange(Host& host, Sent& sent, Client& client, uint64_t now) {
  while (!client.frames.empty() || !sent.frames.empty()) {
    Frames received = std::exchange(client.frames, {});
    sent.frames.reserve(2 * received.size());
    WorkerTcp(host, received, now);
    for (const auto& frame : std::exchange(sent.frames, {})) {
      client.stack->Input(frame.data(), static_cast<uint32_t>(frame.size()));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto number = [&](int i) {
    return static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10));
  };
  const uint32_t connections = number(1), bytes = number(2), messages = number(3);
  std::string error;
  engine::TcpCounts counts;
  engine::TcpHostOptions options;
  options.stack = {.own = Addresses(kServerMac, "10.0.0.1"), .seed = 1};
  options.ports = {kPort};
  options.cycles_per_second = kCyclesPerSecond;
  auto host = Host::Create(
      options, counts, [] { return engine::StreamEcho(); }, &error);
  if (!host) Fail(error);
  Sent sent;
  host->set_outbox(packet::Outbox::To(sent));
  Client client;
  client.stack =
      Stack::Create({.own = Addresses(kClientMac, "10.0.0.2"), .seed = 2}, client, &error);
  if (client.stack == nullptr) Fail(error);

  uint64_t now = kCyclesPerSecond;
  packet::StreamPeer peer;
  peer.address = packet::ToIpv4Mapped({10, 0, 0, 1});
  peer.port = kPort;
  for (uint32_t i = 0; i < connections; ++i) {
    peer.local_port = static_cast<uint16_t>(1024 + i);
    if (!client.stack->Connect(peer, kServerMac)) Fail("cannot connect");
    Exchange(*host, sent, client, now);
  }
  if (client.opened.size() != connections) Fail("not all connections opened");

  const std::vector<uint8_t> message(bytes, 'x');
  uint32_t next = 0;
  for (uint32_t done = 0; done < messages; done += kBurst) {
    for (uint32_t i = 0; i < kBurst; ++i) {
      const ConnectionId id = client.opened[next++ % connections];
      if (client.stack->Room(id) < bytes) Fail("no room");
      client.stack->Write(id, message.data(), bytes);
      client.stack->Flush(id);
    }
    Exchange(*host, sent, client, now);
    now += kCyclesPerSecond / 100'000;
    client.stack->Advance(now);
  }
  const uint32_t sent_messages = (messages + kBurst - 1) / kBurst * kBurst;
  if (client.received != uint64_t{sent_messages} * bytes) Fail("not all bytes returned");
  std::printf("%u requests\n", sent_messages);
  return 0;
}
