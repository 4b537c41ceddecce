// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/snapshot_writer.h"

#include <algorithm>
#include <bit>

namespace sluice::engine::kv {

static_assert(std::endian::native == std::endian::little);

SnapshotWriter::SnapshotWriter(const std::string& path) : file_(path) {
  file_.Write(&kSnapshotHeader, sizeof kSnapshotHeader);
}

void SnapshotWriter::Add(Bytes key, const ItemView& item, uint32_t now_s) {
  const SnapshotRecord record{
      Item::Lengths(key.size(), item.value.size()), item.attributes.flags,
      item.attributes.expires_s == 0 ? 0 : item.attributes.expires_s - now_s, 0, item.unique};
  Put(&record, sizeof record);
  Put(key.data(), key.size());
  Put(item.value.data(), item.value.size());
  ++records_;
  ++items_;
  newest_ = std::max(newest_, item.unique);
  if (block_.size() >= kSnapshotBlockBytes) Flush();
}

void SnapshotWriter::Put(const void* data, size_t bytes) {
  const auto* const from = static_cast<const uint8_t*>(data);
  block_.insert(block_.end(), from, from + bytes);
}

void SnapshotWriter::Flush() {
  const SnapshotBlock header{static_cast<uint32_t>(block_.size()), records_,
                             XXH3_64bits_withSeed(block_.data(), block_.size(), blocks_)};
  file_.Write(&header, sizeof header);
  file_.Write(block_.data(), block_.size());
  block_.clear();
  records_ = 0;
  ++blocks_;
}

bool SnapshotWriter::Finish(uint64_t last_unique, std::string* error) {
  if (records_ > 0) Flush();
  const SnapshotEnd end{items_, last_unique};
  Put(&end, sizeof end);
  Flush();
  return file_.Finish(error);
}

}  // namespace sluice::engine::kv
