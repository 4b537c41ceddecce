// SPDX-License-Identifier: BSD-3-Clause
#include "engine/kv/partition.h"

#include <gtest/gtest.h>

#include <set>

#include "kv/mebibyte.h"
#include "kv/partition_lab.h"

namespace sluice::engine::kv {
namespace {

class KvPartition : public testing::TestWithParam<Mode> {
 protected:
  PartitionLab lab_{{GetParam(), 4 * kMiB, 10'000}};
};

std::string Letters(size_t count, char first = 'a') {
  std::string letters;
  for (size_t i = 0; i < count; ++i) letters += static_cast<char>(first + i % 26);
  return letters;
}

TEST_P(KvPartition, FindsWhatWasSetWithItsAttributes) {
  EXPECT_EQ(lab_.Get("key"), std::nullopt);
  uint64_t unique = 0;
  ASSERT_EQ(lab_.Set("key", "value", {7, 200}, Condition::kAlways, &unique), Result::kOk);
  const auto view = lab_.View("key");
  ASSERT_TRUE(view);
  EXPECT_EQ(TextOf(view->value), "value");
  EXPECT_EQ(view->attributes.flags, 7u);
  EXPECT_EQ(view->attributes.expires_s, 200u);
  EXPECT_EQ(view->unique, unique);
  EXPECT_NE(unique, 0u);
  EXPECT_EQ(lab_.Get("ke"), std::nullopt);
  EXPECT_EQ(lab_.partition.counters().items, 1u);
}

// MICA's public implementation truncates lengths below 40 to a multiple of 8.
TEST_P(KvPartition, KeepsKeysAndValuesOfEveryLength) {
  for (size_t key_bytes = 1; key_bytes <= kMaxKeyBytes; ++key_bytes) {
    ASSERT_EQ(lab_.Set(Letters(key_bytes), Letters(key_bytes % 90, 'A')), Result::kOk);
  }
  for (size_t key_bytes = 1; key_bytes <= kMaxKeyBytes; ++key_bytes) {
    ASSERT_EQ(lab_.Get(Letters(key_bytes)), Letters(key_bytes % 90, 'A')) << key_bytes;
  }
  for (size_t bytes = 0; bytes < 300; ++bytes) {
    ASSERT_EQ(lab_.Set("key", Letters(bytes)), Result::kOk);
    ASSERT_EQ(lab_.Get("key"), Letters(bytes));
  }
}

// MICA's public implementation compares keys with their padding and would treat these keys as
// equal.
TEST_P(KvPartition, TellsKeysApartByTheirZeros) {
  const std::string keys[] = {"k", std::string("k\0", 2), std::string("k\0\0\0\0\0\0\0", 8)};
  for (const std::string& key : keys) ASSERT_EQ(lab_.Set(key, Letters(key.size())), Result::kOk);
  for (const std::string& key : keys) EXPECT_EQ(lab_.Get(key), Letters(key.size()));
}

// MICA's public implementation overwrites the header of the next item if 16 bytes replace 8.
TEST_P(KvPartition, LeavesNeighboursAsTheyAreWhenAValueGrowsOrShrinks) {
  for (size_t before = 0; before <= 48; ++before) {
    for (size_t after = 0; after <= 48; ++after) {
      lab_.partition.Clear();
      lab_.Set("first", "1");
      lab_.Set("grows", Letters(before));
      lab_.Set("behind", "2");
      ASSERT_EQ(lab_.Set("grows", Letters(after, 'A')), Result::kOk);
      ASSERT_EQ(lab_.Get("first"), "1");
      ASSERT_EQ(lab_.Get("grows"), Letters(after, 'A'));
      ASSERT_EQ(lab_.Get("behind"), "2");
    }
  }
}

TEST_P(KvPartition, AppendsAndPrependsAtEveryAlignment) {
  for (size_t size = 0; size <= 24; ++size) {
    for (size_t more = 0; more <= 24; ++more) {
      lab_.Set("key", Letters(size), {5, 300});
      lab_.Set("behind", "2");
      ASSERT_EQ(lab_.Append("key", Letters(more, 'A')), Result::kOk);
      ASSERT_EQ(lab_.Get("key"), Letters(size) + Letters(more, 'A'));
      ASSERT_EQ(lab_.Prepend("key", Letters(more, 'k')), Result::kOk);
      ASSERT_EQ(lab_.Get("key"), Letters(more, 'k') + Letters(size) + Letters(more, 'A'));
      ASSERT_EQ(lab_.View("key")->attributes.flags, 5u);
      ASSERT_EQ(lab_.View("key")->attributes.expires_s, 300u);
      ASSERT_EQ(lab_.Get("behind"), "2");
    }
  }
  EXPECT_EQ(lab_.Append("absent", "x"), Result::kNotStored);
  EXPECT_EQ(lab_.Prepend("absent", "x"), Result::kNotStored);
}

TEST_P(KvPartition, PadsAtEveryAlignment) {
  for (size_t size = 0; size <= 140; ++size) {
    for (size_t text = 0; text <= std::min<size_t>(size, 20); ++text) {
      lab_.Set("key", Letters(size), {5, 300});
      lab_.Set("behind", "2");
      const uint64_t before = lab_.View("key")->unique;
      ASSERT_EQ(lab_.SetPadded("key", Letters(text, 'A')), Result::kOk);
      ASSERT_EQ(lab_.Get("key"), Letters(text, 'A') + std::string(size - text, ' '));
      ASSERT_EQ(lab_.View("key")->attributes.flags, 5u);
      ASSERT_EQ(lab_.View("key")->attributes.expires_s, 300u);
      ASSERT_GT(lab_.View("key")->unique, before);
      ASSERT_EQ(lab_.Get("behind"), "2");
    }
    ASSERT_EQ(lab_.SetPadded("key", Letters(size + 1)), Result::kTooLarge);
  }
  EXPECT_EQ(lab_.SetPadded("absent", ""), Result::kNotFound);
}

TEST_P(KvPartition, RefusesKeysAndValuesThatAreTooLong) {
  const std::string longest(lab_.partition.max_value_bytes(), 'v');
  EXPECT_EQ(lab_.Set(Letters(kMaxKeyBytes), longest), Result::kOk);
  EXPECT_EQ(lab_.Get(Letters(kMaxKeyBytes)), longest);
  EXPECT_EQ(lab_.Set("key", longest + 'v'), Result::kTooLarge);
  EXPECT_EQ(lab_.Append(Letters(kMaxKeyBytes), "v"), Result::kTooLarge);
  EXPECT_EQ(lab_.Get(Letters(kMaxKeyBytes)), longest);
  EXPECT_EQ(lab_.partition.counters().refused, 2u);
  for (const std::string& key : {std::string(), Letters(kMaxKeyBytes + 1), Letters(256 + 3)}) {
    EXPECT_EQ(lab_.Set(key, "value"), Result::kTooLarge);
    EXPECT_EQ(lab_.Get(key), std::nullopt);
    EXPECT_EQ(lab_.Delete(key), Result::kNotFound);
    EXPECT_EQ(lab_.Touch(key, 0), Result::kNotFound);
    EXPECT_EQ(lab_.Append(key, "x"), Result::kNotStored);
    ItemCopy copy;
    EXPECT_EQ(lab_.partition.Read(BytesOf(key), 0, 0, {}, &copy), Result::kNotFound);
  }
  EXPECT_EQ(lab_.partition.counters().refused, 5u);
}

TEST_P(KvPartition, ExtendsAValueUpToTheLongestAndNoFurther) {
  const size_t longest = lab_.partition.max_value_bytes();
  uint64_t refused = 0;
  for (const size_t more : {1, 7, 8, 1000}) {
    for (const bool behind : {false, true}) {
      const auto extend = [&](const std::string& text) {
        return behind ? lab_.Append("key", text) : lab_.Prepend("key", text);
      };
      const std::string old(longest - more, 'v'), added = Letters(more);
      ASSERT_EQ(lab_.Set("key", old), Result::kOk);
      EXPECT_EQ(extend(Letters(more + 1)), Result::kTooLarge);
      EXPECT_EQ(lab_.partition.counters().refused, ++refused);
      EXPECT_TRUE(lab_.Get("key") == old) << "a failed request changes nothing";
      EXPECT_EQ(extend(added), Result::kOk) << more;
      EXPECT_TRUE(lab_.Get("key") == (behind ? old + added : added + old)) << more;
      EXPECT_EQ(extend(""), Result::kOk);
    }
  }
}

TEST_P(KvPartition, SetsUnderConditions) {
  EXPECT_EQ(lab_.Set("key", "1", {}, Condition::kIfPresent), Result::kNotStored);
  uint64_t unique = 5;
  EXPECT_EQ(lab_.Set("key", "1", {}, Condition::kIfUnchanged, &unique), Result::kNotFound);
  EXPECT_EQ(lab_.Set("key", "1", {}, Condition::kIfAbsent, &unique), Result::kOk);
  EXPECT_EQ(lab_.Set("key", "2", {}, Condition::kIfAbsent), Result::kExists);
  const uint64_t seen = unique;
  EXPECT_EQ(lab_.Set("key", "2", {}, Condition::kIfUnchanged, &unique), Result::kOk);
  EXPECT_GT(unique, seen);
  uint64_t stale = seen;
  EXPECT_EQ(lab_.Set("key", "3", {}, Condition::kIfUnchanged, &stale), Result::kExists);
  EXPECT_EQ(lab_.Get("key"), "2");
  EXPECT_EQ(lab_.Set("key", "3", {}, Condition::kIfPresent), Result::kOk);
  EXPECT_EQ(lab_.Get("key"), "3");
}

TEST_P(KvPartition, GivesAnotherUniqueAfterEveryChange) {
  std::set<uint64_t> seen;
  const auto change = [&](Result result) {
    ASSERT_EQ(result, Result::kOk);
    EXPECT_TRUE(seen.insert(lab_.View("key")->unique).second);
  };
  change(lab_.Set("key", "same"));
  change(lab_.Set("key", "same"));
  change(lab_.Append("key", "1"));
  change(lab_.Append("key", Letters(100)));
  change(lab_.Prepend("key", "1"));
  ASSERT_EQ(lab_.Delete("key"), Result::kOk);
  change(lab_.Set("key", "same"));
  const uint64_t unique = lab_.View("key")->unique;
  ASSERT_EQ(lab_.Touch("key", 1000), Result::kOk);
  EXPECT_EQ(lab_.View("key")->unique, unique);
}

TEST_P(KvPartition, DeletesOnlyWhatItWasAskedFor) {
  lab_.Set("key", "1");
  const uint64_t unique = lab_.View("key")->unique;
  EXPECT_EQ(lab_.Delete("key", unique + 1), Result::kExists);
  EXPECT_EQ(lab_.Delete("key", unique), Result::kOk);
  EXPECT_EQ(lab_.Delete("key"), Result::kNotFound);
  EXPECT_EQ(lab_.Get("key"), std::nullopt);
  EXPECT_EQ(lab_.partition.counters().items, 0u);
  EXPECT_EQ(lab_.partition.counters().item_bytes, 0u);
}

TEST_P(KvPartition, ForgetsItemsWhoseTimeHasCome) {
  lab_.Set("mayfly", "1", {0, 150});
  lab_.Set("stone", "1");
  lab_.now_s = 149;
  EXPECT_EQ(lab_.Get("mayfly"), "1");
  lab_.now_s = 150;
  ItemCopy copy;
  uint8_t room[8];
  EXPECT_EQ(lab_.partition.Read(BytesOf("mayfly"), lab_.Hash("mayfly"), 150, room, &copy),
            Result::kNotFound);
  EXPECT_EQ(lab_.Get("mayfly"), std::nullopt);
  EXPECT_EQ(lab_.Set("mayfly", "2", {}, Condition::kIfPresent), Result::kNotStored);
  EXPECT_EQ(lab_.Get("stone"), "1");
  EXPECT_EQ(lab_.partition.counters().expired, 1u);
  lab_.Set("mayfly", "1", {0, 151});
  ASSERT_EQ(lab_.Touch("mayfly", 160), Result::kOk);
  lab_.now_s = 159;
  EXPECT_EQ(lab_.Get("mayfly"), "1");
  ASSERT_EQ(lab_.Touch("mayfly", 0), Result::kOk);
  lab_.now_s = UINT32_MAX;
  EXPECT_EQ(lab_.Get("mayfly"), "1");
}

TEST_P(KvPartition, ReadCopiesWhatFits) {
  lab_.Set("key", Letters(13), {3, 0});
  std::vector<uint8_t> room(13);
  ItemCopy copy;
  const auto read = [&](size_t bytes) {
    return lab_.partition.Read(BytesOf("key"), lab_.Hash("key"), lab_.now_s,
                               std::span(room).first(bytes), &copy);
  };
  EXPECT_EQ(read(12), Result::kTooLarge);
  EXPECT_EQ(copy.value_bytes, 13u);
  EXPECT_EQ(read(13), Result::kOk);
  EXPECT_EQ(TextOf(room), Letters(13));
  EXPECT_EQ(copy.attributes.flags, 3u);
  EXPECT_EQ(copy.unique, lab_.View("key")->unique);
}

TEST_P(KvPartition, ClearForgetsEverythingAndGoesOn) {
  for (int i = 0; i < 50'000; ++i) lab_.Set(std::to_string(i), "value");
  lab_.partition.Clear();
  EXPECT_EQ(lab_.partition.counters().items, 0u);
  EXPECT_EQ(lab_.partition.counters().item_bytes, 0u);
  EXPECT_EQ(lab_.partition.counters().extra_buckets, 0u);
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(lab_.Get(std::to_string(i)), std::nullopt);
  EXPECT_EQ(lab_.Set("1", "again"), Result::kOk);
  EXPECT_EQ(lab_.Get("1"), "again");
}

TEST_P(KvPartition, ForEachSeesEveryItemThatIsThere) {
  std::set<std::string> expected;
  for (int i = 0; i < 1000; ++i) {
    lab_.Set(std::to_string(i), std::to_string(-i), {0, i % 2 == 0 ? 0u : 150u});
    if (i % 2 == 0) expected.insert(std::to_string(i) + ' ' + std::to_string(-i));
  }
  std::set<std::string> seen;
  lab_.partition.ForEach(150, [&](Bytes key, const ItemView& view) {
    EXPECT_TRUE(seen.insert(TextOf(key) + ' ' + TextOf(view.value)).second);
  });
  EXPECT_EQ(seen, expected);
}

INSTANTIATE_TEST_SUITE_P(Modes, KvPartition, testing::Values(Mode::kCache, Mode::kStore),
                         [](const auto& info) {
                           return info.param == Mode::kCache ? "Cache" : "Store";
                         });

TEST(KvCache, TheOldestMakeRoomAndTheNewestStay) {
  PartitionLab lab({Mode::kCache, 4 * kMiB, 100'000});
  const std::string value(1000, 'v');
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(lab.Set(std::to_string(i), value), Result::kOk);
  // 4 MiB hold 4 Mi / (24 + 8 + 1000) = 4064 such items, or one less if an item would cross the
  // end.
  const auto items = static_cast<int>(lab.partition.counters().items);
  EXPECT_GE(items, 4063);
  EXPECT_LE(items, 4064);
  EXPECT_EQ(lab.partition.counters().evicted, 20'000u - static_cast<uint32_t>(items));
  EXPECT_EQ(lab.Get(std::to_string(20'000 - items - 1)), std::nullopt);
  for (int i = 20'000 - items; i < 20'000; ++i) {
    ASSERT_TRUE(lab.Get(std::to_string(i)) == value) << i;
  }
}

TEST(KvCache, WhatIsInUseStays) {
  PartitionLab lab({Mode::kCache, 4 * kMiB, 100'000});
  const std::string value(1000, 'v');
  lab.Set("used", "still here");
  for (int i = 0; i < 20'000; ++i) {
    lab.Set(std::to_string(i), value);
    ASSERT_EQ(lab.Get("used"), "still here");
  }
}

TEST(KvCache, GrowsAValueThatIsAboutToBeOverwritten) {
  PartitionLab lab({Mode::kCache, 4 * kMiB, 10'000});
  const std::string value(100'000, 'v');
  // The distance between the old value and its new location increases with each round.
  for (int others = 36; others < 43; ++others) {
    for (const bool behind : {false, true}) {
      lab.Set("key", Letters(50'003));
      for (int i = 0; i < others; ++i) lab.Set(std::to_string(i), value);
      const Result result =
          behind ? lab.Append("key", Letters(1001, 'A')) : lab.Prepend("key", Letters(1001, 'A'));
      if (result == Result::kNotStored) continue;
      ASSERT_EQ(result, Result::kOk);
      EXPECT_EQ(lab.Get("key"), behind ? Letters(50'003) + Letters(1001, 'A')
                                       : Letters(1001, 'A') + Letters(50'003));
    }
  }
}

TEST(KvCache, AFullBucketForgetsItsOldest) {
  PartitionLab lab({Mode::kCache, 4 * kMiB, 100});
  const auto set = [&](const std::string& key) {
    return lab.partition.Set(BytesOf(key), 1, BytesOf(key), {}, Condition::kAlways, 0);
  };
  for (const char* key : {"1", "2", "3", "4", "5", "6", "7", "8"}) set(key);
  EXPECT_EQ(lab.partition.counters().evicted, 1u);
  EXPECT_FALSE(lab.partition.Get(BytesOf("1"), 1, 0));
  for (const char* key : {"2", "3", "4", "5", "6", "7", "8"}) {
    EXPECT_TRUE(lab.partition.Get(BytesOf(key), 1, 0)) << key;
  }
}

// If a slot outlived the eviction of its item, it would later refer to another item.
TEST(KvCache, NoSlotOutlivesItsItem) {
  PartitionLab lab({Mode::kCache, 4 * kMiB, 1'000'000});
  const std::string value(2000, 'v');
  for (int i = 0; i < 100'000; ++i) lab.Set(std::to_string(i), value);
  uint64_t seen = 0;
  lab.partition.ForEach(lab.now_s, [&](Bytes key, const ItemView& view) {
    ++seen;
    EXPECT_EQ(view.value.size(), value.size());
    EXPECT_GE(std::stoi(TextOf(key)), 100'000 - 2200);
  });
  EXPECT_EQ(seen, lab.partition.counters().items);
  EXPECT_LE(seen * (24 + 8 + 2000), 4 * kMiB);
}

TEST(KvStore, LosesNothingAndSaysWhenItIsFull) {
  PartitionLab lab({Mode::kStore, 4 * kMiB, 100});
  int stored = 0;
  while (lab.Set(std::to_string(stored), "value") == Result::kOk) ++stored;
  // The items of 40 bytes fill the heap, except for rounding.
  EXPECT_NEAR(stored, 4 * kMiB / 40, 2);
  EXPECT_EQ(lab.Set("one more", "x"), Result::kNoMemory);
  EXPECT_EQ(lab.Append("7", Letters(100)), Result::kNoMemory);
  EXPECT_EQ(lab.Set("8", Letters(100)), Result::kNoMemory);
  EXPECT_EQ(lab.partition.counters().refused, 4u);
  EXPECT_EQ(lab.partition.counters().items, static_cast<uint64_t>(stored));
  EXPECT_GT(lab.partition.counters().extra_buckets, 10'000u);
  for (int i = 0; i < stored; ++i) ASSERT_EQ(lab.Get(std::to_string(i)), "value");
  // A value that fits in the old item's block is stored. Deleting an item frees its block.
  EXPECT_EQ(lab.Set("9", "short"), Result::kOk);
  EXPECT_EQ(lab.Set("9", ""), Result::kOk);
  EXPECT_EQ(lab.Get("9"), "");
  EXPECT_EQ(lab.Delete("10"), Result::kOk);
  EXPECT_EQ(lab.Set("one more", "x"), Result::kOk);
}

TEST(KvStore, ExpiredItemsMakeRoomWhenItIsFull) {
  PartitionLab lab({Mode::kStore, 4 * kMiB, 100});
  int stored = 0;
  while (lab.Set(std::to_string(stored), "value", {0, 150}) == Result::kOk) ++stored;
  lab.now_s = 150;
  for (int i = 0; i < stored; ++i) ASSERT_EQ(lab.Set('n' + std::to_string(i), ""), Result::kOk);
  EXPECT_EQ(lab.partition.counters().items,
            static_cast<uint64_t>(2 * stored) - lab.partition.counters().expired);
}

TEST(KvStore, TakesValuesOfOneMebibyte) {
  PartitionLab lab({Mode::kStore, 16 * kMiB, 100});
  EXPECT_EQ(lab.Set("key", std::string(kMiB, 'v')), Result::kOk);
  EXPECT_EQ(lab.Set("key", std::string(kMiB + 1, 'v')), Result::kTooLarge);
  EXPECT_EQ(lab.Get("key"), std::string(kMiB, 'v'));
}

TEST(KvStore, FindsThousandsOfKeysOfOneHash) {
  PartitionLab lab({Mode::kStore, 4 * kMiB, 100});
  for (int i = 0; i < 2000; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_EQ(lab.partition.Set(BytesOf(key), 7, BytesOf(key), {}, Condition::kAlways, 0),
              Result::kOk);
  }
  for (int i = 0; i < 2000; i += 2) {
    ASSERT_EQ(lab.partition.Delete(BytesOf(std::to_string(i)), 7, 0, 0), Result::kOk);
  }
  for (int i = 0; i < 2000; ++i) {
    const auto view = lab.partition.Get(BytesOf(std::to_string(i)), 7, 0);
    ASSERT_EQ(view.has_value(), i % 2 == 1);
    if (view) {
      ASSERT_EQ(TextOf(view->value), std::to_string(i));
    }
  }
  // 1000 items need (1000 - 7) / 7 additional buckets.
  EXPECT_EQ(lab.partition.counters().extra_buckets, 142u);
}

}  // namespace
}  // namespace sluice::engine::kv
