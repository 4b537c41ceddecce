// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/link_queue.h"

#include <algorithm>
#include <array>

#include "device/copy.h"
#include "device/take_lines.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT: the limits and counters of this device

/// Bytes of a frame that are prefetched; the hardware prefetcher fetches the rest during the copy.
/// The lines are prefetched for writing, because the device owns the region that it is sending, and
/// will fill it next.
constexpr uint32_t kPrefetchBytes = 4 * kCacheLine;

}  // namespace

bool LinkQueue::Enable(const bar::DmaSpace& dma, uint64_t base, uint64_t bytes, uint16_t epoch) {
  Disable();
  bad_entries_ = faults_ = 0;
  base_ = base;
  bytes_ = bytes;
  uint8_t* const memory = base % kPageBytes == 0 ? dma.TranslateLocal(base, bytes) : nullptr;
  if (memory != nullptr) link_ = swap::NicLink::Open({memory, bytes}, epoch);
  return enabled();
}

bool LinkQueue::Serve(Statistics& statistics) {
  const bool swapped = link_->Serve();
  statistics[kStatLinkSwaps] += swapped;
  const uint64_t faults = link_->bad_offers() + link_->faulted();
  statistics[kStatLinkFaults] += faults - faults_;
  faults_ = faults;
  return swapped;
}

bool LinkQueue::Write(const WireFrame& frame, Statistics& statistics) {
  uint8_t* to = link_->Reserve(frame.length);
  if (to == nullptr && Serve(statistics)) to = link_->Reserve(frame.length);
  if (to == nullptr) return false;
  CopySegment(to, frame.data, frame.length);
  link_->Publish(frame.length);
  return true;
}

uint32_t LinkQueue::WritePlain(std::span<const WireFrame> frames, uint32_t max_length,
                               uint64_t* bytes) {
  constexpr uint32_t kAhead = 16 * kCacheLine;
  max_length = std::min(max_length, link_->MaxFrame());
  const auto plain = [max_length](uint32_t length) {
    return length >= kMinFrameBytes && length <= max_length;
  };
  uint64_t written_bytes = 0;
  uint32_t written = 0;
  while (written < frames.size() && plain(frames[written].length) &&
         link_->Reserve(frames[written].length) != nullptr) {
    swap::Filler filler = link_->filler();
    for (; written < frames.size(); ++written) {
      const WireFrame frame = frames[written];
      if (!plain(frame.length) || !filler.Fits(frame.length)) break;
      uint8_t* const to = filler.Next();
      PrefetchLines(to + kAhead, std::min(frame.length, kPrefetchBytes));
      CopySegment(to, frame.data, frame.length);
      filler.Publish(frame.length);
      written_bytes += frame.length;
    }
    link_->SetFiller(filler);
  }
  *bytes += written_bytes;
  return written;
}

uint32_t LinkQueue::Run(TxStaging& staging, FrameSink& sink, Statistics& statistics,
                        uint32_t budget) {
  std::array<swap::FrameToSend, TxStaging::kBurst> frames;
  uint64_t bytes = 0;
  uint32_t sent = 0;
  while (sent < budget) {
    const uint32_t count =
        link_->DequeueFrames(frames.data(), std::min(TxStaging::kBurst, budget - sent));
    if (count == 0) break;
    for (uint32_t i = 0; i < count; ++i) {
      PrefetchLines(frames[i].data, std::min(frames[i].length, kPrefetchBytes));
    }
    for (uint32_t i = 0; i < count;) {
      TxStaging::Cursor cursor = staging.Begin();
      for (; i < count && !cursor.full(); ++i) {
        const swap::FrameToSend frame = frames[i];
        CopySegment(cursor.bytes, frame.data, frame.length);
        cursor.Add(frame.length);
        bytes += frame.length;
      }
      staging.Commit(cursor, sink);
    }
    sent += count;
  }
  statistics[kStatTxFrames] += sent;
  statistics[kStatTxBytes] += bytes;
  statistics[kStatLinkBadEntry] += link_->bad_entries() - bad_entries_;
  bad_entries_ = link_->bad_entries();
  return sent;
}

}  // namespace sluice::device::ipu
