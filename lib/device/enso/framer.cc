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

void SetClaimedLength(uint8_t* flit, uint32_t length) {
  const uint16_t total_length_be = __builtin_bswap16(static_cast<uint16_t>(length - kEthernetBytes));
  std::memcpy(flit + 16, &total_length_be, sizeof(total_length_be));
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

// One pass: each flit is copied once, and a frame is cut when its last flit is. Lines are taken
// ahead with the right to write: who sends from a pipe gives them back to the NIC.
void Framer::AppendFlits(const uint8_t* data, uint32_t flits, FrameSink& sink) {
  const bool stamped = timestamper_.enabled();
  uint8_t* first = Flit(start_);
  uint32_t held = held_;
  uint32_t length = length_;
  while (flits != 0) {
    if (held == 0) length = ClaimedLength(data);
    const uint32_t whole = Flits(length);
    const uint32_t count = std::min(whole - held, flits);
    uint8_t* to = first + uint64_t{held} * kFlitBytes;
    for (const uint8_t* const stop = data + uint64_t{count} * kFlitBytes; data != stop;
         data += kFlitBytes, to += kFlitBytes) {
      PrefetchForWrite(reinterpret_cast<uintptr_t>(data) + kAheadBytes);
      CopyFlit(to, data);
    }
    held += count;
    flits -= count;
    if (held != whole) break;
    // What was copied may differ from what was looked at: the memory is the host's.
    if (ClaimedLength(first) != length) [[unlikely]] SetClaimedLength(first, length);
    if (stamped) [[unlikely]] timestamper_.StampTransmit(first, clock_.Cycles());
    if (in_burst_ == kBurst) [[unlikely]] Flush(sink);
    burst_[in_burst_++] = {first, length};
    first = to;
    held = 0;
  }
  start_ = static_cast<uint32_t>(first - Flit(0)) / kFlitBytes;
  held_ = held;
  length_ = length;
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
