// SPDX-License-Identifier: BSD-3-Clause
//
// Tests when the kernel allocates the store's pages (mincore(2)).
#include "engine/kv/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <vector>

#include "engine/kv/partition.h"
#include "kv/mebibyte.h"

namespace sluice::engine::kv {
namespace {

uint64_t PageBytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

/// Returns the resident bytes within the first `bytes` of a mapping.
uint64_t ResidentBytes(const Mapping& mapping, uint64_t bytes) {
  std::vector<unsigned char> pages(bytes / PageBytes());
  EXPECT_EQ(mincore(mapping.data(), bytes, pages.data()), 0);
  const auto resident =
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  return PageBytes() * static_cast<uint64_t>(resident);
}

/// Returns the resident bytes of this process (proc(5), statm).
uint64_t ResidentBytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * PageBytes();
}

TEST(Mapping, TakesItsPagesWhenItIsTold) {
  Mapping mapping(8 * kMiB);
  EXPECT_EQ(ResidentBytes(mapping, 8 * kMiB), 0u);
  mapping.data()[kMiB] = 7;
  mapping.Populate(4 * kMiB);
  EXPECT_EQ(ResidentBytes(mapping, 4 * kMiB), 4 * kMiB);
  EXPECT_EQ(ResidentBytes(mapping, 8 * kMiB), 4 * kMiB) << "huge pages or not";
  EXPECT_EQ(mapping.data()[kMiB], 7) << "the old content is kept";
  EXPECT_EQ(std::count(mapping.data(), mapping.data() + 8 * kMiB, 0), 8 * kMiB - 1);
}

TEST(Mapping, CannotTakeMoreThanAddressesHave) {
  EXPECT_THROW(Mapping(uint64_t{1} << 62), std::bad_alloc);
}

TEST(KvPartitionPages, AreThereOnceTheyWereTaken) {
  for (const Mode mode : {Mode::kCache, Mode::kStore}) {
    const PartitionOptions options{mode, 64 * kMiB, 1 << 20};
    ASSERT_EQ(options.OccupiedBytes(), 80 * kMiB) << "with a bucket for four items";
    const uint64_t before = ResidentBytes();
    Partition partition(options);
    EXPECT_LT(ResidentBytes() - before, 16 * kMiB);
    partition.PopulatePages();
    EXPECT_GE(ResidentBytes() - before, options.OccupiedBytes() - kMiB) << "of which some is late";
  }
}

}  // namespace
}  // namespace sluice::engine::kv
