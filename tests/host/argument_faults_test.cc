// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that files named by flags are checked in exactly the way in which later code opens them.
#include "host/argument_faults.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sluice::host {
namespace {

namespace fs = std::filesystem;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

// Returns success if the fault is a single line that contains all words.
AssertionResult Says(const std::string& fault, const std::vector<std::string>& words) {
  if (fault.find('\n') != std::string::npos) return AssertionFailure() << fault << ": two lines";
  for (const std::string& word : words) {
    if (fault.find(word) == std::string::npos) {
      return AssertionFailure() << '"' << fault << "\" without \"" << word << '"';
    }
  }
  return AssertionSuccess();
}

class ArgumentFaults : public testing::Test {
 protected:
  ArgumentFaults() {
    fs::create_directories(folder_ / "folder");
    std::ofstream(folder_ / "file") << "text\n";
    std::ofstream(folder_ / "program") << "#!/bin/sh\n";
    chmod(Path("program").c_str(), 0700);
    mkfifo(Path("pipe").c_str(), 0600);
  }
  ~ArgumentFaults() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return folder_ / name; }

 private:
  const fs::path folder_ =
      fs::temp_directory_path() / ("argument_faults_" + std::to_string(getpid()));
};

TEST_F(ArgumentFaults, OfFilesThatAreToBeWritten) {
  for (const char* const good : {"file", "new", "folder/new", "pipe"}) {
    EXPECT_EQ(OutputFileFault(Path(good)), "") << good;
  }
  EXPECT_EQ(OutputFileFault("/dev/null"), "");
  EXPECT_FALSE(fs::exists(Path("new"))) << "looking must not create";
  EXPECT_TRUE(Says(OutputFileFault(Path("folder")), {"is a folder", "give a file"}));
  EXPECT_TRUE(Says(OutputFileFault(Path("none/new")), {Path("none"), "create that folder"}));
  EXPECT_TRUE(Says(OutputFileFault(Path("folder/")), {"is a folder"}));
  EXPECT_TRUE(Says(OutputFileFault(Path("file/new")), {Path("file"), "is not a folder"}));
}

TEST_F(ArgumentFaults, OfFilesThatAreToBeReplaced) {
  EXPECT_EQ(ReplacedFileFault(Path("file")), "");
  EXPECT_EQ(ReplacedFileFault(Path("folder/new")), "");
  EXPECT_TRUE(Says(ReplacedFileFault(Path("folder")), {"is a folder"}));
  for (const std::string& bad : {Path("pipe"), std::string("/dev/null")}) {
    EXPECT_TRUE(Says(ReplacedFileFault(bad), {"not a regular file", "give a file"})) << bad;
  }
}

TEST_F(ArgumentFaults, AreNoneWhereNothingIsNamed) {
  for (const auto fault :
       {OutputFileFault, ReplacedFileFault, OutputFault, InputFileFault, ProgramFault}) {
    EXPECT_EQ(fault(""), "");
  }
  EXPECT_EQ(OutputFault("-"), "");
  EXPECT_EQ(OutputFault(Path("none/new")), OutputFileFault(Path("none/new")));
}

TEST_F(ArgumentFaults, OfFilesWithoutAFolderInTheirName) {
  const fs::path here = fs::current_path();
  fs::current_path(Path("folder"));
  EXPECT_EQ(OutputFileFault("new"), "");
  fs::current_path(here);
}

TEST_F(ArgumentFaults, OfFilesThatAreToBeRead) {
  EXPECT_EQ(InputFileFault(Path("file")), "");
  EXPECT_EQ(InputFileFault(Path("pipe")), "");
  EXPECT_TRUE(Says(InputFileFault(Path("none")), {"No such file or directory"}));
  EXPECT_TRUE(Says(InputFileFault(Path("folder")), {"is a folder"}));
}

TEST_F(ArgumentFaults, OfProgramsAsTheyAreRun) {
  for (const std::string& good : {Path("program"), std::string("sh")}) {
    EXPECT_EQ(ProgramFault(good), "") << good;
  }
  for (const std::string& bad : {Path("none"), Path("file"), Path("folder")}) {
    EXPECT_TRUE(Says(ProgramFault(bad), {"executable"})) << bad;
  }
  EXPECT_TRUE(Says(ProgramFault("no-such-program-anywhere"), {"PATH"}));
  const std::string path = std::getenv("PATH");
  setenv("PATH", Path("").c_str(), 1);
  EXPECT_EQ(ProgramFault("program"), "");
  EXPECT_TRUE(Says(ProgramFault("sh"), {"PATH"}));
  setenv("PATH", path.c_str(), 1);
}

TEST(CpuFaults, OfAllButThoseThatThisProcessMayRunOn) {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(CpuFault(cpu), "");
  for (const int64_t bad : {int64_t{cpu} + 1, int64_t{-1}, int64_t{CPU_SETSIZE}, INT64_MAX}) {
    EXPECT_TRUE(Says(CpuFault(bad), {"CPUs " + std::to_string(cpu)})) << bad;
  }
  sched_setaffinity(0, sizeof(all), &all);
}

// Permissions do not restrict root, so an unprivileged child tests them.
TEST_F(ArgumentFaults, OfWhatPermissionsForbid) {
  chmod(Path("folder").c_str(), 0500);
  chmod(Path("file").c_str(), 0);
  EXPECT_EXIT(
      {
        if (geteuid() == 0 && seteuid(65534) != 0) _exit(1);
        const bool said = Says(OutputFileFault(Path("folder/new")), {"Permission denied"}) &&
                          Says(OutputFileFault(Path("file")), {"Permission denied"}) &&
                          Says(InputFileFault(Path("file")), {"Permission denied"});
        _exit(said ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
  chmod(Path("folder").c_str(), 0700);
}

}  // namespace
}  // namespace sluice::host
