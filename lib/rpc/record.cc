// SPDX-License-Identifier: BSD-3-Clause
#include "rpc/record.h"

#include <algorithm>
#include <cstddef>

namespace sluice::rpc {

RecordReader::State RecordReader::Consume(std::span<const uint8_t>* bytes) {
  if (whole_) {
    record_.clear();
    whole_ = false;
  }
  const auto consume = [bytes](size_t most) {
    const auto taken = bytes->first(std::min(most, bytes->size()));
    *bytes = bytes->subspan(taken.size());
    return taken;
  };
  for (;;) {
    if (mark_bytes_ < kMarkBytes) {
      const auto taken = consume(kMarkBytes - mark_bytes_);
      std::ranges::copy(taken, mark_ + mark_bytes_);
      mark_bytes_ += static_cast<uint32_t>(taken.size());
      if (mark_bytes_ < kMarkBytes) return State::kMore;
      const uint32_t mark = packet::LoadBe32(mark_);
      left_ = mark & kMaxFragmentBytes;
      last_ = (mark & kLastFragment) != 0;
      if (left_ > max_bytes_ - record_.size()) return State::kTooLong;
    }
    const auto taken = consume(left_);
    record_.insert(record_.end(), taken.begin(), taken.end());
    left_ -= static_cast<uint32_t>(taken.size());
    if (left_ != 0) return State::kMore;
    mark_bytes_ = 0;
    if (last_) {
      whole_ = true;
      return State::kRecord;
    }
  }
}

}  // namespace sluice::rpc
