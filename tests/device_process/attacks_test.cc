// SPDX-License-Identifier: BSD-3-Clause
//
// Tests attacks on sluice-device and on its hosts. An honest host of another device must continue
// undisturbed. After each attack, the attacked process must serve an honest peer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bar/ring_memory.h"
#include "liar.h"
#include "process.h"

namespace sluice::emulator {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMemory = uint64_t{1} << 33;
constexpr uint64_t kRing = uint64_t{1} << 35;
constexpr uint64_t kBytes = 1 << 20;
constexpr uid_t kNobody = 65534;

class Attacks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    victim_ = std::make_unique<Process>(TestSocket() + ".victim");
    other_ = std::make_unique<Process>(TestSocket() + ".other");
    std::string error;
    honest_ = Attach("net_remote6", kIpuModel, {},
                     std::vector<Argument>{{"device", other_->socket()}}, &error);
    ASSERT_NE(honest_, nullptr) << error;
    honest_->EnableWire(true);
  }
  static void TearDownTestSuite() {
    honest_.reset();
    EXPECT_EQ(victim_->End(SIGTERM), 0) << "it ends as it should";
    EXPECT_EQ(other_->End(SIGTERM), 0);
    victim_.reset();
    other_.reset();
  }

  void SetUp() override { offered_ = Offered(); }
  void TearDown() override {
    EXPECT_EQ(honest_->Generation(), 1u) << "the other link never ended";
    EXPECT_TRUE(honest_->registers().LinkUp());
    EXPECT_TRUE(Eventually([this] { return Offered() > offered_; })) << "its traffic goes on";
  }

  static uint64_t Offered() {
    for (const Statistic& statistic : honest_->Statistics()) {
      if (statistic.name == "wire_offered") return statistic.value;
    }
    return 0;
  }
  static void ExpectServed() {
    ASSERT_TRUE(victim_->Runs());
    ASSERT_TRUE(Eventually([] {
      Liar honest(victim_->socket());
      honest.Send(honest.Hello(), honest.queue_file());
      return honest.Hear() == 0;
    }));
  }
  static void ExpectDisconnected(Liar& liar) {
    pollfd end = {liar.channel().fd(), POLLRDHUP, 0};
    EXPECT_EQ(poll(&end, 1, 10'000), 1);
  }

  static inline std::unique_ptr<Process> victim_, other_;
  static inline std::unique_ptr<Attachment> honest_;
  uint64_t offered_ = 0;
};

TEST_F(Attacks, MemoryAnnouncedTwice) {
  const base::OwnedFd memory = Memfd(kBytes, true), unmappable = UnmappableMemfd();
  for (int i = 0; i < attack_rounds; ++i) {
    Liar liar(victim_->socket());
    liar.Attach();
    ASSERT_EQ(liar.Memory(kMemory, kBytes, memory.fd()), 0);
    ASSERT_EQ(liar.Map(Kind::kMap, kRing, kPage, memory.fd()), 0);
    EXPECT_EQ(liar.Memory(kMemory, uint64_t{2} << 20, unmappable.fd()), 1);
    EXPECT_EQ(liar.Map(Kind::kMap, kRing, uint64_t{2} << 20, unmappable.fd()), 1);
    liar.Transmit(i % 2 == 0 ? kMemory : kRing);
    EXPECT_EQ(liar.Map(Kind::kWireUp, 0, 0, -1), 0) << "and the first is in use";
    liar.channel().Shutdown();
    ExpectServed();
  }
}

TEST_F(Attacks, MapChurn) {
  // Maps different sizes repeatedly over one connection. With 200 rounds, the number of mappings
  // exceeds Linux's limit per process.
  const int pairs = 330 * attack_rounds;
  const base::OwnedFd memory = Memfd(pairs * kPage, true);
  Liar liar(victim_->socket());
  liar.Attach();
  for (int i = 1; i <= pairs; ++i) {
    ASSERT_EQ(liar.Map(Kind::kMap, kRing, static_cast<uint64_t>(i) * kPage, memory.fd()), 0) << i;
    ASSERT_EQ(liar.Map(Kind::kUnmap, kRing, 0, -1), 0) << i;
  }
  liar.channel().Shutdown();
  ExpectServed();
}

TEST_F(Attacks, MemoryInSplinters) {
  const base::OwnedFd memory = Memfd(kPage, true);
  Liar liar(victim_->socket());
  liar.Attach();
  std::optional<uint16_t> answer = 0;
  for (uint64_t i = 0; i < 330u * static_cast<uint64_t>(attack_rounds) && answer == 0; ++i) {
    Request request = liar.Next(Kind::kMemory);
    request.bus = kMemory + 2 * i * kPage;
    request.area_bus = kMemory;
    request.bytes = kPage;
    request.area_bytes = uint64_t{1} << 30;
    liar.Send(request, memory.fd());
    answer = liar.Hear();
    if (answer == 0 && i % 2 == 0) answer = liar.Map(Kind::kForget, request.bus, kPage, -1);
  }
  EXPECT_NE(answer, std::nullopt) << "refused perhaps, and answered";
  liar.channel().Shutdown();
  ExpectServed();
}

TEST_F(Attacks, HolesUnderADeviceThatSends) {
  for (int i = 0; i < attack_rounds; ++i) {
    const base::OwnedFd memory = Memfd(kBytes, true);
    Liar liar(victim_->socket());
    liar.Attach();
    ASSERT_EQ(liar.Map(Kind::kMap, kRing, kBytes, memory.fd()), 0);
    liar.Transmit(kRing);
    for (const int file : {memory.fd(), liar.queue_file()}) {
      EXPECT_EQ(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kBytes), 0);
    }
    liar.channel().Shutdown();
    ExpectServed();
  }
}

