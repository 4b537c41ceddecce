// SPDX-License-Identifier: BSD-3-Clause
#include "client_wire.h"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "client_frames.h"
#include "emulator/client_counts.h"
#include "emulator/options.h"
#include "engine/kv/client/script.h"
#include "engine/kv/partition.h"
#include "packet/datagram.h"

namespace sluice::kv {
namespace {

using engine::kv::Bytes;
using engine::kv::client::Client;
using engine::kv::client::ClientCounters;
using engine::kv::client::Protocol;
using packet::Datagram;

using engine::kv::client::Script;

/// A client's requests as a recording, for model NICs on a card: sets of all items, then requests
/// that are repeated (engine/kv/client/script.h). The card counts the answers, and this process
/// checks a sample of them.
class ClientRecording final : public emulator::Recording {
 public:
  /// `server`: destination MAC address.
  ClientRecording(const ClientWireOptions& options, const packet::MacAddress& server)
      : options_(options), server_(server) {}

  bool Record(std::string* error) override;
  std::span<const device::WireFrame> frames() const override { return frames_; }
  uint32_t repeat_from() const override { return repeat_from_; }
  double rate_pps() const override;
  uint64_t limit() const override { return 0; }
  emulator::VerifyMode share() const override {
    return options_.client.verify ? emulator::VerifyMode::kSampled : emulator::VerifyMode::kOff;
  }
  void Check(const device::WireFrame& frame) override;
  const emulator::WireTotals& totals() const override { return totals_; }
  std::vector<device::Counter> Statistics(uint64_t offered, uint64_t returned) const override;

 private:
  /// Returns the requests in the first `frames` frames, as sent repeatedly.
  uint64_t Requests(uint64_t frames) const;

  const ClientWireOptions options_;
  const packet::MacAddress server_;
  std::optional<engine::kv::client::Script> script_;
  std::vector<uint8_t> bytes_;
  std::vector<device::WireFrame> frames_;
  std::vector<uint64_t> before_;  ///< Requests in the frames before each frame, and in all frames.
  uint32_t repeat_from_ = 0;
  uint64_t unknown_ = 0;  ///< Checked frames that are not datagrams.
  emulator::WireTotals totals_;
};

/// Number of requests after the preload.
constexpr uint64_t kRequests = 1 << 20;
constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr size_t kLine = 64;

bool ClientRecording::Record(std::string* error) {
  if (options_.client.protocol == Protocol::kMemcachedAscii) {
    *error =
        "protocol=ascii: its requests have 16-bit ids, too few for a model on a card: give "
        "protocol=mica or binary, or omit on";
    return false;
  }
  script_.emplace(options_.client, kRequests);
  std::vector<size_t> offsets;
  std::array<uint8_t, kClientHeaderBytes + 1472> frame;
  const std::span<uint8_t> room = std::span(frame).subspan(kClientHeaderBytes);
  before_ = {0};
  for (Script::Datagram next; (next = script_->Next(room)).bytes != 0;) {
    const uint32_t length = FinishFrame(options_, server_, next.endpoint,
                                        static_cast<uint32_t>(next.bytes), frame.data());
    if (bytes_.size() + length > kMaxBytes) {
      *error = "items=" + std::to_string(options_.client.items) + ": the requests exceed " +
               std::to_string(kMaxBytes >> 20) +
               " MiB of the card's memory: give fewer items or shorter values";
      return false;
    }
    offsets.push_back(bytes_.size());
    bytes_.insert(bytes_.end(), frame.begin(), frame.begin() + length);
    bytes_.resize((bytes_.size() + kLine - 1) / kLine * kLine);
    frames_.push_back({nullptr, length});
    before_.push_back(before_.back() + next.requests);
    if (next.preload) repeat_from_ = static_cast<uint32_t>(frames_.size());
  }
  for (size_t i = 0; i < frames_.size(); ++i) frames_[i].data = &bytes_[offsets[i]];
  return true;
}

double ClientRecording::rate_pps() const {
  return options_.client.rate / options_.client.LargestBatch();
}

void ClientRecording::Check(const device::WireFrame& frame) {
  ++totals_.verified;
  const Datagram datagram = Datagram::In(frame.data, frame.length);
  if (datagram.kind != Datagram::Kind::kUdp) {
    ++unknown_;
    return;
  }
  script_->Check(engine::kv::Bytes(frame.data + datagram.payload, datagram.payload_bytes));
}

uint64_t ClientRecording::Requests(uint64_t frames) const {
  const uint64_t size = frames_.size(), repeated = size - repeat_from_;
  if (frames <= size) return before_[frames];
  const uint64_t laps = (frames - size) / repeated, rest = (frames - size) % repeated;
  const uint64_t first = before_[repeat_from_];
  return before_[size] + laps * (before_[size] - first) + before_[repeat_from_ + rest] - first;
}

std::vector<device::Counter> ClientRecording::Statistics(uint64_t offered,
                                                         uint64_t returned) const {
  const Script::Results& sample = script_->results();
  const uint64_t preload = before_[repeat_from_];
  const auto measured = [&](uint64_t frames) { return emulator::Less(Requests(frames), preload); };
  const uint64_t requests = measured(offered);
  std::vector<device::Counter> counters =
      emulator::ClientStatistics({.requests = requests,
                                  .answered = emulator::Less(std::min(measured(returned), requests),
                                                             sample.wrong + sample.refused),
                                  .wrong = sample.wrong,
                                  .refused = sample.refused,
                                  .unknown = unknown_ + sample.malformed});
  counters.insert(counters.end(), {{"client_preloaded", std::min(Requests(returned), preload)},
                                   {"client_hits", sample.hits},
                                   {"client_misses", sample.misses},
                                   {"client_stored", sample.stored},
                                   {"client_malformed", sample.malformed}});
  return counters;
}

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
