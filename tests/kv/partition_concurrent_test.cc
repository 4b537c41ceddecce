// SPDX-License-Identifier: BSD-3-Clause
//
// Tests one writing owner with concurrent readers. Each read value must be complete and must have
// been set before.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "engine/kv/partition.h"
#include "kv/partition_lab.h"

namespace sluice::engine::kv {
namespace {

/// Returns the value for a number. The value's length and bytes depend on the key and the number.
std::string ValueOf(uint32_t key, uint32_t number, uint32_t longest) {
  static const std::string pattern = [] {
    std::mt19937 random(1);
    std::string bytes(300'000, 0);
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
  std::minstd_rand random(key * 7919 + number);
  const uint32_t bytes = 8 + static_cast<uint32_t>(random() % longest);
  return pattern.substr(random() % 150'000, bytes);
}

#if defined(__SANITIZE_THREAD__)
constexpr uint32_t kWrites = 2'500;
#else
constexpr uint32_t kWrites = 10'000;
#endif

struct Plan {
  const char* name;
  Mode mode;
  uint64_t memory_bytes;
  uint32_t keys;
  uint32_t longest;
  uint64_t hash_mask;
};

const Plan kPlans[] = {
    {"TheLogGoesRound", Mode::kCache, uint64_t{4} << 20, 400, 50'000, ~uint64_t{0}},
    {"InPlace", Mode::kCache, uint64_t{4} << 20, 4, 7, ~uint64_t{0}},
    {"FullBuckets", Mode::kCache, uint64_t{4} << 20, 20, 200, uint64_t{1} << 46},
    {"TheHeapJoinsBlocks", Mode::kStore, uint64_t{1} << 20, 100, 20'000, ~uint64_t{0}},
    {"ChainsGrowAndShrink", Mode::kStore, uint64_t{4} << 20, 60, 100, uint64_t{1} << 46},
};

class KvConcurrent : public testing::TestWithParam<Plan> {};

TEST_P(KvConcurrent, ReadersSeeWholeValuesThatNeverGoBack) {
  const Plan& plan = GetParam();
  Partition partition({plan.mode, plan.memory_bytes, 16});
  const auto key_of = [](uint32_t key) { return "key" + std::to_string(key); };
  const auto hash_of = [&](const std::string& key) {
    return HashOf(BytesOf(key), 1).index & plan.hash_mask;
  };

  std::atomic<bool> done = false;
  std::atomic<uint64_t> found = 0;
  std::atomic<uint64_t> wrong = 0;
  std::vector<std::thread> readers;
  for (int thread = 0; thread < 2; ++thread) {
    readers.emplace_back([&, thread] {
      std::minstd_rand random(static_cast<uint32_t>(thread) + 1);
      std::vector<uint8_t> room(plan.longest + 8);
      std::vector<uint32_t> last(plan.keys);
      while (!done) {
        const uint32_t key = static_cast<uint32_t>(random() % plan.keys);
        const std::string name = key_of(key);
        const uint64_t hash = hash_of(name);
        partition.PrefetchBucket(hash);
        partition.PrefetchItem(hash);
        ItemCopy copy;
        const Result result = partition.Read(BytesOf(name), hash, 1, room, &copy);
        if (result == Result::kNotFound) continue;
        const std::string value = TextOf(Bytes(room).first(copy.value_bytes));
        // The flags contain the number, which only grows.
        const uint32_t number = copy.attributes.flags;
        if (result != Result::kOk || value != ValueOf(key, number, plan.longest) ||
            number < last[key]) {
          ++wrong;
        }
        last[key] = number;
        ++found;
      }
    });
  }

  std::minstd_rand random(3);
  for (uint32_t number = 1; number <= kWrites || (found < 1000 && number < 2'000'000); ++number) {
    const uint32_t key = static_cast<uint32_t>(random() % plan.keys);
    const std::string name = key_of(key);
    const uint64_t hash = hash_of(name);
    switch (random() % 8) {
      case 0:
        partition.Delete(BytesOf(name), hash, 0, 1);
        break;
      case 1:
        partition.Get(BytesOf(name), hash, 1);
        break;
      case 2:
        partition.Touch(BytesOf(name), hash, 1000, 1);
        break;
      default:
        partition.Set(BytesOf(name), hash, BytesOf(ValueOf(key, number, plan.longest)), {number, 0},
                      Condition::kAlways, 1);
    }
    if (number % 4000 == 0) partition.Clear();
    if (number > kWrites) std::this_thread::yield();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(found, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Plans, KvConcurrent, testing::ValuesIn(kPlans),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::engine::kv
