// SPDX-License-Identifier: BSD-3-Clause
#include "capture.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/pktgen/stream.h"
#include "engine/pktgen/tag.h"
#include "packet/bytes.h"
#include "packet/capture.h"
#include "packet/checksum.h"
#include "packet/flow_key.h"
#include "packet/frame.h"
#include "packet/parse.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::FrameSet;
using engine::pktgen::kTagBytes;
using packet::CaptureReader;

constexpr uint32_t kMaxBytes = engine::pktgen::kMaxSize - packet::kFcsBytes;
constexpr uint32_t kMinBytes = engine::pktgen::kMinSize - packet::kFcsBytes;
constexpr uint64_t kMostMemory = uint64_t{1} << 30;

/// Recomputes the UDP or TCP checksum of a whole packet, excluding any padding after it.
void RepairChecksum(uint8_t* frame, const packet::Headers& headers) {
  const uint32_t at = headers.L4ChecksumOffset();
  const bool udp = headers.protocol == packet::kProtocolUdp;
  // The frame has no checksum.
  if (at == 0 || (udp && packet::Load<uint16_t>(frame + at) == 0)) return;
  packet::Store<uint16_t>(frame + at, 0);
  const uint32_t bytes = headers.payload + headers.payload_bytes - headers.l4;
  const uint8_t* const ip = frame + headers.l3;
  const uint64_t pseudo =
      headers.IsIpv6()
          ? packet::PseudoHeaderSumIpv6(ip, headers.protocol, bytes)
          : packet::PseudoHeaderSumIpv4(ip, headers.protocol, static_cast<uint16_t>(bytes));
  const uint16_t sum = packet::FinishChecksum(packet::SumBytes(frame + headers.l4, bytes, pseudo));
  packet::Store<uint16_t>(frame + at, udp && sum == 0 ? 0xffff : sum);
}

/// If the payload is long enough and ends with the frame, clears the end of the frame for a tag and
/// repairs the checksum. In other frames, a tag would change the packet's meaning. Returns the
/// offset after the first payload byte; 0 if a tag does not fit.
uint32_t MakeRoomForTag(uint8_t* frame, uint32_t length, const packet::Headers& headers) {
  const bool room = headers.error == packet::ParseError::kNone && headers.HasPorts() &&
                    !headers.IsFragment() && !headers.source_routed &&
                    headers.payload_bytes > kTagBytes &&
                    headers.payload + headers.payload_bytes == length;
  if (!room) return 0;
  std::memset(frame + length - kTagBytes, 0, kTagBytes);
  RepairChecksum(frame, headers);
  return headers.payload + 1;
}

/// Times of frames relative to the first one.
class Times {
 public:
  void Add(uint64_t stamp_ns, engine::pktgen::CaptureNotes* notes) {
    if (after_ns_.empty()) {
      first_ns_ = newest_ns_ = stamp_ns;
    } else if (stamp_ns < latest_ns_) {
      ++notes->steps_back;
    }
    latest_ns_ = stamp_ns;
    if (stamp_ns > newest_ns_ + kLongestGapNs || stamp_ns + kLongestStepNs < newest_ns_) {
      ++notes->jumps;
      first_ns_ += stamp_ns - newest_ns_;  // Arithmetic modulo 2^64.
      newest_ns_ = stamp_ns;
    }
    newest_ns_ = std::max(newest_ns_, stamp_ns);
    after_ns_.push_back(newest_ns_ - first_ns_);
  }

  /// Returns the times multiplied by `factor`. Returns null if all frames have the same time.
  std::shared_ptr<const engine::pktgen::Offsets> Scaled(double factor) const {
    auto offsets = std::make_shared<engine::pktgen::Offsets>();
    for (const uint64_t ns : after_ns_) {
      const double ps = std::min(static_cast<double>(ns) * 1e3 * factor, 1e18);
      offsets->at_ps.push_back(static_cast<uint64_t>(std::llround(ps)));
    }
    const uint64_t last = offsets->at_ps.back();
    if (last == 0) return nullptr;
    // The next round begins one mean gap after the last frame.
    offsets->period_ps = last + std::max<uint64_t>(last / (offsets->at_ps.size() - 1), 1);
    return offsets;
  }

