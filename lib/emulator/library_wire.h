// SPDX-License-Identifier: BSD-3-Clause
//
// wire=library:FILE.so+OPTIONS: a wire that a shared library brings, so that an application's own
// peer (a client, another protocol's generator) can stand behind a model NIC. The library is
// code: it runs in the model's process, with its rights, and is built with this project's headers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "emulator/wire.h"

namespace sluice::emulator {

/// What such a library exports under kWireFactoryName. `options` is what follows the file's name
/// on the command line, without the '+' in front; `nic` is the MAC address of the model NIC, six
/// bytes. Returns a wire that the caller deletes, or null with one line in `error`. Called once per
/// NIC, before it runs.
using WireFactory = Wire*(const char* options, uint64_t seed, const uint8_t* nic,
                          std::string* error);
inline constexpr char kWireFactoryName[] = "sluice_create_wire";

struct LibraryOptions {
  std::string file{};
  std::string options{};
  uint64_t seed = 0;
  std::array<uint8_t, 6> nic{};  ///< Its MAC address.

  /// Reads what follows "wire=library:". False, with one line in `error`, if any of it is wrong.
  bool Read(std::string_view text, std::string* error);
};

/// Loads the library, which stays loaded. Null, with one line in `error`, if there is no such
/// file, it is no such library, or it does not like its options.
std::unique_ptr<Wire> LoadWire(const LibraryOptions& options, std::string* error);

}  // namespace sluice::emulator
