// SPDX-License-Identifier: BSD-3-Clause
#include "client_recording.h"

#include <algorithm>
#include <array>

#include "client_frames.h"
#include "emulator/client_counts.h"
#include "packet/datagram.h"

namespace sluice::kv {
namespace {

using engine::kv::client::Protocol;
using engine::kv::client::Script;
using packet::Datagram;

/// Number of requests after the preload.
constexpr uint64_t kRequests = 1 << 20;
constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr size_t kLine = 64;

}  // namespace

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

}  // namespace sluice::kv
