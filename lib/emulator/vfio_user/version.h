// SPDX-License-Identifier: BSD-3-Clause
//
// What client and device agree on with the first message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::emulator::vfio_user {

struct Agreement {
  uint32_t max_transfer_bytes = 0;  ///< Of one message of DMA, to the client.
  bool write_multiple = false;      ///< Commands of several writes may come.
};

/// Reads the payload of the client's message. Null, or one line that says why there can be no
/// connection. What the client does not say has the protocol's default.
const char* ReadVersion(std::span<const uint8_t> payload, Agreement* agreement);

/// The payload of the answer. QEMU takes no answer that is larger than what it asked with: of the
/// device's capabilities, the answer has those that `most` bytes have room for (4 or more).
/// `max_maps`: so many maps the device takes at least.
std::vector<uint8_t> WriteVersion(const Agreement& agreement, size_t max_maps, size_t most);

}  // namespace sluice::emulator::vfio_user
