// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the files that back this process's memory, so that another process can map them too.
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
  uint64_t offset;     ///< Offset in the file.
  base::OwnedFd file;  ///< Open for reading and writing.
};

/// Returns the parts of [begin, begin + bytes) in address order, each as long as possible. Returns
/// an empty vector and sets `error` to a one-line message if a part is not mapped for reading and
/// writing, is private to this process, or is backed by a file that this process neither has open
/// nor may open. Reads /proc/self.
std::vector<MappedPart> FindMappedFiles(const void* begin, size_t bytes, std::string* error);

}  // namespace sluice::emulator
