// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a client's maps from the device's point of view: which addresses are reachable, and which
// maps are rejected.
#include "emulator/vfio_user/guest_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client.h"

namespace sluice::emulator::vfio_user {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kArea = GuestMemory::kAreaBytes;
constexpr uint32_t kBoth = kDmaReadable | kDmaWritable;

class Memory : public testing::Test {
 protected:
  const char* Map(uint64_t address, uint64_t bytes, uint64_t offset = 0, uint32_t flags = kBoth) {
    const base::OwnedFd file(dup(file_.fd()));
    return memory_.Map({sizeof(DmaMap), flags, offset, address, bytes}, file);
  }
  const char* Unmap(uint64_t address, uint64_t bytes, uint32_t flags = 0) {
    const DmaUnmap unmap{sizeof(DmaUnmap), flags, address, bytes};
    const char* const wrong = memory_.WhyNotUnmap(unmap);
    if (wrong == nullptr) memory_.Unmap(unmap);
    return wrong;
  }

  test::SharedMemory file_{64 * kPage};
  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  LossAlarm alarm_;
  MessageDma messages_;
  GuestMemory memory_{*dma_, messages_, alarm_};
};

TEST_F(Memory, IsTheFilesPartAtItsAddress) {
  ASSERT_EQ(Map(0, 2 * kPage, 5 * kPage), nullptr) << "a machine's memory begins at 0";
  file_.At(5 * kPage)[3] = 77;
  uint8_t* const found = dma_->Translate(3, 1);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, 77);
  *found = 78;
  EXPECT_EQ(file_.At(5 * kPage)[3], 78);
  EXPECT_EQ(dma_->Translate(2 * kPage, 1), nullptr);
  EXPECT_EQ(dma_->Translate(2 * kPage - 1, 2), nullptr);
}

TEST_F(Memory, AdjacentMapsAreContiguous) {
  // Maps pages as an IOMMU might, in the reverse order of the file.
  for (uint64_t page = 0; page < 8; ++page) {
    ASSERT_EQ(Map((100 + page) * kPage, kPage, (7 - page) * kPage), nullptr);
    std::memset(file_.At((7 - page) * kPage), static_cast<int>(page), kPage);
  }
  uint8_t* const found = dma_->Translate(100 * kPage, 8 * kPage);
  ASSERT_NE(found, nullptr) << "a ring over all of them";
  for (uint64_t page = 0; page < 8; ++page) EXPECT_EQ(found[page * kPage], page);
  EXPECT_EQ(Unmap(103 * kPage, kPage), nullptr);
  EXPECT_EQ(dma_->Translate(100 * kPage, 8 * kPage), nullptr);
  EXPECT_EQ(dma_->Translate(103 * kPage, 1), nullptr);
  EXPECT_EQ(dma_->Translate(100 * kPage, 3 * kPage), found) << "the rest lies where it did";
  EXPECT_EQ(dma_->Translate(104 * kPage, 4 * kPage), found + 4 * kPage);
  EXPECT_EQ(Map(103 * kPage, kPage, 20 * kPage), nullptr);
  EXPECT_EQ(dma_->Translate(100 * kPage, 8 * kPage), found);
}

TEST_F(Memory, MayLieAcrossAreas) {
  ASSERT_EQ(Map(kArea - kPage, 2 * kPage), nullptr);
  EXPECT_NE(dma_->Translate(kArea - 1, 1), nullptr);
  EXPECT_NE(dma_->Translate(kArea, kPage), nullptr);
  EXPECT_EQ(Unmap(kArea - kPage, 2 * kPage), nullptr);
  EXPECT_EQ(dma_->Translate(kArea, 1), nullptr);
}

