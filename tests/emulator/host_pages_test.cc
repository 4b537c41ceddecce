// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which pages are registered with a card after arbitrary changes to the host's shared memory.
// Each shared page must be registered once, and no other page may be registered.
#include "emulator/grid/host_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace sluice::emulator {
namespace {

/// Records the registered memory.
class Ledger final : public Executor {
 public:
  void* Allocate(size_t, std::string*) override { return nullptr; }
  bool Write(void*, const void*, size_t) override { return false; }
  bool Read(void*, const void*, size_t) override { return false; }
  bool Register(void* begin, size_t bytes, std::string* error) override {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    EXPECT_EQ(at % page, 0u);
    EXPECT_EQ(bytes % page, 0u);
    if (at == refused) {
      *error = "refused";
      return false;
    }
    for (uintptr_t i = at; i < at + bytes; i += page) EXPECT_TRUE(pages.insert(i).second) << i;
    ranges[at] = bytes;
    ++calls;
    return true;
  }
  void Unregister(void* begin, size_t bytes) override {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    ASSERT_TRUE(ranges.contains(at) && ranges[at] == bytes) << "only as it was registered";
    for (uintptr_t i = at; i < at + ranges[at]; i += page) pages.erase(i);
    ranges.erase(at);
    ++calls;
  }
  bool Start(device::grid::Card*, const device::grid::Roles&, std::string*) override {
    return false;
  }
  void Join() override {}
  bool Running() override { return false; }
  std::string Describe() const override { return "a ledger"; }

  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::set<uintptr_t> pages;
  std::map<uintptr_t, size_t> ranges;
  uint32_t calls = 0;
  uintptr_t refused = 0;
};

HostPages::Range At(uintptr_t begin, size_t bytes) {
  return {reinterpret_cast<void*>(begin), bytes};
}

TEST(HostPages, AreThoseOfTheRangesAndTheKeptOnesAlone) {
  Ledger ledger;
  std::mt19937 random(1);
  {
    HostPages pages("test", ledger);
    std::string error;
    ASSERT_TRUE(pages.Keep(At(ledger.page, 100), &error));
    for (uint32_t round = 0; round < 2'000 && !HasFailure(); ++round) {
      std::vector<HostPages::Range> ranges;
      std::set<uintptr_t> expected = {ledger.page};
      for (uint32_t i = random() % 6; i != 0; --i) {
        const uintptr_t begin = ledger.page + random() % (40 * ledger.page);
        const size_t bytes = 1 + random() % (5 * ledger.page);
        ranges.push_back(At(begin, bytes));
        for (uintptr_t at = begin / ledger.page * ledger.page; at < begin + bytes;
             at += ledger.page) {
          expected.insert(at);
        }
      }
      pages.Change(ranges);
      ASSERT_EQ(ledger.pages, expected) << round;
      const uint32_t calls = ledger.calls;
      pages.Change(ranges);
      ASSERT_EQ(ledger.calls, calls) << "nothing has changed";
    }
  }
  EXPECT_TRUE(ledger.pages.empty());
}

TEST(HostPages, ThatCannotBeRegisteredAreLeftOut) {
  Ledger ledger;
  HostPages pages("test", ledger);
  ledger.refused = 10 * ledger.page;
  pages.Change(std::vector{At(10 * ledger.page, 1), At(20 * ledger.page, 1)});
  EXPECT_EQ(ledger.pages, std::set<uintptr_t>{20 * ledger.page});
  EXPECT_TRUE(pages.Held(At(10 * ledger.page, 1)).empty());
  const auto is_held = [&](const HostPages::Range& range, uintptr_t begin, size_t bytes) {
    const std::vector<HostPages::Range> held = pages.Held(range);
    return held.size() == 1 && held[0].begin == At(begin, 1).begin && held[0].bytes == bytes;
  };
  const uintptr_t page = ledger.page;
  EXPECT_TRUE(is_held(At(20 * page, page + 1), 20 * page, page));
  EXPECT_TRUE(is_held(At(20 * page + 5, page), 20 * page + 5, page - 5));
  EXPECT_TRUE(is_held(At(19 * page, 3 * page), 20 * page, page));
  std::string error;
  EXPECT_FALSE(pages.Keep(At(10 * ledger.page, 1), &error));
  EXPECT_EQ(error, "refused");
}

TEST(HostPages, TheTableIsSortedAndJoinsWhatLiesBesideEachOther) {
  const auto table = std::make_unique<device::grid::DmaTable>();
  const auto at = [](uintptr_t host) { return reinterpret_cast<void*>(host); };
  FillTable({{0x3000, at(0x9000), 0x1000},
             {0x1000, at(0x5000), 0x1000},
             {0x2000, at(0x6000), 0x800},
             {0x2800, at(0x7000), 0x800}},
            table.get());
  ASSERT_EQ(table->count, 3u);
  EXPECT_EQ(table->Translate(0x1fff, 2), at(0x5fff)) << "one range of two";
  EXPECT_EQ(table->Translate(0x27ff, 2), nullptr) << "two places";
  EXPECT_EQ(table->Translate(0x3fff, 1), at(0x9fff));
  EXPECT_EQ(table->Translate(0x3fff, 2), nullptr);
  EXPECT_EQ(table->Translate(0x0fff, 1), nullptr);
  EXPECT_EQ(table->Translate(0x1000, ~uint64_t{0}), nullptr);
}

}  // namespace
}  // namespace sluice::emulator
