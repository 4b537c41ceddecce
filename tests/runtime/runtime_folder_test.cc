// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that the files of dead runs, and no other files, are removed. The files, and their locks,
// are those that EAL creates (DPDK's programmer's guide, "Environment Abstraction Layer": files in
// the runtime folder, hugepages "<prefix>map_<n>").
#include "runtime/runtime_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class RuntimeFolder : public testing::Test {
 protected:
  RuntimeFolder() {
    std::string name = (fs::temp_directory_path() / "runtime_folder_XXXXXX").string();
    root_ = mkdtemp(name.data());
    fs::create_directories(Runs());
    fs::create_directories(Huge());
  }
  ~RuntimeFolder() override { fs::remove_all(root_); }

  fs::path Runs() const { return root_ / "dpdk"; }
  fs::path Huge() const { return root_ / "huge"; }

  // Creates a folder like one left by a killed process.
  fs::path Leave(const std::string& prefix) {
    const fs::path run = Runs() / prefix;
    fs::create_directories(run);
    for (const char* file : {"config", "fbarray_memzone", "hugepage_info"}) {
      std::ofstream(run / file) << "bytes";
    }
    const int unanswered = Listen(run / "dpdk_telemetry.v2");
    close(unanswered);
    std::ofstream(Huge() / (prefix + "map_0")) << "page";
    return run;
  }

  static int Listen(const fs::path& path) {
    const int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    return listener;
  }

  void Sweep(int fresh_s = 0) { SweepRuns(Runs(), "sluice-echo-1", {Huge()}, fresh_s); }

  // Sweeps while another process is running. That process calls `hold` first to acquire a lock.
  void SweepBeside(const std::function<bool()>& hold) {
    int held[2], over[2];
    ASSERT_EQ(pipe(held), 0);
    ASSERT_EQ(pipe(over), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(over[1]);
      char byte = hold() ? 'y' : 'n';
      if (write(held[1], &byte, 1) != 1) _exit(1);
      _exit(static_cast<int>(read(over[0], &byte, 1)));
    }
    char byte = 0;
    ASSERT_EQ(read(held[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    Sweep();
    for (const int fd : {over[1], over[0], held[0], held[1]}) close(fd);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }

  fs::path root_;
};

TEST_F(RuntimeFolder, OfADeadRunIsSweptWithItsHugepages) {
  Leave("sluice-echo-71");
  Leave("sluice-kv_client-72");
  Sweep();
  EXPECT_TRUE(fs::is_empty(Runs()));
  EXPECT_TRUE(fs::is_empty(Huge()));
}

TEST_F(RuntimeFolder, OfALiveProcessIdIsSweptAllTheSame) {
  Leave(FilePrefix("echo", getpid()));  // Left by an earlier process with this id.
  Sweep();
  EXPECT_TRUE(fs::is_empty(Runs()));
}

TEST_F(RuntimeFolder, ThatIsOursOrAnotherProgramsStays) {
  for (const char* name : {"sluice-echo-1", "rte", "sluice", "sluice-echo", "sluice-echo-7x",
                           "sluice--7", "my-sluice-echo-7"}) {
    Leave(name);
    Sweep();
    EXPECT_TRUE(fs::exists(Runs() / name / "config")) << name;
    EXPECT_TRUE(fs::exists(Huge() / (std::string(name) + "map_0"))) << name;
  }
}

TEST_F(RuntimeFolder, OfALiveRunStaysWhateverItsProcessIdSays) {
  const fs::path run = Leave("sluice-echo-999999999");  // For example, a run in another container.
  const auto config = [&] { return open((run / "config").c_str(), O_RDWR); };
  SweepBeside([&] {  // EAL's primary process holds a write lock on its configuration file.
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 2;
    lock.l_len = 2;
    return fcntl(config(), F_SETLK, &lock) == 0;
  });
  EXPECT_TRUE(fs::exists(run / "fbarray_memzone"));
  SweepBeside([&] {  // A secondary process holds shared locks on the arrays.
    return flock(open((run / "fbarray_memzone").c_str(), O_RDWR), LOCK_SH | LOCK_NB) == 0;
  });
  EXPECT_TRUE(fs::exists(run / "config"));
  fs::remove(run / "dpdk_telemetry.v2");
  SweepBeside([&] { return Listen(run / "dpdk_telemetry.v2") >= 0; });
  EXPECT_TRUE(fs::exists(run / "config")) << "without shared files the socket alone says so";
  Sweep();
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(RuntimeFolder, ThatIsFreshStays) {
  const fs::path run = Leave("sluice-echo-71");
  Sweep(3600);
  EXPECT_TRUE(fs::exists(run / "config"));
}

TEST_F(RuntimeFolder, BehindALinkIsNotTouched) {
  const fs::path kept = root_ / "kept";
  fs::create_directories(kept);
  std::ofstream(kept / "config") << "bytes";
  fs::create_directory_symlink(kept, Runs() / "sluice-echo-71");
  const fs::path run = Leave("sluice-echo-72");
  fs::create_symlink(kept / "config", run / "link");
  Sweep();
  EXPECT_TRUE(fs::exists(kept / "config"));
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(RuntimeFolder, OfAnotherUserStays) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const fs::path run = Leave("sluice-echo-71");
  ASSERT_EQ(chown(run.c_str(), 65534, 65534), 0);
  Sweep();
  EXPECT_TRUE(fs::exists(run / "config"));
}

TEST_F(RuntimeFolder, OfThisRunGoesAtItsEndThoughItsLocksAreStillHeld) {
  const fs::path run = Leave("sluice-echo-1");
  const fs::path other = Leave("sluice-echo-12");
  const int array = open((run / "fbarray_memzone").c_str(), O_RDWR);
  ASSERT_EQ(flock(array, LOCK_SH | LOCK_NB), 0);
  RemoveRun(Runs(), "sluice-echo-1", {Huge()});
  close(array);
  EXPECT_FALSE(fs::exists(run));
  EXPECT_FALSE(fs::exists(Huge() / "sluice-echo-1map_0"));
  EXPECT_TRUE(fs::exists(other / "config"));
  EXPECT_TRUE(fs::exists(Huge() / "sluice-echo-12map_0"));
}

}  // namespace
}  // namespace sluice::runtime
