// SPDX-License-Identifier: BSD-3-Clause
//
// Decodes the registers of IpuNic from kPortTables on (regs/ipu_port.h) on the control path.
#include "device/ipu/ipu_nic.h"
#include "regs/ipu_port.h"

namespace sluice::device::ipu {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

namespace {

bool IsIn(uint32_t offset, uint32_t first, uint32_t bytes) {
  return offset >= first && offset - first < bytes;
}

uint32_t Half(uint64_t value, uint32_t offset) {
  return static_cast<uint32_t>(offset % 8 == 0 ? value : value >> 32);
}

}  // namespace

void IpuNic::WriteClock(uint32_t offset, uint64_t value) {
  if (offset == kClock) clock_.Set(value);
  if (offset == kClockAdjust) clock_.Adjust(static_cast<int64_t>(value));
}

void IpuNic::WritePortTables(uint32_t offset, uint32_t value) {
  if (IsIn(offset, kVlanTable, kVlanTableBytes)) {
    filter_.WriteVlans((offset - kVlanTable) / 4, value);
  } else if (IsIn(offset, kAddressTable, kAddressTableBytes)) {
    filter_.WriteAddress((offset - kAddressTable) / 4, value);
  } else if (offset == kStampTaken) {
    if (value & kStampRx) clock_.ClearReceived();
    if (value & kStampTx) clock_.ClearSent();
  } else if (IsIn(offset, kClock, kClockBlockBytes)) {
    if (offset % 8 == 0) {
      clock_low_ = value;
    } else {
      WriteClock(offset - 4, uint64_t{value} << 32 | clock_low_);
    }
  }
}

uint32_t IpuNic::ReadPortTables(uint32_t offset) const {
  if (IsIn(offset, kVlanTable, kVlanTableBytes)) {
    return filter_.ReadVlans((offset - kVlanTable) / 4);
  }
  if (IsIn(offset, kAddressTable, kAddressTableBytes)) {
    return filter_.ReadAddress((offset - kAddressTable) / 4);
  }
  switch (offset & ~7u) {
    case kClock:
      return Half(clock_.Now(), offset);
    case kRxStamp:
      return Half(clock_.received_ns(), offset);
    case kTxStampTime:
      return Half(clock_.sent_ns(), offset);
    default:
      return UINT32_MAX;
  }
}

}  // namespace sluice::device::ipu