/// The maps are parts of hugepages, as in the memory of a machine below 1 MiB and with an IOMMU.
TEST_F(Memory, OfHugepagesIsReachedInParts) {
  constexpr uint64_t kHugePage = 2 << 20;
  const base::OwnedFd file(memfd_create("hugepages", MFD_CLOEXEC | MFD_HUGETLB));
  if (file.fd() < 0 || ftruncate(file.fd(), 4 * kHugePage) != 0) {
    GTEST_SKIP() << "this kernel has no hugepages";
  }
  const auto map = [&](uint64_t address, uint64_t bytes, uint64_t offset) {
    return memory_.Map({sizeof(DmaMap), kBoth, offset, address, bytes},
                       base::OwnedFd(dup(file.fd())));
  };
  const void* const probe = mmap(nullptr, 4 * kHugePage, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (probe == MAP_FAILED) GTEST_SKIP() << "needs 4 free hugepages";
  ASSERT_EQ(map(0, 0xa0000, 0), nullptr);
  ASSERT_EQ(map(0x100000, 3 * kHugePage, 0x100000), nullptr);
  EXPECT_EQ(map(0x90000, 0x20000, 0x90000), std::string("maps overlap"));
  ASSERT_EQ(map(uint64_t{7} << 32, kPage, 3 * kHugePage + kPage), nullptr) << "of an IOMMU";
  // Memory between the maps is mapped in this process but not reachable by the device.
  EXPECT_NE(dma_->Translate(0, 0xa0000), nullptr);
  EXPECT_EQ(dma_->Translate(0xa0000, 1), nullptr);
  EXPECT_EQ(dma_->Translate(0xfffff, 2), nullptr);
  uint8_t* const found = dma_->Translate(0x100000, 3 * kHugePage);
  ASSERT_NE(found, nullptr) << "one range, over the borders of hugepages";
  EXPECT_EQ(dma_->Translate(0x100000 + 3 * kHugePage, 1), nullptr);
  uint8_t* const page = dma_->Translate(uint64_t{7} << 32, kPage);
  ASSERT_NE(page, nullptr);
  auto* const guest = static_cast<uint8_t*>(
      mmap(nullptr, 4 * kHugePage, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0));
  ASSERT_NE(guest, MAP_FAILED);
  guest[3 * kHugePage + kPage + 5] = 77;
  EXPECT_EQ(page[5], 77);
  EXPECT_EQ(found[2 * kHugePage + 0x100000 + kPage + 5], 77);
  guest[0x100000] = 78;
  EXPECT_EQ(*found, 78);
  munmap(guest, 4 * kHugePage);
  EXPECT_EQ(Unmap(0x100000, 3 * kHugePage), nullptr);
  EXPECT_EQ(dma_->Translate(0x100000, 1), nullptr);
  EXPECT_EQ(page[5], 77) << "the others stay";
  ASSERT_EQ(map(0x100000, kHugePage, 0x100000), nullptr);
  EXPECT_EQ(Unmap(0, 0, kUnmapAll), nullptr);
  EXPECT_EQ(dma_->Translate(0, 1), nullptr);
  munmap(const_cast<void*>(probe), 4 * kHugePage);
}

TEST_F(Memory, WithoutAFileIsReachedByMessages) {
  ASSERT_EQ(Map(4 * kPage, kPage), nullptr);
  EXPECT_EQ(dma_->remote(), nullptr);
  ASSERT_EQ(memory_.Map({sizeof(DmaMap), kBoth, 0, kPage, 3 * kPage}, base::OwnedFd()), nullptr);
  ASSERT_EQ(dma_->remote(), &messages_);
  uint8_t* const ring = dma_->Translate(kPage, 3 * kPage);
  ASSERT_NE(ring, nullptr);
  EXPECT_TRUE(messages_.Holds(ring));
  uint8_t* const with_file = dma_->Translate(4 * kPage, kPage);
  ASSERT_NE(with_file, nullptr);
  EXPECT_FALSE(messages_.Holds(with_file));
  EXPECT_TRUE(messages_.Ready(with_file, 64)) << "nothing to ask";
  EXPECT_FALSE(messages_.Ready(ring + 8, 64));
  MessageDma::Outgoing outgoing;
  ASSERT_TRUE(messages_.Next(&outgoing));
  EXPECT_EQ(outgoing.header.command, static_cast<uint16_t>(Command::kDmaRead));
  EXPECT_EQ(outgoing.payload, test::Join(DmaAccess{kPage + 8, 64}));
  EXPECT_FALSE(messages_.Next(&outgoing));
  messages_.Stored(ring + 128, 4);
  messages_.Stored(ring + 132, 4);
  messages_.Stored(ring + 128, 4);
  ASSERT_TRUE(messages_.Next(&outgoing));
  EXPECT_EQ(outgoing.payload, test::Join(DmaAccess{kPage + 128, 8}, uint64_t{0})) << "in a row";
  ASSERT_TRUE(messages_.Next(&outgoing));
  EXPECT_EQ(outgoing.payload, test::Join(DmaAccess{kPage + 128, 4}, uint32_t{0}));
  EXPECT_EQ(Unmap(kPage, 3 * kPage), nullptr);
  EXPECT_EQ(dma_->remote(), nullptr);
  EXPECT_EQ(dma_->Translate(kPage, 1), nullptr);
}

TEST_F(Memory, NoAccessIsHalfByMessages) {
  const auto map_without_file = [&](uint64_t page) {
    return memory_.Map({sizeof(DmaMap), kBoth, 0, page * kPage, kPage}, base::OwnedFd());
  };
  // Pages 1 … 6 are accessible by file, messages, messages, file, file and messages, in this order.
  // They are mapped in a different order.
  for (const uint64_t page : {4, 1, 5}) ASSERT_EQ(Map(page * kPage, kPage), nullptr);
  for (const uint64_t page : {3, 6, 2}) ASSERT_EQ(map_without_file(page), nullptr);
  for (const uint64_t border : {2, 4, 6}) {
    EXPECT_EQ(dma_->Translate(border * kPage - 8, 16), nullptr) << border;
  }
  for (const uint64_t border : {3, 5}) {
    uint8_t* const found = dma_->Translate(border * kPage - 8, 16);
    ASSERT_NE(found, nullptr) << border;
    EXPECT_EQ(messages_.Holds(found), border == 3);
    EXPECT_EQ(messages_.Holds(found + 15), border == 3);
  }
  EXPECT_EQ(Unmap(2 * kPage, 2 * kPage), nullptr);
  ASSERT_EQ(Map(2 * kPage, 2 * kPage), nullptr);
  EXPECT_NE(dma_->Translate(kPage, 5 * kPage), nullptr) << "one kind";
}

TEST_F(Memory, AddressesThatComeAndGoUseNothingUp) {
  // The maps are not adjacent, and their number exceeds the maximum number of pieces.
  for (uint64_t i = 0; i < HostMappings::kMaxMappings + 10; ++i) {
    const uint64_t address = 2 * i * kPage;
    ASSERT_EQ(Map(address, kPage), nullptr) << i;
    ASSERT_NE(dma_->Translate(address, kPage), nullptr) << i;
    ASSERT_EQ(Unmap(address, kPage), nullptr) << i;
    ASSERT_EQ(dma_->Translate(address, 1), nullptr) << i;
  }
}

TEST_F(Memory, AsManyMapsAsAreToldFindRoomWhereverTheyLie) {
  // Preloads the function's range and most of the maps, because mapping them one by one would be
  // slow.
  constexpr size_t kOthers = 9000;
  std::vector<bar::DmaSpace::Mapping> others;
  for (uint64_t i = 0; i <= kOthers; ++i) {
    others.push_back({(uint64_t{1} << 62) + 2 * i * kPage, file_.At(0), kPage});
  }
  ASSERT_TRUE(dma_->Replace({}, others));
  // The last map of each area extends into the next area.
  for (uint64_t area = 1; area < GuestMemory::kMaxAreas; ++area) {
    ASSERT_EQ(Map(area * kArea - kPage, 2 * kPage), nullptr);
  }
  for (uint64_t i = kOthers + GuestMemory::kMaxAreas - 1; i < GuestMemory::kMapsAnywhere; ++i) {
    ASSERT_EQ(Map(2 * i * kPage, kPage), nullptr) << i;
  }
  for (const uint64_t i : {uint64_t{9500}, GuestMemory::kMapsAnywhere - 1}) {
    ASSERT_EQ(Unmap(2 * i * kPage, kPage), nullptr);
    ASSERT_EQ(Map(2 * i * kPage, kPage), nullptr);
  }
}

TEST_F(Memory, MoreMapsFindRoomWhereTheyAreAdjacent) {
  for (uint64_t i = 0; i < GuestMemory::kMaxMaps; ++i) {
    ASSERT_EQ(Map(i * kPage, kPage), nullptr) << i;
  }
  EXPECT_NE(Map(GuestMemory::kMaxMaps * kPage, kPage), nullptr) << "too many";
  EXPECT_NE(dma_->Translate(0, GuestMemory::kMaxMaps * kPage), nullptr);
  ASSERT_EQ(Unmap(5 * kPage, kPage), nullptr);
  EXPECT_EQ(Map(GuestMemory::kMaxMaps * kPage, kPage), nullptr);
  EXPECT_EQ(Unmap(0, 0, kUnmapAll), nullptr);
  EXPECT_EQ(Map(5 * kPage, kPage), nullptr);
}

TEST_F(Memory, WithoutRightsIsOutOfReach) {
  ASSERT_EQ(Map(kPage, kPage, 0, kDmaReadable), nullptr);
  ASSERT_EQ(Map(2 * kPage, kPage, 0, kDmaWritable), nullptr);
  ASSERT_EQ(memory_.Map({sizeof(DmaMap), kDmaReadable, 0, 3 * kPage, kPage}, base::OwnedFd()),
            nullptr);
  for (const uint64_t page : {1, 2, 3}) EXPECT_EQ(dma_->Translate(page * kPage, 1), nullptr);
  EXPECT_NE(Map(kPage, kPage), nullptr) << "but it is a map";
  EXPECT_EQ(Unmap(kPage, 3 * kPage), nullptr) << "several maps at once";
  EXPECT_EQ(Map(kPage, 3 * kPage), nullptr);
}

TEST_F(Memory, WhatMakesNoMapIsRefusedWithoutEffect) {
  ASSERT_EQ(Map(16 * kPage, 4 * kPage), nullptr);
  const struct {
    uint64_t address, bytes, offset;
  } kRows[] = {{kPage, 0, 0},
               {kPage + 1, kPage, 0},
               {kPage, kPage + 1, 0},
               {kPage, kPage, 1},
               {100 * kPage, 65 * kPage, 0},
               {100 * kPage, kPage, 64 * kPage},
               {kPage, kPage, ~uint64_t{0} - kPage + 1},
               {~uint64_t{0} - kPage + 1, kPage, 0},
               {~uint64_t{0} - kPage + 1, 2 * kPage, 0},
               {kPage, ~uint64_t{0} - kPage + 1, 0},
               {uint64_t{1} << 57, kPage, 0},
               {16 * kPage, 4 * kPage, 0},
               {15 * kPage, 2 * kPage, 0},
               {19 * kPage, kPage, 0},
               {0, 64 * kPage, 0},
               {17 * kPage, kPage, 0}};
  for (const auto& row : kRows) {
    EXPECT_NE(Map(row.address, row.bytes, row.offset), nullptr)
        << row.address << ' ' << row.bytes << ' ' << row.offset;
  }
  EXPECT_NE(dma_->Translate(16 * kPage, 4 * kPage), nullptr);
  EXPECT_EQ(dma_->Translate(kPage, 1), nullptr);
  EXPECT_EQ(Map(kPage, kPage), nullptr) << "what was refused there is not in the way";
}

TEST_F(Memory, FilesThatAreNotInMemoryAreRefused) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const base::OwnedFd pipe_end(ends[0]), other_end(ends[1]);
  EXPECT_NE(memory_.Map({sizeof(DmaMap), kBoth, 0, kPage, kPage}, pipe_end), nullptr);
  const base::OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_NE(memory_.Map({sizeof(DmaMap), kBoth, 0, kPage, kPage}, null), nullptr);
  EXPECT_EQ(Map(kPage, kPage), nullptr) << "no map is left of them";
}

