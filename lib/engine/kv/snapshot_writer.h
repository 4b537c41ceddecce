// SPDX-License-Identifier: BSD-3-Clause
//
// Writes the file of a snapshot, whose format is in snapshot.h: the one that is there stays until
// the new one is whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/files/whole_file.h"
#include "engine/kv/partition.h"

namespace sluice::engine::kv {

// The file's layout, little-endian.

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
  uint32_t lengths;  ///< As Item's.
  uint32_t flags;
  uint32_t seconds_left;
  uint32_t zero;
  uint64_t unique;
};

struct SnapshotEnd {
  uint64_t items;
  uint64_t last_unique;
};

/// So many changes no store lives to see: those to come find numbers left.
inline constexpr uint64_t kMaxUnique = uint64_t{1} << 63;
inline constexpr size_t kSnapshotBlockBytes = size_t{1} << 20;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const std::string& path);

  void Add(Bytes key, const ItemView& item, uint32_t now_s);
  /// Nothing was added that could not be written.
  bool good() const { return file_.good(); }
  uint64_t items() const { return items_; }
  /// The largest unique of all items.
  uint64_t newest() const { return newest_; }
  /// Nothing follows: the file takes the place of an older one. False: `error` says why not, in one
  /// line.
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
