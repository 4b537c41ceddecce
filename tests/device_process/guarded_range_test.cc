// SPDX-License-Identifier: BSD-3-Clause
//
// Tests faults on pages that their file cannot supply, and SIGBUS signals with other causes. main()
// installs the previous handler.
#include "emulator/guarded_range.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <thread>

namespace sluice::emulator {
namespace {

using Loss = GuardedRange::Loss;

constexpr size_t kPage = 4096;
constexpr size_t kPages = 4;

sigjmp_buf back;
volatile sig_atomic_t handed_on = 0;

void Earlier(int) {
  handed_on = handed_on + 1;
  siglongjmp(back, 1);
}

/// Four pages filled with sevens; the file contains only the first one.
class Torn {
 public:
  Torn() {
    const int file = memfd_create("torn", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(file, kPages * kPage), 0);
    void* const area = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT_NE(area, MAP_FAILED);
    bytes = static_cast<volatile uint8_t*>(area);
    for (size_t i = 0; i < kPages * kPage; ++i) bytes[i] = 7;
    EXPECT_EQ(ftruncate(file, kPage), 0);
    close(file);
  }
  ~Torn() { munmap(begin(), kPages * kPage); }
  void* begin() const { return const_cast<uint8_t*>(bytes); }

  volatile uint8_t* bytes;
};

TEST(GuardedRange, ALostPageIsZeroesAndRingsAndTheRestStays) {
  const Torn torn;
  const LossAlarm alarm, silent;
  const GuardedRange guard(torn.begin(), kPages * kPage, Loss::kPage, alarm);
  const GuardedRange other(torn.begin(), kPage, Loss::kPage, silent);
  ASSERT_TRUE(guard);
  EXPECT_EQ(torn.bytes[0], 7);
  EXPECT_FALSE(alarm.Rung());
  EXPECT_EQ(torn.bytes[2 * kPage + 5], 0);
  EXPECT_TRUE(alarm.Rung());
  EXPECT_FALSE(silent.Rung()) << "of another range";
  EXPECT_EQ(torn.bytes[0], 7);
  torn.bytes[2 * kPage] = 9;
  EXPECT_EQ(torn.bytes[2 * kPage], 9);
}

TEST(GuardedRange, ALostRangeIsZeroesThroughout) {
  const Torn torn;
  const LossAlarm first, second;
  const GuardedRange guard(torn.begin(), kPages * kPage, Loss::kRange, first);
  const GuardedRange again(torn.begin(), kPages * kPage, Loss::kRange, second);
  torn.bytes[kPage] = 9;
  EXPECT_EQ(torn.bytes[kPage], 9);
  EXPECT_EQ(torn.bytes[0], 0);
  EXPECT_TRUE(first.Rung());
  EXPECT_TRUE(second.Rung()) << "the owner of the fault is unknown";
}

TEST(GuardedRange, OfAnyThreadAndErrnoStays) {
  const Torn torn;
  const LossAlarm alarm;
  // A range must not start within a page, so the first attempt to replace it fails.
  const GuardedRange guard(const_cast<uint8_t*>(torn.bytes) + 1, kPages * kPage - 1, Loss::kRange,
                           alarm);
  std::thread([&] {
    errno = 1234;
    const uint8_t lost = torn.bytes[3 * kPage];
    const int kept = errno;
    EXPECT_EQ(lost, 0);
    EXPECT_EQ(kept, 1234);
  }).join();
  EXPECT_TRUE(alarm.Rung());
}

TEST(GuardedRange, AnotherSignalGoesToTheHandlerThatWasThereBefore) {
  const Torn torn, guarded;
  const LossAlarm alarm;
  { const GuardedRange former(torn.begin(), kPages * kPage, Loss::kPage, alarm); }
  const GuardedRange guard(guarded.begin(), kPages * kPage, Loss::kPage, alarm);
  handed_on = 0;
  if (sigsetjmp(back, 1) == 0) {
    torn.bytes[kPage] = 1;
    ADD_FAILURE() << "not guarded any more";
  }
  EXPECT_EQ(handed_on, 1);
  if (sigsetjmp(back, 1) == 0) {
    raise(SIGBUS);
    ADD_FAILURE() << "sent, not an access";
  }
  EXPECT_EQ(handed_on, 2);
  EXPECT_FALSE(alarm.Rung());
}

TEST(GuardedRange, WithoutAnAlarmNothingIsGuarded) {
  const LossAlarm alarm;
  EXPECT_FALSE(GuardedRange());
  EXPECT_FALSE(GuardedRange(nullptr, 0, Loss::kPage, alarm));
}

}  // namespace
}  // namespace sluice::emulator

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  signal(SIGBUS, sluice::emulator::Earlier);
  return RUN_ALL_TESTS();
}