TEST_F(Memory, TooFarApartIsRefused) {
  for (uint64_t area = 0; area < GuestMemory::kMaxAreas; ++area) {
    ASSERT_EQ(Map(area * kArea, kPage), nullptr) << area;
  }
  EXPECT_NE(Map(GuestMemory::kMaxAreas * kArea, kPage), nullptr);
  EXPECT_EQ(Map(3 * kArea + kPage, kPage), nullptr) << "among the others there is room";
}

TEST_F(Memory, IsUnmappedWholeOrNotAtAll) {
  ASSERT_EQ(Map(16 * kPage, 4 * kPage), nullptr);
  ASSERT_EQ(Map(20 * kPage, 4 * kPage, 4 * kPage), nullptr);
  EXPECT_NE(Unmap(16 * kPage, kPage), nullptr);
  EXPECT_NE(Unmap(17 * kPage, 3 * kPage), nullptr);
  EXPECT_NE(Unmap(16 * kPage, 6 * kPage), nullptr);
  EXPECT_NE(Unmap(0, 0), nullptr);
  EXPECT_NE(Unmap(kPage, kPage, kUnmapAll), nullptr);
  EXPECT_NE(dma_->Translate(16 * kPage, 8 * kPage), nullptr);
  EXPECT_EQ(Unmap(100 * kPage, kPage), nullptr) << "nothing is there to go";
  EXPECT_EQ(Unmap(0, 0, kUnmapAll), nullptr);
  EXPECT_EQ(dma_->Translate(16 * kPage, 1), nullptr);
  EXPECT_EQ(Map(16 * kPage, 8 * kPage), nullptr);
}

TEST_F(Memory, APageThatIsGoneRingsTheAlarm) {
  ASSERT_EQ(Map(0, 64 * kPage), nullptr);
  uint8_t* const found = dma_->Translate(32 * kPage, 1);
  ASSERT_EQ(ftruncate(file_.fd(), 0), 0);
  EXPECT_FALSE(alarm_.Rung());
  *const_cast<volatile uint8_t*>(found) = 1;
  EXPECT_TRUE(alarm_.Rung());
}

}  // namespace
}  // namespace sluice::emulator::vfio_user
