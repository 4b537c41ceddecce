// SPDX-License-Identifier: BSD-3-Clause
//
// Tests host memory as mapped by the device process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "bar/ring_memory.h"
#include "emulator/channel.h"
#include "emulator/host_mappings.h"
#include "liar.h"

namespace sluice::emulator {
namespace {

constexpr uint64_t kMappedPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kArea = uint64_t{7} << 32;
constexpr uint64_t kAreaBytes = 64 * kMappedPage;

/// Returns a file of `pages` pages, each filled with its number plus `first`.
base::OwnedFd Numbered(int pages, uint8_t first) {
  base::OwnedFd file(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::string bytes;
  for (int i = 0; i < pages; ++i) bytes += std::string(kMappedPage, static_cast<char>(first + i));
  EXPECT_EQ(write(file.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return file;
}

class Mappings : public testing::Test {
 protected:
  const char* Add(uint64_t page, uint64_t pages, uint64_t offset_pages, int file) {
    return mappings_.AddMemory({kArea + page * kMappedPage, pages * kMappedPage,
                                offset_pages * kMappedPage, kArea, kAreaBytes},
                               file);
  }
  const uint8_t* At(uint64_t page, uint64_t pages) {
    return dma_->Translate(kArea + page * kMappedPage, pages * kMappedPage);
  }

  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  LossAlarm alarm_;
  HostMappings mappings_{*dma_, alarm_};
};

TEST_F(Mappings, PiecesOfSeveralFilesAreAsContiguousAsInTheHost) {
  const base::OwnedFd a = Numbered(4, 10), b = Numbered(4, 20);
  ASSERT_EQ(Add(8, 2, 1, b.fd()), nullptr);
  ASSERT_EQ(Add(6, 2, 2, a.fd()), nullptr);
  const uint8_t* const four = At(6, 4);
  ASSERT_NE(four, nullptr);
  for (uint64_t page = 0; page < 4; ++page) {
    EXPECT_EQ(four[page * kMappedPage], (std::array<uint8_t, 4>{12, 13, 21, 22})[page]);
  }
  EXPECT_EQ(At(5, 1), nullptr);
  EXPECT_EQ(At(9, 2), nullptr) << "nothing behind the last";
  const uint64_t host = reinterpret_cast<uint64_t>(four);
  EXPECT_EQ(host % (1 << 30), (kArea + 6 * kMappedPage) % (1 << 30)) << "hugepages would fit";
}

TEST_F(Mappings, WhatIsTakenBackIsUnreachableAndNoTrap) {
  const base::OwnedFd a = Numbered(4, 10);
  ASSERT_EQ(Add(0, 4, 0, a.fd()), nullptr);
  const uint8_t* const kept = At(0, 4);
  ASSERT_NE(kept, nullptr);
  ASSERT_EQ(mappings_.RemoveMemory(kArea + kMappedPage, 2 * kMappedPage), nullptr);
  EXPECT_EQ(At(0, 2), nullptr);
  EXPECT_NE(At(0, 1), nullptr);
  EXPECT_NE(At(3, 1), nullptr);
  EXPECT_EQ(kept[kMappedPage], 0) << "a device that looks there all the same sees zeroes";
  EXPECT_EQ(kept[3 * kMappedPage], 13);
  ASSERT_EQ(Add(1, 2, 0, a.fd()), nullptr);
  EXPECT_EQ(At(0, 4), kept);
  EXPECT_EQ(kept[kMappedPage], 10);
}

TEST_F(Mappings, AFileThatIsCutOffLeavesZeroesAndNoTrap) {
  const base::OwnedFd a = Numbered(4, 10);
  ASSERT_EQ(Add(0, 4, 0, a.fd()), nullptr);
  volatile const uint8_t* const seen = At(0, 4);
  EXPECT_EQ(seen[0], 10);
  ASSERT_EQ(ftruncate(a.fd(), kMappedPage), 0);
  EXPECT_EQ(seen[0], 10);
  EXPECT_EQ(seen[2 * kMappedPage], 0);
  EXPECT_EQ(seen[4 * kMappedPage - 1], 0);
}

TEST_F(Mappings, ARingIsTheHostsUntilItIsTakenBack) {
  const auto ring =
      bar::RingMemory::Create(4 * kMappedPage, true, bar::RingMemory::Pages::kPreferHuge);
  constexpr uint64_t kBus = uint64_t{9} << 32;
  ASSERT_EQ(mappings_.AddRing(kBus, ring.bytes(), ring.fd()), nullptr);
  uint8_t* const seen = dma_->Translate(kBus, ring.bytes());
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(dma_->Translate(kBus, ring.bytes() + 1), nullptr);
  seen[5] = 55;
  EXPECT_EQ(ring.data()[ring.bytes() + 5], 55);
  EXPECT_NE(mappings_.AddRing(kBus + kMappedPage, kMappedPage, ring.fd()), nullptr) << "overlaps";
  ASSERT_EQ(mappings_.RemoveRing(kBus), nullptr);
  EXPECT_EQ(dma_->Translate(kBus, 1), nullptr);
  EXPECT_EQ(seen[5], 0);
  EXPECT_EQ(ring.data()[5], 55);
  EXPECT_NE(mappings_.RemoveRing(kBus), nullptr);
  // Repeatedly adding and removing rings must not use additional address space.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(mappings_.AddRing(kBus, ring.bytes(), ring.fd()), nullptr);
    EXPECT_EQ(dma_->Translate(kBus, 1), seen);
    ASSERT_EQ(mappings_.RemoveRing(kBus), nullptr);
  }
}

TEST_F(Mappings, ExternalMemoryIsAnyPartOfAFileUntilItIsTakenBack) {
  constexpr uint64_t kBus = uint64_t{9} << 32;
  const base::OwnedFd file = Numbered(6, 40);  // The file is not sealed.
  EXPECT_NE(mappings_.AddRing(kBus, 2 * kMappedPage, file.fd()), nullptr) << "as rings must be";
  ASSERT_EQ(mappings_.AddExternal(kBus, 2 * kMappedPage, 3 * kMappedPage, file.fd()), nullptr);
  const uint8_t* const seen = dma_->Translate(kBus, 2 * kMappedPage);
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen[0], 43);
  EXPECT_EQ(seen[2 * kMappedPage - 1], 44);
  EXPECT_EQ(dma_->Translate(kBus, 2 * kMappedPage + 1), nullptr);
  EXPECT_NE(mappings_.AddExternal(kBus + kMappedPage, kMappedPage, 0, file.fd()), nullptr)
      << "overlaps";
  for (const auto& [offset, bytes] : {std::pair{5u, 2u}, {6u, 1u}, {7u, 1u}}) {
    EXPECT_NE(mappings_.AddExternal(2 * kBus, bytes * kMappedPage, offset * kMappedPage, file.fd()),
              nullptr)
        << "behind the file's end";
  }
  EXPECT_NE(mappings_.AddExternal(2 * kBus, kMappedPage, 1, file.fd()), nullptr) << "no page";
  ASSERT_EQ(mappings_.RemoveRing(kBus), nullptr);
  EXPECT_EQ(dma_->Translate(kBus, 1), nullptr);
  EXPECT_EQ(seen[0], 0);
}

/// Returns the number of mappings that the kernel has for this process.
size_t KernelMappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

TEST_F(Mappings, WhatIsAnnouncedTwiceIsRefusedAndTheFirstStays) {
  const base::OwnedFd a = Numbered(4, 10), huge = UnmappableMemfd();
  ASSERT_EQ(Add(0, 4, 0, a.fd()), nullptr);
  const uint8_t* const seen = At(0, 4);
  ASSERT_NE(seen, nullptr);
  EXPECT_NE(Add(2, 512, 0, huge.fd()), nullptr);
  EXPECT_NE(Add(0, 4, 0, a.fd()), nullptr);
  EXPECT_NE(Add(3, 1, 0, a.fd()), nullptr);
  EXPECT_EQ(seen[3 * kMappedPage], 13);

  constexpr uint64_t kBus = uint64_t{9} << 32;
  const auto ring =
      bar::RingMemory::Create(kMappedPage, false, bar::RingMemory::Pages::kPreferHuge);
  ring.data()[5] = 55;
  ASSERT_EQ(mappings_.AddRing(kBus, kMappedPage, ring.fd()), nullptr);
  EXPECT_NE(mappings_.AddRing(kBus, kHugePage, huge.fd()), nullptr);
  ASSERT_NE(dma_->Translate(kBus, kMappedPage), nullptr);
  EXPECT_EQ(dma_->Translate(kBus, kMappedPage)[5], 55);
}

TEST_F(Mappings, AFileThatCannotBeMappedLeavesZeroesAndNoHole) {
  const base::OwnedFd a = Numbered(4, 10), huge = UnmappableMemfd();
  ASSERT_EQ(mappings_.AddMemory({kArea, 4 * kMappedPage, 0, kArea, kHugePage}, a.fd()), nullptr);
  const uint8_t* const seen = At(0, 4);
  ASSERT_EQ(mappings_.RemoveMemory(kArea, 4 * kMappedPage), nullptr);
  EXPECT_NE(mappings_.AddMemory({kArea, kHugePage, 0, kArea, kHugePage}, huge.fd()), nullptr);
  EXPECT_EQ(seen[3 * kMappedPage], 0) << "a device that was not notified yet";

  constexpr uint64_t kBus = uint64_t{9} << 32;
  const auto ring =
      bar::RingMemory::Create(kMappedPage, false, bar::RingMemory::Pages::kPreferHuge);
  ASSERT_EQ(mappings_.AddRing(kBus, kMappedPage, ring.fd()), nullptr);
  const uint8_t* const former = dma_->Translate(kBus, kMappedPage);
  ASSERT_EQ(mappings_.RemoveRing(kBus), nullptr);
  EXPECT_NE(mappings_.AddRing(kBus, kHugePage, huge.fd()), nullptr);
  EXPECT_EQ(former[0], 0);
  EXPECT_EQ(dma_->Translate(kBus, 1), nullptr);
  EXPECT_FALSE(alarm_.Rung());
}

TEST_F(Mappings, RingsOfEverySizeThatComeAndGoLeaveNothingBehind) {
  const base::OwnedFd file = Memfd(uint64_t{3000} * kMappedPage, true);
  constexpr uint64_t kBus = uint64_t{9} << 32;
  const size_t before = KernelMappings();
  for (uint64_t pages = 1; pages <= 3000; ++pages) {
    ASSERT_EQ(mappings_.AddRing(kBus, pages * kMappedPage, file.fd()), nullptr);
    ASSERT_EQ(mappings_.RemoveRing(kBus), nullptr);
  }
  EXPECT_LT(KernelMappings(), before + 20);
}

TEST_F(Mappings, MemoryInTooManyPiecesIsRefused) {
  // Maps the pages of one file repeatedly, so that each piece needs a separate mapping.
  constexpr uint64_t kPieceBytes = 3 * kMappedPage;
  const base::OwnedFd file = Memfd(kPieceBytes, false);
  constexpr uint64_t kBytes = 2 * HostMappings::kMaxMappings * kPieceBytes;
  const size_t before = KernelMappings();
  const auto refused = [&](auto act) {
    const char* wrong = nullptr;
    for (uint64_t at = 0; at < kBytes && wrong == nullptr; at += kPieceBytes) {
      wrong = act(kArea + at);
    }
    EXPECT_NE(std::string(wrong != nullptr ? wrong : "").find("too many"), std::string::npos);
    EXPECT_LT(KernelMappings() - before, 2 * HostMappings::kMaxMappings + 100);
  };
  const auto add = [&](uint64_t bus) {
    return mappings_.AddMemory({bus, kPieceBytes, 0, kArea, kBytes}, file.fd());
  };
  refused(add);
  refused([&](uint64_t bus) { return mappings_.RemoveMemory(bus + kMappedPage, kMappedPage); });
  for (uint64_t i = 1; i < 200; i += 2) {
    ASSERT_EQ(mappings_.RemoveMemory(kArea + i * kPieceBytes, kPieceBytes), nullptr)
        << "pieces as they were added";
  }
  EXPECT_LT(KernelMappings(), 65'000u) << "there is room for everybody else";
  EXPECT_NE(add(kArea + kPieceBytes), nullptr) << "former pieces count, too";
  mappings_.ForgetFormer();
  EXPECT_EQ(add(kArea + kPieceBytes), nullptr);
}

TEST_F(Mappings, WhatWasNeverThereIsNotTakenBack) {
  const base::OwnedFd a = Numbered(4, 10);
  ASSERT_EQ(Add(0, 4, 0, a.fd()), nullptr);
  const size_t before = KernelMappings();
  for (uint64_t page = 6; page < 60; page += 2) {
    EXPECT_NE(mappings_.RemoveMemory(kArea + page * kMappedPage, kMappedPage), nullptr);
  }
  EXPECT_EQ(KernelMappings(), before);
}

TEST_F(Mappings, FormerMemoryThatIsForgottenLeavesNothingBehind) {
  const base::OwnedFd a = Numbered(4, 10);
  ASSERT_EQ(Add(20, 4, 0, a.fd()), nullptr);
  const uint8_t* const kept = At(20, 4);
  const size_t before = KernelMappings();
  for (uint64_t page = 0; page < 16; page += 2) ASSERT_EQ(Add(page, 1, 0, a.fd()), nullptr);
  for (uint64_t page = 0; page < 16; page += 2) {
    ASSERT_EQ(mappings_.RemoveMemory(kArea + page * kMappedPage, kMappedPage), nullptr);
  }
  mappings_.ForgetFormer();
  EXPECT_EQ(KernelMappings(), before);
  EXPECT_EQ(At(20, 4), kept);
  EXPECT_EQ(kept[0], 10);
  ASSERT_EQ(Add(19, 1, 3, a.fd()), nullptr);
  EXPECT_EQ(At(19, 5), kept - kMappedPage) << "what comes lies where it would have";
  EXPECT_EQ(*At(19, 1), 13);
}

TEST_F(Mappings, APageOfARingThatIsGoneIsZeroesAndRings) {
  const auto ring =
      bar::RingMemory::Create(4 * kMappedPage, false, bar::RingMemory::Pages::kPreferHuge);
  constexpr uint64_t kBus = uint64_t{9} << 32;
  ASSERT_EQ(mappings_.AddRing(kBus, ring.bytes(), ring.fd()), nullptr);
  ring.data()[0] = 55;
  uint8_t* const seen = dma_->Translate(kBus, ring.bytes());
  ASSERT_NE(seen, nullptr);
  // Simulates a hole in a huge-page file while no huge page is free.
  const base::OwnedFd empty = Memfd(0, false);
  ASSERT_NE(mmap(seen + kMappedPage, kMappedPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 empty.fd(), 0),
            MAP_FAILED);
  EXPECT_EQ(*const_cast<volatile uint8_t*>(seen + kMappedPage), 0);
  EXPECT_TRUE(alarm_.Rung());
  EXPECT_EQ(*const_cast<volatile uint8_t*>(seen), 0) << "the host's memory is used no more";
}

TEST_F(Mappings, AHoleInARingOfHugePagesWhereNoneIsFreeIsZeroesAndRings) {
  const auto ring = bar::RingMemory::Create(kHugePage, false, bar::RingMemory::Pages::kHuge);
  if (!ring) GTEST_SKIP() << "needs a free hugepage";
  constexpr uint64_t kBus = uint64_t{9} << 32;
  ASSERT_EQ(mappings_.AddRing(kBus, ring.bytes(), ring.fd()), nullptr);
  ring.data()[9] = 55;
  auto* const seen = const_cast<volatile uint8_t*>(dma_->Translate(kBus, ring.bytes()));
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen[9], 55);
  ASSERT_EQ(fallocate(ring.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kHugePage), 0);
  std::vector<bar::RingMemory> all;  // Allocates all huge pages, including the page of the hole.
  do {
    all.push_back(bar::RingMemory::Create(kHugePage, false, bar::RingMemory::Pages::kHuge));
  } while (all.back());
  EXPECT_EQ(seen[9], 0);
  EXPECT_TRUE(alarm_.Rung());
}

TEST_F(Mappings, AFileOnADiskIsRefused) {
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  struct statfs system {};
  ASSERT_EQ(fstatfs(fileno(file), &system), 0);
  ASSERT_EQ(ftruncate(fileno(file), kAreaBytes), 0);
  if (system.f_type != TMPFS_MAGIC) {
    const char* const wrong = Add(0, 4, 0, fileno(file));
    ASSERT_NE(wrong, nullptr);
    EXPECT_NE(std::string(wrong).find("memfd"), std::string::npos) << wrong;
  }
  std::fclose(file);
}

}  // namespace
}  // namespace sluice::emulator
