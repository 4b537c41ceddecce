// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a snapshot file in the format of snapshot.h. An existing file is kept until the new one is
// complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/files/whole_file.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

// Layout of the file, little-endian.

struct SnapshotHeader {
  char magic[8];
  uint32_t version;
  uint32_t zero;
};
inline constexpr SnapshotHeader kSnapshotHeader = {{'S', 'L', 'U', 'I', 'C', 'E', 'K', 'V'}, 1, 0};

struct SnapshotBlock {
  uint32_t bytes;
  uint32_t records;
  uint64_t checksum;
};

struct SnapshotRecord {
  uint32_t lengths;  ///< In the format of Item::lengths.
  uint32_t flags;
  uint32_t seconds_left;
  uint32_t zero;
  uint64_t unique;
};

struct SnapshotEnd {
  uint64_t items;
  uint64_t last_unique;
};

/// Upper limit for the uniques in a file. No store makes this many changes, so the remaining
/// uniques suffice for later changes.
inline constexpr uint64_t kMaxUnique = uint64_t{1} << 63;
inline constexpr size_t kSnapshotBlockBytes = size_t{1} << 20;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const std::string& path);

  void Add(Bytes key, const ItemView& item, uint32_t now_s);
  /// Returns whether all items so far have been written successfully.
  bool good() const { return file_.good(); }
  uint64_t items() const { return items_; }
  /// Returns the largest unique of all items.
  uint64_t newest() const { return newest_; }
  /// Completes the file and renames it to its final path. Returns false, with one line in `error`,
  /// on failure.
  bool Finish(uint64_t last_unique, std::string* error);

 private:
  void Put(const void* data, size_t bytes);
  void Flush();

  WholeFile file_;
  std::vector<uint8_t> block_;
  uint32_t records_ = 0;
  uint64_t blocks_ = 0;
  uint64_t items_ = 0;
  uint64_t newest_ = 0;
};

}  // namespace sluice::engine::kv
