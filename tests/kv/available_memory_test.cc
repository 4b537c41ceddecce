// SPDX-License-Identifier: BSD-3-Clause
//
// Tests how available memory is computed from the kernel's files (proc(5); Linux,
// admin-guide/cgroup-v2), in a temporary directory tree.
#include "engine/kv/available_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace sluice::engine::kv {
namespace {

constexpr uint64_t kMib = 1 << 20;

class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory()
      : root_(std::filesystem::path(testing::TempDir()) /
              ("available-memory-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~AvailableMemory() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  /// Writes a cgroup's files. Sizes are in MiB; an empty `limit` means no limit.
  void Group(const std::string& path, const std::string& limit, uint64_t used,
             uint64_t cached = 0) const {
    Write(path + "/memory.max", limit + "\n");
    Write(path + "/memory.current", std::to_string(used * kMib) + "\n");
    Write(path + "/memory.stat", "anon 1\nfile 2\ninactive_anon 3\ninactive_file " +
                                     std::to_string(cached * kMib) + "\nactive_file 4\n");
  }
  void Machine(uint64_t available) const {
    Write("proc/meminfo",
          "MemTotal:       24683292 kB\nMemFree:        17000000 kB\n"
          "MemAvailable:   " +
              std::to_string(available * 1024) + " kB\nBuffers:  1 kB\n");
  }
  static std::string Mib(uint64_t mib) { return std::to_string(mib * kMib); }

  std::filesystem::path root_;
};

TEST_F(AvailableMemory, IsTheMachinesWhereNoGroupIsLimited) {
  Machine(1000);
  EXPECT_EQ(AvailableBytes(root_), 1000 * kMib) << "no groups";
  Write("proc/self/cgroup", "0::/user/one\n");
  EXPECT_EQ(AvailableBytes(root_), 1000 * kMib) << "groups that cannot be seen";
  Group("sys/fs/cgroup/user/one", "max", 200);
  EXPECT_EQ(AvailableBytes(root_), 1000 * kMib);
}

TEST_F(AvailableMemory, IsWhatTheGroupHasLeft) {
  Machine(1000);
  Write("proc/self/cgroup", "12:pids:/elsewhere\n0::/user/one\n");
  Group("sys/fs/cgroup/elsewhere", Mib(1), 1);
  Group("sys/fs/cgroup/user/one", Mib(500), 200);
  EXPECT_EQ(AvailableBytes(root_), 300 * kMib);
  Group("sys/fs/cgroup/user/one", Mib(500), 200, /*cached=*/150);
  EXPECT_EQ(AvailableBytes(root_), 450 * kMib) << "cached memory is reclaimable";
  Group("sys/fs/cgroup/user/one", Mib(500), 600);
  EXPECT_EQ(AvailableBytes(root_), 0u) << "a limit that was lowered";
  Group("sys/fs/cgroup/user/one", Mib(5000), 200);
  EXPECT_EQ(AvailableBytes(root_), 1000 * kMib) << "the machine has less";
}

TEST_F(AvailableMemory, IsThatOfTheTightestGroupAbove) {
  Machine(1000);
  Write("proc/self/cgroup", "0::/user/one\n");
  Group("sys/fs/cgroup/user/one", Mib(500), 200);
  Group("sys/fs/cgroup/user", Mib(600), 550);
  EXPECT_EQ(AvailableBytes(root_), 50 * kMib);
  Group("sys/fs/cgroup", Mib(300), 290);  // The cgroup as seen in a container.
  EXPECT_EQ(AvailableBytes(root_), 10 * kMib);
}

TEST_F(AvailableMemory, IsUnlimitedWhereNothingCanBeRead) {
  EXPECT_EQ(AvailableBytes(root_), std::numeric_limits<uint64_t>::max());
}

TEST(AvailableMemoryHere, IsSomeOfTheMachines) {
  const auto machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_GT(AvailableBytes(), 0u);
  EXPECT_LE(AvailableBytes(), machine);
}

}  // namespace
}  // namespace sluice::engine::kv
