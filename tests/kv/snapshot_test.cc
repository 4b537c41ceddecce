// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/snapshot.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "kv/partition_lab.h"

namespace sluice::engine::kv {
namespace {

constexpr uint32_t kNow = 1000;

KeyHash Hash(Bytes key) { return HashOf(key, 9); }

std::vector<Partition> Store(size_t partitions, Mode mode = Mode::kStore,
                             uint64_t bytes = uint64_t{8} << 20) {
  std::vector<Partition> store;
  for (size_t i = 0; i < partitions; ++i) store.emplace_back(PartitionOptions{mode, bytes, 10'000});
  return store;
}

Partition& For(std::vector<Partition>& store, const std::string& key) {
  return store[PartitionOf(RouteHash(BytesOf(key)), static_cast<uint32_t>(store.size()))];
}
Result Set(std::vector<Partition>& store, const std::string& key, const std::string& value,
           Attributes attributes = {}) {
  return For(store, key)
      .Set(BytesOf(key), Hash(BytesOf(key)).index, BytesOf(value), attributes, Condition::kAlways,
           kNow);
}
std::optional<ItemView> Get(std::vector<Partition>& store, const std::string& key, uint32_t now_s) {
  return For(store, key).Get(BytesOf(key), Hash(BytesOf(key)).index, now_s);
}
uint64_t ItemsOf(const std::vector<Partition>& store) {
  uint64_t items = 0;
  for (const Partition& partition : store) items += partition.counters().items;
  return items;
}

class KvSnapshot : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "kv-snapshot-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/snapshot";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void WriteSmall() {
    auto store = Store(2);
    for (int i = 0; i < 30; ++i) Set(store, "key" + std::to_string(i), std::to_string(i));
    ASSERT_TRUE(WriteSnapshot(path_, store, kNow, &error_)) << error_;
  }
  std::string FileBytes() const {
    std::ifstream file(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Overwrite(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// Expects that a file is rejected and does not change anything.
  void ExpectRefused(const std::string& bytes, const std::string& why) {
    Overwrite(bytes);
    auto store = Store(1, Mode::kStore, uint64_t{1} << 20);
    error_.clear();
    EXPECT_FALSE(ReadSnapshot(path_, store, Hash, kNow, &error_));
    EXPECT_NE(error_.find(why), std::string::npos) << error_;
    EXPECT_NE(error_.find(path_), std::string::npos) << error_;
    EXPECT_EQ(ItemsOf(store), 0u);
  }

  std::string folder_;
  std::string path_;
  std::string error_;
};

TEST_F(KvSnapshot, BringsBackEveryItemWhateverTheNumberOfPartitions) {
  for (const Mode mode : {Mode::kStore, Mode::kCache}) {
    auto before = Store(3, mode);
    std::map<std::string, std::string> expected;
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key" + std::to_string(i);
      expected[key] = std::string(static_cast<size_t>(i), static_cast<char>(i));
      if (i % 50 != 0) expected[key].resize(static_cast<size_t>(i % 50));
      ASSERT_EQ(Set(before, key, expected[key], {static_cast<uint32_t>(i), 0}), Result::kOk);
    }
    Set(before, "last", std::string(kMaxStoreValueBytes, 'l'));
    expected["last"] = std::string(kMaxStoreValueBytes, 'l');
    ASSERT_TRUE(WriteSnapshot(path_, before, kNow, &error_)) << error_;
    for (const size_t partitions : {1, 3, 5}) {
      auto after = Store(partitions, mode, uint64_t{16} << 20);
      ASSERT_TRUE(ReadSnapshot(path_, after, Hash, 5, &error_)) << error_;
      ASSERT_EQ(ItemsOf(after), ItemsOf(before));
      for (const auto& [key, value] : expected) {
        const auto old = Get(before, key, kNow);
        const auto item = Get(after, key, 5);
        ASSERT_EQ(item.has_value(), old.has_value()) << key;
        if (!item) continue;
        ASSERT_EQ(TextOf(item->value), value);
        ASSERT_EQ(item->attributes.flags, old->attributes.flags);
        ASSERT_EQ(item->unique, old->unique);
      }
    }
  }
}

TEST_F(KvSnapshot, TimeToLiveGoesOnWhereItStood) {
  auto before = Store(1);
  Set(before, "mayfly", "m", {0, kNow + 50});
  Set(before, "gone", "g", {0, kNow + 10});
  Set(before, "stone", "s");
  ASSERT_TRUE(WriteSnapshot(path_, before, kNow + 10, &error_)) << error_;
  auto after = Store(1);
  ASSERT_TRUE(ReadSnapshot(path_, after, Hash, 7, &error_)) << error_;
  EXPECT_FALSE(Get(after, "gone", 7));
  ASSERT_TRUE(Get(after, "mayfly", 7 + 39));
  EXPECT_EQ(Get(after, "mayfly", 8)->attributes.expires_s, 7u + 40);
  EXPECT_FALSE(Get(after, "mayfly", 7 + 40));
  EXPECT_EQ(Get(after, "stone", 8)->attributes.expires_s, 0u);
}

TEST_F(KvSnapshot, UniquesOfAnEarlierLifeAreNotGivenAgain) {
  auto before = Store(2);
  for (int i = 0; i < 100; ++i) Set(before, "key", std::to_string(i));
  const uint64_t unique = Get(before, "key", kNow)->unique;
  For(before, "key").Delete(BytesOf("key"), Hash(BytesOf("key")).index, 0, kNow);
  ASSERT_TRUE(WriteSnapshot(path_, before, kNow, &error_)) << error_;
  auto after = Store(3);
  ASSERT_TRUE(ReadSnapshot(path_, after, Hash, kNow, &error_)) << error_;
  Set(after, "key", "new");
  EXPECT_GT(Get(after, "key", kNow)->unique, unique);
}

TEST_F(KvSnapshot, RefusesAFileThatIsCutAnywhere) {
  WriteSmall();
  const std::string whole = FileBytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    ExpectRefused(whole.substr(0, size), "truncated");
  }
  ExpectRefused(whole + '\0', "the file continues after its last block");
}

TEST_F(KvSnapshot, RefusesAFileOfWhichAnyByteIsChanged) {
  WriteSmall();
  const std::string whole = FileBytes();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    ExpectRefused(changed, "");
  }
}

TEST_F(KvSnapshot, RefusesAFileOfAnotherKindOrVersion) {
  ExpectRefused(std::string(1000, 'x'), "the file is not a snapshot");
  WriteSmall();
  std::string other = FileBytes();
  other[8] = 2;
  ExpectRefused(other, "the file has version 2, but this program reads version 1");
  std::filesystem::remove(path_);
  auto store = Store(1);
  EXPECT_FALSE(ReadSnapshot(path_, store, Hash, kNow, &error_));
  EXPECT_NE(error_.find("No such file"), std::string::npos) << error_;
}

TEST_F(KvSnapshot, RefusesBlocksThatAreMissingOrInAnotherOrder) {
  auto store = Store(1);
  for (int i = 0; i < 3; ++i) Set(store, std::to_string(i), std::string(kMaxStoreValueBytes, 'v'));
  ASSERT_TRUE(WriteSnapshot(path_, store, kNow, &error_)) << error_;
  // The header of 16 bytes is followed by three blocks, each with one record.
  const std::string whole = FileBytes();
  const size_t block = 16 + 24 + 1 + kMaxStoreValueBytes;
  ASSERT_EQ(whole.size(), 16 + 3 * block + 16 + 16);
  ExpectRefused(whole.substr(0, 16 + 2 * block) + whole.substr(16 + 3 * block), "corrupt");
  ExpectRefused(whole.substr(0, 16) + whole.substr(16 + block, block) + whole.substr(16, block) +
                    whole.substr(16 + 2 * block),
                "corrupt");
}

TEST_F(KvSnapshot, RefusesALastUniqueThatLeavesNoneOrIsBelowAnItems) {
  WriteSmall();
  for (const uint64_t unique : {uint64_t{0}, ~uint64_t{0}, (uint64_t{1} << 63) + 1}) {
    std::string file = FileBytes();
    std::memcpy(file.data() + file.size() - 8, &unique, sizeof unique);
    // The end marker is block 1. Its checksum precedes its 16 bytes.
    const uint64_t checksum = XXH3_64bits_withSeed(file.data() + file.size() - 16, 16, 1);
    std::memcpy(file.data() + file.size() - 24, &checksum, sizeof checksum);
    ExpectRefused(file, "the last CAS number of the file is invalid");
    WriteSmall();
  }
}

TEST_F(KvSnapshot, SaysHowManyItemsFoundRoom) {
  auto before = Store(1);
  for (int i = 0; i < 4; ++i) Set(before, std::to_string(i), std::string(kMaxStoreValueBytes, 'v'));
  ASSERT_TRUE(WriteSnapshot(path_, before, kNow, &error_)) << error_;
  auto after = Store(1, Mode::kStore, uint64_t{3} << 20);
  EXPECT_FALSE(ReadSnapshot(path_, after, Hash, kNow, &error_));
  EXPECT_NE(error_.find("2 of 4 items were set"), std::string::npos) << error_;
}

TEST_F(KvSnapshot, AFailedWriteLeavesTheOldFile) {
  WriteSmall();
  const std::string old = FileBytes();
  std::filesystem::create_directory(path_ + ".new");
  auto store = Store(1);
  EXPECT_FALSE(WriteSnapshot(path_, store, kNow, &error_));
  EXPECT_NE(error_.find(path_), std::string::npos) << error_;
  EXPECT_EQ(FileBytes(), old);
  EXPECT_FALSE(WriteSnapshot(folder_ + "/absent/snapshot", store, kNow, &error_));
  std::filesystem::remove(path_ + ".new");
  ASSERT_TRUE(WriteSnapshot(path_, store, kNow, &error_)) << error_;
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

}  // namespace
}  // namespace sluice::engine::kv
