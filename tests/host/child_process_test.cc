// SPDX-License-Identifier: BSD-3-Clause
#include "host/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"

namespace sluice::host {
namespace {

/// Returns a file that children inherit by default, like the files that DPDK opens.
base::OwnedFd Inheritable(const std::string& text) {
  base::OwnedFd file(memfd_create("child_process_test", 0));
  EXPECT_EQ(write(file.fd(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  lseek(file.fd(), 0, SEEK_SET);
  return file;
}

/// Runs `script` in a shell. Returns the bytes that the script writes to descriptor 3. The
/// descriptors in `given` are passed as 4, 5 and so on.
std::string WrittenBy(const std::string& script, std::vector<int> given = {},
                      std::vector<std::string> environment = {}) {
  const base::OwnedFd output = Inheritable("");
  given.insert(given.begin(), output.fd());
  pid_t pid = 0;
  EXPECT_EQ(Spawn({.program = "sh",
                   .arguments = {"-c", script},
                   .environment = std::move(environment),
                   .descriptors = std::move(given)},
                  &pid),
            0);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  std::string text(4096, '\0');
  const ssize_t bytes = pread(output.fd(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  return text;
}

/// A script that writes the numbers of the shell's open descriptors below 100.
constexpr char kOpen[] =
    "for fd in $(seq 0 99); do if [ -e /proc/$$/fd/$fd ]; then echo -n \"$fd \" >&3; fi; done";

TEST(Spawn, GivesAChildStandardStreamsAndWhatItIsGiven) {
  std::vector<base::OwnedFd> ours;
  for (int i = 0; i < 40; ++i) ours.push_back(Inheritable("ours"));
  EXPECT_EQ(WrittenBy(kOpen), "0 1 2 3 ");
  EXPECT_EQ(WrittenBy(kOpen, {ours[7].fd()}), "0 1 2 3 4 ");
}

TEST(Spawn, KeepsTheOrderWhateverNumbersThePartsHave) {
  std::vector<base::OwnedFd> files;
  for (const char* text : {"a", "b", "c", "d", "e"}) files.push_back(Inheritable(text));
  std::vector<int> reversed;
  for (size_t i = files.size(); i-- > 0;) reversed.push_back(files[i].fd());
  EXPECT_EQ(WrittenBy("cat <&4 >&3; cat <&5 >&3; cat <&6 >&3; cat <&7 >&3; cat <&8 >&3", reversed),
            "edcba");
}

TEST(Spawn, ReplacesVariablesOfTheSameName) {
  ASSERT_EQ(setenv("SLUICE_LINE", "inherited", 1), 0);
  ASSERT_EQ(setenv("SLUICE_LINES", "kept", 1), 0);
  EXPECT_EQ(
      WrittenBy("env | grep ^SLUICE_LINE | sort | tr '\\n' ' ' >&3", {}, {"SLUICE_LINE=given"}),
      "SLUICE_LINE=given SLUICE_LINES=kept ");
  unsetenv("SLUICE_LINE");
  unsetenv("SLUICE_LINES");
}

TEST(Spawn, BlocksNoSignal) {
  sigset_t all, before;
  sigfillset(&all);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
  // The shell blocks all signals around its own vfork, so the program runs in place of the shell.
  const std::string blocked = WrittenBy("exec grep SigBlk: /proc/self/status >&3");
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_EQ(blocked, "SigBlk:\t0000000000000000\n");
}

TEST(PrintableText, HasNothingThatATerminalObeys) {
  EXPECT_EQ(PrintableText("a \x1b[2J\n\t\x7f\xff~"), "a ?[2J????~");
}

TEST(Spawn, ReportsWhyAProgramDoesNotStart) {
  pid_t pid = 17;
  EXPECT_EQ(Spawn({.program = "/nonexistent/program"}, &pid), ENOENT);
  EXPECT_EQ(Spawn({.program = "sh", .descriptors = {-1}}, &pid), EBADF);
  EXPECT_EQ(pid, 17);
}

TEST(ChildProcess, ReportsHowItEnded) {
  std::string error;
  ChildProcess exits =
      ChildProcess::Start({.program = "sh", .arguments = {"-c", "exit 3"}}, &error);
  while (!exits.Ended()) usleep(1'000);
  EXPECT_EQ(exits.HowEnded(), "ended with exit code 3");
  EXPECT_EQ(exits.pid(), 0);

  ChildProcess waits = ChildProcess::Start({.program = "sleep", .arguments = {"1000"}}, &error);
  EXPECT_FALSE(waits.Ended());
  waits.Signal(SIGTERM);
  while (!waits.Ended()) usleep(1'000);
  EXPECT_EQ(waits.HowEnded(), "ended by signal 15 (Terminated)");
  waits.Signal(SIGTERM);  // This has no effect.
}

TEST(ChildProcess, DoesNotOutliveItsOwner) {
  std::string error;
  pid_t pid = 0;
  {
    ChildProcess first = ChildProcess::Start({.program = "sleep", .arguments = {"1000"}}, &error);
    ChildProcess second = std::move(first);
    pid = second.pid();
    EXPECT_EQ(first.pid(), 0);
    EXPECT_EQ(kill(pid, 0), 0);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ChildProcess, ReportsWhyAProgramDoesNotStart) {
  std::string error;
  const ChildProcess none = ChildProcess::Start({.program = "/nonexistent/program"}, &error);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(none.pid(), 0);
  EXPECT_EQ(error, "/nonexistent/program: No such file or directory");
}

}  // namespace
}  // namespace sluice::host
