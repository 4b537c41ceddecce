// SPDX-License-Identifier: BSD-3-Clause
//
// What crosses a port of the switch: one transaction-layer packet of PCIe.
#pragma once

#include <array>
#include <cstdint>

namespace sluice::device::pcie_switch {

/// A port, and the one device behind it.
using PortId = uint8_t;

inline constexpr uint32_t kMaxPorts = 16;
inline constexpr uint32_t kMaxPayload = 256;      ///< Bytes of a TLP, at every port.
inline constexpr uint32_t kMaxReadRequest = 512;  ///< Bytes that one read may ask for.

enum class TlpKind : uint8_t { kWrite, kRead, kCompletion };

struct Tlp {
  TlpKind kind = TlpKind::kWrite;
  bool refused = false;  ///< Of a completion: there are no data, the request was not supported.
  PortId requester = 0;  ///< Who asked or wrote; a completion returns there.
  uint8_t tag = 0;       ///< Of a read, and of its completions.
  uint32_t length = 0;   ///< Bytes of the payload, or asked for.
  uint64_t address = 0;  ///< Of a completion: where in what was asked for its bytes belong.
  std::array<uint8_t, kMaxPayload> payload{};
};

}  // namespace sluice::device::pcie_switch