TEST_F(Attacks, TruncationUnderADeviceThatSends) {
  for (int i = 0; i < attack_rounds; ++i) {
    const base::OwnedFd memory = Memfd(kBytes, false);
    Liar liar(victim_->socket());
    liar.Attach();
    ASSERT_EQ(liar.Memory(kMemory, kBytes, memory.fd()), 0);
    if (i % 2 == 0) liar.Transmit(kMemory);
    ASSERT_EQ(ftruncate(memory.fd(), 0), 0);
    liar.Transmit(kMemory);
    ExpectDisconnected(liar);
    ExpectServed();
  }
}

/// A device that grants every request and maps the given register queue.
class LyingDevice {
 public:
  LyingDevice() : path_(TestSocket() + ".liar") {
    std::string error;
    listener_ = Listen(path_, &error);
    EXPECT_TRUE(listener_) << error;
    thread_ = std::thread([this] { Serve(); });
  }
  ~LyingDevice() {
    thread_.join();
    unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }
  void Scribble(int pattern) { std::memset(queue_.data(), pattern, queue_.bytes()); }

 private:
  void Serve() {
    pollfd wait = {listener_.fd(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(kLiarPatience.count()));
    Channel channel(base::OwnedFd(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
    Request request;
    for (base::OwnedFd file; channel.Receive(&request, sizeof(request), &file, kLiarPatience);
         file = base::OwnedFd()) {
      if (request.kind == Kind::kHello) {
        queue_ = bar::RingMemory::FromFile(file.Release(), request.bytes, false);
      }
      Reply reply;
      reply.sequence = request.sequence;
      channel.Send(&reply, sizeof(reply));
    }
  }

  const std::string path_;
  base::OwnedFd listener_;
  bar::RingMemory queue_;
  std::thread thread_;
};

TEST_F(Attacks, SharedLockSetByADevice) {
  for (int i = 0; i < attack_rounds; ++i) {
    LyingDevice device;
    std::string error;
    auto host = Attach("net_remote7", kIpuModel, {},
                       std::vector<Argument>{{"device", device.path()}}, &error);
    ASSERT_NE(host, nullptr) << error;
    device.Scribble(0xff);
    constexpr uint32_t kThreads = 70;  // More than the number of lanes.
    std::atomic<uint32_t> done{0};
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        host->registers().Write32(0, 1);
        done.fetch_add(1);
        while (done.load() < kThreads && host->registers().LinkUp()) std::this_thread::yield();
      });
    }
    EXPECT_TRUE(Eventually([&] { return done.load() == kThreads; }));
    device.Scribble(0);
    for (std::thread& thread : threads) thread.join();
    host.reset();
  }
}

/// Runs `attack` as the user `nobody`. Returns its exit code.
template <typename Attack>
int AsNobody(Attack attack) {
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
      _exit(99);
    }
    _exit(attack());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Attacks, AForeignUserIsNoHost) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  for (int i = 0; i < attack_rounds; ++i) {
    // The socket's mode keeps the user out. If the mode was changed, the check of the user's
    // credentials rejects the user.
    const bool open = i % 2 != 0;
    chmod(victim_->socket().c_str(), open ? 0777 : 0700);
    const int code = AsNobody([&] {
      std::string error;
      Channel channel(Connect(victim_->socket(), 0, &error));
      if (!channel) return 1;
      Request hello;
      hello.kind = Kind::kHello;
      hello.sequence = 1;
      channel.Send(&hello, sizeof(hello));
      Reply reply;
      base::OwnedFd file;
      return channel.Receive(&reply, sizeof(reply), &file, kLiarPatience) ? 0 : 2;
    });
    EXPECT_EQ(code, open ? 2 : 1);
    ExpectServed();
  }
}

TEST_F(Attacks, AForeignUsersDeviceGetsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  char folder[] = "/tmp/sluice-attacks-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  ASSERT_EQ(chown(folder, kNobody, kNobody), 0);
  const std::string path = std::string(folder) + "/device.sock";
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ready[0]);
    close(done[1]);
    if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
      _exit(99);
    }
    std::string error;
    base::OwnedFd listener = Listen(path, &error);
    char byte = static_cast<bool>(listener) ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(98);
    int heard = 0;
    for (pollfd wait[2] = {{listener.fd(), POLLIN, 0}, {done[0], POLLIN, 0}};
         poll(wait, 2, 60'000) > 0 && wait[1].revents == 0;) {
      Channel channel(base::OwnedFd(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
      Request hello;
      base::OwnedFd file;
      heard += channel.Receive(&hello, sizeof(hello), &file, kLiarPatience).has_value();
    }
    _exit(heard);
  }
  close(ready[1]);
  close(done[0]);
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const std::string user = "device_uid=" + std::to_string(kNobody);
  for (int i = 0; i < attack_rounds; ++i) {
    std::string error;
    EXPECT_EQ(Attach("net_remote7", kIpuModel, {}, std::vector<Argument>{{"device", path}}, &error),
              nullptr);
    EXPECT_NE(error.find(user), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  std::string error;
  EXPECT_TRUE(Connect(path, kNobody, &error)) << "unless it is trusted: " << error;
  EXPECT_FALSE(Connect(path, kNobody - 1, &error));
  close(done[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "not one message was sent";
  close(ready[0]);
  unlink(path.c_str());
  rmdir(folder);
}

}  // namespace
}  // namespace sluice::emulator
