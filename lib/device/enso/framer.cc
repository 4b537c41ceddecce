// SPDX-License-Identifier: BSD-3-Clause
#include "device/enso/framer.h"

#include <algorithm>
#include <cstddef>
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

uint32_t Framer::Append(const uint8_t* data, uint32_t bytes, uintptr_t ahead, uint64_t until,
                        FrameSink& sink) {
  const uint32_t whole = bytes / kFlitBytes;
  Source source{data, whole, ahead};
  AppendFlits(source, until, sink);
  if (bytes % kFlitBytes == 0 || source.flits != 0) [[likely]]
    return whole - source.flits;
  uint8_t padded[kFlitBytes];
  CopyLastFlit(padded, source.data, bytes % kFlitBytes);
  Source last{padded, 1, 0};
  AppendFlits(last, until, sink);
  return whole + 1 - last.flits;
}

void Framer::AppendFlits(Source& source, uint64_t until, FrameSink& sink) {
  while (source.flits != 0 && frames() < until && !stuck()) {
    if (in_burst_ == kBurst || start_ > kLastStart) Flush(sink);
    const uint32_t first = in_burst_;
    if (held_ != 0) {
      GoOn(source);
    } else {
      const uint64_t wanted = until - frames();
      CutFrames(source, static_cast<uint32_t>(std::min<uint64_t>(kBurst - first, wanted)));
    }
    if (timestamper_.enabled()) [[unlikely]]
      Stamp(first);
  }
}

// Continues the incomplete frame.
void Framer::GoOn(Source& source) {
  const uint32_t whole = Flits(length_);
  const uint32_t more = std::min({whole - held_, source.flits, kMaxTxFrameFlits - held_});
  CopyFlits<HostSide::kFrom>(Flit(start_ + held_), source.data, more, source.ahead);
  source.Skip(more);
  held_ += more;
  if (held_ != whole) return;
  burst_[in_burst_++] = {Flit(start_), length_};
  Count(1, length_);
  start_ += held_;
  held_ = 0;
}

// A frame is cut when its last flit is copied. Lengths are read from the copy, because the host may
// change the original at any time.
void Framer::CutFrames(Source& source, uint32_t most) {
  const uint8_t* from = source.data;
  const uint8_t* const end = from + size_t{source.flits} * kFlitBytes;
  const uintptr_t ahead = source.ahead;
  uint8_t* to = Flit(start_);
  uint8_t* const last = Flit(kLastStart);
  WireFrame* cut = &burst_[in_burst_];
  const WireFrame* const full = cut + most;
  uint64_t bytes = 0;
  while (from != end && cut != full && to <= last) {
    // The hot loop over single-flit frames. `stop` is chosen so that one comparison checks all
    // limits.
    const ptrdiff_t most_flits = full - cut;
    const uint8_t* const stop =
        from + std::min({end - from, last + kFlitBytes - to, most_flits * ptrdiff_t{kFlitBytes}});
    uint32_t length;
    do {
      CopyFlitTakingAhead<HostSide::kFrom>(to, from, ahead);
      length = ClaimedLength(to);
      // The branch is predicted, so the next address does not depend on the length.
      if (length > kFlitBytes) break;
      *cut++ = {to, length};
      bytes += length;
      to += kFlitBytes;
      from += kFlitBytes;
    } while (from != stop);
    if (length <= kFlitBytes) continue;

    // The frame is longer than one flit; its first flit has already been copied.
    const uint32_t whole = Flits(length);
    const uint32_t left = static_cast<uint32_t>(end - from) / kFlitBytes;
    const uint32_t here = std::min({whole, left, kMaxTxFrameFlits});
    CopyFlits<HostSide::kFrom>(to + kFlitBytes, from + kFlitBytes, here - 1, ahead);
    from += size_t{here} * kFlitBytes;
    if (here != whole) {
      held_ = here;
      length_ = length;
      break;
    }
    *cut++ = {to, length};
    bytes += length;
    to += size_t{whole} * kFlitBytes;
  }
  source.Skip(static_cast<uint32_t>(from - source.data) / kFlitBytes);
  start_ = static_cast<uint32_t>(to - Flit(0)) / kFlitBytes;
  Count(static_cast<uint32_t>(cut - burst_.data()) - in_burst_, bytes);
  in_burst_ = static_cast<uint32_t>(cut - burst_.data());
}

// Timestamps the frames of the burst from `first` on.
void Framer::Stamp(uint32_t first) {
  for (uint32_t i = first; i < in_burst_; ++i) {
    uint8_t* const frame = staging_.data() + (burst_[i].data - staging_.data());
    timestamper_.StampTransmit(frame, clock_.Cycles());
  }
}

void Framer::Flush(FrameSink& sink) {
  if (in_burst_ != 0) sink.Deliver({burst_.data(), in_burst_});
  in_burst_ = 0;
  if (held_ == 0) start_ = 0;  // Restart at the beginning of the memory, which is cached.
}

}  // namespace sluice::device::enso
