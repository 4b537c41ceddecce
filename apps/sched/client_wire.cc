// SPDX-License-Identifier: BSD-3-Clause
#include "client_wire.h"

#include <algorithm>
#include <utility>

#include "emulator/client_counts.h"
#include "emulator/options.h"
#include "packet/bytes.h"
#include "packet/datagram.h"

namespace sluice::sched {
namespace {

using packet::Datagram;

constexpr packet::MacAddress kClientMac{0x02, 0, 0, 0, 0, 1};
constexpr packet::Ipv4Address kClientAddress{10, 0, 0, 1};
constexpr packet::Ipv4Address kServerAddress{10, 0, 0, 2};
constexpr uint16_t kClientPort = 40000;

bool ReadOption(std::string_view key, std::string_view value, ClientWireOptions* options) {
  using emulator::ReadNumber;
  WorkloadOptions& workload = options->workload;
  if (key == "rate") return ReadNumber(value, &workload.rate);
  if (key == "short_us") return ReadNumber(value, &workload.short_us);
  if (key == "long_us") return ReadNumber(value, &workload.long_us);
  if (key == "long_share") return ReadNumber(value, &workload.long_share);
  if (key == "runaway_share") return ReadNumber(value, &workload.runaway_share);
  if (key == "count") return ReadNumber(value, &options->count);
  if (key == "port") return ReadNumber(value, 1, 65535, &options->port);
  if (key == "sockets") return ReadNumber(value, 1, 4096, &options->sockets);
  if (key == "timeout_ms") return ReadNumber(value, 1, 600'000, &options->timeout_ms);
  return false;
}

}  // namespace

std::optional<ClientWireOptions> ReadClientWireOptions(std::string_view text, uint64_t seed,
                                                       std::string* error) {
  ClientWireOptions options;
  options.workload.seed = seed;
  const auto read = [&](std::string_view key, std::string_view value) {
    return ReadOption(key, value, &options);
  };
  if (!emulator::ReadOptions(text, read, error)) return std::nullopt;
  *error = WhatIsWrong(options.workload);
  if (!error->empty()) return std::nullopt;
  return options;
}

ClientWire::ClientWire(const ClientWireOptions& options, const packet::MacAddress& server)
    : options_(options), pending_(kPending) {
  frames_.reserve(kSlots);
  for (auto& frame : slots_) {
    const packet::UdpPath path{kClientMac,     server,      kClientAddress,
                               kServerAddress, kClientPort, options_.port};
    Datagram::WritePlain(frame.data(), path, kRequestBytes);
  }
}

void ClientWire::Start(uint64_t now_ns) {
  if (!workload_) workload_.emplace(options_.workload, now_ns);
}

bool ClientWire::MakeFrame(uint64_t now_ns) {
  if (frames_.size() == kSlots || workload_->due_ns() > now_ns) return false;
  if (options_.count != 0 && next_id_ == options_.count) return false;
  Pending& pending = pending_[next_id_ % kPending];
  // The earlier request in this slot has not been answered. The maximum number of requests,
  // kPending, are waiting, so this request is delayed.
  if (pending.waits) return false;
  pending.due_ns = workload_->due_ns();
  const Request request = workload_->Pop();
  pending.id = request.id;
  pending.service_ns = request.service_ns;
  pending.flags = request.flags;
  pending.task_class = request.task_class;
  pending.waits = true;
  next_id_ = request.id + 1;
  auto& frame = slots_[(first_slot_ + frames_.size()) % kSlots];
  packet::StoreBe16(frame.data() + kPayload - packet::kUdpHeaderBytes,
                    static_cast<uint16_t>(kClientPort + request.id % options_.sockets));
  Write(request, std::span(frame).last<kRequestBytes>());
  frames_.push_back({frame.data(), kFrameBytes});
  return true;
}

void ClientWire::Expire(uint64_t now_ns) {
  const uint64_t timeout_ns = uint64_t{options_.timeout_ms} * 1'000'000;
  for (; oldest_id_ < next_id_; ++oldest_id_) {
    Pending& oldest = pending_[oldest_id_ % kPending];
    if (!oldest.waits) continue;
    if (now_ns < oldest.due_ns + timeout_ns) return;
    oldest.waits = false;
    ++timeouts_;
  }
}

std::span<const device::WireFrame> ClientWire::Pull(uint64_t now_ns, uint32_t max) {
  if (!workload_) return {};
  Expire(now_ns);
  while (frames_.size() < max && MakeFrame(now_ns)) {
  }
  return std::span<const device::WireFrame>(frames_).first(std::min<size_t>(max, frames_.size()));
}

void ClientWire::Consumed(uint32_t count) {
  totals_.offered += count;
  first_slot_ = (first_slot_ + count) % kSlots;
  frames_.erase(frames_.begin(), frames_.begin() + count);
}

void ClientWire::OnReply(uint64_t now_ns, const Reply& reply) {
  Pending& pending = pending_[reply.id % kPending];
  if (!pending.waits || pending.id != reply.id) {
    ++late_;
    return;
  }
  pending.waits = false;
  cut_ += (reply.flags & kCut) != 0;
  if (reply.task_class != pending.task_class || (reply.flags & ~kCut) != pending.flags ||
      reply.ran_ns < pending.service_ns) {
    ++wrong_;
    return;
  }
  ++answers_;
  latency_[pending.task_class == kLongClass].Record(now_ns - std::min(now_ns, pending.due_ns));
}

void ClientWire::Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) {
  for (const device::WireFrame& frame : frames) {
    const Datagram datagram = Datagram::In(frame.data, frame.length);
    Reply reply;
    if (datagram.kind != Datagram::Kind::kUdp ||
        Read(std::span(frame.data + datagram.payload, datagram.payload_bytes), reply) !=
            Fault::kNone) {
      ++unknown_;
      continue;
    }
    OnReply(now_ns, reply);
  }
}

std::span<const device::Counter> ClientWire::Counters() {
  counters_ = emulator::ClientStatistics({.requests = next_id_,
                                          .answered = answers_,
                                          .wrong = wrong_,
                                          .lost = timeouts_,
                                          .late = late_,
                                          .unknown = unknown_});
  counters_.insert(counters_.end(), {{"client_cut", cut_},
                                     {"client_short", latency_[0].count()},
                                     {"client_short_p50_ns", latency_[0].Percentile(0.5)},
                                     {"client_short_p99_ns", latency_[0].Percentile(0.99)},
                                     {"client_short_p999_ns", latency_[0].Percentile(0.999)},
                                     {"client_long", latency_[1].count()},
                                     {"client_long_p50_ns", latency_[1].Percentile(0.5)},
                                     {"client_long_p99_ns", latency_[1].Percentile(0.99)},
                                     {"client_long_p999_ns", latency_[1].Percentile(0.999)}});
  return counters_;
}

}  // namespace sluice::sched

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  const auto read = sluice::sched::ReadClientWireOptions(options, seed, error);
  return read ? new sluice::sched::ClientWire(*read,
                                              sluice::packet::Load<sluice::packet::MacAddress>(nic))
              : nullptr;
}
