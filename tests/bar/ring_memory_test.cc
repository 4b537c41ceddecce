// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the memory of a ring: contiguous across its end, zeroed and owned by one object.
#include "bar/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gtest/gtest.h"

namespace sluice::bar {
namespace {

constexpr size_t kPage = 4096;

TEST(RingMemory, StartsZeroed) {
  const RingMemory memory = RingMemory::Create(4 * kPage, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  EXPECT_TRUE(std::all_of(memory.data(), memory.data() + memory.mapped_bytes(),
                          [](uint8_t byte) { return byte == 0; }));
}

TEST(RingMemory, SecondHalfIsTheFirstHalf) {
  const RingMemory memory = RingMemory::Create(4 * kPage, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.bytes(), 4 * kPage);
  EXPECT_EQ(memory.mapped_bytes(), 8 * kPage);
  memory.data()[7] = 0x5a;
  EXPECT_EQ(memory.data()[4 * kPage + 7], 0x5a);
  memory.data()[8 * kPage - 1] = 0xa5;
  EXPECT_EQ(memory.data()[4 * kPage - 1], 0xa5);
}

TEST(RingMemory, SpanAcrossTheEndIsContiguous) {
  const RingMemory memory = RingMemory::Create(2 * kPage, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  std::memcpy(memory.data() + 2 * kPage - 3, "abcdef", 6);
  EXPECT_EQ(std::memcmp(memory.data(), "def", 3), 0);
}

TEST(RingMemory, UnmirroredMapsOnce) {
  const RingMemory memory = RingMemory::Create(kPage, false, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.mapped_bytes(), kPage);
}

TEST(RingMemory, LiesWhereItIsWantedOrNowhere) {
  constexpr auto kPages = RingMemory::Pages::kPreferHuge;
  // The address range is free because the first RingMemory was just destroyed.
  void* const at = RingMemory::Create(2 * kPage, false, kPages).data();
  RingMemory memory = RingMemory::Create(2 * kPage, false, kPages, at);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.data(), at);
  EXPECT_FALSE(RingMemory::Create(kPage, false, kPages, memory.data()));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_FALSE(RingMemory::FromFile(dup(memory.fd()), kPage, false, memory.data()));
  EXPECT_EQ(errno, EEXIST);
  memory.data()[3] = 7;
  EXPECT_EQ(memory.data()[3], 7) << "the old content is kept";
  const int file = dup(memory.fd());
  memory = RingMemory();
  const RingMemory again = RingMemory::FromFile(file, 2 * kPage, false, at);
  ASSERT_TRUE(again);
  EXPECT_EQ(again.data(), at);
  EXPECT_EQ(again.data()[3], 7);
}

TEST(RingMemory, FileShowsTheSameBytes) {
  const RingMemory memory = RingMemory::Create(kPage, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  memory.data()[11] = 42;
  uint8_t byte = 0;
  ASSERT_EQ(pread(memory.fd(), &byte, 1, 11), 1);
  EXPECT_EQ(byte, 42);
}

TEST(RingMemory, HugePageSizeIsAlignedWhateverPagesItGot) {
  const RingMemory memory =
      RingMemory::Create(RingMemory::kHugePageBytes, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % RingMemory::kHugePageBytes, 0u);
  memory.data()[1] = 9;
  EXPECT_EQ(memory.data()[RingMemory::kHugePageBytes + 1], 9);
}

TEST(RingMemory, RefusesSizesThatAreNoPages) {
  for (const size_t bytes : {size_t{0}, size_t{100}, kPage + 1}) {
    errno = 0;
    EXPECT_FALSE(RingMemory::Create(bytes, true, RingMemory::Pages::kPreferHuge));
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_FALSE(RingMemory::Create(kPage, true, RingMemory::Pages::kHuge));
  EXPECT_EQ(errno, EINVAL);
}

TEST(RingMemory, MoveLeavesTheSourceEmpty) {
  RingMemory first = RingMemory::Create(kPage, true, RingMemory::Pages::kPreferHuge);
  uint8_t* const data = first.data();
  const RingMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): the contract under test.
}

TEST(RingMemory, DestructionUnmaps) {
  uint8_t* data = nullptr;
  {
    const RingMemory memory = RingMemory::Create(kPage, true, RingMemory::Pages::kPreferHuge);
    data = memory.data();
  }
  unsigned char residence = 0;
  EXPECT_EQ(mincore(data, kPage, &residence), -1);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(RingMemory, FromAFileIsTheSameMemoryElsewhere) {
  const auto ring = RingMemory::Create(8192, false, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(ring);
  const auto other = RingMemory::FromFile(dup(ring.fd()), 8192, true);
  ASSERT_TRUE(other);
  EXPECT_TRUE(other.mirrored());
  EXPECT_NE(other.data(), ring.data());
  ring.data()[100] = 77;
  EXPECT_EQ(other.data()[100], 77);
  EXPECT_EQ(other.data()[8192 + 100], 77);
}

TEST(RingMemory, NobodyElseResizesOrSealsIt) {
  const auto ring = RingMemory::Create(8192, false, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(ring);
  EXPECT_NE(ftruncate(ring.fd(), 4096), 0);
  EXPECT_NE(ftruncate(ring.fd(), 12288), 0);
  // F_SEAL_WRITE would let one device prevent the next one from mapping the file.
  EXPECT_NE(fcntl(ring.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_TRUE(RingMemory::FromFile(dup(ring.fd()), 8192, false));
}

TEST(RingMemory, RefusesAFileThatIsTooShortOrMayBecomeSo) {
  const auto ring = RingMemory::Create(8192, false, RingMemory::Pages::kPreferHuge);
  EXPECT_NE(ftruncate(ring.fd(), 0), 0) << "it cannot be truncated";
  EXPECT_FALSE(RingMemory::FromFile(dup(ring.fd()), 12288, false));
  EXPECT_FALSE(RingMemory::FromFile(dup(ring.fd()), 100, false));
  EXPECT_FALSE(RingMemory::FromFile(dup(ring.fd()), 0, false));
  EXPECT_FALSE(RingMemory::FromFile(-1, 8192, false));
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 8192), 0);
  EXPECT_FALSE(RingMemory::FromFile(unsealed, 8192, false));
}

}  // namespace
}  // namespace sluice::bar
