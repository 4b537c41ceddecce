// SPDX-License-Identifier: BSD-3-Clause
//
// Tests peers that send invalid messages, stop in the middle of a message, or send nothing. Each
// peer causes one refusal or one closed connection, and the next peer is served.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device.h"
#include "emulator/channel.h"
#include "emulator/message.h"
#include "liar.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;

/// Checks that the device still serves an honest peer.
void ExpectServed(DeviceThread& device) {
  ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  Liar honest;
  honest.Attach();
}

TEST(HostileHost, AGreetingCutOffAtEveryByteIsRefused) {
  DeviceThread device(kIpuModel);
  for (size_t bytes = 1; bytes < sizeof(Request); ++bytes) {
    Liar liar;
    liar.Send(liar.Hello(), liar.queue_file(), bytes);
    EXPECT_EQ(liar.Hear(), 1) << bytes;
    EXPECT_EQ(liar.Hear(), std::nullopt) << bytes;
  }
  EXPECT_EQ(device.hosts(), 0u);
  ExpectServed(device);
}

TEST(HostileHost, AGreetingThatLiesIsRefused) {
  DeviceThread device(kIpuModel);
  const std::vector<void (*)(Request&)> lies = {
      [](Request& r) { r.magic ^= 1; },
      [](Request& r) { ++r.version; },
      [](Request& r) { r.kind = Kind::kMap; },
      [](Request& r) { r.kind = static_cast<Kind>(999); },
      [](Request& r) { r.sequence = 2; },
      [](Request& r) { std::strcpy(r.model, "enso"); },
      [](Request& r) { std::strcpy(r.model, "i\npu"); },
      [](Request& r) { std::memset(r.model, 'x', sizeof(r.model)); },
      [](Request& r) { r.bytes += 4096; },
      [](Request& r) { r.bytes = 0; },
      [](Request& r) { std::memset(r.name, 'x', sizeof(r.name)); },
      [](Request& r) { std::strcpy(r.name, "a\nb"); },
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    Liar liar;
    Request hello = liar.Hello();
    lies[i](hello);
    liar.Send(hello, liar.queue_file());
    EXPECT_EQ(liar.Hear(), 1) << i;
  }
  const base::OwnedFd unsealed = Memfd(QueueBytes(), false), small = Memfd(4096, true);
  const base::OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int file : {-1, unsealed.fd(), small.fd(), null.fd()}) {
    Liar liar;
    liar.Send(liar.Hello(), file);
    EXPECT_EQ(liar.Hear(), 1);
  }
  EXPECT_EQ(device.hosts(), 0u);
  ExpectServed(device);
}

TEST(HostileHost, ASilentNewcomerDelaysTheNextByABoundedTime) {
  DeviceThread device(kIpuModel);
  const Liar silent;
  const auto begin = std::chrono::steady_clock::now();
  Liar honest;
  honest.Send(honest.Hello(), honest.queue_file());
  EXPECT_EQ(honest.Hear(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4 * kMessagePatience);
}

TEST(HostileHost, ARequestCutOffAtEveryByteEndsTheConnection) {
  DeviceThread device(kIpuModel);
  for (size_t bytes = 1; bytes < sizeof(Request); ++bytes) {
    Liar liar;
    liar.Attach();
    liar.Send(liar.Next(Kind::kStatistics), -1, bytes);
    ASSERT_EQ(liar.Hear(), std::nullopt) << bytes;
    ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  }
  ExpectServed(device);
}

TEST(HostileHost, OversizedAndOutOfSequenceRequestsEndTheConnection) {
  DeviceThread device(kIpuModel);
  for (int lie = 0; lie < 3; ++lie) {
    Liar liar;
    liar.Attach();
    std::array<Request, 2> two = {liar.Next(Kind::kWireUp), liar.Next(Kind::kWireUp)};
    if (lie == 0) liar.channel().Send(&two, sizeof(two));
    if (lie == 1) liar.Send(two[1], -1);
    if (lie == 2) liar.channel().Shutdown();
    EXPECT_EQ(liar.Hear(), std::nullopt) << lie;
    ASSERT_TRUE(Eventually([&] { return !device.attached(); }));
  }
  ExpectServed(device);
}

TEST(HostileHost, SeveralFilesEndTheConnectionAndStayWithNobody) {
  DeviceThread device(kIpuModel);
  Liar liar;
  liar.Attach();
  const Request request = liar.Next(Kind::kMap);
  std::array<int, 100> files;
  files.fill(liar.queue_file());
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(files))> control{};
  iovec part = {const_cast<Request*>(&request), sizeof(request)};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(files));
  std::memcpy(CMSG_DATA(rights), files.data(), sizeof(files));
  ASSERT_GT(sendmsg(liar.channel().fd(), &message, MSG_NOSIGNAL), 0);
  EXPECT_EQ(liar.Hear(), std::nullopt);
  ExpectServed(device);
}

