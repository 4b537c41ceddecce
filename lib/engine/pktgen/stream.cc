// SPDX-License-Identifier: BSD-3-Clause
#include "engine/pktgen/stream.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/pktgen/headers.h"
#include "engine/workload/random.h"
#include "packet/flow_key.h"
#include "packet/frame.h"

namespace sluice::engine::pktgen {

namespace {

constexpr uint64_t kMostFrames = uint64_t{1} << 22;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;
/// Minimum number of frames after which a stream with random fields repeats.
constexpr uint64_t kRandomFrames = 4096;

/// Returns the number of frames after which all fields and sizes repeat; at least kRandomFrames if
/// a field is random. If the number is too large, returns a value above kMostFrames.
uint64_t Cycle(const StreamSpec& spec) {
  std::vector<const Field*> fields = spec.headers.fields();
  fields.push_back(&spec.sizes);
  if (spec.vxlan) {
    const std::vector<const Field*> outer = spec.vxlan->outer.fields();
    fields.insert(fields.end(), outer.begin(), outer.end());
    fields.push_back(&spec.vxlan->network);
  }
  uint64_t cycle = 1;
  bool random = false;
  for (const Field* field : fields) {
    random = random || field->is_random();
    if (field->cycle() > kMostFrames) return kMostFrames + 1;
    if (field->cycle() > 0) cycle = std::lcm(cycle, field->cycle());
    if (cycle > kMostFrames) return cycle;
  }
  return random ? (kRandomFrames + cycle - 1) / cycle * cycle : cycle;
}

}  // namespace

uint32_t StreamSpec::header_bytes() const {
  return headers.bytes() + (vxlan ? vxlan->outer.bytes() + kVxlanBytes : 0);
}

uint32_t StreamSpec::least_size() const {
  return std::max(kMinSize, header_bytes() + 1 + kTagBytes + packet::kFcsBytes);
}

std::shared_ptr<const FrameSet> BuildFrames(const StreamSpec& spec, std::string* error) {
  if (spec.captured != nullptr) return spec.captured;
  const uint64_t cycle = Cycle(spec);
  const auto most = static_cast<uint64_t>(spec.sizes.most());
  if (cycle > kMostFrames || cycle * ((most + 63) & ~uint64_t{63}) > kMostBytes) {
    *error =
        "the values of its fields repeat only after " +
        (cycle > kMostFrames ? "more than " + std::to_string(kMostFrames) : std::to_string(cycle)) +
        " frames, which exceeds the limit: use fewer values, or counts that are multiples of one "
        "another";
    return nullptr;
  }
  auto frames = std::make_shared<FrameSet>();
  absl::flat_hash_map<packet::FlowKey, uint32_t> flows;
  std::array<uint8_t, kMaxSize> frame;
  const uint32_t header_bytes = spec.header_bytes();
  for (uint64_t n = 0; n < cycle; ++n) {
    const auto size = static_cast<uint32_t>(spec.sizes.At(n));
    if (size < spec.least_size() || size > kMaxSize) {
      *error = "a size of " + std::to_string(size) + ": give " + std::to_string(spec.least_size()) +
               " to " + std::to_string(kMaxSize) + ", including headers and the tag";
      return nullptr;
    }
    const uint32_t length = size - packet::kFcsBytes;
    workload::Random random(spec.seed);
    frame.fill(0);
    // All frames of the stream have the same bytes before the tag, so that they stay in a
    // receiver's cache.
    for (uint32_t at = length - kTagBytes; at-- > header_bytes;) {
      frame[at] = static_cast<uint8_t>(random.Next());
    }
    WriteHeaders(spec, n, frame.data(), length);
    const auto key = packet::FlowKey::Of(frame.data(), packet::Parse(frame.data(), length));
    const uint32_t flow =
        flows.try_emplace(key.value_or(packet::FlowKey()), static_cast<uint32_t>(flows.size()))
            .first->second;
    frames->Add(frame.data(), {.at = 0,
                               .flow = flow,
                               .length = static_cast<uint16_t>(length),
                               .payload = static_cast<uint16_t>(header_bytes + 1),
                               .tagged = true});
  }
  return frames;
}

FrameSet PartOf(const FrameSet& all, uint32_t worker, uint32_t workers,
                std::vector<size_t>* indices) {
  FrameSet part;
  indices->clear();
  const bool one_flow = all.flows() < workers;
  for (size_t i = 0; i < all.size(); ++i) {
    const FrameSet::Entry& entry = all.entry(i);
    // If there are fewer frames than workers, every worker gets all frames.
    if (all.size() >= workers && (one_flow ? i : entry.flow) % workers != worker) continue;
    part.Add(all.bytes(entry), entry);
    indices->push_back(i);
  }
  return part;
}

}  // namespace sluice::engine::pktgen
