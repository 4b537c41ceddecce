// SPDX-License-Identifier: BSD-3-Clause
//
// A PCIe transaction-layer packet, the unit of transfer through a switch port.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::device::pcie_switch {

/// A port, to which one device is connected.
using PortId = uint8_t;

inline constexpr uint32_t kMaxPorts = 16;
inline constexpr uint32_t kMaxPayload = 256;  ///< Maximum payload of a TLP in bytes, at every port.
inline constexpr uint32_t kMaxReadRequest = 512;  ///< Maximum size of a read in bytes.

enum class TlpKind : uint8_t { kWrite, kRead, kCompletion };

struct Tlp {
  TlpKind kind = TlpKind::kWrite;
  bool refused = false;  ///< Completion: the request is unsupported; there is no data.
  PortId requester = 0;  ///< Port that sent the request; completions return there.
  uint8_t tag = 0;       ///< Tag of a read and its completions.
  uint32_t length = 0;   ///< Number of payload bytes, or of requested bytes.
  uint64_t address = 0;  ///< Completion: offset of its data within the requested range.
  std::array<uint8_t, kMaxPayload> payload{};
};

}  // namespace sluice::device::pcie_switch
