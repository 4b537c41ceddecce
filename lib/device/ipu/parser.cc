// SPDX-License-Identifier: BSD-3-Clause
#include "device/ipu/parser.h"

#include "device/ipu/parse_any.h"

namespace sluice::device::ipu {

uint16_t OnesComplementSum(const uint8_t* data, uint32_t bytes, uint32_t initial) {
  return parsing::OnesComplementSum(data, bytes, initial);
}
uint16_t LinkClass(const WireFrame& frame) { return parsing::LinkClass(frame); }
Headers ParseAny(const WireFrame& frame) { return parsing::ParseAny(frame); }
uint16_t VerifyChecksums(const WireFrame& frame, const Headers& headers) {
  return parsing::VerifyChecksums(frame, headers);
}

}  // namespace sluice::device::ipu
