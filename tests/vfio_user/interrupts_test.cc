// SPDX-License-Identifier: BSD-3-Clause
//
// Tests net_ipu's interrupts as a client receives them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "emulator/ipu_model.h"
#include "guests.h"
#include "regs/vectors.h"
#include "rig.h"
#include "traffic.h"

namespace sluice::emulator::vfio_user::test {
namespace {

bool SetEventfds(Client& client, uint32_t start, const std::vector<int>& files) {
  return client.Grants(Command::kSetIrqs,
                       Join(IrqSet{20, kIrqDataEventfd | kIrqActionTrigger, kMsixIrq, start,
                                   static_cast<uint32_t>(files.size())}),
                       files);
}

bool Rings(const base::OwnedFd& eventfd, int patience_ms = 60'000) {
  pollfd wait = {eventfd.fd(), POLLIN, 0};
  eventfd_t count = 0;
  return poll(&wait, 1, patience_ms) == 1 && eventfd_read(eventfd.fd(), &count) == 0;
}

TEST(BusFunction, InterruptsAreEventfds) {
  Rig rig(kIpuModel, Replay("1"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), memory.fd()));
  std::array<base::OwnedFd, 3> events;
  for (base::OwnedFd& event : events) event = base::OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ASSERT_TRUE(SetEventfds(client, 0, {events[0].fd(), events[1].fd(), events[2].fd()}));
  client.Enable(false);
  IpuGuest guest(client, memory);
  guest.Start();
  guest.Arm();
  EXPECT_FALSE(Rings(events[regs::QueueVector(0)], 50));
  client.Enable();
  EXPECT_TRUE(Rings(events[regs::QueueVector(0)]));
  EXPECT_FALSE(Rings(events[regs::QueueVector(1)], 0));
  guest.Poll();
  // Masks a vector by removing its file. An interrupt that is raised without a file is signalled
  // when the next file is set.
  EXPECT_TRUE(client.Grants(Command::kSetIrqs, Join(IrqSet{20, kIrqDataEventfd | kIrqActionTrigger,
                                                           kMsixIrq, regs::QueueVector(0), 1})));
  guest.Arm();
  const auto pending = [&] {
    return client.Read(regs::pci::kIpuMsixBar, regs::pci::kIpuMsixPending, 8);
  };
  EXPECT_TRUE(PollsUntil(guest, [&] { return pending() == 1u << regs::QueueVector(0); }));
  EXPECT_FALSE(Rings(events[1], 0));
  ASSERT_TRUE(SetEventfds(client, 1, {events[1].fd()}));
  EXPECT_TRUE(Rings(events[1]));
  EXPECT_EQ(pending(), 0u);
  // All files are removed, so no file is signalled and no interrupt is pending.
  EXPECT_TRUE(client.Grants(Command::kSetIrqs,
                            Join(IrqSet{20, kIrqDataNone | kIrqActionTrigger, kMsixIrq, 0, 0})));
  guest.Arm();
  for (int i = 0; i < 64; ++i) guest.Poll();
  EXPECT_EQ(pending(), 0u);
  EXPECT_FALSE(Rings(events[1], 0));
}

TEST(BusFunction, AnInterruptStaysBehindWritesThatAreMessages) {
  Rig rig(kIpuModel, Replay("1"));
  SharedMemory memory(1 << 20);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  ASSERT_TRUE(client.Map(kBus, memory.bytes(), -1));
  client.AnswerWith(&memory, kBus);
  const base::OwnedFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ASSERT_TRUE(SetEventfds(client, regs::QueueVector(0), {event.fd()}));
  client.Enable(false);
  IpuGuest guest(client, memory);
  guest.Start();
  guest.Arm();
  client.HoldWrites(true);
  client.Enable();
  EXPECT_TRUE(Eventually([&] {
    client.Pump();
    return client.held() != 0;
  }));
  // The model raises an interrupt in the step in which it writes, and answers register accesses in
  // the next step.
  EXPECT_EQ(guest.Load(regs::ipu::kDeviceId), regs::ipu::kDeviceIdValue);
  EXPECT_FALSE(Rings(event, 0));
  client.HoldWrites(false);
  EXPECT_TRUE(Rings(event));
}

TEST(BusFunction, AnEventfdThatIsFullHoldsNobodyUp) {
  Rig rig(kIpuModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  const base::OwnedFd blocking(eventfd(0, EFD_CLOEXEC));
  ASSERT_TRUE(SetEventfds(client, 1, {blocking.fd()}));
  ASSERT_EQ(eventfd_write(blocking.fd(), 0xffff'ffff'ffff'fffe), 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client.Grants(Command::kSetIrqs,
                              Join(IrqSet{20, kIrqDataNone | kIrqActionTrigger, kMsixIrq, 1, 1})));
  }
  client.Enable(false);
  EXPECT_EQ(client.Read(0, regs::ipu::kDeviceId, 4), regs::ipu::kDeviceIdValue);
}

TEST(BusFunction, InterruptsThatItDoesNotHaveAreRefused) {
  Rig rig(kIpuModel);
  Client client(TestSocket());
  ASSERT_TRUE(client.Greet());
  const base::OwnedFd event(eventfd(0, EFD_CLOEXEC));
  const base::OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const uint32_t trigger = kIrqDataEventfd | kIrqActionTrigger;
  const struct {
    IrqSet set;
    std::vector<int> files;
  } kRows[] = {{{20, trigger, kMsixIrq, 32, 1}, {event.fd()}},
               {{20, trigger, kMsixIrq, ~0u, 1}, {event.fd()}},
               {{20, trigger, kMsixIrq, 31, 2}, {event.fd(), event.fd()}},
               {{20, trigger, 0, 0, 1}, {event.fd()}},
               {{20, trigger, 5, 0, 1}, {event.fd()}},
               {{20, trigger, kMsixIrq, 0, 1}, {null.fd()}},
               {{20, kIrqDataEventfd | 1u << 3, kMsixIrq, 0, 1}, {}},
               {{20, trigger | kIrqDataNone, kMsixIrq, 0, 1}, {}}};
  for (const auto& [set, files] : kRows) {
    EXPECT_EQ(client.Refusal(Command::kSetIrqs, Join(set), files), EINVAL)
        << set.index << ' ' << set.start << ' ' << set.count;
  }
}

}  // namespace
}  // namespace sluice::emulator::vfio_user::test