 private:
  static constexpr uint64_t kLongestStepNs = 1'000'000'000;
  static constexpr uint64_t kLongestGapNs = 86'400'000'000'000;

  uint64_t first_ns_ = 0;   ///< Time of the first frame on the current clock, adjusted for jumps.
  uint64_t newest_ns_ = 0;  ///< Latest time on the current clock.
  uint64_t latest_ns_ = 0;  ///< Time stamp of the previous frame.
  std::vector<uint64_t> after_ns_;
};

}  // namespace

void Captured::SetFramesOf(engine::pktgen::StreamSpec* stream, uint64_t loops) const {
  stream->captured = frames;
  stream->offsets = offsets;
  stream->notes = notes;
  if (offsets != nullptr) stream->phases.clear();
  stream->frames = loops * frames->size();
}

bool LoadCapture(const std::string& path, std::optional<double> factor, Captured* captured,
                 std::string* error) {
  std::optional<CaptureReader> reader = CaptureReader::Open(path, error);
  if (!reader) {
    *error += ": give a pcap or pcapng file of Ethernet frames";
    return false;
  }
  auto frames = std::make_shared<FrameSet>();
  Times times;
  absl::flat_hash_map<packet::FlowKey, uint32_t> flows;
  std::array<uint8_t, kMaxBytes> frame;
  packet::CaptureRecord record{};
  CaptureReader::Status status;
  while ((status = reader->Next(&record, error)) == CaptureReader::Status::kRecord) {
    if (record.length > kMaxBytes) {
      ++captured->notes.oversize;
      continue;
    }
    if (record.captured_bytes < packet::kEthernetHeaderBytes) {
      *error = "frame " + std::to_string(frames->size() + captured->notes.oversize + 1) +
               " is too short for an Ethernet header: remove it from the capture";
      return false;
    }
    if (frames->memory_bytes() > kMostMemory) {
      *error =
          "the capture has more than 1 GiB of frames: give a part of it (editcap cuts captures)";
      return false;
    }
    const uint32_t length = std::max(record.length, kMinBytes);
    std::fill_n(frame.begin(), length, uint8_t{0});
    std::memcpy(frame.data(), record.data, record.captured_bytes);
    captured->notes.snapped += record.captured_bytes < record.length;
    const packet::Headers headers = packet::Parse(frame.data(), length);
    const uint32_t payload = MakeRoomForTag(frame.data(), length, headers);
    const auto key = packet::FlowKey::Of(frame.data(), headers).value_or(packet::FlowKey());
    const uint32_t flow = flows.try_emplace(key, static_cast<uint32_t>(flows.size())).first->second;
    frames->Add(frame.data(), {.at = 0,
                               .flow = flow,
                               .length = static_cast<uint16_t>(length),
                               .payload = static_cast<uint16_t>(payload),
                               .tagged = payload > 0});
    times.Add(record.timestamp_ns, &captured->notes);
  }
  if (status == CaptureReader::Status::kError) {
    *error += ": give a complete capture";
    return false;
  }
  if (frames->empty()) {
    *error = captured->notes.oversize > 0
                 ? "all frames have more than " + std::to_string(kMaxBytes) +
                       " bytes, as in a capture from a host whose NIC segments packets: give "
                       "another capture"
                 : "the capture has no frames: give another capture";
    return false;
  }
  if (factor) {
    captured->offsets = times.Scaled(*factor);
    if (captured->offsets == nullptr) {
      *error = "all frames have the same timestamp: use --rate instead of --gaps";
      return false;
    }
  }
  captured->frames = std::move(frames);
  return true;
}

}  // namespace sluice::pktgen
