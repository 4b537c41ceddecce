// SPDX-License-Identifier: BSD-3-Clause
#include "stream_clients.h"

#include <algorithm>
#include <utility>

#include "emulator/options.h"
#include "packet/bytes.h"
#include "packet/own_addresses.h"

namespace sluice::echo {
namespace {

using emulator::ReadNumber;
using transport::ConnectionId;
using transport::Stack;

constexpr packet::MacAddress kClientMac{{0x02, 0, 0, 0, 0, 1}};
constexpr uint32_t kMaxConnections = 16'000;
constexpr uint32_t kMaxMessageBytes = 1 << 20;
constexpr uint32_t kPieceBytes = 64 * 1024;

// Returns byte number `at` of a connection.
uint8_t Byte(uint32_t key, uint64_t at) { return static_cast<uint8_t>(key * 31 + at + (at >> 8)); }

bool ReadServer(std::string_view text, packet::StreamPeer* server) {
  packet::OwnAddresses addresses;
  std::string error;
  if (!addresses.Add(text, &error) || addresses.ipv4().size() != 1) return false;
  server->address = packet::ToIpv4Mapped(addresses.ipv4()[0]);
  return true;
}

}  // namespace

std::optional<ClientOptions> ReadClientOptions(std::string_view text, uint64_t seed,
                                               std::string* error) {
  ClientOptions options;
  options.seed = seed;
  options.server.port = 7;
  ReadServer("10.0.0.2", &options.server);
  const auto read = [&](std::string_view key, std::string_view value) {
    if (key == "connections") return ReadNumber(value, 1, kMaxConnections, &options.connections);
    if (key == "bytes") return ReadNumber(value, 1, kMaxMessageBytes, &options.bytes);
    if (key == "ip") return ReadServer(value, &options.server);
    if (key == "port") return ReadNumber(value, 1, 65535, &options.server.port);
    return false;
  };
  if (!emulator::ReadOptions(text, read, error)) return std::nullopt;
  return options;
}

std::unique_ptr<StreamClients> StreamClients::Create(const ClientOptions& options,
                                                     std::string* error) {
  std::unique_ptr<StreamClients> clients(new StreamClients(options));
  transport::StackOptions stack;
  stack.own.set_mac(kClientMac);
  stack.max_connections = kMaxConnections;
  stack.max_connections_per_peer = kMaxConnections;
  stack.seed = options.seed;
  if (!stack.own.Add(packet::AddressText(kClientAddress), error)) return nullptr;
  clients->connections_.resize(stack.max_connections);
  clients->piece_.resize(std::min(options.bytes, kPieceBytes));
  clients->stack_ = Stack::Create(stack, *clients, error);
  return clients->stack_ != nullptr ? std::move(clients) : nullptr;
}

std::span<const device::WireFrame> StreamClients::Pull(uint64_t now_ns, uint32_t max) {
  now_ns_ = pulled_ns_ = now_ns;
  stack_->Advance(now_ns);
  OpenConnections();
  pulled_.clear();
  for (size_t i = 0; i < std::min<size_t>(max, waiting_.size()); ++i) {
    pulled_.push_back({waiting_[i].data(), static_cast<uint32_t>(waiting_[i].size())});
  }
  return pulled_;
}

void StreamClients::Consumed(uint32_t count) {
  totals_.offered += count;
  for (uint32_t i = 0; i < count; ++i) {
    free_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void StreamClients::Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) {
  now_ns_ = now_ns;
  for (const device::WireFrame& frame : frames) {
    if (!stack_->Input(frame.data, frame.length)) ++counts_.unknown;
  }
}

std::span<const device::Counter> StreamClients::Counters() {
  counters_ = emulator::ClientStatistics(counts_);
  emulator::AppendLatency(latency_, counters_);
  return counters_;
}

void StreamClients::OpenConnections() {
  while (opening_ < kMaxOpening && open_ + opening_ < options_.connections) {
    ConnectionId id = 0;
    if (!stack_->Connect(options_.server, options_.server_mac, &id)) return;
    connections_[id] = {};
    ++opening_;
  }
}

bool StreamClients::Output(const uint8_t* frame, uint32_t bytes) {
  if (waiting_.size() == kMaxWaiting) return false;
  std::vector<uint8_t> copy;
  if (!free_.empty()) {
    copy = std::move(free_.back());
    free_.pop_back();
  }
  copy.assign(frame, frame + bytes);
  copy.resize(std::max(bytes, emulator::kMinFrameBytes));
  waiting_.push_back(std::move(copy));
  return true;
}

bool StreamClients::Opened(ConnectionId id, const packet::StreamPeer& /*peer*/) {
  connections_[id].key = ++keys_;
  --opening_;
  ++open_;
  StartMessage(id);
  return true;
}

void StreamClients::StartMessage(ConnectionId id) {
  Connection& connection = connections_[id];
  connection.end += options_.bytes;
  connection.sent_ns = now_ns_;
  WriteRest(id);
}

void StreamClients::WriteRest(ConnectionId id) {
  Connection& connection = connections_[id];
  while (connection.written != connection.end) {
    const auto bytes = static_cast<uint32_t>(
        std::min<uint64_t>({connection.end - connection.written, stack_->Room(id), piece_.size()}));
    if (bytes == 0) break;
    for (uint32_t i = 0; i < bytes; ++i) piece_[i] = Byte(connection.key, connection.written + i);
    stack_->Write(id, piece_.data(), bytes);
    connection.written += bytes;
  }
  stack_->Flush(id);
}

void StreamClients::Received(ConnectionId id, const uint8_t* data, uint32_t bytes) {
  Connection& connection = connections_[id];
  bool right = connection.received + bytes <= connection.written;
  for (uint32_t i = 0; i < bytes; ++i)
    right &= data[i] == Byte(connection.key, connection.received + i);
  if (!right) {
    ++counts_.requests;
    ++counts_.wrong;
    stack_->Abort(id);
    return;
  }
  connection.received += bytes;
  stack_->Consume(id, bytes);
  if (connection.received != connection.end) return;
  ++counts_.requests;
  ++counts_.answered;
  latency_.Record(now_ns_ - connection.sent_ns);
  StartMessage(id);
}

// A server that closes a connection does not return the rest of its message.
void StreamClients::HalfClosed(ConnectionId id) {
  CountLost();
  stack_->Abort(id);
}

// A connection that has ended is opened again. Its message counts as lost, unless this end aborted
// the connection and has already counted the message.
void StreamClients::Closed(ConnectionId id, transport::End end) {
  --(connections_[id].key != 0 ? open_ : opening_);
  if (end != transport::End::kAborted) CountLost();
}

}  // namespace sluice::echo

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  auto read = sluice::echo::ReadClientOptions(options, seed, error);
  if (!read) return nullptr;
  read->server_mac = sluice::packet::Load<sluice::packet::MacAddress>(nic);
  return sluice::echo::StreamClients::Create(*read, error).release();
}
