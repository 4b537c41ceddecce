// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "engine/kv/snapshot.h"
#include "packet/fixtures.h"
#include "targets.h"

namespace sluice::fuzz {
namespace {

using engine::kv::Partition;
using test::Bytes;

constexpr uint32_t kNow = 1000;
constexpr size_t kFileHeader = 16, kBlockHeader = 16, kRecord = 24, kEnd = 16;

uint32_t Load32(const Bytes& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}
uint64_t Load64(const Bytes& bytes, size_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Sets correct checksums in all blocks, so that their contents are parsed.
void Seal(Bytes& file) {
  size_t at = kFileHeader;
  for (uint64_t block = 0; file.size() >= at + kBlockHeader; ++block) {
    const size_t bytes = Load32(file, at);
    const size_t body = at + kBlockHeader;
    if (bytes > file.size() - body) return;
    const uint64_t checksum = XXH3_64bits_withSeed(file.data() + body, bytes, block);
    std::memcpy(file.data() + at + 8, &checksum, sizeof checksum);
    at = body + bytes;
  }
}

/// Parses a file using only the description of the format. Returns the file's items, or nullopt if
/// the file is incomplete.
std::optional<std::map<std::string, std::string>> ItemsOf(const Bytes& file) {
  std::map<std::string, std::string> items;
  const uint8_t header[kFileHeader] = {'S', 'L', 'U', 'I', 'C', 'E', 'K', 'V', 1};
  if (file.size() < kFileHeader || std::memcmp(file.data(), header, kFileHeader) != 0) return {};
  size_t at = kFileHeader;
  uint64_t seen = 0, newest = 0;
  for (uint64_t block = 0;; ++block) {
    if (file.size() - at < kBlockHeader) return {};
    const size_t bytes = Load32(file, at);
    uint32_t records = Load32(file, at + 4);
    const uint64_t checksum = Load64(file, at + 8);
    at += kBlockHeader;
    if (bytes > file.size() - at) return {};
    if (XXH3_64bits_withSeed(file.data() + at, bytes, block) != checksum) return {};
    const size_t end = at + bytes;
    if (records == 0) {
      if (bytes != kEnd || Load64(file, at) != seen || end != file.size()) return {};
      const uint64_t last_unique = Load64(file, at + 8);
      if (last_unique < newest || last_unique > uint64_t{1} << 63) return {};
      return items;
    }
    seen += records;
    for (; records > 0; --records) {
      if (end - at < kRecord) return {};
      const size_t key = Load32(file, at) & 0xff, value = Load32(file, at) >> 8;
      if (key == 0 || key > 250 || key + value > end - at - kRecord) return {};
      const uint64_t unique = Load64(file, at + 16);
      if (unique == 0) return {};
      newest = std::max(newest, unique);
      const auto from = file.begin() + static_cast<long>(at + kRecord);
      const auto middle = from + static_cast<long>(key);
      items[std::string(from, middle)] = std::string(middle, middle + static_cast<long>(value));
      at += kRecord + key + value;
    }
    if (at != end) return {};
  }
}

std::map<std::string, std::string> ItemsIn(const std::vector<Partition>& store) {
  std::map<std::string, std::string> items;
  for (const Partition& partition : store) {
    // Time does not advance, so items do not expire.
    partition.ForEach(kNow, [&](engine::kv::Bytes key, const engine::kv::ItemView& item) {
      items[std::string(key.begin(), key.end())] =
          std::string(item.value.begin(), item.value.end());
    });
  }
  return items;
}

/// Returns the partitions after clearing them.
std::vector<Partition>& EmptyPartitions() {
  static std::vector<Partition> store = [] {
    std::vector<Partition> made;
    for (int i = 0; i < 2; ++i) {
      made.emplace_back(
          engine::kv::PartitionOptions{engine::kv::Mode::kStore, uint64_t{4} << 20, 64});
    }
    return made;
  }();
  for (Partition& partition : store) partition.Clear();
  return store;
}

}  // namespace

void KvSnapshot(const uint8_t* data, size_t size) {
  if (size == 0) return;
  Bytes bytes(data + 1, data + size);
  if ((data[0] & 1) != 0) Seal(bytes);
  const int file = memfd_create("snapshot", MFD_CLOEXEC);
  FUZZ_CHECK(file >= 0);
  FUZZ_CHECK(write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const std::string path = "/proc/self/fd/" + std::to_string(file);

  std::vector<Partition>& store = EmptyPartitions();
  const auto hash = [](engine::kv::Bytes key) { return engine::kv::HashOf(key, 9); };
  std::string error;
  const bool read = ReadSnapshot(path, store, hash, kNow, &error);
  close(file);
  FUZZ_CHECK(read == error.empty() && error.find('\n') == std::string::npos);
  FUZZ_CHECK(read || error.starts_with(path));
  const auto expected = ItemsOf(bytes);
  const auto items = ItemsIn(store);
  if (!expected) {
    FUZZ_CHECK(!read && items.empty());
  } else if (read) {
    FUZZ_CHECK(items == *expected);
  } else {
    // The file is complete but does not fit in the store.
    FUZZ_CHECK(items.size() <= expected->size());
  }
}

}  // namespace sluice::fuzz
