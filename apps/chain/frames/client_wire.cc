// SPDX-License-Identifier: BSD-3-Clause
#include "frames/client_wire.h"

#include <algorithm>
#include <utility>

#include "base/monotonic_clock.h"
#include "emulator/client_counts.h"
#include "frames/client_library.h"
#include "packet/datagram.h"

namespace sluice::chain_app {

namespace {

using namespace engine::messages;  // NOLINT
using packet::Datagram;

constexpr packet::MacAddress kClientMac = {{0x02, 0, 0, 0, 0, 1}};
constexpr packet::Ipv4Address kClientAddress = {{10, 0, 0, 1}};
constexpr packet::Ipv4Address kServerAddress = {{10, 0, 0, 2}};
constexpr uint16_t kClientPort = 40000;

}  // namespace

ClientWire::ClientWire(std::vector<Client> clients, const packet::MacAddress& server)
    : clients_(std::move(clients)), server_(server) {
  uint32_t longest = 0;
  for (const Client& client : clients_) longest = std::max(longest, client.ledger->longest());
  message_.resize(longest);
}

std::span<const device::WireFrame> ClientWire::Pull(uint64_t /*now_ns*/, uint32_t max) {
  const uint64_t now = base::MonotonicNs();
  for (const Client& client : clients_) client.ledger->Expire(now);
  if (first_frame_ == frames_.size()) {
    frames_.clear();
    first_frame_ = 0;
    for (size_t idle = 0; frames_.size() < max && idle < clients_.size();) {
      const size_t index = turn_++ % clients_.size();
      const bool may = clients_[index].ledger->MayBegin() && !ClientsStopped();
      idle = may ? 0 : idle + 1;
      if (may) Make(index, now);
    }
  }
  return std::span(frames_).subspan(first_frame_,
                                    std::min<size_t>(max, frames_.size() - first_frame_));
}

std::vector<uint8_t>& ClientWire::NextBuffer() {
  if (buffers_.size() == frames_.size()) buffers_.emplace_back();
  return buffers_[frames_.size()];
}

/// Builds all frames of a client's next message.
void ClientWire::Make(size_t index, uint64_t now_ns) {
  const Client& client = clients_[index];
  uint32_t number = 0;
  const uint32_t length = client.ledger->Begin(message_, now_ns, &number);
  uint32_t offset = 0;
  do {
    const uint32_t count = std::min(kPartBytes, length - offset);
    const uint32_t payload = kPartHeaderBytes + count;
    std::vector<uint8_t>& frame = NextBuffer();
    frame.assign(std::max(Datagram::kPlainPayload + payload, emulator::kMinFrameBytes), 0);
    Datagram::WritePlain(
        frame.data(),
        {kClientMac, server_, kClientAddress, kServerAddress, kClientPort, client.port}, payload);
    WritePartHeader(&frame[Datagram::kPlainPayload],
                    {.number = number, .length = length, .offset = offset, .bytes = {}});
    std::copy_n(message_.begin() + offset, count,
                frame.begin() + Datagram::kPlainPayload + kPartHeaderBytes);
    frames_.push_back({frame.data(), static_cast<uint32_t>(frame.size())});
    offset += count;
  } while (offset < length);
}

void ClientWire::Consumed(uint32_t count) {
  totals_.offered += count;
  first_frame_ += count;
}

void ClientWire::Deliver(uint64_t /*now_ns*/, std::span<const device::WireFrame> frames) {
  const uint64_t now = base::MonotonicNs();
  for (const device::WireFrame& frame : frames) Arrived(frame, now);
}

void ClientWire::Arrived(const device::WireFrame& frame, uint64_t now_ns) {
  const Datagram datagram = Datagram::In(frame.data, frame.length);
  std::optional<Part> part;
  auto client = clients_.end();
  if (datagram.kind == Datagram::Kind::kUdp) {
    part = ReadPart({frame.data + datagram.payload, datagram.payload_bytes});
    const uint16_t from = packet::LoadBe16(frame.data + datagram.l4());
    client = std::ranges::find(clients_, from, &Client::port);
  }
  if (!part || client == clients_.end()) {
    ++foreign_;
    ++totals_.foreign;
    return;
  }
  ++totals_.recognised;
  const auto finish = [&](std::span<const uint8_t> data) {
    client->ledger->Answer(part->number & Flow::kNumberMask, 0, data, part->key, now_ns);
  };
  if (part->whole()) return finish(part->bytes);
  const uint64_t name =
      static_cast<uint64_t>(client - clients_.begin()) << 32 | part->number % Ledger::kMemory;
  Answer& answer = answers_[name];
  if (part->offset == 0) answer = {part->number, {}, part->length};
  // An out-of-order part is ignored; the message is then counted as lost.
  if (part->number != answer.number || part->offset != answer.data.size() ||
      part->length != answer.length) {
    return;
  }
  answer.data.insert(answer.data.end(), part->bytes.begin(), part->bytes.end());
  if (answer.data.size() != answer.length) return;
  finish(answer.data);
  answers_.erase(name);
}

std::span<const device::Counter> ClientWire::Counters() {
  Endings sum;
  engine::workload::Histogram latency;
  for (const Client& client : clients_) {
    sum += client.ledger->Now();
    latency.Add(client.ledger->latency().Snapshot());
  }
  counters_ = emulator::ClientStatistics({.requests = sum.sent,
                                          .answered = sum.right,
                                          .wrong = sum.wrong,
                                          .refused = sum.silent,
                                          .lost = sum.lost,
                                          .duplicated = sum.doubled,
                                          .late = sum.late,
                                          .unknown = sum.unknown + foreign_});
  counters_.insert(counters_.end(),
                   {{"client_tx_bytes", sum.sent_bytes}, {"client_rx_bytes", sum.answer_bytes}});
  emulator::AppendLatency(latency, counters_);
  return counters_;
}

}  // namespace sluice::chain_app
