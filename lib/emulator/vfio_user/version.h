// SPDX-License-Identifier: BSD-3-Clause
//
// The values that client and device negotiate in the first message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::emulator::vfio_user {

struct Agreement {
  uint32_t max_transfer_bytes = 0;  ///< Limit of a DMA message to the client.
  bool write_multiple = false;      ///< The client may send commands with several writes.
};

/// Parses the payload of the client's message; missing values have the protocol's defaults. Returns
/// null, or a one-line reason why no connection is possible.
const char* ReadVersion(std::span<const uint8_t> payload, Agreement* agreement);

/// Returns the payload of the answer. QEMU rejects an answer that is larger than its request, so
/// the answer contains only those device capabilities that fit into `most` bytes. `most` is at
/// least 4. `max_maps` is the number of maps that the device always accepts.
std::vector<uint8_t> WriteVersion(const Agreement& agreement, size_t max_maps, size_t most);

}  // namespace sluice::emulator::vfio_user
