// SPDX-License-Identifier: BSD-3-Clause
#include "transport/clients/stream_clients.h"

#include <algorithm>
#include <utility>

#include "emulator/options.h"
#include "packet/own_addresses.h"

namespace sluice::transport {
namespace {

using emulator::ReadNumber;

constexpr packet::MacAddress kClientMac{{0x02, 0, 0, 0, 0, 1}};
constexpr uint32_t kMaxConnections = 16'000;
constexpr uint32_t kMaxMessageBytes = 1 << 20;
constexpr uint32_t kPieceBytes = 64 * 1024;

bool ReadServer(std::string_view text, packet::StreamPeer* server) {
  packet::OwnAddresses addresses;
  std::string error;
  if (!addresses.Add(text, &error) || addresses.ipv4().size() != 1) return false;
  server->address = packet::ToIpv4Mapped(addresses.ipv4()[0]);
  return true;
}

}  // namespace

std::optional<ClientOptions> ReadClientOptions(std::string_view text, uint16_t port, uint64_t seed,
                                               std::string* error) {
  ClientOptions options;
  options.seed = seed;
  options.server.port = port;
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
                                                     std::unique_ptr<Dialogue> dialogue,
                                                     std::string* error) {
  std::unique_ptr<StreamClients> clients(new StreamClients(options, std::move(dialogue)));
  StackOptions stack;
  stack.own.set_mac(kClientMac);
  stack.max_connections = kMaxConnections;
  stack.max_connections_per_peer = kMaxConnections;
  stack.seed = options.seed;
  if (!stack.own.Add(packet::AddressText(kClientAddress), error)) return nullptr;
  clients->connections_.resize(stack.max_connections);
  clients->piece_.resize(kPieceBytes);
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
  connections_[id].exchange.key = ++keys_;
  --opening_;
  ++open_;
  StartRequest(id);
  return true;
}

void StreamClients::StartRequest(ConnectionId id) {
  connections_[id].sent_ns = now_ns_;
  WriteRest(id);
}

void StreamClients::WriteRest(ConnectionId id) {
  Exchange& exchange = connections_[id].exchange;
  const uint64_t end = dialogue_->RequestBytes(exchange);
  while (exchange.written != end) {
    const auto bytes = static_cast<uint32_t>(
        std::min<uint64_t>({end - exchange.written, stack_->Room(id), piece_.size()}));
    if (bytes == 0) break;
    dialogue_->WriteRequest(exchange, exchange.written, std::span(piece_).first(bytes));
    stack_->Write(id, piece_.data(), bytes);
    exchange.written += bytes;
  }
  stack_->Flush(id);
}

void StreamClients::Received(ConnectionId id, const uint8_t* data, uint32_t bytes) {
  Connection& connection = connections_[id];
  Exchange& exchange = connection.exchange;
  const uint64_t end = dialogue_->AnswerBytes(exchange);
  if (bytes > end - connection.received ||
      !dialogue_->IsAnswer(exchange, connection.received, {data, bytes})) {
    ++counts_.requests;
    ++counts_.wrong;
    stack_->Abort(id);
    return;
  }
  connection.received += bytes;
  stack_->Consume(id, bytes);
  if (connection.received != end) return;
  ++counts_.requests;
  ++counts_.answered;
  latency_.Record(now_ns_ - connection.sent_ns);
  connection.received = 0;
  exchange.written = 0;
  ++exchange.number;
  StartRequest(id);
}

// A server that closes a connection does not send the rest of its answer.
void StreamClients::HalfClosed(ConnectionId id) {
  CountLost();
  stack_->Abort(id);
}

// A connection that ends is opened again. Its request counts as lost, unless this end aborted it
// and counted the request.
void StreamClients::Closed(ConnectionId id, End end) {
  --(connections_[id].exchange.key != 0 ? open_ : opening_);
  if (end != End::kAborted) CountLost();
}

}  // namespace sluice::transport
