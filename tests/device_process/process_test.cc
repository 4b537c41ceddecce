// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-device itself, killed, frozen and reset under a host.
#include "process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <string>
#include <vector>

#include "bar/posted_queue.h"
#include "device.h"
#include "emulator/attach.h"
#include "regs/ipu.h"

namespace sluice::emulator {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

class Process {
 public:
  Process() {
    std::vector<std::string> arguments = {device_binary, "--socket=" + TestSocket(),
                                          "--wire=gen:rate=10k", "--stats_period_s=0"};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    EXPECT_EQ(posix_spawn(&pid_, device_binary.c_str(), &actions, nullptr, argv.data(), environ),
              0);
    posix_spawn_file_actions_destroy(&actions);
    std::string error;
    EXPECT_TRUE(Eventually([&] { return static_cast<bool>(Connect(TestSocket(), &error)); }))
        << error;
  }
  ~Process() { End(SIGTERM); }

  void Signal(int signal) const { kill(pid_, signal); }
  /// Returns when no thread of it runs any more, which takes a moment.
  void Freeze() const {
    Signal(SIGSTOP);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED);
  }
  /// Returns its exit code, or -1 if it had none.
  int End(int signal) {
    if (pid_ == 0) return -1;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

class DeviceProcess : public testing::Test {
 protected:
  void SetUp() override {
    if (device_binary.empty()) GTEST_SKIP() << "give the path of sluice-device";
    process_ = std::make_unique<Process>();
    std::string error;
    host_ = Attach("net_remote3", Model::kIpu, {},
                   std::vector<Argument>{{"device", TestSocket()}}, &error);
    ASSERT_NE(host_, nullptr) << error;
    registers().Write32(regs::ipu::kMaxFrame, 1111);
    ASSERT_EQ(registers().Read32(regs::ipu::kMaxFrame), 1111u);
  }
  bar::Bar& registers() { return host_->registers(); }
  bool IsBack(uint32_t generation) {
    return Eventually([&] { return host_->Generation() == generation && registers().LinkUp(); });
  }

  std::unique_ptr<Process> process_;
  std::unique_ptr<Attachment> host_;
};

TEST_F(DeviceProcess, KilledTakesTheLinkDownAtOnceAndANewOneBringsItUp) {
  process_->End(SIGKILL);
  const auto begin = Clock::now();
  EXPECT_TRUE(Eventually([&] { return !registers().LinkUp(); }));
  EXPECT_LT(Clock::now() - begin, bar::PostedQueue::kTimeout) << "sooner than by a time-out";
  EXPECT_EQ(registers().Read32(0), 0xffff'ffffu);
  process_ = std::make_unique<Process>();
  ASSERT_TRUE(IsBack(2));
  EXPECT_NE(registers().Read32(regs::ipu::kMaxFrame), 1111u) << "as after power-on";
}

TEST_F(DeviceProcess, FrozenForAWhileIsAsIfNothingHadHappened) {
  process_->Freeze();
  registers().Write32(regs::ipu::kMaxFrame, 2222);
  std::this_thread::sleep_for(milliseconds(300));
  process_->Signal(SIGCONT);
  EXPECT_EQ(registers().Read32(regs::ipu::kMaxFrame), 2222u);
  EXPECT_EQ(host_->Generation(), 1u);
}

TEST_F(DeviceProcess, FrozenBeyondTheTimeOutOfARegisterReadComesBackThroughAReset) {
  process_->Freeze();
  registers().Write32(regs::ipu::kMaxFrame, 3333);
  EXPECT_EQ(registers().Read32(regs::ipu::kMaxFrame), 0xffff'ffffu);
  EXPECT_FALSE(registers().LinkUp());
  std::this_thread::sleep_for(milliseconds(500));  // Attempts to reach it pile up.
  process_->Signal(SIGCONT);
  ASSERT_TRUE(IsBack(2));
  EXPECT_NE(registers().Read32(regs::ipu::kMaxFrame), 3333u) << "a reset loses what was posted";
  registers().Write32(regs::ipu::kMaxFrame, 4444);
  EXPECT_EQ(registers().Read32(regs::ipu::kMaxFrame), 4444u);
}

TEST_F(DeviceProcess, FrozenBeyondTheTimeOutOfARequestComesBackThroughAReset) {
  const size_t names = host_->Statistics().size();
  process_->Freeze();
  EXPECT_EQ(host_->Statistics().size(), names);
  EXPECT_FALSE(registers().LinkUp());
  process_->Signal(SIGCONT);
  EXPECT_TRUE(IsBack(2));
  EXPECT_EQ(host_->Statistics().size(), names);
}

TEST_F(DeviceProcess, AHangUpSignalResetsTheLink) {
  process_->Signal(SIGHUP);
  ASSERT_TRUE(IsBack(2));
  EXPECT_NE(registers().Read32(regs::ipu::kMaxFrame), 1111u);
  EXPECT_EQ(process_->End(SIGINT), 0);
}

}  // namespace
}  // namespace sluice::emulator
