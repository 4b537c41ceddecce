// SPDX-License-Identifier: BSD-3-Clause
//
// Kills, freezes and resets the sluice-device process while a host uses it.
#include "process.h"

#include <gtest/gtest.h>

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

class DeviceProcess : public testing::Test {
 protected:
  void SetUp() override {
    if (device_binary.empty()) GTEST_SKIP() << "give the path of sluice-device";
    process_ = std::make_unique<Process>();
    std::string error;
    host_ = Attach("net_remote3", kIpuModel, {}, std::vector<Argument>{{"device", TestSocket()}},
                   &error);
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
  bool soon = false;  // Checked over several rounds, because a busy machine may delay the device.
  for (uint32_t generation = 2; generation < 5 && !soon; ++generation) {
    process_->End(SIGKILL);
    const auto begin = Clock::now();
    EXPECT_TRUE(Eventually([&] { return !registers().LinkUp(); }));
    soon = Clock::now() - begin < bar::PostedQueue::kTimeout;
    EXPECT_EQ(registers().Read32(0), 0xffff'ffffu);
    process_ = std::make_unique<Process>();
    ASSERT_TRUE(IsBack(generation));
    EXPECT_NE(registers().Read32(regs::ipu::kMaxFrame), 1111u) << "as after power-on";
  }
  EXPECT_TRUE(soon) << "sooner than by a time-out";
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
  std::this_thread::sleep_for(milliseconds(500));  // Lets attempts to reach the device accumulate.
  process_->Signal(SIGCONT);
  ASSERT_TRUE(IsBack(2));
  EXPECT_NE(registers().Read32(regs::ipu::kMaxFrame), 3333u) << "a reset loses posted writes";
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
