// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/frame_endpoint.h"

#include <algorithm>

#include "device/copy.h"
#include "device/take_lines.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: the limits and counters of this device
using coherent::Control;
using coherent::Kind;
using coherent::Pair;
using coherent::Seen;

/// Distance in cache lines from the written frame to the prefetched lines, and number of lines
/// prefetched per frame. The hardware prefetcher fetches the rest during the copy.
constexpr uint32_t kLinesAhead = 16;
constexpr uint32_t kLinesTaken = 4;
/// Prefetch distance in frames, assuming that all frames have the same size.
constexpr uint32_t kFramesAhead = 8;

/// Process number of the host, which owns all frame endpoints.
constexpr uint64_t kHost = 0;
static_assert(kMinFrameBytes == coherent::kMinFrameBytes &&
              kMaxFrameBytes == coherent::kMaxFrameBytes);

}  // namespace

bool FrameEndpoint::Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes,
                           uint64_t now_ns) {
  uint8_t* const memory = base % kPageBytes == 0 ? dma.TranslateLocal(base, bytes) : nullptr;
  if (memory == nullptr) return false;
  memory_ = coherent::EndpointMemory::Find({memory, bytes});
  if (!memory_) return false;
  base_ = base;
  bytes_ = bytes;
  const coherent::Geometry& geometry = memory_.geometry();
  const uint32_t head = coherent::RecordBytes(0, geometry.headroom_bytes);
  if (geometry.LineCapacity() < head + kMinFrameBytes) return false;
  max_frame_ = std::min(geometry.LineCapacity() - head, kMaxFrameBytes) & ~7u;
  // Reserves half a line for returned frames that outgrow their records, unless a single frame
  // needs more than half.
  fill_bytes_ = std::max(geometry.LineCapacity() / 2, head + max_frame_);
  end_ =
      std::make_unique<coherent::NicEnd>(memory_, coherent::NicOptions{.process = kHost}, now_ns);
  return true;
}

void FrameEndpoint::Disable(Statistics& statistics) {
  if (end_ == nullptr) return;
  if (filling_) statistics[kStatLineRxDiscards] += writer_.count();
  for (const Pair pair : {Pair::kReceive, Pair::kTransmit}) {
    Sending& sending = Of(pair);
    // While a load is pending, the host still owns the frames that it returned with the load, and
    // counts them itself.
    if (!sending.busy || end_->Waits(pair)) continue;
    while (sending.frames.Next()) {
      const coherent::Record record = sending.frames.record();
      statistics[kStatLineTxDiscards] += record.length != 0 || record.flags != 0;
    }
  }
  end_->Kill();
  *this = {};
}

void FrameEndpoint::Abandon(Statistics& statistics) {
  if (end_ == nullptr) return;
  statistics[kStatLineLost] += lent_;
  if (filling_) statistics[kStatLineRxDiscards] += writer_.count();
  for (const Sending& sending : sending_) {
    if (sending.busy) statistics[kStatLineTxDiscards] += sending.frames.left();
  }
  *this = {};
}

void FrameEndpoint::Serve(uint64_t now_ns, Statistics& statistics) {
  // Frames are sent in the order in which the host returned them, across both pairs. A transmit
  // line is accepted only if it was returned before the receive line was polled. Receive lines are
  // not polled until all frames of a transmit line have been sent.
  const bool sends = end_->HasLoaded(Pair::kTransmit);
  if (!Of(Pair::kTransmit).busy && !Look(Pair::kReceive, now_ns, statistics)) return;
  Answer(statistics);
  if (sends && !Look(Pair::kTransmit, now_ns, statistics)) return;
  if (end_->Waits(Pair::kTransmit))
    end_->Deliver(Pair::kTransmit, {.kind = Kind::kGrant}, kHost, 0);
}

bool FrameEndpoint::Look(Pair pair, uint64_t now_ns, Statistics& statistics) {
  // A load signals that the host has finished with a line. That line is handled before the next
  // load.
  while (!Of(pair).busy) {
    switch (end_->Look(pair, now_ns)) {
      case Seen::kReturned:
        AcceptReturn(pair, statistics);
        break;
      case Seen::kTriedAgain:
        ++statistics[kStatLineTryAgains];
        break;
      case Seen::kFault:
        ++statistics[kStatLineFaults];
        Disable(statistics);
        return false;
      case Seen::kNothing:
        return true;
      default:
        break;
    }
  }
  return true;
}

