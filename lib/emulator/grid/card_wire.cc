// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/card_wire.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "emulator/frame_ring.h"

namespace sluice::emulator {
namespace {

using device::grid::RingFrame;

/// Returns the largest number n such that any n consecutive frames of the ring fit into a batch.
uint32_t LongestBatch(std::span<const RingFrame> ring) {
  uint32_t most = device::grid::kBatchFrames, flits = 0;
  size_t end = 0;  // Frames [begin, end) fit.
  const auto flits_of = [&](size_t i) {
    return (ring[i % ring.size()].length + device::grid::kFlitBytes - 1) / device::grid::kFlitBytes;
  };
  for (size_t begin = 0; begin < ring.size(); ++begin) {
    while (end - begin < most && flits + flits_of(end) <= device::grid::kBatchFlits) {
      flits += flits_of(end++);
    }
    most = static_cast<uint32_t>(end - begin);
    flits -= flits_of(begin);
  }
  return most;
}

}  // namespace

bool UploadWire(const Arguments& arguments, Executor& executor, device::grid::WireShape* shape_at,
                std::string* error) {
  device::grid::WireShape& shape = *shape_at;
  const OnOptions& on = arguments.on;
  uint32_t largest = 0;
  const uint32_t in_flight = 4 * on.roles.receivers * on.batch;
  const std::unique_ptr<FrameRing> ring = FrameRing::Build(arguments.generator, error, in_flight);
  if (ring == nullptr) return false;
  const auto frames = ring->frames();
  std::vector<RingFrame> table(frames.size());
  std::vector<uint32_t> ranks(ring->flows());
  size_t bytes = 0;
  const auto flits = [](uint32_t length) {
    return (length + device::grid::kFlitBytes - 1) / device::grid::kFlitBytes;
  };
  for (const device::WireFrame& frame : frames) {
    largest = std::max(largest, flits(frame.length));
    bytes += size_t{flits(frame.length)} * device::grid::kFlitBytes;
  }
  if (table.size() > size_t{1} << device::grid::kEntryBits) {
    *error = "wire=gen: too many flows for the card's memory: give fewer flows";
    return false;
  }
  const auto allocate = [&]<typename T>(T** array, size_t count) {
    *array = static_cast<T*>(executor.Allocate(count * sizeof(T), error));
    return *array != nullptr;
  };
  RingFrame* card_frames = nullptr;
  if (!allocate(&shape.data, bytes) || !allocate(&card_frames, table.size()) ||
      !allocate(&shape.laps, table.size()) || !allocate(&shape.flow_orders, ring->flows()) ||
      !allocate(&shape.sent_ns, table.size())) {
    return false;
  }
  std::vector<uint8_t> data(bytes);
  uint32_t flit = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameRing::Expected& expected = ring->expected()[i];
    std::memcpy(&data[size_t{flit} * device::grid::kFlitBytes], frames[i].data, frames[i].length);
    table[i] = {flit, frames[i].length, expected.flow, ranks[expected.flow]++};
    flit += flits(frames[i].length);
  }
  if (!executor.Write(shape.data, data.data(), bytes) ||
      !executor.Write(card_frames, table.data(), table.size() * sizeof(RingFrame))) {
    *error = "the card's memory cannot be written";
    return false;
  }
  shape.frames = card_frames;
  shape.entries = static_cast<uint32_t>(table.size());
  shape.per_lap = ring->per_lap();
  shape.nonce = ring->nonce();
  shape.invariant = ring->invariant_offset();
  shape.largest = largest;
  shape.batch_frames = std::min(LongestBatch(table), on.batch);
  shape.pause = arguments.pause ? 1 : 0;
  shape.verify = arguments.verify == VerifyMode::kFull      ? 1
                 : arguments.verify == VerifyMode::kSampled ? kSampleInterval
                                                            : 0;
  shape.per_ns = arguments.generator.rate_pps / 1e9;
  shape.limit = arguments.generator.count == 0 ? ~uint64_t{0} : arguments.generator.count;
  return true;
}

}  // namespace sluice::emulator
