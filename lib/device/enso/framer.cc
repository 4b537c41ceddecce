// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/framer.h"

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
  CopyFrame(Flit(start_ + held_), data, bytes);
  held_ += Flits(bytes);
  Cut(sink);
}

void Framer::Cut(FrameSink& sink) {
  while (held_ != 0) {
    uint8_t* first = Flit(start_);
    const uint32_t length = ClaimedLength(first);
    const uint32_t flits = Flits(length);
    if (flits > held_) break;
    if (timestamper_.enabled()) [[unlikely]] timestamper_.StampTransmit(first, clock_.Cycles());
    if (in_burst_ == kBurst) Flush(sink);
    burst_[in_burst_++] = {first, length};
    ++frames_;
    start_ += flits;
    held_ -= flits;
  }
}

void Framer::Flush(FrameSink& sink) {
  if (in_burst_ == 0) return;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < in_burst_; ++i) bytes += burst_[i].length;
  tally_[Event::kTxFrames] += in_burst_;
  tally_[Event::kTxBytes] += bytes;
  sink.Deliver({burst_.data(), in_burst_});
  in_burst_ = 0;
}

}  // namespace sluice::device::enso
