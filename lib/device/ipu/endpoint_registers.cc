// SPDX-License-Identifier: BSD-3-Clause
//
// Decodes the registers at kEndpointBlock (regs/ipu.h) on the control path.
#include "device/ipu/ipu_nic.h"

namespace sluice::device::ipu {

using namespace regs::ipu;  // NOLINT: this file decodes that register map

bool IpuNic::HasRingOrLink(uint32_t queue) const {
  return rx_[queue].enabled() || tx_[queue].enabled() || links_[queue].enabled();
}

void IpuNic::DisableEndpoint(uint32_t queue) {
  if (mastering_) {
    endpoints_[queue].Disable(statistics_);
  } else {
    endpoints_[queue].Abandon(statistics_);
  }
}

bool IpuNic::EnableEndpoint(uint32_t queue) {
  DisableEndpoint(queue);
  if (queue >= endpoint_count_ || HasRingOrLink(queue)) return false;
  const EndpointRegisters& registers = endpoint_registers_[queue];
  const bool sound = mastering_ && endpoints_[queue].Enable(dma_, registers.base, registers.bytes,
                                                            clock_.Elapsed());
  statistics_[kStatLineFaults] += !sound;
  return sound;
}

void IpuNic::WriteEndpoint(uint32_t queue, uint32_t offset, uint64_t value) {
  EndpointRegisters& registers = endpoint_registers_[queue];
  switch (offset) {
    case kEndpointBase:
      registers.base = value;
      break;
    case kEndpointBytes:
      registers.bytes = value;
      break;
    case kEndpointControl: {
      const uint32_t bit = 1u << queue;
      with_endpoint_ &= ~bit;
      if ((value & kEndpointEnable) == 0) {
        DisableEndpoint(queue);
      } else if (EnableEndpoint(queue)) {
        with_endpoint_ |= bit;
      }
      break;
    }
    default:
      break;
  }
}

uint64_t IpuNic::ReadEndpoint(uint32_t queue, uint32_t offset) const {
  switch (offset) {
    case kEndpointBase:
      return endpoint_registers_[queue].base;
    case kEndpointBytes:
      return endpoint_registers_[queue].bytes;
    case kEndpointStatus:
      return endpoints_[queue].enabled();
    default:
      return ~uint64_t{0};
  }
}

}  // namespace sluice::device::ipu
