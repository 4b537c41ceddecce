// SPDX-License-Identifier: BSD-3-Clause
//
// What a host has handed to a device in another process, in order to do so again when the
// device has come back and knows nothing of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bar/ring_memory.h"
#include "emulator/channel.h"
#include "emulator/connection.h"
#include "emulator/mapped_files.h"
#include "emulator/memory_files.h"

namespace sluice::emulator {

/// One thread at a time. A null connection: the device is away, and learns later.
/// Functions that return false leave one line in `error`.
class Holdings {
 public:
  /// Hands everything over to a device that has nothing yet.
  bool HandOver(Connection& connection, std::string* error);

  /// DPDK has mapped [begin, end); `list` is locked by the caller. False if some of it is
  /// in no file, or the device refuses it.
  bool AddMemory(Connection* connection, const rte_memseg_list& list, uint64_t begin, uint64_t end,
                 std::string* error);
  void RemoveMemory(Connection* connection, uint64_t begin, uint64_t end);

  bool Map(Connection* connection, const bar::RingMemory& memory, std::string_view name,
           std::string* error);
  void Unmap(Connection* connection, const bar::RingMemory& memory);

  /// The application's memory from `begin` on, all its `parts`.
  bool MapExternal(Connection* connection, uint64_t begin, uint64_t bytes,
                   std::vector<MappedPart> parts, std::string* error);
  /// False: no such range is mapped.
  bool UnmapExternal(Connection* connection, uint64_t begin, uint64_t bytes);
  bool HasExternal(uint64_t begin, uint64_t bytes) const;

 private:
  /// The memory is the driver's or the application's, and stays until it is unmapped.
  struct Ring {
    uint64_t bytes;
    bool mirrored;
    int fd;
    std::string name;
    bool external = false;
    uint64_t offset = 0;  ///< In the file.
    File file = {};       ///< Of external memory; `fd` is its descriptor.
  };
  struct External {
    uint64_t bytes = 0;
    std::vector<uint64_t> parts;  ///< Bus addresses in rings_.
  };

  static bool Send(Connection& connection, uint64_t bus, const MemoryFiles::Piece& piece,
                   std::string* error);
  static bool Send(Connection& connection, uint64_t bus, const Ring& ring, std::string* error);

  void Remove(Connection* connection, uint64_t bus);

  MemoryFiles files_;
  std::map<uint64_t, Ring> rings_;          ///< By bus address.
  std::map<uint64_t, External> externals_;  ///< The same.
  std::vector<std::string> dropped_names_;  ///< Unmapped while the device was away.
};

}  // namespace sluice::emulator
