// SPDX-License-Identifier: BSD-3-Clause
//
// Tests snapshots of partitions while their owner writes. Every item in the file must be complete
// and must have been current at some time during the snapshot. An item that existed for the whole
// time must occur exactly once.
#include "engine/kv/live_snapshot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "engine/kv/snapshot.h"
#include "kv/partition_lab.h"

namespace sluice::engine::kv {
namespace {

constexpr uint32_t kNow = 1000;
#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 2;
#else
constexpr int kRounds = 6;
#endif

std::string KeyOf(uint32_t key) { return "key" + std::to_string(key); }

/// Returns a value whose length and bytes depend on the key and the version.
std::string ValueOf(uint32_t key, uint32_t version, uint32_t longest) {
  std::minstd_rand random(key * 7919 + version);
  std::string value(8 + random() % longest, static_cast<char>(random()));
  for (size_t i = 0; i < value.size(); i += 5) value[i] = static_cast<char>(version + i);
  return value;
}

struct Plan {
  const char* name;
  Mode mode;
  uint64_t memory_bytes;
  uint64_t items;  ///< Number of items that the index is sized for.
  uint32_t keys;
  uint32_t longest;
  uint64_t hash_mask;
  bool holds_all;  ///< Set if all items fit in the memory.
};

const Plan kPlans[] = {
    {"Store", Mode::kStore, uint64_t{8} << 20, 16, 400, 500, ~uint64_t{0}, true},
    {"LongChains", Mode::kStore, uint64_t{4} << 20, 16, 60, 100, uint64_t{1} << 46, true},
    {"LongValues", Mode::kStore, uint64_t{64} << 20, 16, 20, 200'000, ~uint64_t{0}, true},
    {"Log", Mode::kCache, uint64_t{16} << 20, 4000, 400, 500, ~uint64_t{0}, true},
    {"LogThatGoesRound", Mode::kCache, uint64_t{4} << 20, 400, 400, 30'000, ~uint64_t{0}, false},
};

class KvLiveSnapshot : public testing::TestWithParam<Plan> {
 protected:
  /// State of a key. The owner stores a version in `begun` before it sets the value, and in `done`
  /// afterwards. Even keys are never deleted; in a log that wraps they may be evicted.
  struct Key {
    std::atomic<uint32_t> begun = 0, done = 0;
  };

  void SetUp() override {
    std::string folder = testing::TempDir() + "kv-live-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder + "/snapshot";
    for (int i = 0; i < 2; ++i) {
      partitions_.emplace_back(PartitionOptions{plan_.mode, plan_.memory_bytes, plan_.items});
    }
    keys_ = std::vector<Key>(plan_.keys);
    for (uint32_t key = 0; key < plan_.keys; ++key) Set(key, 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  KeyHash Hash(Bytes key) const {
    KeyHash hash = HashOf(key, 1);
    hash.index &= plan_.hash_mask;
    return hash;
  }
  Partition& For(const std::string& key) {
    return partitions_[PartitionOf(Hash(BytesOf(key)).route, 2)];
  }
  void Set(uint32_t key, uint32_t version) {
    const std::string name = KeyOf(key);
    keys_[key].begun = version;
    ASSERT_EQ(For(name).Set(BytesOf(name), Hash(BytesOf(name)).index,
                            BytesOf(ValueOf(key, version, plan_.longest)), {version, 0},
                            Condition::kAlways, kNow),
              Result::kOk);
    keys_[key].done = version;
  }
  void Delete(uint32_t key) {
    const std::string name = KeyOf(key);
    For(name).Delete(BytesOf(name), Hash(BytesOf(name)).index, 0, kNow);
  }
  /// Changes items until `stop` is set. After each change, serves the snapshot's request.
  void Own(const std::atomic<bool>& stop) {
    std::minstd_rand random(3);
    for (uint32_t version = 2; !stop; ++version) {
      const uint32_t key = static_cast<uint32_t>(random() % plan_.keys);
      if (key % 2 == 1 && random() % 4 == 0) Delete(key);
      Set(key, version);
      request_.Serve();
      ++changes_;
    }
  }
  LiveSource Source(uint32_t tries) {
    LiveSource source;
    source.partitions = partitions_;
    source.now_s = [] { return kNow; };
    source.by_owner = [this](size_t partition, uint32_t chain, std::span<uint8_t> to,
                             size_t* bytes) {
      EXPECT_LE(to.size(), kMostByOwnerBytes);
      request_.Ask(partitions_[partition], chain, to);
      for (;;) {
        if (const auto copied = request_.Answer(bytes)) return std::optional(copied);
        std::this_thread::yield();
      }
    };
    source.stopped = [] { return false; };
    source.tries = tries;
    return source;
  }
  /// Compares the file with the versions that were current before and after the snapshot.
  void Check(const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
    std::vector<Partition> read;
    read.emplace_back(PartitionOptions{Mode::kStore, uint64_t{64} << 20, 1000});
    std::string error;
    ASSERT_TRUE(ReadSnapshot(
        path_, read, [&](Bytes key) { return Hash(key); }, kNow, &error))
        << error;
    size_t wrong = 0, always = 0;
    read[0].ForEach(kNow, [&](Bytes name, const ItemView& item) {
      const auto key = static_cast<uint32_t>(std::stoul(TextOf(name).substr(3)));
      const uint32_t version = item.attributes.flags;
      wrong += version < before[key] || version > after[key] ||
               TextOf(item.value) != ValueOf(key, version, plan_.longest);
      always += key % 2 == 0;
    });
    EXPECT_EQ(wrong, 0u);
    if (plan_.holds_all) {
      EXPECT_EQ(always, (plan_.keys + 1) / 2);
    }
  }
  std::vector<uint32_t> Versions(std::atomic<uint32_t> Key::*which) const {
    std::vector<uint32_t> versions;
    for (const Key& key : keys_) versions.push_back(key.*which);
    return versions;
  }

  const Plan& plan_ = GetParam();
  std::string folder_, path_;
  std::vector<Partition> partitions_;
  std::vector<Key> keys_;
  ChainRequest request_;
  std::atomic<uint64_t> changes_ = 0;
};

TEST_P(KvLiveSnapshot, EveryItemWasCurrentMeanwhile) {
  std::atomic<bool> stop = false;
  std::thread owner([&] { Own(stop); });
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t changes = changes_;
    const std::vector<uint32_t> before = Versions(&Key::done);
    LiveFigures figures;
    std::string error;
    // Waits for a change, so that the owner is active during each snapshot.
    while (changes_ == changes) std::this_thread::yield();
    ASSERT_TRUE(WriteLiveSnapshot(path_, Source(round % 2 == 0 ? 1 : 100), &figures, &error))
        << error;
    Check(before, Versions(&Key::begun));
    if (HasFatalFailure()) break;
  }
  stop = true;
  owner.join();
}

INSTANTIATE_TEST_SUITE_P(Plans, KvLiveSnapshot, testing::ValuesIn(kPlans),
                         [](const auto& info) { return std::string(info.param.name); });

// Tests an item that is being written almost all the time.
TEST(KvLiveSnapshotOwner, CopiesWhatIsNeverLeftAlone) {
  std::vector<Partition> partitions;
  partitions.emplace_back(PartitionOptions{Mode::kStore, uint64_t{4} << 20, 16});
  const uint64_t hash = HashOf(BytesOf("hot"), 1).index;
  const auto set = [&](char byte) {
    return partitions[0].Set(BytesOf("hot"), hash, BytesOf(std::string(200'000, byte)), {},
                             Condition::kAlways, kNow);
  };
  ASSERT_EQ(set('a'), Result::kOk);
  ChainRequest request;
  std::atomic<bool> stop = false;
  std::thread owner([&] {
    for (char byte = 'a'; !stop; byte = byte == 'z' ? 'a' : static_cast<char>(byte + 1)) {
      set(byte);
      request.Serve();
    }
  });
  std::string folder = testing::TempDir() + "kv-hot-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  LiveSource source;
  source.partitions = partitions;
  source.now_s = [] { return kNow; };
  source.by_owner = [&](size_t, uint32_t chain, std::span<uint8_t> to, size_t* bytes) {
    EXPECT_LE(to.size(), kMostByOwnerBytes);
    request.Ask(partitions[0], chain, to);
    for (;;) {
      if (const auto copied = request.Answer(bytes)) return std::optional(copied);
      std::this_thread::yield();
    }
  };
  source.stopped = [] { return false; };
  source.tries = 1;
  LiveFigures figures;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (figures.by_owner == 0 && std::chrono::steady_clock::now() < end) {
    std::string error;
    ASSERT_TRUE(WriteLiveSnapshot(folder + "/items", source, &figures, &error)) << error;
    EXPECT_EQ(figures.items, 1u);
  }
  stop = true;
  owner.join();
  EXPECT_GT(figures.by_owner, 0u);
  std::filesystem::remove_all(folder);
}

TEST(KvChainRequest, IsServedOnceOrWithdrawn) {
  PartitionLab lab({Mode::kStore, uint64_t{1} << 20, 16});
  lab.Set("key", "value");
  uint32_t chain = 0;
  std::vector<uint8_t> room(100);
  size_t bytes = 0;
  while (lab.partition.CopyChain(chain, room, &bytes) == Copied::kWhole && bytes == 0) ++chain;
  ASSERT_EQ(bytes, sizeof(CopiedItem) + 3 + 5);

  ChainRequest request;
  request.Serve();  // No request is pending.
  EXPECT_FALSE(request.Answer(&bytes));
  request.Ask(lab.partition, chain, room);
  EXPECT_FALSE(request.Answer(&bytes));
  request.Serve();
  EXPECT_FALSE(request.Withdraw());
  std::fill(room.begin() + 40, room.end(), uint8_t{7});
  request.Serve();  // A served request is not served again.
  EXPECT_EQ(request.Answer(&bytes), Copied::kWhole);
  EXPECT_EQ(bytes, sizeof(CopiedItem) + 3 + 5);
  std::map<std::string, std::string> seen;
  ForEachCopied(Bytes(room).first(bytes),
                [&](Bytes key, const ItemView& item) { seen[TextOf(key)] = TextOf(item.value); });
  EXPECT_EQ(seen, (std::map<std::string, std::string>{{"key", "value"}}));
  EXPECT_FALSE(request.Answer(&bytes));

  request.Ask(lab.partition, chain, std::span(room).first(10));
  request.Serve();
  EXPECT_EQ(request.Answer(&bytes), Copied::kTooShort);
  EXPECT_EQ(bytes, sizeof(CopiedItem) + 3 + 5);

  request.Ask(lab.partition, chain, room);
  EXPECT_TRUE(request.Withdraw());
  request.Serve();
  EXPECT_FALSE(request.Answer(&bytes));
}

TEST(KvLiveSnapshotFile, IsLeftAloneByOneThatIsStopped) {
  std::string folder = testing::TempDir() + "kv-stopped-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  PartitionLab lab({Mode::kStore, uint64_t{1} << 20, 1000});
  lab.Set("key", "value", {0, 120});
  LiveSource source;
  source.partitions = {&lab.partition, 1};
  source.now_s = [] { return 100u; };
  source.stopped = [] { return false; };
  LiveFigures figures;
  std::string error;
  ASSERT_TRUE(WriteLiveSnapshot(folder + "/items", source, &figures, &error)) << error;
  EXPECT_EQ(figures.items, 1u);
  const auto written = std::filesystem::last_write_time(folder + "/items");
  int looks = 0;
  source.stopped = [&looks] { return ++looks == 10; };
  EXPECT_FALSE(WriteLiveSnapshot(folder + "/items", source, &figures, &error));
  EXPECT_EQ(error, "");
  EXPECT_FALSE(std::filesystem::exists(folder + "/items.new"));
  EXPECT_EQ(std::filesystem::last_write_time(folder + "/items"), written);
  // An expired item is not in the snapshot.
  source.now_s = [] { return 120u; };
  source.stopped = [] { return false; };
  ASSERT_TRUE(WriteLiveSnapshot(folder + "/items", source, &figures, &error)) << error;
  EXPECT_EQ(figures.items, 0u);
  std::filesystem::remove_all(folder);
}

TEST(KvLiveSnapshotFile, UniquesGivenAfterItAreNotGivenAgain) {
  std::string folder = testing::TempDir() + "kv-uniques-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  PartitionLab lab({Mode::kStore, uint64_t{1} << 20, 16});
  lab.Set("key", "value");
  LiveSource source;
  source.partitions = {&lab.partition, 1};
  source.now_s = [] { return 100u; };
  source.stopped = [] { return false; };
  LiveFigures figures;
  std::string error;
  ASSERT_TRUE(WriteLiveSnapshot(folder + "/items", source, &figures, &error)) << error;
  uint64_t late = 0;
  for (int i = 0; i < 100; ++i) lab.Set("key", "later", {}, Condition::kAlways, &late);
  std::vector<Partition> after;
  after.emplace_back(PartitionOptions{Mode::kStore, uint64_t{1} << 20, 16});
  const auto hash = [](Bytes key) { return HashOf(key, 1); };
  ASSERT_TRUE(ReadSnapshot(folder + "/items", after, hash, 100, &error)) << error;
  EXPECT_GT(after[0].last_unique(), late);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::engine::kv
