// SPDX-License-Identifier: BSD-3-Clause
//
// The files behind memory that this process has mapped: what another process needs in order to map
// it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/channel.h"

namespace sluice::emulator {

/// Memory of this process that is part of one file.
struct MappedPart {
  uint64_t begin;
  uint64_t bytes;
  uint64_t offset;  ///< In the file.
  File file;        ///< Open for reading and writing.
};

/// The parts of [begin, begin + bytes), in their order, as long as they can be. Empty, with one
/// line in `error`, if some of it is not mapped for reading and writing, is private to this
/// process, or is in a file that this process neither has open nor may open. Reads /proc/self.
std::vector<MappedPart> FindMappedFiles(const void* begin, size_t bytes, std::string* error);

}  // namespace sluice::emulator
