// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/card_wire.h"

#include <rte_log.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/grid/loopback.h"
#include "emulator/frame_ring.h"
#include "emulator/library_wire.h"
#include "emulator/log.h"
#include "emulator/recording.h"
#include "emulator/replay.h"

namespace sluice::emulator {
namespace {

using device::grid::Flits;
using device::grid::RingFrame;

/// Returns the largest number n such that any n consecutive frames of the ring fit into a batch.
uint32_t LongestBatch(std::span<const RingFrame> ring, uint32_t repeat_from) {
  uint32_t most = device::grid::kBatchFrames, flits = 0;
  size_t end = 0;  // Frames [begin, end) fit.
  const auto flits_of = [&](size_t i) {
    const size_t repeated = ring.size() - repeat_from;
    return Flits(ring[i < ring.size() ? i : repeat_from + (i - repeat_from) % repeated].length);
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

/// Builds a ring in card memory.
class Upload {
 public:
  Upload(Executor& executor, device::grid::WireShape& shape, std::string* error)
      : executor_(executor), shape_(shape), error_(error) {}

  template <typename T>
  bool Allocate(T** array, size_t count) {
    *array = static_cast<T*>(executor_.Allocate(count * sizeof(T), error_));
    return *array != nullptr;
  }

  /// Copies `from` to the card.
  template <typename T>
  bool Write(T* to, const std::vector<T>& from) {
    if (executor_.Write(to, from.data(), from.size() * sizeof(T))) return true;
    *error_ = "the card's memory cannot be written";
    return false;
  }

  /// Adds an entry. Frames that share their bytes in this process also share them on the card.
  void Add(const device::WireFrame& frame, uint32_t flow, uint32_t rank) {
    const auto [place, fresh] = places_.try_emplace(frame.data, flits_);
    table_.push_back({place->second, frame.length, flow, rank});
    if (!fresh) return;
    sources_.push_back(frame);
    flits_ += Flits(frame.length);
    shape_.largest = std::max(shape_.largest, Flits(frame.length));
  }
  /// Repeats the entries, starting with number `first`, until there are `count` of them.
  void Repeat(uint32_t first, size_t count) {
    while (table_.size() - first < count) {
      const auto size = table_.size();
      for (size_t i = first; i < size; ++i) table_.push_back(table_[i]);
    }
  }
  size_t entries() const { return table_.size(); }

  /// Copies the ring to the card and describes it in the shape.
  bool Finish(uint32_t most_frames) {
    RingFrame* card_frames = nullptr;
    const size_t bytes = size_t{flits_} * device::grid::kFlitBytes;
    if (!Allocate(&shape_.data, bytes) || !Allocate(&card_frames, table_.size())) return false;
    std::vector<uint8_t> data(bytes);
    for (const device::WireFrame& frame : sources_) {
      std::memcpy(&data[size_t{places_[frame.data]} * device::grid::kFlitBytes], frame.data,
                  frame.length);
    }
    if (!Write(shape_.data, data) || !Write(card_frames, table_)) return false;
    shape_.frames = card_frames;
    shape_.entries = static_cast<uint32_t>(table_.size());
    shape_.batch_frames = std::min(LongestBatch(table_, shape_.repeat_from), most_frames);
    return true;
  }

 private:
  Executor& executor_;
  device::grid::WireShape& shape_;
  std::string* const error_;
  std::vector<RingFrame> table_;
  std::vector<device::WireFrame> sources_;
  std::unordered_map<const uint8_t*, uint32_t> places_;  ///< First flit of each frame's bytes on
                                                         ///< the card.
  uint32_t flits_ = 0;
};

uint32_t Interval(VerifyMode mode) {
  return mode == VerifyMode::kFull ? 1 : mode == VerifyMode::kSampled ? kSampleInterval : 0;
}

void SetRate(double rate_pps, uint64_t count, device::grid::WireShape& shape) {
  shape.per_ns = rate_pps / 1e9;
  shape.limit = count == 0 ? ~uint64_t{0} : count;
}

bool UploadGenerator(const Arguments& arguments, Executor& executor, device::grid::WireShape* shape,
                     std::string* error) {
  const OnOptions& on = arguments.on;
  const uint32_t in_flight = 4 * on.roles.receivers * on.batch;
  const std::unique_ptr<FrameRing> ring = FrameRing::Build(arguments.generator, error, in_flight);
  if (ring == nullptr) return false;
  const auto frames = ring->frames();
  if (frames.size() > size_t{1} << device::grid::kEntryBits) {
    *error = "wire=gen: too many flows for the card's memory: give fewer flows";
    return false;
  }
  Upload upload(executor, *shape, error);
  std::vector<uint32_t> ranks(ring->flows());
  for (size_t i = 0; i < frames.size(); ++i) {
    const uint32_t flow = ring->expected()[i].flow;
    upload.Add(frames[i], flow, ranks[flow]++);
  }
  if (!upload.Finish(on.batch) || !upload.Allocate(&shape->laps, frames.size()) ||
      !upload.Allocate(&shape->flow_orders, ring->flows()) ||
      !upload.Allocate(&shape->sent_ns, frames.size())) {
    return false;
  }
  shape->per_lap = ring->per_lap();
  shape->nonce = ring->nonce();
  shape->invariant = ring->invariant_offset();
  shape->pause = arguments.pause ? 1 : 0;
  shape->verify = Interval(arguments.verify);
  SetRate(arguments.generator.rate_pps, arguments.generator.count, *shape);
  return true;
}

bool UploadRecording(const Recording& recording, const Arguments& arguments, Executor& executor,
                     device::grid::WireShape* shape, std::string* error) {
  Upload upload(executor, *shape, error);
  for (const device::WireFrame& frame : recording.frames()) upload.Add(frame, 0, 0);
  upload.Repeat(recording.repeat_from(), device::grid::kBatchFrames);  // A batch wraps only once.
  shape->tagged = 0;
  shape->repeat_from = recording.repeat_from();
  shape->pause = arguments.pause ? 1 : 0;
  shape->verify = Interval(recording.share());
  SetRate(recording.rate_pps(), recording.limit(), *shape);
  return upload.Finish(arguments.on.batch);
}

/// Creates the empty ring of a loopback, whose entries have fixed places.
bool CreateLoopback(const Arguments& arguments, Executor& executor, device::grid::WireShape* shape,
                    std::string* error) {
  using device::grid::kLoopEntries, device::grid::kLoopFlits;
  Upload upload(executor, *shape, error);
  std::vector<RingFrame> table;
  for (uint32_t i = 0; i < kLoopEntries; ++i) table.push_back({i * kLoopFlits, 0, 0, 0});
  if (!upload.Allocate(&shape->data,
                       size_t{kLoopEntries} * kLoopFlits * device::grid::kFlitBytes) ||
      !upload.Allocate(&shape->frames, kLoopEntries) || !upload.Write(shape->frames, table)) {
    return false;
  }
  shape->entries = kLoopEntries;
  shape->tagged = 0;
  shape->looped = 1;
  shape->largest = kLoopFlits;
  shape->batch_frames = arguments.on.batch;
  shape->pause = arguments.pause ? 1 : 0;
  shape->verify = 0;
  return true;
}

}  // namespace

bool UploadWire(std::string_view name, const Arguments& arguments, const MacAddress& mac,
                Executor& executor, device::grid::WireShape* shape, std::unique_ptr<Wire>* wire,
                std::string* error) {
  if (arguments.wire == Arguments::WireKind::kGenerator) {
    return UploadGenerator(arguments, executor, shape, error);
  }
  if (arguments.wire == Arguments::WireKind::kLoopback) {
    return CreateLoopback(arguments, executor, shape, error);
  }
  if (arguments.wire == Arguments::WireKind::kReplay) {
    std::string summary;
    *wire = ReplayWire::Create(arguments.replay, arguments.verify, &summary, error);
    if (*wire == nullptr) {
      error->insert(0, "wire=pcap:");
      return false;
    }
    Log(RTE_LOG_NOTICE, std::string(name) + ": replays " + summary);
  } else {
    LibraryOptions library = arguments.library;
    library.nic = mac;
    *wire = LoadWire(library, error);
    if (*wire == nullptr) return false;
  }
  Recording* const recording = (*wire)->recording();
  if (recording == nullptr) {
    *error = "wire=library: the traffic of " + arguments.library.file +
             " depends on the answers, so a card cannot send it: omit on";
    return false;
  }
  if (!recording->Record(error)) return false;
  if (recording->frames().empty()) {
    *error = "wire=library: " + arguments.library.file + " has no frame to send: omit on";
    return false;
  }
  return UploadRecording(*recording, arguments, executor, shape, error);
}

}  // namespace sluice::emulator
