// SPDX-License-Identifier: BSD-3-Clause
#include "fabric/link.h"

#include <algorithm>
#include <cassert>

namespace sluice::fabric {
namespace {

constexpr uint32_t kDataCreditBytes = 16;

uint32_t HeaderBytes(TlpKind kind) {
  switch (kind) {
    case TlpKind::kPosted:
      return bar::kTlpWriteHeaderBytes;
    case TlpKind::kReadRequest:
      return bar::kTlpReadHeaderBytes;
    case TlpKind::kCompletion:
      break;
  }
  return bar::kTlpCompletionHeaderBytes;
}

}  // namespace

LinkDirection::LinkDirection(const LinkParameters& parameters, Picoseconds oneway)
    : parameters_(parameters),
      oneway_(oneway),
      bits_per_second_(
          bar::TlpRate(parameters.generation, parameters.lanes, parameters.maximum_payload)) {
  assert(bits_per_second_ != 0 && parameters.posted_headers != 0 && parameters.posted_data != 0);
}

Picoseconds LinkDirection::ServiceTime(uint64_t bytes) const {
  // The product does not overflow for transfers of up to 2 MiB.
  const uint64_t bit_picoseconds = bytes * 8 * 1'000'000'000'000;
  return (bit_picoseconds + bits_per_second_ - 1) / bits_per_second_;
}

/// Returns the first time, not before `from`, at which a header and `data` units are free.
/// Allocates them.
Picoseconds LinkDirection::WaitForCredits(Picoseconds from, uint32_t data) {
  Picoseconds at = from;
  while (!lent_.empty() &&
         (lent_.front().returned <= at || lent_.size() >= parameters_.posted_headers ||
          lent_data_ + data > parameters_.posted_data)) {
    at = std::max(at, lent_.front().returned);
    lent_data_ -= lent_.front().data;
    lent_.pop_front();
  }
  credit_stall_ += at - from;
  return at;
}

Transmission LinkDirection::Send(Picoseconds now, TlpKind kind, uint32_t payload,
                                 Picoseconds latency) {
  assert(payload <= parameters_.maximum_payload);
  const uint32_t data = (payload + kDataCreditBytes - 1) / kDataCreditBytes;
  const uint64_t bytes = HeaderBytes(kind) + payload;
  Picoseconds start = std::max(now, free_at_);
  if (kind == TlpKind::kPosted) start = WaitForCredits(start, data);
  free_at_ = start + ServiceTime(bytes);
  last_arrival_ = std::max(start + latency, last_arrival_);
  if (kind == TlpKind::kPosted) {
    received_at_ = std::max(last_arrival_, received_at_) + parameters_.receive_service;
    lent_.push_back({data, received_at_ + oneway_});
    lent_data_ += data;
  }
  bytes_ += bytes;
  ++tlps_;
  return {start, last_arrival_};
}

}  // namespace sluice::fabric
