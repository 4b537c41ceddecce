// SPDX-License-Identifier: BSD-3-Clause
//
// DPDK's memory as parts of files, which another process can map.
#pragma once

#include <rte_memory.h>

#include <cstdint>
#include <map>

namespace sluice::emulator {

/// A table of pieces; the caller keeps it consistent with DPDK. Used by one thread at a time.
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
  /// part has no file. EAL's memory lock must be held.
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

}  // namespace sluice::emulator
