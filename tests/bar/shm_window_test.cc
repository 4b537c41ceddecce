// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a window in shared memory. Each side sees complete lines of the other side, in one process
// or in two. Attach rejects memory that another process corrupted.
#include "bar/shm_window.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "bar/ring_memory.h"

namespace sluice::bar {
namespace {

constexpr size_t kPage = 4096;

Line CountingFrom(uint64_t number) {
  Line line;
  for (uint64_t i = 0; i < line.word.size(); ++i) line.word[i] = number + i;
  return line;
}

TEST(ShmWindow, LinesOfAPairAreIndependentRegisters) {
  ShmWindow host = ShmWindow::Create(4, WindowSide::kHost);
  ASSERT_TRUE(host);
  ShmWindow nic = host.Peer();
  EXPECT_EQ(host.lines(), 4u);
  EXPECT_EQ(nic.lines(), 4u);
  host.Post(2, CountingFrom(100));
  nic.Post(2, CountingFrom(200));
  Line seen;
  ASSERT_TRUE(nic.Poll(2, seen));
  EXPECT_EQ(seen, CountingFrom(100));
  ASSERT_TRUE(host.Poll(2, seen));
  EXPECT_EQ(seen, CountingFrom(200));
  EXPECT_EQ(host.Peek(2), 200u);
  EXPECT_EQ(nic.ReadUncached(2, 7), 107u);
  for (const uint32_t other : {0u, 1u, 3u}) {
    ASSERT_TRUE(nic.Poll(other, seen));
    EXPECT_EQ(seen, Line{});
  }
}

TEST(ShmWindow, ANewerLineReplacesTheOlder) {
  ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  host.Post(0, CountingFrom(1));
  host.Post(0, CountingFrom(2));
  Line seen;
  ASSERT_TRUE(host.Peer().Poll(0, seen));
  EXPECT_EQ(seen, CountingFrom(2));
}

TEST(ShmWindow, SaysWhatSharedMemoryCanDo) {
  const ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  EXPECT_EQ(host.capabilities(),
            uint32_t{kWindowLineAtomic | kWindowNicStoresHost | kWindowCoherent | kWindowModelled});
}

TEST(ShmWindow, NoValidLineBeginsWithAllOnes) {
  ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  Line dead;
  dead.word.fill(~uint64_t{0});
  host.Post(0, dead);
  Line seen;
  EXPECT_FALSE(host.Peer().Poll(0, seen));
  EXPECT_EQ(host.Peer().Peek(0), ~uint64_t{0});
}

TEST(ShmWindow, OutlivesTheSideThatMadeIt) {
  ShmWindow nic;
  {
    ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
    ASSERT_TRUE(host);
    host.Post(0, CountingFrom(9));
    nic = host.Peer();
  }
  EXPECT_EQ(nic.Peek(0), 9u);
}

TEST(ShmWindow, AnotherProcessAttaches) {
  ShmWindow host = ShmWindow::Create(2, WindowSide::kHost);
  ASSERT_TRUE(host);
  host.Post(1, CountingFrom(41));
  const pid_t child = fork();
  if (child == 0) {
    ShmWindow nic = ShmWindow::Attach(host.fd(), WindowSide::kNic);
    Line line;
    if (!nic || !nic.Poll(1, line)) _exit(1);
    ++line.word[0];
    nic.Post(1, line);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Line answer;
  ASSERT_TRUE(host.Poll(1, answer));
  EXPECT_EQ(answer.word[0], 42u);
  EXPECT_EQ(answer.word[7], 48u);
}

TEST(ShmWindow, LivesInMemoryOfTheCaller) {
  const RingMemory memory = RingMemory::Create(kPage, true, RingMemory::Pages::kPreferHuge);
  ASSERT_TRUE(memory);
  std::memset(memory.data(), 0xff, kPage);  // CreateIn must clear old contents.
  ShmWindow host = ShmWindow::CreateIn(memory.data(), kPage, 3, WindowSide::kHost);
  ASSERT_TRUE(host);
  EXPECT_EQ(host.fd(), -1);
  // The second mapping of the same pages, as in another process.
  ShmWindow nic = ShmWindow::AttachIn(memory.data() + kPage, kPage, WindowSide::kNic);
  ASSERT_TRUE(nic);
  Line seen;
  ASSERT_TRUE(nic.Poll(2, seen));
  EXPECT_EQ(seen, Line{});
  nic.Post(0, CountingFrom(5));
  ASSERT_TRUE(host.Poll(0, seen));
  EXPECT_EQ(seen, CountingFrom(5));
}

TEST(ShmWindow, RefusesSizesThatDoNotFit) {
  alignas(kPage) static uint8_t memory[kPage];
  for (const uint32_t lines : {0u, kMaxWindowLines + 1}) {
    errno = 0;
    EXPECT_FALSE(ShmWindow::Create(lines, WindowSide::kHost));
    EXPECT_EQ(errno, EINVAL);
  }
  errno = 0;
  EXPECT_FALSE(ShmWindow::CreateIn(memory, ShmWindow::BytesNeeded(4) - 1, 4, WindowSide::kHost));
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_FALSE(ShmWindow::CreateIn(memory + 8, ShmWindow::BytesNeeded(1), 1, WindowSide::kHost));
  EXPECT_EQ(errno, EINVAL);
}

// The creator of the memory may be hostile: Attach rejects each inconsistent field and accesses
// nothing outside the memory.
TEST(ShmWindow, RefusesMemoryThatHoldsNoWindow) {
  alignas(kPage) static uint8_t memory[kPage];
  const size_t bytes = ShmWindow::BytesNeeded(4);
  struct Damage {
    const char* what;
    size_t offset;
    uint32_t value;
  };
  const std::vector<Damage> damages = {
      {"magic", 0, 0},
      {"magic, upper half", 4, 0x1234},
      {"version", 8, 99},
      {"no lines", 12, 0},
      {"more lines than the memory", 12, 5},
      {"more lines than a window", 12, kMaxWindowLines + 1},
      {"lines whose bytes overflow 32 bits", 12, 0xffff'ffff},
  };
  for (const Damage& damage : damages) {
    ASSERT_TRUE(ShmWindow::CreateIn(memory, bytes, 4, WindowSide::kHost));
    ASSERT_TRUE(ShmWindow::AttachIn(memory, bytes, WindowSide::kNic));
    std::memcpy(memory + damage.offset, &damage.value, sizeof(damage.value));
    errno = 0;
    EXPECT_FALSE(ShmWindow::AttachIn(memory, bytes, WindowSide::kNic)) << damage.what;
    EXPECT_EQ(errno, EPROTO) << damage.what;
  }
  EXPECT_FALSE(ShmWindow::AttachIn(memory, 64, WindowSide::kNic));
}

TEST(ShmWindow, RefusesFilesThatHoldNoWindow) {
  const ShmWindow window = ShmWindow::Create(64, WindowSide::kHost);
  ASSERT_TRUE(window);
  errno = 0;
  EXPECT_FALSE(ShmWindow::Attach(-1, WindowSide::kNic));
  EXPECT_EQ(errno, EBADF);
  const int empty = memfd_create("empty", MFD_CLOEXEC);
  EXPECT_FALSE(ShmWindow::Attach(empty, WindowSide::kNic));
  EXPECT_EQ(errno, EPROTO);
  // The file is truncated before Attach: its header states more lines than the file contains.
  std::vector<uint8_t> start(kPage);
  ASSERT_EQ(pread(window.fd(), start.data(), kPage, 0), static_cast<ssize_t>(kPage));
  ASSERT_EQ(pwrite(empty, start.data(), kPage, 0), static_cast<ssize_t>(kPage));
  EXPECT_FALSE(ShmWindow::Attach(empty, WindowSide::kNic));
  EXPECT_EQ(errno, EPROTO);
  close(empty);
}

TEST(ShmWindow, LineCountIsBelievedOnce) {
  alignas(kPage) static uint8_t memory[kPage];
  ASSERT_TRUE(ShmWindow::CreateIn(memory, kPage, 4, WindowSide::kHost));
  const ShmWindow nic = ShmWindow::AttachIn(memory, kPage, WindowSide::kNic);
  ASSERT_TRUE(nic);
  const uint32_t many = 4096;
  std::memcpy(memory + 12, &many, sizeof(many));
  EXPECT_EQ(nic.lines(), 4u);
}

// Ping-pong: each answer proves that the responder saw the whole question.
TEST(ShmWindowConcurrent, PingPongIsNeverTorn) {
  constexpr uint64_t kRounds = 2'000;
  ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  std::thread responder([nic = host.Peer()]() mutable {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      while (nic.Peek(0) != 8 * round) std::this_thread::yield();
      Line line;
      EXPECT_TRUE(nic.Poll(0, line));
      EXPECT_EQ(line, CountingFrom(8 * round));
      line.word[7] += round;
      nic.Post(0, line);
    }
  });
  uint64_t torn = 0;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    host.Post(0, CountingFrom(8 * round));
    while (host.Peek(0) != 8 * round) std::this_thread::yield();
    Line line;
    host.Poll(0, line);
    torn += line.word[7] != 9 * round + 7;
  }
  responder.join();
  EXPECT_EQ(torn, 0u);
}

// The writer does not wait for the reader, like a writer that lost its state. If words 0 and 1 of a
// read line match, all other words must belong to the same line.
TEST(ShmWindowConcurrent, NothingNewIsSeenBesideAnOldWordOne) {
  constexpr uint64_t kLines = 300'000;
  ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  const auto line_of = [](uint64_t number) {
    Line line;
    line.word.fill(number);
    return line;
  };
  std::thread writer([&] {
    for (uint64_t number = 1; number <= kLines; ++number) host.Post(0, line_of(number));
  });
  const ShmWindow nic = host.Peer();
  uint64_t mixed = 0, looks = 0;
  for (Line line; line.word[0] != kLines; ++looks) {
    if (!nic.Poll(0, line)) line.word[0] = 0;
    mixed += line.word[1] == line.word[0] && line != line_of(line.word[0]);
  }
  writer.join();
  EXPECT_EQ(mixed, 0u) << "of " << looks;
}

// The threads access words 1 … 7 of a line, and the variable `plain`, without a lock.
// ThreadSanitizer checks that word 0 orders these accesses.
TEST(ShmWindowConcurrent, WordZeroOrdersOtherMemory) {
  constexpr uint64_t kRounds = 2'000;
  ShmWindow host = ShmWindow::Create(1, WindowSide::kHost);
  ASSERT_TRUE(host);
  uint64_t plain = 0;
  std::thread other([nic = host.Peer(), &plain]() mutable {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      while (nic.Peek(0) != round) std::this_thread::yield();
      plain += 1;
      nic.Post(0, CountingFrom(round));
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    plain += 1;
    host.Post(0, CountingFrom(round));
    while (host.Peek(0) != round) std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(plain, 2 * kRounds);
}

}  // namespace
}  // namespace sluice::bar
