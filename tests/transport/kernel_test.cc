// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the stack with Linux's TCP as the peer, in a network namespace of this process, over a tap
// device. Requires root.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "wire.h"

namespace sluice::transport {
namespace {

constexpr uint64_t kBytes = 20'000'000;

int tap = -1;

/// Creates the namespace and the device. Linux has the address 10.0.0.1. The stack has the address
/// 10.0.0.2 and does not answer ARP.
bool SetUp() {
  if (unshare(CLONE_NEWNET) != 0) return false;
  tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  std::strcpy(request.ifr_name, "tap0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  return tap >= 0 && ioctl(tap, TUNSETIFF, &request) == 0 &&
         std::system(
             "ip link set tap0 address 02:00:00:00:00:01 && "
             "ip addr add 10.0.0.1/24 dev tap0 && "
             "ip addr add fd00::1/64 dev tap0 nodad && ip link set tap0 up && "
             "ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev tap0 && "
             "ip neigh add fd00::2 lladdr 02:00:00:00:00:02 dev tap0") == 0;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Address AddressOf(bool ipv6, const char* text, uint16_t port) {
  Address address;
  if (ipv6) {
    auto& in = reinterpret_cast<sockaddr_in6&>(address.storage);
    in.sin6_family = AF_INET6, in.sin6_port = htons(port), address.bytes = sizeof(in);
    EXPECT_EQ(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
  } else {
    auto& in = reinterpret_cast<sockaddr_in&>(address.storage);
    in.sin_family = AF_INET, in.sin_port = htons(port), address.bytes = sizeof(in);
    EXPECT_EQ(inet_pton(AF_INET, text, &in.sin_addr), 1);
  }
  return address;
}

/// Sends and receives kBytes bytes of the pattern, and closes the stream in both directions.
void Exchange(int socket) {
  std::thread sender([&] {
    for (uint64_t sent = 0; sent < kBytes;) {
      uint64_t bytes = 0;
      const uint8_t* data = Pattern(sent, &bytes);
      const ssize_t done = send(socket, data, std::min(bytes, kBytes - sent), MSG_NOSIGNAL);
      ASSERT_GT(done, 0) << std::strerror(errno);
      sent += static_cast<uint64_t>(done);
    }
    shutdown(socket, SHUT_WR);
  });
  uint64_t received = 0;
  std::vector<uint8_t> buffer(100'000);
  ssize_t bytes;
  while ((bytes = recv(socket, buffer.data(), buffer.size(), 0)) > 0) {
    for (ssize_t i = 0; i < bytes; ++i, ++received) {
      uint64_t contiguous = 0;
      ASSERT_EQ(buffer[i], *Pattern(received, &contiguous));
    }
  }
  EXPECT_EQ(bytes, 0) << std::strerror(errno);
  EXPECT_EQ(received, kBytes);
  sender.join();
}

class KernelTest : public testing::TestWithParam<std::tuple<bool, bool>> {};
INSTANTIATE_TEST_SUITE_P(Roles, KernelTest, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "V6" : "V4") +
                                  (std::get<1>(info.param) ? "LinuxConnects" : "LinuxListens");
                         });

TEST_P(KernelTest, BothWays) {
  const auto [ipv6, linux_connects] = GetParam();
  StackOptions options;
  std::string error;
  ASSERT_TRUE(options.own.Add("10.0.0.2,fd00::2", &error));
  options.own.set_mac({2, 0, 0, 0, 0, 2});
  options.seed = static_cast<uint64_t>(getpid()) << 8 | ipv6 << 1 | linux_connects;
  Host host(options, [](const uint8_t* frame, uint32_t bytes) {
    EXPECT_EQ(write(tap, frame, bytes), static_cast<ssize_t>(bytes));
  });
  host.to_send = kBytes;
  ASSERT_TRUE(host.stack().Listen(80));

  const int socket = ::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
  const timeval patience = {30, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const char* own = ipv6 ? "fd00::1" : "10.0.0.1";
  if (!linux_connects) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const Address address = AddressOf(ipv6, own, 90);
    ASSERT_EQ(bind(socket, address.get(), address.bytes), 0);
    ASSERT_EQ(listen(socket, 5), 0);
    Peer peer = Wire::Server(ipv6, 90);
    peer.address[15] = 1;
    host.stack().Advance(1);
    ASSERT_TRUE(host.stack().Connect(peer, {2, 0, 0, 0, 0, 1}));
  }

  std::atomic<bool> done = false;
  std::thread linux_end([&] {
    if (linux_connects) {
      const Address server = AddressOf(ipv6, ipv6 ? "fd00::2" : "10.0.0.2", 80);
      EXPECT_EQ(connect(socket, server.get(), server.bytes), 0) << std::strerror(errno);
      Exchange(socket);
    } else {
      const int accepted = accept(socket, nullptr, nullptr);
      EXPECT_GE(accepted, 0) << std::strerror(errno);
      Exchange(accepted);
      close(accepted);
    }
    close(socket);
    done = true;
  });
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return static_cast<uint64_t>((std::chrono::steady_clock::now() - start).count());
  };
  std::array<uint8_t, 2048> frame;
  while (!(done && host.closed == 1) && elapsed() < 60'000'000'000) {
    pollfd wait = {tap, POLLIN, 0};
    poll(&wait, 1, 10);
    host.stack().Advance(1 + elapsed());
    for (int i = 0; i < 64; ++i) {
      const ssize_t bytes = read(tap, frame.data(), frame.size());
      if (bytes <= 0) break;
      host.stack().Input(frame.data(), static_cast<uint32_t>(bytes));
    }
  }
  linux_end.join();
  ASSERT_EQ(host.connections().size(), 1u);
  const Host::Connection& connection = host.connections().begin()->second;
  EXPECT_EQ(connection.received, kBytes);
  EXPECT_EQ(connection.end, End::kFinished);
  EXPECT_EQ(host.stack().counters().bad_segments, 0u);
  EXPECT_EQ(host.stack().counters().finished, 1u);
}

}  // namespace
}  // namespace sluice::transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!sluice::transport::SetUp()) {
    std::puts("no network namespace with a tap device: skipped");
    return 77;
  }
  return RUN_ALL_TESTS();
}
