// SPDX-License-Identifier: BSD-3-Clause
#include "client_wire.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "client_frames.h"
#include "client_recording.h"
#include "emulator/client_counts.h"
#include "emulator/options.h"
#include "engine/kv/partition.h"
#include "packet/datagram.h"

namespace sluice::kv {
namespace {

using engine::kv::Bytes;
using engine::kv::client::Client;
using engine::kv::client::ClientCounters;
using engine::kv::client::Protocol;
using packet::Datagram;

// Bounds the memory of verification, which stores 16 bytes per item.
constexpr uint64_t kMaxItems = uint64_t{1} << 28;

bool ReadOption(std::string_view key, std::string_view value, ClientWireOptions* options) {
  using emulator::ReadNumber;
  auto& client = options->client;
  if (key == "protocol") {
    client.protocol = value == "ascii"    ? Protocol::kMemcachedAscii
                      : value == "binary" ? Protocol::kMemcachedBinary
                                          : Protocol::kMica;
    return value == "ascii" || value == "binary" || value == "mica";
  }
  if (key == "to") {
    const std::string text(value);
    return inet_pton(AF_INET, text.c_str(), options->to.data()) == 1;
  }
  if (key == "verify") {
    client.verify = value == "on";
    return value == "on" || value == "off";
  }
  constexpr double kMost = std::numeric_limits<double>::max();
  if (key == "mica_port") return ReadNumber(value, &options->mica_port);
  if (key == "memcached_port") return ReadNumber(value, &options->memcached_port);
  if (key == "workers") return ReadNumber(value, 1, 65535, &client.workers);
  if (key == "partitions") return ReadNumber(value, 1, 65535, &client.partitions);
  if (key == "key") {
    return ReadNumber(value, 1, engine::kv::kMaxKeyBytes, &client.sizes.key_bytes);
  }
  if (key == "value") {
    return ReadNumber(value, engine::kv::client::kMinWorkloadValueBytes, 1300,
                      &client.sizes.value_bytes);
  }
  if (key == "outstanding") return ReadNumber(value, 1, 32768, &client.outstanding);
  if (key == "batch") return ReadNumber(value, 1, 255, &client.batch);
  if (key == "items") return ReadNumber(value, 1, kMaxItems, &client.items);
  if (key == "get") return ReadNumber(value, 0, 1, &client.get_share);
  if (key == "zipf") return ReadNumber(value, 0, kMost, &client.zipf_exponent);
  if (key == "rate") return ReadNumber(value, 0, kMost, &client.rate);
  return false;
}

}  // namespace

std::optional<ClientWireOptions> ReadClientWireOptions(std::string_view text, uint64_t seed,
                                                       std::string* error) {
  ClientWireOptions options;
  options.client.seed = seed;
  const auto read = [&](std::string_view key, std::string_view value) {
    return ReadOption(key, value, &options);
  };
  if (!emulator::ReadOptions(text, read, error)) return std::nullopt;
  if (options.client.items > options.client.sizes.MaxItems()) {
    *error = "items=" + std::to_string(options.client.items) + ": exceeds the number of keys of " +
             std::to_string(options.client.sizes.key_bytes) +
             " bytes: give fewer items, or a longer key";
    return std::nullopt;
  }
  if (options.client.LongestMessage() > options.client.max_datagram_bytes) {
    *error = "value=" + std::to_string(options.client.sizes.value_bytes) +
             ": value and key do not fit into a datagram of " +
             std::to_string(options.client.max_datagram_bytes) +
             " bytes: give a shorter value or key";
    return std::nullopt;
  }
  if (const bool mica = options.client.protocol == Protocol::kMica;
      (mica ? options.mica_port : options.memcached_port) == 0) {
    *error = std::string(mica ? "mica" : "memcached") +
             "_port=0: the server does not serve the client's protocol: give a port, or another "
             "protocol";
    return std::nullopt;
  }
  return options;
}

ClientWire::ClientWire(const ClientWireOptions& options, const packet::MacAddress& server)
    : options_(options),
      server_(server),
      client_(options.client),
      slots_(new uint8_t[size_t{kSlots} * kSlotBytes]) {
  frames_.reserve(kSlots);
  for (uint32_t i = 0; i < kSlots; ++i) free_.push_back(kSlots - 1 - i);
}

emulator::Recording* ClientWire::recording() {
  if (recording_ == nullptr) recording_ = std::make_unique<ClientRecording>(options_, server_);
  return recording_.get();
}

std::span<const device::WireFrame> ClientWire::Pull(uint64_t now_ns, uint32_t max) {
  if (client_.phase() == Client::Phase::kReady) client_.Start(now_ns);
  while (frames_.size() < max && !free_.empty()) {
    uint8_t* const frame = Slot(free_.back());
    const auto outgoing =
        client_.Next(now_ns, {frame + kClientHeaderBytes, options_.client.max_datagram_bytes});
    if (outgoing.bytes == 0) break;
    free_.pop_back();
    frames_.push_back({frame, FinishFrame(options_, server_, outgoing.endpoint,
                                          static_cast<uint32_t>(outgoing.bytes), frame)});
  }
  return std::span<const device::WireFrame>(frames_).first(std::min<size_t>(max, frames_.size()));
}

void ClientWire::Consumed(uint32_t count) {
  totals_.offered += count;
  for (uint32_t i = 0; i < count; ++i) {
    free_.push_back(static_cast<uint32_t>((frames_[i].data - slots_.get()) / kSlotBytes));
  }
  frames_.erase(frames_.begin(), frames_.begin() + count);
}

void ClientWire::Deliver(uint64_t now_ns, std::span<const device::WireFrame> frames) {
  for (const device::WireFrame& frame : frames) {
    const Datagram datagram = Datagram::In(frame.data, frame.length);
    if (datagram.kind != Datagram::Kind::kUdp) {
      ++unknown_;
      continue;
    }
    client_.OnDatagram(now_ns, Bytes(frame.data + datagram.payload, datagram.payload_bytes));
  }
}

std::span<const device::Counter> ClientWire::Counters() {
  const ClientCounters& c = client_.counters();
  const auto& get = client_.get_latency();
  const auto& set = client_.set_latency();
  counters_ = emulator::ClientStatistics({.requests = c.requests,
                                          .answered = c.hits + c.misses + c.stored,
                                          .wrong = c.wrong,
                                          .refused = c.refused,
                                          .lost = c.timeouts,
                                          .late = c.late,
                                          .unknown = unknown_});
  counters_.insert(counters_.end(), {{"client_preloaded", c.preloaded},
                                     {"client_hits", c.hits},
                                     {"client_misses", c.misses},
                                     {"client_stored", c.stored},
                                     {"client_malformed", c.malformed},
                                     {"client_get_p50_ns", get.Percentile(0.5)},
                                     {"client_get_p99_ns", get.Percentile(0.99)},
                                     {"client_get_p999_ns", get.Percentile(0.999)},
                                     {"client_set_p50_ns", set.Percentile(0.5)},
                                     {"client_set_p99_ns", set.Percentile(0.99)},
                                     {"client_set_p999_ns", set.Percentile(0.999)}});
  return counters_;
}

}  // namespace sluice::kv

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  const auto read = sluice::kv::ReadClientWireOptions(options, seed, error);
  if (!read) return nullptr;
  return new sluice::kv::ClientWire(*read, sluice::packet::Load<sluice::packet::MacAddress>(nic));
}