TEST(HostileHost, MemoryThatCannotBeIsRefusedAndTheConnectionStays) {
  DeviceThread device(kIpuModel);
  Liar liar;
  liar.Attach();
  const base::OwnedFd file = Memfd(1 << 20, true), unsealed = Memfd(1 << 20, false);
  constexpr uint64_t kBus = uint64_t{1} << 33;
  const auto memory = [&](uint64_t bus, uint64_t bytes, uint64_t offset, uint64_t area_bus,
                          uint64_t area_bytes) {
    Request request = liar.Next(Kind::kMemory);
    request.bus = bus;
    request.bytes = bytes;
    request.offset = offset;
    request.area_bus = area_bus;
    request.area_bytes = area_bytes;
    liar.Send(request, file.fd());
    return liar.Hear();
  };
  EXPECT_EQ(memory(kBus, 4096, 0, kBus, uint64_t{1} << 41), 1) << "an area beyond reason";
  EXPECT_EQ(memory(kBus, 4096, 0, kBus + 4096, 8192), 1) << "below its area";
  EXPECT_EQ(memory(kBus, 8192, 0, kBus, 4096), 1) << "longer than its area";
  EXPECT_EQ(memory(kBus, 4096, 1 << 20, kBus, 8192), 1) << "behind the file";
  EXPECT_EQ(memory(kBus, 4096, ~uint64_t{4095}, kBus, 8192), 1);
  EXPECT_EQ(memory(kBus + 1, 4096, 0, kBus, 8192), 1) << "no page";
  EXPECT_EQ(memory(~uint64_t{4095}, 8192, 0, ~uint64_t{4095}, 8192), 1) << "wraps";
  EXPECT_EQ(memory(kBus, 4096, 0, kBus, 1 << 20), 0);
  EXPECT_EQ(memory(kBus - 4096, 4096, 0, kBus - 4096, 8192), 1) << "areas overlap";

  const auto map = [&](Kind kind, uint64_t bus, uint64_t bytes, int with, std::string_view name) {
    Request request = liar.Next(kind);
    request.bus = bus;
    request.bytes = bytes;
    SetText(request.name, name);
    liar.Send(request, with);
    return liar.Hear();
  };
  constexpr uint64_t kRing = uint64_t{1} << 34;
  EXPECT_EQ(map(Kind::kMap, kRing, 4096, -1, ""), 1) << "no file";
  EXPECT_EQ(map(Kind::kMap, kRing, 4096, unsealed.fd(), ""), 1) << "might shrink";
  EXPECT_EQ(map(Kind::kMap, kRing, 2 << 20, file.fd(), ""), 1) << "longer than its file";
  EXPECT_EQ(map(Kind::kMap, kRing, 0, file.fd(), ""), 1);
  EXPECT_EQ(map(Kind::kMap, kBus, 4096, file.fd(), ""), 1) << "overlaps memory";
  EXPECT_EQ(map(Kind::kUnmap, kRing, 0, -1, ""), 1) << "not mapped";
  EXPECT_EQ(map(Kind::kUnmap, 0, 0, -1, "nobody"), 1);
  EXPECT_EQ(map(Kind::kAdopt, 0, 0, -1, "nobody"), 1);
  EXPECT_EQ(map(Kind::kForget, kRing, 4096, -1, ""), 1) << "no memory";
  EXPECT_EQ(map(static_cast<Kind>(999), 0, 0, -1, ""), 1);
  EXPECT_EQ(map(Kind::kHello, 0, QueueBytes(), -1, ""), 1) << "only once";
  EXPECT_EQ(map(Kind::kInterrupts, 0, 0, -1, ""), 1) << "no file";
  EXPECT_EQ(map(Kind::kInterrupts, 0, 0, file.fd(), ""), 1) << "no socket";
  for (uint64_t i = 0; i < NamedMemory::kMaxNames; ++i) {
    ASSERT_EQ(map(Kind::kMap, kRing + 4096 * i, 4096, file.fd(), std::to_string(i)), 0);
  }
  EXPECT_EQ(map(Kind::kMap, kRing << 1, 4096, file.fd(), "one too many"), 1);
  EXPECT_EQ(map(Kind::kMap, kRing << 1, 4096, file.fd(), ""), 0);
}

