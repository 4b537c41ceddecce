// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the socket at which a device listens, and the peers that each side accepts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "device.h"
#include "emulator/channel.h"
#include "emulator/socket_path.h"

namespace sluice::emulator {
namespace {

TEST(Socket, TakesTheDeadsPlaceAndNobodyElses) {
  std::string error;
  const std::string path = TestSocket();
  base::OwnedFd first = Listen(path, &error);
  ASSERT_TRUE(first) << error;
  EXPECT_FALSE(Listen(path, &error));
  EXPECT_NE(error.find("another process"), std::string::npos) << error;
  first = base::OwnedFd();
  EXPECT_FALSE(Connect(path, {}, &error));
  EXPECT_TRUE(Listen(path, &error)) << error;
  unlink(path.c_str());
  const base::OwnedFd file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_FALSE(Listen(path, &error)) << "a file is not ours to remove";
  unlink(path.c_str());
  EXPECT_FALSE(Listen(std::string(200, 'x'), &error));
  EXPECT_FALSE(Listen("/does/not/exist", &error));
  EXPECT_FALSE(Connect("", {}, &error));
}

TEST(Socket, CanBeConnectedToFromWhenItsPathIsThere) {
  const std::string path = TestSocket();
  std::atomic<bool> done = false;
  // Between two rounds, the device does not listen. Within a round, the path can disappear at any
  // time.
  std::atomic<uint64_t> refused = 0;
  std::thread seeker([&] {
    struct stat there {};
    while (!done) {
      if (lstat(path.c_str(), &there) == 0 && !ConnectTo(path) && errno == ECONNREFUSED) ++refused;
    }
  });
  std::string error;
  for (int round = 0; round < 200; ++round) {
    const base::OwnedFd listener = Listen(path, &error);
    EXPECT_TRUE(listener) << error;
    unlink(path.c_str());
  }
  done = true;
  seeker.join();
  EXPECT_EQ(refused, 0u);
}

TEST(Socket, IsThisUsersAloneWhateverTheUmask) {
  const mode_t mask = umask(0);
  std::string error;
  const base::OwnedFd listener = Listen(TestSocket(), &error);
  umask(mask);
  ASSERT_TRUE(listener) << error;
  struct stat info {};
  ASSERT_EQ(lstat(TestSocket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  unlink(TestSocket().c_str());
}

TEST(Socket, IsByDefaultWhereNobodyElseMayCreateFiles) {
  char folder[] = "/tmp/sluice-socket-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string own = folder;
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string saved = before != nullptr ? before : "";
  std::string error;
  setenv("XDG_RUNTIME_DIR", own.c_str(), 1);
  EXPECT_EQ(DefaultSocketPath(&error), own + "/sluice-device.sock");
  for (const mode_t mode : {0777, 0770, 01777}) {
    chmod(own.c_str(), mode);
    EXPECT_FALSE(IsPrivateFolder(own));
    EXPECT_NE(DefaultSocketPath(&error), own + "/sluice-device.sock") << std::oct << mode;
  }
  for (const char* const other : {"/tmp", "relative", "/does/not/exist"}) {
    setenv("XDG_RUNTIME_DIR", other, 1);
    const auto path = DefaultSocketPath(&error);
    ASSERT_TRUE(path) << error;
    EXPECT_TRUE(IsPrivateFolder(path->substr(0, path->rfind('/')))) << *path;
  }
  before != nullptr ? setenv("XDG_RUNTIME_DIR", saved.c_str(), 1) : unsetenv("XDG_RUNTIME_DIR");
  rmdir(folder);
}

TEST(Socket, AFolderOfItsOwnIsThisUsersAlone) {
  char shared[] = "/tmp/sluice-socket-XXXXXX";
  ASSERT_NE(mkdtemp(shared), nullptr);
  chmod(shared, 01777);
  const std::string own = std::string(shared) + "/sluice-" + std::to_string(geteuid());
  std::string error;
  for (int time = 0; time < 2; ++time) EXPECT_EQ(OwnFolder(shared, &error), own) << error;
  struct stat info {};
  ASSERT_EQ(stat(own.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  chmod(own.c_str(), 0755);
  EXPECT_FALSE(OwnFolder(shared, &error)) << "the folder may be readable by others";
  EXPECT_NE(error.find(own), std::string::npos) << error;
  rmdir(own.c_str());
  const std::string elsewhere = std::string(shared) + "/elsewhere";
  mkdir(elsewhere.c_str(), 0700);
  ASSERT_EQ(symlink(elsewhere.c_str(), own.c_str()), 0);
  EXPECT_FALSE(OwnFolder(shared, &error)) << "a link may be anybody's";
  unlink(own.c_str());
  rmdir(elsewhere.c_str());
  rmdir(shared);
}

TEST(Socket, WhoseDeviceToTrustIsANumberAndNeedsADevice) {
  for (const char* const uid : {"", "-1", "4294967295", "nobody", "1 ", "0x1"}) {
    std::string error;
    EXPECT_EQ(Attach("net_remote5", kIpuModel, {},
                     std::vector<Argument>{{"device", TestSocket()}, {"device_uid", uid}}, &error),
              nullptr);
    EXPECT_EQ(error.find("device_uid=" + std::string(uid) + ": give the number"), 0u) << error;
  }
  std::string error;
  EXPECT_EQ(
      Attach("net_remote5", kIpuModel, {}, std::vector<Argument>{{"device_uid", "0"}}, &error),
      nullptr);
  EXPECT_NE(error.find("device=SOCKET"), std::string::npos) << error;
}

}  // namespace
}  // namespace sluice::emulator
