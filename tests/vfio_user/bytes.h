// SPDX-License-Identifier: BSD-3-Clause
//
// Composes vfio-user messages as a client does.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "emulator/vfio_user/protocol.h"

namespace sluice::emulator::vfio_user::test {

using Bytes = std::vector<uint8_t>;

/// The capabilities of QEMU 11.
inline constexpr std::string_view kQemuCapabilities =
    R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576,"write_multiple":true,)"
    R"("pgsizes":4096,"max_dma_maps":65535}})";

template <typename... T>
Bytes Join(const T&... parts) {
  Bytes bytes;
  const auto add = [&](const auto& part) {
    const auto* const from = reinterpret_cast<const uint8_t*>(&part);
    bytes.insert(bytes.end(), from, from + sizeof(part));
  };
  (add(parts), ...);
  return bytes;
}

inline Bytes VersionPayload(std::string_view capabilities = kQemuCapabilities) {
  Bytes payload = Join(VersionMessage{0, 1});
  payload.insert(payload.end(), capabilities.begin(), capabilities.end());
  payload.push_back(0);
  return payload;
}

inline Bytes MakeMessage(Command command, std::span<const uint8_t> payload, uint16_t id = 1,
                         uint32_t flags = 0) {
  Bytes bytes = Join(Header{id, static_cast<uint16_t>(command),
                            static_cast<uint32_t>(sizeof(Header) + payload.size()), flags, 0});
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

}  // namespace sluice::emulator::vfio_user::test
