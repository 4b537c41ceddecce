// SPDX-License-Identifier: BSD-3-Clause
//
// Records the memory that a host has passed to a device in another process, so that it can be
// passed again after the device has restarted.
#pragma once

#include <rte_memory.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bar/ring_memory.h"
#include "emulator/channel.h"
#include "emulator/connection.h"
#include "emulator/mapped_files.h"

namespace sluice::emulator {

/// A table of the pieces of DPDK's memory, as parts of files that another process can map. The
/// caller must keep it consistent with DPDK. Used by one thread at a time.
class MemoryFiles {
 public:
  struct Piece {
    uint64_t bytes;
    uint64_t offset;    ///< Offset in the file.
    uint64_t area_bus;  ///< Start of the memseg list that contains the piece.
    uint64_t area_bytes;
    int fd;  ///< Owned by DPDK; valid until the piece is erased.
  };

  /// Calls `added(bus, piece)` for each new piece of [begin, end) in `list`. Returns false if a
  /// part has no file. The caller must hold EAL's memory lock.
  template <typename Added>
  bool Insert(const rte_memseg_list& list, uint64_t begin, uint64_t end, Added&& added) {
    std::map<uint64_t, Piece> found;
    const bool complete = Find(list, begin, end, &found);
    for (const auto& [bus, piece] : found) {
      if (Holds(bus, piece)) continue;
      Erase(bus, bus + piece.bytes);
      pieces_[bus] = piece;
      added(bus, piece);
    }
    return complete;
  }
  void Erase(uint64_t begin, uint64_t end);

  /// Returns the pieces by bus address.
  const std::map<uint64_t, Piece>& pieces() const { return pieces_; }

 private:
  static bool Find(const rte_memseg_list& list, uint64_t begin, uint64_t end,
                   std::map<uint64_t, Piece>* found);
  bool Holds(uint64_t bus, const Piece& piece) const;

  std::map<uint64_t, Piece> pieces_;
};

/// The memory that a host has passed to its device. Used by one thread at a time. A null connection
/// means that the device is gone for now: Map and MapExternal then return false, and all other
/// changes are passed to the device later. Functions that return false set `error` to a one-line
/// message.
class Holdings {
 public:
  /// Passes all memory to a device that has none.
  bool HandOver(Connection& connection, std::string* error);

  /// Records that DPDK has mapped [begin, end). The caller must hold the lock of `list`. Returns
  /// false if a part has no file or the device rejects it.
  bool AddMemory(Connection* connection, const rte_memseg_list& list, uint64_t begin, uint64_t end,
                 std::string* error);
  void RemoveMemory(Connection* connection, uint64_t begin, uint64_t end);

  bool Map(Connection* connection, const bar::RingMemory& memory, std::string_view name,
           std::string* error);
  void Unmap(Connection* connection, const bar::RingMemory& memory);

  /// Adds the application's memory [begin, begin + bytes), which consists of `parts`.
  bool MapExternal(Connection* connection, uint64_t begin, uint64_t bytes,
                   std::vector<MappedPart> parts, std::string* error);
  /// Returns false if the range is not mapped.
  bool UnmapExternal(Connection* connection, uint64_t begin, uint64_t bytes);
  bool HasExternal(uint64_t begin, uint64_t bytes) const;

 private:
  /// Memory of the driver or the application, valid until it is unmapped.
  struct Ring {
    uint64_t bytes;
    bool mirrored;
    int fd;
    std::string name;
    bool external = false;
    uint64_t offset = 0;      ///< Offset in the file.
    base::OwnedFd file = {};  ///< External memory: owns `fd`.
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
  std::map<uint64_t, Ring> rings_;          ///< Keyed by bus address.
  std::map<uint64_t, External> externals_;  ///< Keyed by bus address.
  std::vector<std::string> dropped_names_;  ///< Names that were unmapped while the device was gone.
};

}  // namespace sluice::emulator
