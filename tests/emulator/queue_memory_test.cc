// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that register queues are mapped at addresses that are also free in another process.
#include "emulator/queue_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace sluice::emulator {
namespace {

uint64_t AddressOf(const bar::RingMemory& memory) {
  return reinterpret_cast<uint64_t>(memory.data());
}
bool IsIn(const bar::RingMemory& memory, uint64_t area) {
  const uint64_t address = AddressOf(memory);
  return address >= area && address < area + kQueuePlaces * kQueueSpacing;
}

/// A range of address space that is already in use.
class Taken {
 public:
  explicit Taken(uint64_t begin)
      : area_(mmap(reinterpret_cast<void*>(begin), kBytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)) {
    EXPECT_EQ(reinterpret_cast<uint64_t>(area_), begin);
  }
  ~Taken() { munmap(area_, kBytes); }

 private:
  static constexpr size_t kBytes = kQueuePlaces * kQueueSpacing;
  void* const area_;
};

class QueuePlaces : public testing::Test {
#ifdef __SANITIZE_THREAD__
  void SetUp() override { GTEST_SKIP() << "ThreadSanitizer keeps that address space for itself"; }
#endif
};

TEST_F(QueuePlaces, AreFixedAndEachQueuesOwn) {
  bar::PostedQueue *first = nullptr, *second = nullptr;
  const bar::RingMemory one = CreateQueue(&first), two = CreateQueue(&second);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(AddressOf(one), kQueueAreas[0]);
  EXPECT_EQ(AddressOf(two), kQueueAreas[0] + kQueueSpacing);
}

TEST_F(QueuePlaces, MoveToAnAreaThatNobodyHas) {
  const Taken memory_of_eal(kQueueAreas[0]);
  bar::PostedQueue* queue = nullptr;
  {
    const bar::RingMemory memory = CreateQueue(&queue);
    ASSERT_NE(queue, nullptr);
    EXPECT_TRUE(IsIn(memory, kQueueAreas[1]));
  }
  const Taken second(kQueueAreas[1]), third(kQueueAreas[2]);
  const bar::RingMemory memory = CreateQueue(&queue);
  EXPECT_NE(queue, nullptr) << "anywhere, for this process alone";
}

TEST_F(QueuePlaces, OfAnotherProcessAreNotReplaced) {
  bar::PostedQueue* queue = nullptr;
  bar::RingMemory memory = CreateQueue(&queue);
  ASSERT_NE(queue, nullptr);
  void* const place = memory.data();
  const int file = dup(memory.fd());
  EXPECT_FALSE(bar::RingMemory::FromFile(dup(file), QueueBytes(), false, place)) << "it is there";
  memory = {};
  const bar::RingMemory again = bar::RingMemory::FromFile(file, QueueBytes(), false, place);
  EXPECT_EQ(static_cast<void*>(again.data()), place);
}

}  // namespace
}  // namespace sluice::emulator
