// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the host side of a window in a BAR. A file emulates the BAR and a thread emulates the
// device: it stores words in any order, tears lines and disappears.
#include "bar/pci_window.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>

#include "bar/line_check.h"

namespace sluice::bar {
namespace {

Line Numbered(uint64_t number) {
  Line line;
  for (uint64_t i = 0; i < line.word.size(); ++i) line.word[i] = number * 1000 + i;
  line.word[7] &= 0xffff'ffff;
  return line;
}

TEST(LineCheck, EveryMixOfTwoLinesIsSeen) {
  const Line older = SealLine(Numbered(1)), newer = SealLine(Numbered(2));
  for (uint32_t mix = 1; mix < 255; ++mix) {
    Line torn;
    for (uint32_t i = 0; i < 8; ++i) torn.word[i] = (mix >> i & 1 ? newer : older).word[i];
    EXPECT_FALSE(UnsealLine(torn)) << mix;
  }
  Line whole = newer;
  ASSERT_TRUE(UnsealLine(whole));
  EXPECT_EQ(whole, Numbered(2));
}

TEST(LineCheck, MemoryThatWasNeverWrittenIsAWholeLine) {
  Line line;
  EXPECT_TRUE(UnsealLine(line));
}

/// A file that emulates a BAR, and the device's mapping of it.
class EmulatedBar {
 public:
  static constexpr size_t kBytes = 16384;

  explicit EmulatedBar(const std::string& suffix = "") {
    path_ = testing::TempDir() + "sluice_bar_XXXXXX" + suffix;
    const int fd = mkstemps(path_.data(), static_cast<int>(suffix.size()));
    if (ftruncate(fd, kBytes) != 0) std::abort();
    mapping_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
  }
  ~EmulatedBar() {
    munmap(mapping_, kBytes);
    unlink(path_.c_str());
  }
  const char* path() const { return path_.c_str(); }
  volatile uint64_t* words(size_t offset) {
    return reinterpret_cast<volatile uint64_t*>(static_cast<uint8_t*>(mapping_) + offset);
  }
  Line Read(size_t offset) {
    Line line;
    for (size_t i = 0; i < 8; ++i) line.word[i] = words(offset)[i];
    return line;
  }
  void Write(size_t offset, const Line& line) {
    for (size_t i = 0; i < 8; ++i) words(offset)[i] = line.word[i];
  }

