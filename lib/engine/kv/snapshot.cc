// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/snapshot.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/owned_fd.h"
#include "engine/kv/snapshot_writer.h"

namespace sluice::engine::kv {
namespace {

using Record = SnapshotRecord;
using End = SnapshotEnd;

constexpr size_t kMaxBlockBytes =
    kSnapshotBlockBytes + sizeof(Record) + kMaxKeyBytes + Item::kMaxValueBytes;

std::string SystemError(const char* what, const std::string& path) {
  return absl::StrCat(what, " ", path, ": ", std::strerror(errno));
}

/// Reads `bytes`, or fewer at the end of the file. Returns nullopt on error.
std::optional<size_t> ReadUpTo(const base::OwnedFd& file, void* data, size_t bytes) {
  size_t all = 0;
  while (all < bytes) {
    const ssize_t got = read(file.fd(), static_cast<char*>(data) + all, bytes - all);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    all += static_cast<size_t>(got);
  }
  return all;
}

/// Calls `see(record, key, value)` for each record of a file. Verifies the checksum of each block
/// before it passes on the block's records. Stops and returns false with a reason if a block is
/// corrupt or `see` returns false.
class Reader {
 public:
  using See = std::function<bool(const Record&, Bytes key, Bytes value)>;

  Reader(const base::OwnedFd& file, std::string* error) : file_(file), error_(error) {}

  bool Run(const See& see, End* end) {
    SnapshotHeader header;
    if (!Read(&header, sizeof header)) return false;
    if (std::memcmp(header.magic, kSnapshotHeader.magic, sizeof header.magic) != 0) {
      return Fail("the file is not a snapshot");
    }
    if (header.version != kSnapshotHeader.version || header.zero != 0) {
      return Fail(absl::StrCat("the file has version ", header.version,
                               ", but this program reads version ", kSnapshotHeader.version));
    }
    uint64_t items = 0;
    uint64_t newest = 0;  // Largest unique of all records.
    std::vector<uint8_t> bytes;
    for (uint64_t block = 0;; ++block) {
      SnapshotBlock head;
      if (!Read(&head, sizeof head)) return false;
      if (head.bytes > kMaxBlockBytes) return Fail(absl::StrCat("block ", block, " is corrupt"));
      bytes.resize(head.bytes);
      if (!Read(bytes.data(), bytes.size())) return false;
      if (XXH3_64bits_withSeed(bytes.data(), bytes.size(), block) != head.checksum ||
          !(head.records == 0 ? bytes.size() == sizeof *end
                              : IsWhole(bytes, head.records, &newest))) {
        return Fail(absl::StrCat("block ", block, " is corrupt"));
      }
      if (head.records == 0) {
        std::memcpy(end, bytes.data(), sizeof *end);
        break;
      }
      items += head.records;
      if (!SeeAll(bytes, see)) return false;
    }
    if (end->items != items) return Fail("blocks of the file are missing");
    if (end->last_unique < newest || end->last_unique > kMaxUnique) {
      return Fail("the last CAS number of the file is invalid");
    }
    uint8_t more;
    const auto got = ReadUpTo(file_, &more, 1);
    return (got && *got == 0) || Fail("the file continues after its last block");
  }

 private:
  bool Fail(const std::string& why) {
    *error_ = why;
    return false;
  }
  bool Read(void* data, size_t bytes) {
    const auto got = ReadUpTo(file_, data, bytes);
    if (!got) return Fail(std::strerror(errno));
    return *got == bytes || Fail("truncated");
  }
  static Record RecordAt(Bytes bytes) {
    Record record;
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
  }
  static size_t SizeOf(const Record& record) {
    return sizeof record + Item::KeyBytes(record.lengths) + Item::ValueBytes(record.lengths);
  }
  static bool IsWhole(Bytes bytes, uint32_t records, uint64_t* newest) {
    for (; records > 0; --records) {
      if (bytes.size() < sizeof(Record)) return false;
      const Record record = RecordAt(bytes);
      const uint32_t key_bytes = Item::KeyBytes(record.lengths);
      if (key_bytes == 0 || key_bytes > kMaxKeyBytes || SizeOf(record) > bytes.size() ||
          record.unique == 0) {
        return false;
      }
      *newest = std::max(*newest, record.unique);
      bytes = bytes.subspan(SizeOf(record));
    }
    return bytes.empty();
  }
  static bool SeeAll(Bytes bytes, const See& see) {
    while (!bytes.empty()) {
      const Record record = RecordAt(bytes);
      const uint32_t key_bytes = Item::KeyBytes(record.lengths);
      const Bytes key = bytes.subspan(sizeof record, key_bytes);
      const Bytes value =
          bytes.subspan(sizeof record + key_bytes, Item::ValueBytes(record.lengths));
      if (!see(record, key, value)) return false;
      bytes = bytes.subspan(SizeOf(record));
    }
    return true;
  }

  const base::OwnedFd& file_;
  std::string* error_;
};

}  // namespace

bool WriteSnapshot(const std::string& path, std::span<const Partition> partitions, uint32_t now_s,
                   std::string* error) {
  SnapshotWriter writer(path);
  uint64_t last_unique = 0;
  for (const Partition& partition : partitions) {
    last_unique = std::max(last_unique, partition.last_unique());
    partition.ForEach(now_s,
                      [&](Bytes key, const ItemView& item) { writer.Add(key, item, now_s); });
  }
  return writer.Finish(last_unique, error);
}

bool ReadSnapshot(const std::string& path, std::span<Partition> partitions,
                  const std::function<KeyHash(Bytes key)>& hash, uint32_t now_s,
                  std::string* error) {
  const auto pass = [&](const Reader::See& see, End* end) {
    const base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
      *error = SystemError("cannot read", path);
      return false;
    }
    if (Reader(file, error).Run(see, end)) return true;
    *error = absl::StrCat(path, ": ", *error);
    return false;
  };
  End end{};
  if (!pass([](const Record&, Bytes, Bytes) { return true; }, &end)) return false;

  for (Partition& partition : partitions) partition.SkipUniques(end.last_unique);
  uint64_t set = 0;
  uint64_t refused = 0;
  const bool whole = pass(
      [&](const Record& record, Bytes key, Bytes value) {
        const KeyHash where = hash(key);
        Partition& partition =
            partitions[PartitionOf(where.route, static_cast<uint32_t>(partitions.size()))];
        // An expiry beyond the clock's range becomes "never".
        const bool ends = record.seconds_left != 0 && record.seconds_left <= UINT32_MAX - now_s;
        const uint32_t expires_s = ends ? now_s + record.seconds_left : 0;
        const Result result = partition.Restore(key, where.index, value, {record.flags, expires_s},
                                                record.unique, now_s);
        ++(result == Result::kOk ? set : refused);
        return true;
      },
      &end);
  if (whole && refused == 0) return true;
  *error = absl::StrCat(whole ? absl::StrCat(path, ": too many items for this store") : *error,
                        "; ", set, " of ", end.items, " items were set");
  return false;
}

}  // namespace sluice::engine::kv