void FrameEndpoint::AcceptReturn(Pair pair, Statistics& statistics) {
  const coherent::Returned& returned = end_->returned(pair);
  if (pair == Pair::kReceive) lent_ = 0;
  if (returned.kind == Kind::kNoReply) return;
  if (returned.kind != Kind::kFrames) {
    ++statistics[kStatLineBadRecord];
  } else if (!returned.tag) {
    statistics[kStatLineOrphans] += returned.count;
  } else {
    Of(pair) = {returned.payload, coherent::FrameWalker(returned.payload, returned.count), true};
  }
}

bool FrameEndpoint::Begin() {
  uint64_t number = end_->number(Pair::kReceive);
  if (!end_->Waits(Pair::kReceive)) {
    if (Of(Pair::kReceive).busy) return false;  // The line's frames must be sent first.
    ++number;
  }
  writer_ = coherent::FrameWriter(
      memory_.Room(Pair::kReceive, static_cast<uint32_t>(number), false).first(fill_bytes_),
      memory_.geometry().headroom_bytes);
  filling_ = true;
  return true;
}

uint8_t* FrameEndpoint::Reserve(uint32_t length, Statistics& statistics) {
  if (!filling_ && !Begin()) return nullptr;
  uint8_t* const to = writer_.Add(length, Control::kMaxCount);
  if (to != nullptr || !end_->Waits(Pair::kReceive)) return to;
  Answer(statistics);
  return Begin() ? writer_.Add(length, Control::kMaxCount) : nullptr;
}

void FrameEndpoint::Answer(Statistics& statistics) {
  if (!filling_ || writer_.count() == 0 || !end_->Waits(Pair::kReceive)) return;
  filling_ = false;
  lent_ = writer_.count();
  statistics[kStatLineAnswers] += end_->Deliver(
      Pair::kReceive, {.kind = Kind::kFrames, .length = writer_.length(), .count = writer_.count()},
      kHost, 0);
}

bool FrameEndpoint::Write(const WireFrame& frame, Statistics& statistics) {
  uint8_t* const to = Reserve(frame.length, statistics);
  if (to == nullptr) return false;
  PrefetchLines(to + kLinesAhead * kCacheLine, std::min(frame.length, kLinesTaken * kCacheLine));
  CopySegment(to, frame.data, frame.length);
  return true;
}

uint32_t FrameEndpoint::WritePlain(std::span<const WireFrame> frames, uint32_t max_length,
                                   uint64_t* bytes, Statistics& statistics) {
  max_length = std::min(max_length, max_frame_);
  uint32_t written = 0;
  for (; written < frames.size(); ++written) {
    const WireFrame& frame = frames[written];
    if (frame.length < kMinFrameBytes || frame.length > max_length) break;
    if (!Write(frame, statistics)) break;
    *bytes += frame.length;
  }
  return written;
}

uint32_t FrameEndpoint::Run(TxStaging& staging, FrameSink& sink, Statistics& statistics,
                            uint32_t budget) {
  uint32_t sent = 0;
  for (Sending& sending : sending_) {
    TxStaging::Cursor cursor = staging.Begin();
    while (sending.busy && sent < budget) {
      if (!sending.frames.Next()) {
        statistics[kStatLineBadRecord] += sending.frames.bad();
        sending.busy = false;
        break;
      }
      const coherent::Record record = sending.frames.record();
      std::span<const uint8_t> frame = sending.frames.frame();
      if (frame.empty()) [[unlikely]] {
        if (record.flags == 0) continue;
        frame = coherent::GrownFrame(sending.payload, record.flags);
        statistics[kStatLineBadRecord] += frame.empty();
        if (frame.empty()) continue;
      }
      if (cursor.full()) {
        staging.Commit(cursor, sink);
        cursor = staging.Begin();
      }
      const auto length = static_cast<uint32_t>(frame.size());
      PrefetchLines(frame.data() + kFramesAhead * record.stride, kCacheLine);
      CopySegment(cursor.bytes, frame.data(), length);
      cursor.Add(length);
      statistics[kStatTxBytes] += length;
      ++sent;
    }
    staging.Commit(cursor, sink);
  }
  statistics[kStatTxFrames] += sent;
  return sent;
}

}  // namespace sluice::device::ipu
