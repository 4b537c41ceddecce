// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/framer.h"

#include <algorithm>
#include <cstring>

#include "device/enso/flit_copy.h"

namespace sluice::device::enso {
namespace {

using namespace regs::enso;

constexpr uint32_t kEthernetBytes = 14;

uint32_t ClaimedLength(const uint8_t* flit) {
  uint16_t total_length_be;
  std::memcpy(&total_length_be, flit + 16, sizeof(total_length_be));
  return __builtin_bswap16(total_length_be) + kEthernetBytes;
}

}  // namespace

void Framer::Append(const uint8_t* data, uint32_t bytes, FrameSink& sink) {
  if (start_ + kMaxTxFrameFlits > kStagingFlits) [[unlikely]] {
    Flush(sink);
    std::memmove(Flit(0), Flit(start_), held_ * kFlitBytes);
    start_ = 0;
  }
  const uint32_t whole = bytes / kFlitBytes;
  AppendFlits(data, whole, sink);
  if (bytes % kFlitBytes != 0) [[unlikely]] {
    uint8_t padded[kFlitBytes];
    CopyLastFlit(padded, data + whole * kFlitBytes, bytes % kFlitBytes);
    AppendFlits(padded, 1, sink);
  }
}

// One pass: a frame is cut when its last flit is copied. Lengths are read from the copy, since the
// memory is the host's and may change.
void Framer::AppendFlits(const uint8_t* data, uint32_t flits, FrameSink& sink) {
  if (held_ != 0) {
    const uint32_t more = std::min(Flits(length_) - held_, flits);
    CopyFlits<HostSide::kFrom>(Flit(start_ + held_), data, more);
    held_ += more;
    data += uint64_t{more} * kFlitBytes;
    flits -= more;
    if (held_ != Flits(length_)) return;
    Cut(Flit(start_), length_, sink);
    start_ += held_;
    held_ = 0;
  }
  uint8_t* first = Flit(start_);
  while (flits != 0) {
    CopyFlitTakingAhead<HostSide::kFrom>(first, data);
    const uint32_t length = ClaimedLength(first);
    // The branch, which is predicted, keeps the next frame's address from waiting for the length.
    uint32_t whole = 1;
    if (length > kFlitBytes) {
      whole = Flits(length);
      CopyFlits<HostSide::kFrom>(first + kFlitBytes, data + kFlitBytes,
                                 std::min(whole, flits) - 1);
      if (whole > flits) {
        held_ = flits;
        length_ = length;
        break;
      }
    }
    Cut(first, length, sink);
    first += uint64_t{whole} * kFlitBytes;
    data += uint64_t{whole} * kFlitBytes;
    flits -= whole;
  }
  start_ = static_cast<uint32_t>(first - Flit(0)) / kFlitBytes;
}

inline void Framer::Cut(uint8_t* first, uint32_t length, FrameSink& sink) {
  if (timestamper_.enabled()) [[unlikely]] timestamper_.StampTransmit(first, clock_.Cycles());
  if (in_burst_ == kBurst) [[unlikely]] Flush(sink);
  burst_[in_burst_++] = {first, length};
}

void Framer::Flush(FrameSink& sink) {
  if (in_burst_ == 0) return;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < in_burst_; ++i) bytes += burst_[i].length;
  tally_[Event::kTxFrames] += in_burst_;
  tally_[Event::kTxBytes] += bytes;
  delivered_ += in_burst_;
  sink.Deliver({burst_.data(), in_burst_});
  in_burst_ = 0;
}

}  // namespace sluice::device::enso
