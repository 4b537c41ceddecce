// SPDX-License-Identifier: BSD-3-Clause
//
// Control of a model's transport unit (regs/transport.h), which both drivers offer.
#pragma once

#include <cerrno>
#include <cstdint>

#include "bar/bar.h"
#include "regs/transport.h"

namespace sluice::drivers {

/// Returns 1 if the unit has a configuration, 0 if not, or a negative errno as ConfigureTransport.
inline int TransportIsActive(bar::Bar registers, uint32_t offset) {
  using namespace regs::transport;  // NOLINT
  const uint32_t status = registers.Read32(offset);
  if (!registers.LinkUp()) return -EIO;
  if ((status & kStatusPresent) == 0) return -ENOTSUP;
  return (status & kStatusActive) != 0 ? 1 : 0;
}

/// Stores `configuration`, an address that the device can access or null, in the unit's register at
/// `offset`. Returns 0, -ENOTSUP (the NIC has no unit), -EINVAL (the unit rejects it) or -EIO (the
/// device does not respond).
inline int ConfigureTransport(bar::Bar registers, uint32_t offset, const void* configuration) {
  using namespace regs::transport;  // NOLINT
  if (const int before = TransportIsActive(registers, offset); before < 0) return before;
  registers.Write64(offset, reinterpret_cast<uint64_t>(configuration));
  const uint32_t after = registers.Read32(offset);
  if (!registers.LinkUp()) return -EIO;
  return (after & kStatusRejected) != 0 ? -EINVAL : 0;
}

}  // namespace sluice::drivers
