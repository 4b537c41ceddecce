// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/frame_fifo.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "emulator/wire.h"

namespace sluice::emulator {

FrameFifo::FrameFifo(uint32_t frames, size_t bytes)
    : capacity_(bytes),
      bytes_(AllocateBytes(bytes)),
      frames_(frames),
      leave_ns_(frames),
      end_(frames) {
  if (bytes_ == nullptr) throw std::bad_alloc();
}

uint8_t* FrameFifo::Push(const device::WireFrame& frame, uint64_t leave_ns) {
  const uint32_t length = std::max(frame.length, kMinFrameBytes);
  if (size() == frames_.size() || length > capacity_) return nullptr;
  // Frames are not split: a frame that does not fit before the end of the memory is stored at the
  // beginning.
  uint64_t start = byte_tail_;
  const uint64_t to_end = capacity_ - start % capacity_;
  if (to_end < length) start += to_end;
  if (start + length - byte_head_ > capacity_) return nullptr;

  uint8_t* copy = bytes_.get() + start % capacity_;
  std::memcpy(copy, frame.data, frame.length);
  std::memset(copy + frame.length, 0, length - frame.length);
  const uint32_t slot = Slot(tail_++);
  frames_[slot] = {copy, length};
  leave_ns_[slot] = leave_ns;
  end_[slot] = byte_tail_ = start + length;
  return copy;
}

std::span<const device::WireFrame> FrameFifo::Front(uint64_t now_ns, uint32_t max) const {
  const uint32_t first = Slot(head_);
  const uint32_t to_end = static_cast<uint32_t>(frames_.size()) - first;
  const uint32_t limit = std::min({max, size(), to_end});
  uint32_t ready = 0;
  while (ready < limit && leave_ns_[first + ready] <= now_ns) ++ready;
  return {&frames_[first], ready};
}

void FrameFifo::Pop(uint32_t count) {
  if (count == 0) return;
  head_ += count;
  byte_head_ = end_[Slot(head_ - 1)];
  if (head_ == tail_)
    byte_head_ = byte_tail_ = 0;  // The next frame then uses memory that is cached.
}

}  // namespace sluice::emulator
