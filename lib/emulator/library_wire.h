// SPDX-License-Identifier: BSD-3-Clause
//
// wire=library:FILE.so+OPTIONS: a wire from a shared library. It connects a peer of the application
// (for example a client, or a generator for another protocol) to a model NIC. The library's code
// runs in the model's process, with the rights of that process, and must be built with this
// project's headers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/wire.h"

namespace sluice::emulator {

/// The function that a wire library exports as kWireFactoryName. `options` is the text after the
/// file's name on the command line, without the leading '+'. `nic` is the MAC address of the model
/// NIC, six bytes. Returns a wire that the caller must delete. On failure, returns null and sets
/// `error` to a one-line message. Called once per NIC, before the NIC runs.
using WireFactory = Wire*(const char* options, uint64_t seed, const uint8_t* nic,
                          std::string* error);
inline constexpr char kWireFactoryName[] = "sluice_create_wire";

struct LibraryOptions {
  std::string file{};
  std::string options{};
  uint64_t seed = 0;
  std::array<uint8_t, 6> nic{};  ///< MAC address of the NIC.

  /// Parses the text after "wire=library:". If it is invalid, returns false and sets `error` to a
  /// one-line message.
  bool Read(std::string_view text, std::string* error);
};

/// Loads the library, which then stays loaded. If the file does not exist or is not a wire library,
/// or if the library rejects its options, returns null and sets `error` to a one-line message.
std::unique_ptr<Wire> LoadWire(const LibraryOptions& options, std::string* error);

}  // namespace sluice::emulator
