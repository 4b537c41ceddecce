// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the datagrams described in sd_notify(3), with sockets that have either kind of name
// (unix(7)).
#include "host/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/owned_fd.h"

namespace sluice::host {
namespace {

class ServiceManager : public testing::Test {
 protected:
  ~ServiceManager() override {
    unsetenv("NOTIFY_SOCKET");
    if (name_.starts_with('/')) unlink(name_.c_str());
  }

  // Listens at `name` and sets NOTIFY_SOCKET to it.
  void Listen(const std::string& name) {
    name_ = name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LE(name.size(), sizeof(address.sun_path));
    name.copy(address.sun_path, name.size());
    if (name.starts_with('@')) address.sun_path[0] = '\0';
    socket_ = base::OwnedFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
    ASSERT_EQ(bind(socket_.fd(), reinterpret_cast<sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0);
    setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }

  // Returns the next datagram, or "nothing".
  std::string Received() const {
    std::array<char, 64> bytes;
    const ssize_t got = recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    return got < 0 ? "nothing" : std::string(bytes.data(), static_cast<size_t>(got));
  }

 private:
  std::string name_;
  base::OwnedFd socket_;
};

TEST_F(ServiceManager, IsToldAtAPath) {
  Listen(
      (std::filesystem::temp_directory_path() / ("notify_" + std::to_string(getpid()))).string());
  NotifyServiceManager(kServiceReady);
  NotifyServiceManager(kServiceStopping);
  EXPECT_EQ(Received(), "READY=1");
  EXPECT_EQ(Received(), "STOPPING=1");
  EXPECT_EQ(Received(), "nothing");
}

TEST_F(ServiceManager, IsToldAtAnAbstractName) {
  Listen("@sluice_notify_" + std::to_string(getpid()));
  NotifyServiceManager(kServiceReady);
  EXPECT_EQ(Received(), "READY=1");
}

TEST_F(ServiceManager, TheLongestNameIsWhole) {
  std::string name = "@sluice_notify_" + std::to_string(getpid());
  name.resize(sizeof(sockaddr_un::sun_path), 'x');
  Listen(name);
  NotifyServiceManager(kServiceReady);
  EXPECT_EQ(Received(), "READY=1");
  // A name that is one byte too long is invalid and must not be truncated.
  setenv("NOTIFY_SOCKET", (name + "x").c_str(), 1);
  NotifyServiceManager(kServiceReady);
  EXPECT_EQ(Received(), "nothing");
}

TEST_F(ServiceManager, NobodyIsToldWhereNobodyWaits) {
  const std::string name = "@sluice_notify_" + std::to_string(getpid());
  Listen(name);
  for (const char* none : {"", "relative", "vsock:2:1"}) {
    setenv("NOTIFY_SOCKET", none, 1);
    NotifyServiceManager(kServiceReady);
  }
  unsetenv("NOTIFY_SOCKET");
  NotifyServiceManager(kServiceReady);
  setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
  NotifyServiceManager(kServiceReady);
  EXPECT_EQ(Received(), "nothing");
}

}  // namespace
}  // namespace sluice::host