 private:
  std::string path_;
  void* mapping_;
};

constexpr uint64_t kOffset = 4096 + 128;  // Not page-aligned.
constexpr uint32_t kLines = 4;
constexpr uint64_t kNicOffset = kOffset + kLines * kLineBytes;

TEST(PciWindow, HostLinesLieInTheBarSealed) {
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  window->Post(2, Numbered(5));
  EXPECT_EQ(bar.Read(kOffset + 2 * kLineBytes), SealLine(Numbered(5)));
  EXPECT_EQ(bar.Read(kOffset + 3 * kLineBytes), Line{});
}

TEST(PciWindow, NicLinesFollowThemInTheBar) {
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  EXPECT_EQ(window->capabilities() & (kWindowNicStoresHost | kWindowLineAtomic | kWindowModelled),
            0u);
  bar.Write(kNicOffset + kLineBytes, SealLine(Numbered(7)));
  EXPECT_EQ(window->Peek(1), 7000u);
  EXPECT_EQ(window->ReadUncached(1, 3), 7003u);
  Line seen;
  ASSERT_TRUE(window->Poll(1, seen));
  EXPECT_EQ(seen, Numbered(7));
}

TEST(PciWindow, NicLinesMayLieInHostMemory) {
  EmulatedBar bar;
  std::array<Line, kLines> memory{};
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines, memory.data());
  ASSERT_NE(window, nullptr);
  EXPECT_NE(window->capabilities() & kWindowNicStoresHost, 0u);
  memory[3] = SealLine(Numbered(9));
  EXPECT_EQ(window->Peek(3), 9000u);
  EXPECT_EQ(window->ReadUncached(3, 2), 9002u);
  Line seen;
  ASSERT_TRUE(window->Poll(3, seen));
  EXPECT_EQ(seen, Numbered(9));
}

TEST(PciWindow, AFileNamedSoIsMappedWriteCombining) {
  EmulatedBar uncached, combining("_wc");
  const auto plain = PciWindow::Open(uncached.path(), 0, kLines);
  const auto wc = PciWindow::Open(combining.path(), 0, kLines);
  ASSERT_NE(plain, nullptr);
  ASSERT_NE(wc, nullptr);
  EXPECT_NE(wc->capabilities() & kWindowWriteCombining, 0u);
  // Without write combining, only MOVDIR64B sends a line as one write.
  EXPECT_EQ(plain->capabilities() & ~uint32_t{kWindowWriteCombining}, 0u);
}

TEST(PciWindow, RefusesPlacesThatDoNotHoldTheLines) {
  EmulatedBar bar;
  struct Place {
    uint64_t offset;
    uint32_t lines;
  };
  const uint64_t end = EmulatedBar::kBytes;
  for (const Place& place :
       {Place{0, 0}, Place{0, kMaxWindowLines + 1}, Place{32, 1}, Place{end, 1}, Place{end - 64, 1},
        Place{0, 129}, Place{~uint64_t{63}, 1}}) {
    errno = 0;
    EXPECT_EQ(PciWindow::Open(bar.path(), place.offset, place.lines), nullptr) << place.offset;
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_NE(PciWindow::Open(bar.path(), end - 128, 1), nullptr);
  EXPECT_EQ(PciWindow::Open((std::string(bar.path()) + ".none").c_str(), 0, 1), nullptr);
  EXPECT_EQ(errno, ENOENT);
  alignas(64) std::array<uint64_t, 16> memory{};
  EXPECT_EQ(PciWindow::Over({memory.data() + 1, 120, false, 1, nullptr}), nullptr);
  EXPECT_EQ(PciWindow::Over({memory.data(), 127, false, 1, nullptr}), nullptr);
  EXPECT_NE(PciWindow::Over({memory.data(), 128, false, 1, nullptr}), nullptr);
}

// A read that no device completes returns all ones.
TEST(PciWindow, AllOnesMeansADeadLinkForGood) {
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  Line ones;
  ones.word.fill(~uint64_t{0});
  bar.Write(kNicOffset, ones);
  Line seen;
  EXPECT_FALSE(window->Poll(0, seen));
  EXPECT_TRUE(window->dead());
  EXPECT_EQ(window->torn_lines(), 0u);
  bar.Write(kNicOffset,
            SealLine(Numbered(1)));  // Data that arrives later belongs to another device.
  EXPECT_EQ(window->Peek(0), ~uint64_t{0});
  EXPECT_EQ(window->ReadUncached(0, 0), ~uint64_t{0});
  window->Post(1, Numbered(3));
  EXPECT_EQ(bar.Read(kOffset + kLineBytes), Line{});
}

TEST(PciWindow, AllOnesBesideWordZeroIsPayload) {
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  Line line = Numbered(4);
  line.word[3] = ~uint64_t{0};
  bar.Write(kNicOffset, SealLine(line));
  EXPECT_EQ(window->ReadUncached(0, 3), ~uint64_t{0});
  Line seen;
  ASSERT_TRUE(window->Poll(0, seen));
  EXPECT_EQ(seen, line);
  EXPECT_FALSE(window->dead());
}

// If the NIC's lines are in host memory, only a register read shows that the device is gone.
TEST(PciWindow, AProbeFindsTheDeadDeviceBehindHostMemory) {
  EmulatedBar bar;
  std::array<Line, kLines> memory{};
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines, memory.data());
  ASSERT_NE(window, nullptr);
  Line ones;
  ones.word.fill(~uint64_t{0});
  for (uint32_t i = 0; i < kLines; ++i) bar.Write(kOffset + i * kLineBytes, ones);
  EXPECT_EQ(window->Peek(0), 0u);
  EXPECT_EQ(window->ReadUncached(0, 0), ~uint64_t{0});
  EXPECT_EQ(window->Peek(0), ~uint64_t{0});
  Line seen;
  EXPECT_FALSE(window->Poll(0, seen));
}

/// Emulates a device that publishes one line after another. It stores the words in random order and
/// with pauses, so that a reader sees every mixture of old and new words. Word i of line n is n *
/// 1000 + i.
void PublishTorn(volatile uint64_t* words, uint64_t lines, uint32_t seed) {
  std::mt19937 random(seed);
  std::array<uint32_t, 8> order;
  std::iota(order.begin(), order.end(), 0u);
  for (uint64_t n = 1; n <= lines; ++n) {
    const Line line = SealLine(Numbered(n));
    std::shuffle(order.begin(), order.end(), random);
    for (const uint32_t i : order) {
      words[i] = line.word[i];
      if (random() % 8 == 0) std::this_thread::yield();
    }
  }
}

TEST(PciWindowConcurrent, EveryTornReadIsRejected) {
  constexpr uint64_t kPublished = 2'000;
  constexpr uint32_t kSeed = 20260307;
  RecordProperty("seed", static_cast<int>(kSeed));
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  std::thread device([&bar] { PublishTorn(bar.words(kNicOffset), kPublished, kSeed); });
  uint64_t newest = 0, mixed = 0, backwards = 0;
  while (newest != kPublished) {
    Line seen;
    if (!window->Poll(0, seen)) {
      std::this_thread::yield();
      continue;
    }
    const uint64_t n = seen.word[0] / 1000;
    mixed += seen != (n == 0 ? Line{} : Numbered(n));
    backwards += n < newest;
    newest = n;
  }
  device.join();
  EXPECT_EQ(mixed, 0u);
  EXPECT_EQ(backwards, 0u);
  RecordProperty("torn_lines", static_cast<int>(window->torn_lines()));
}

// A deterministic version of the previous test: the device stops after each single word.
TEST(PciWindow, ALineIsRejectedUntilItsLastWordIsThere) {
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  bar.Write(kNicOffset, SealLine(Numbered(1)));
  const Line next = SealLine(Numbered(2));
  const std::array<uint32_t, 8> order = {3, 7, 0, 5, 1, 6, 2, 4};
  Line seen;
  for (uint32_t stored = 0; stored < order.size(); ++stored) {
    bar.words(kNicOffset)[order[stored]] = next.word[order[stored]];
    EXPECT_EQ(window->Poll(0, seen), stored == 7) << stored;
  }
  EXPECT_EQ(seen, Numbered(2));
  EXPECT_EQ(window->torn_lines(), 7u);
}

TEST(PciWindowConcurrent, HostLinesReachTheDeviceWholeOrSealedBroken) {
  constexpr uint64_t kPosted = 2'000;
  EmulatedBar bar;
  const auto window = PciWindow::Open(bar.path(), kOffset, kLines);
  ASSERT_NE(window, nullptr);
  uint64_t mixed = 0;
  std::thread device([&] {
    for (uint64_t newest = 0; newest != kPosted;) {
      Line seen = bar.Read(kOffset);
      if (!UnsealLine(seen)) continue;
      newest = seen.word[0] / 1000;
      mixed += seen != (newest == 0 ? Line{} : Numbered(newest));
      std::this_thread::yield();
    }
  });
  for (uint64_t n = 1; n <= kPosted; ++n) window->Post(0, Numbered(n));
  device.join();
  EXPECT_EQ(mixed, 0u);
}

}  // namespace
}  // namespace sluice::bar
