// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/rx_queue.h"

#include <algorithm>
#include <cstring>

#include "bar/load_once.h"
#include "device/ipu/parser.h"
#include "device/ipu/ring.h"

namespace sluice::device::ipu {

using regs::ipu::Descriptor;

bool RxQueue::Enable(const bar::DmaSpace& dma, uint64_t base, uint32_t entries,
                     uint32_t buffer_bytes, bool scatter, const Clock* clock) {
  Disable();
  if (buffer_bytes < regs::ipu::kMinBuffer || buffer_bytes > UINT16_MAX) return false;
  ring_ = MapRing(dma, base, entries);
  base_ = base;
  dma_ = &dma;
  dma.Forget();
  mask_ = entries - 1;
  buffer_bytes_ = buffer_bytes;
  simple_bytes_ = clock == nullptr ? buffer_bytes : 0;
  stamp_bytes_ = clock == nullptr ? 0 : regs::ipu::kStampBytes;
  clock_ = clock;
  scatter_ = scatter;
  written_back_ = head_ = fetched_ = tail_ = 0;
  return ring_ != nullptr;
}

void RxQueue::Disable() {
  if (ring_ != nullptr) WriteBack();
  ring_ = nullptr;
}

bool RxQueue::Recheck(const bar::DmaSpace& dma) {
  if (ring_ == nullptr) return true;
  fetched_ = head_;
  if (HasRing(dma, base_, mask_ + 1, ring_)) return true;
  ring_ = nullptr;
  written_back_ = head_;
  return false;
}

bool RxQueue::SetTail(uint32_t tail) {
  if (ring_ == nullptr || tail - written_back_ > mask_ + 1 || tail - tail_ > mask_ + 1)
    return false;
  tail_ = tail;
  return true;
}

void RxQueue::Fetch(const bar::DmaSpace& dma) {
  uint32_t end = fetched_ + std::min(kFetchBatch, tail_ - fetched_);
  const Descriptor* const first = &ring_[fetched_ & mask_];
  if (dma.remote() != nullptr) [[unlikely]] {
    const uint32_t in_one_piece = std::min(end - fetched_, mask_ + 1 - (fetched_ & mask_));
    const size_t arrived = dma.Ready(first, in_one_piece * sizeof(Descriptor), sizeof(Descriptor));
    if (arrived == 0) return;
    end = fetched_ + static_cast<uint32_t>(arrived / sizeof(Descriptor));
  }
  const uint32_t room = stamp_bytes_ + buffer_bytes_;
  bar::DmaBatch memory(dma);
  for (; fetched_ != end; ++fetched_) {
    const uint64_t address = bar::LoadOnce(ring_[fetched_ & mask_].low);
    uint8_t* const buffer = memory.Translate(address, room);
    buffers_[fetched_ % kFetchMax] = buffer;
    __builtin_prefetch(buffer, 1);
  }
  dma.Done(first);
  for (uint32_t i = 0; i < kFetchBatch; i += 4) __builtin_prefetch(&ring_[(end + i) & mask_], 1);
}

void RxQueue::WriteBack() {
  const uint32_t first = written_back_;
  for (; written_back_ != head_; ++written_back_) {
    const Descriptor& from = completed_[written_back_ % kWriteBackBatch];
    Descriptor& to = ring_[written_back_ & mask_];
    to.low = from.low;
    StoreHigh(to, from.high);
  }
  if (first != written_back_ && dma_->remote() != nullptr) [[unlikely]]
    ReportWritten(first);
}

void RxQueue::ReportWritten(uint32_t first) const {
  for (uint32_t i = first; i != written_back_; ++i) {
    const Descriptor& written = ring_[i & mask_];
    const auto length = static_cast<uint16_t>(written.high);
    if (length != 0) dma_->Stored(buffers_[i % kFetchMax], stamp_bytes_ + length);
    dma_->Stored(&written, sizeof(written));
  }
}

uint32_t RxQueue::WritePlain(const bar::DmaSpace& dma, std::span<const WireFrame> frames,
                             uint32_t max_length, uint64_t* bytes) {
  max_length = std::min(max_length, simple_bytes_);
  uint64_t written_bytes = 0;
  uint32_t written = 0;
  while (written < frames.size()) {
    if (fetched_ - head_ < kFetchLow && fetched_ != tail_) Fetch(dma);
    // The batch is limited to the fetched descriptors and to the write-back batch, so that the loop
    // does not need to check indices.
    const uint32_t start = head_;
    const uint32_t batch = std::min({static_cast<uint32_t>(frames.size()) - written,
                                     fetched_ - start, kWriteBackBatch - start % kWriteBackBatch});
    const WireFrame* frame = frames.data() + written;
    uint8_t* const* buffer = &buffers_[start % kFetchMax];
    Descriptor* completed = &completed_[start % kWriteBackBatch];
    uint32_t done = 0;
    for (; done < batch; ++done, ++frame, ++buffer, ++completed) {
      const WireFrame plain = *frame;
      const uint64_t packet_class = PlainClass(plain);
      if (packet_class == 0 || plain.length > max_length || *buffer == nullptr) break;
      CopySegment(*buffer, plain.data, plain.length);
      *completed = {0, packet_class << regs::ipu::kRxClassShift | regs::ipu::kDone |
                           regs::ipu::kRxEndOfPacket | plain.length};
      written_bytes += plain.length;
    }
    head_ = start + done;
    written += done;
    if (head_ % kWriteBackBatch == 0) WriteBack();
    if (done == 0 || done != batch) break;
  }
  *bytes += written_bytes;
  return written;
}

RxOutcome RxQueue::WriteSegments(const bar::DmaSpace& dma, const WireFrame& frame,
                                 const RxMetadata& metadata) {
  const uint32_t segments = Segments(frame.length);
  if (segments > 1 && !scatter_) return RxOutcome::kOversize;
  if (tail_ - head_ < segments) return RxOutcome::kNoDescriptor;
  if (dma.remote() != nullptr) WriteBack();  // WriteBack uses buffers_, which Fetch overwrites.
  while (fetched_ - head_ < segments) {
    const uint32_t before = fetched_;
    Fetch(dma);
    if (fetched_ == before) return RxOutcome::kWaiting;
  }
  bool fault = false;
  for (uint32_t i = 0; i < segments; ++i) fault |= buffers_[(head_ + i) % kFetchMax] == nullptr;
  if (!fault && clock_ != nullptr) {
    const uint64_t now_ns = clock_->Now();
    std::memcpy(buffers_[head_ % kFetchMax], &now_ns, sizeof(now_ns));
  }
  uint64_t low = metadata.low;
  uint64_t high = metadata.high;
  for (uint32_t at = 0; at < frame.length; at += buffer_bytes_, low = 0, high = 0) {
    const uint32_t bytes = std::min(buffer_bytes_, frame.length - at);
    if (fault) {
      Complete(0, regs::ipu::kRxEndOfPacket);
      continue;
    }
    CopySegment(buffers_[head_ % kFetchMax] + stamp_bytes_, frame.data + at, bytes);
    Complete(low, high | bytes | (at + bytes == frame.length ? regs::ipu::kRxEndOfPacket : 0));
  }
  return fault ? RxOutcome::kDmaFault : RxOutcome::kWritten;
}

}  // namespace sluice::device::ipu