/// Attaches to a device that answers kHello with `answer`. Returns the error.
std::string AttachTo(const std::function<void(Channel&)>& answer) {
  std::string error;
  base::OwnedFd listener = Listen(TestSocket(), &error);
  EXPECT_TRUE(listener) << error;
  std::thread device([&] {
    pollfd wait = {listener.fd(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(kLiarPatience.count()));
    Channel channel(base::OwnedFd(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
    Request hello;
    base::OwnedFd queue;
    EXPECT_TRUE(channel.Receive(&hello, sizeof(hello), &queue, kLiarPatience));
    answer(channel);
  });
  EXPECT_EQ(
      Attach("net_remote2", kIpuModel, {}, std::vector<Argument>{{"device", TestSocket()}}, &error),
      nullptr);
  device.join();
  unlink(TestSocket().c_str());
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  EXPECT_NE(error.find(TestSocket()), std::string::npos) << error;
  return error;
}

TEST(HostileDevice, AnAnswerCutOffAtEveryByteEndsInOneLine) {
  Reply reply;
  reply.sequence = 1;
  for (size_t bytes = 1; bytes < sizeof(Reply); ++bytes) {
    const std::string error = AttachTo([&](Channel& channel) { channel.Send(&reply, bytes); });
    ASSERT_NE(error.find("too short"), std::string::npos) << error;
  }
}

TEST(HostileDevice, AnAnswerThatLiesEndsInOneLine) {
  const std::vector<void (*)(Reply&)> lies = {
      [](Reply& r) { r.magic = 0; },
      [](Reply& r) { ++r.version; },
      [](Reply& r) { r.sequence = 9; },
      [](Reply& r) { r.count = 1; },
      [](Reply& r) { r.count = 0xffff'ffff; },
      [](Reply& r) { std::memset(r.text, 'x', sizeof(r.text)); },
      [](Reply& r) { std::strcpy(r.text, "\x1b[2J"); },
  };
  for (const auto lie : lies) {
    Reply reply;
    reply.sequence = 1;
    lie(reply);
    AttachTo([&](Channel& channel) { channel.Send(&reply, sizeof(reply)); });
  }
  AttachTo([&](Channel&) {});  // The device closes the connection.
}

TEST(HostileDevice, SilenceIsWaitedForABoundedTime) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string error = AttachTo([&](Channel& channel) {
    Request more;
    base::OwnedFd none;
    // Waits until the host closes the connection, at most 2 * kMessagePatience.
    channel.Receive(&more, sizeof(more), &none, 2 * kMessagePatience);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 4 * kMessagePatience);
  EXPECT_NE(error.find("does not answer"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::emulator
