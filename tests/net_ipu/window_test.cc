// SPDX-License-Identifier: BSD-3-Clause
//
// Tests windows through rte_pmd_ipu.h. Each back end must transfer lines and swaps, report its
// capabilities, and trace its operations.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bar/line_check.h"
#include "c_window.h"

extern char** environ;

namespace sluice::net_ipu::test {
namespace {

/// A net_ipu port. The window does not depend on the port's kind.
class WindowTest : public ::testing::Test {
 protected:
  WindowTest() {
    EXPECT_EQ(rte_vdev_init("net_ipu_window0", ""), 0);
    EXPECT_EQ(rte_eth_dev_get_port_by_name("net_ipu_window0", &id), 0);
  }
  ~WindowTest() override {
    EXPECT_EQ(rte_eth_dev_close(id), 0);
    rte_vdev_uninit("net_ipu_window0");
  }
  uint16_t id = 0;
};

rte_pmd_ipu_window_conf Conf(rte_pmd_ipu_backend backend, uint32_t lines, bool nic_side = false) {
  rte_pmd_ipu_window_conf conf{};
  conf.backend = backend;
  conf.lines = lines;
  conf.nic_side = nic_side;
  conf.fd = -1;
  return conf;
}

int OpenError(uint16_t port, const rte_pmd_ipu_window_conf& conf) {
  rte_pmd_ipu_window* window = nullptr;
  const int error = rte_pmd_ipu_window_open(port, &conf, &window);
  rte_pmd_ipu_window_close(window);
  return error;
}

class Window {
 public:
  Window(uint16_t port, const rte_pmd_ipu_window_conf& conf) : lines(conf.lines) {
    EXPECT_EQ(rte_pmd_ipu_window_open(port, &conf, &handle), 0);
  }
  ~Window() { rte_pmd_ipu_window_close(handle); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  CWindow End() { return {handle, lines}; }

  rte_pmd_ipu_window* handle = nullptr;
  uint32_t lines;
};

/// A file that replaces a device's BAR; the test simulates the NIC's side.
class BarFile {
 public:
  explicit BarFile(size_t bytes) : bytes_(bytes) {
    const char* const folder = std::getenv("TMPDIR");
    path = std::string(folder != nullptr ? folder : "/tmp") + "/net_ipu_bar_XXXXXX";
    const int fd = mkstemp(path.data());
    EXPECT_GE(fd, 0);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(memory_, MAP_FAILED);
    close(fd);
  }
  ~BarFile() {
    munmap(memory_, bytes_);
    unlink(path.c_str());
  }
  bar::Line& At(size_t offset) {
    return *reinterpret_cast<bar::Line*>(static_cast<uint8_t*>(memory_) + offset);
  }
  std::string path;

 private:
  size_t bytes_;
  void* memory_;
};

constexpr std::array<uint64_t, 8> kWords = {1, 2, 3, 4, 5, 6, 7, 8};

TEST_F(WindowTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(OpenError(RTE_MAX_ETHPORTS, Conf(RTE_PMD_IPU_SHM, 1)), -ENOTSUP);
  for (const auto backend : {RTE_PMD_IPU_SHM, RTE_PMD_IPU_VIRTUAL}) {
    EXPECT_EQ(OpenError(id, Conf(backend, 0)), -EINVAL);
    EXPECT_EQ(OpenError(id, Conf(backend, 4097)), -EINVAL);
    EXPECT_EQ(OpenError(id, Conf(backend, 4096)), 0);
    Window host(id, Conf(backend, 4));
    EXPECT_EQ(OpenError(id, Conf(backend, 4)), -EBUSY);
    EXPECT_EQ(OpenError(id, Conf(backend, 5, true)), -EINVAL) << "it has 4 lines";
    Window nic(id, Conf(backend, 4, true));
    EXPECT_EQ(OpenError(id, Conf(backend, 4, true)), -EBUSY);
  }
  EXPECT_EQ(OpenError(id, Conf(RTE_PMD_IPU_BAR, 1)), -EINVAL) << "no file";
  auto bar = Conf(RTE_PMD_IPU_BAR, 1, true);
  bar.bar = "/nowhere";
  EXPECT_EQ(OpenError(id, bar), -ENOTSUP) << "that side is the device's";
  bar.nic_side = false;
  EXPECT_EQ(OpenError(id, bar), -ENOENT);
}

TEST_F(WindowTest, EachBackEndSaysWhatItCanDo) {
  Window shm(id, Conf(RTE_PMD_IPU_SHM, 1));
  EXPECT_EQ(rte_pmd_ipu_window_capabilities(shm.handle),
            RTE_PMD_IPU_CAP_LINE_ATOMIC | RTE_PMD_IPU_CAP_NIC_STORES_HOST |
                RTE_PMD_IPU_CAP_COHERENT | RTE_PMD_IPU_CAP_MODELLED);
  EXPECT_GE(rte_pmd_ipu_window_fd(shm.handle), 0);
  Window time(id, Conf(RTE_PMD_IPU_VIRTUAL, 1));
  const uint32_t virtual_caps = rte_pmd_ipu_window_capabilities(time.handle);
  EXPECT_TRUE(virtual_caps & RTE_PMD_IPU_CAP_MODELLED);
  EXPECT_TRUE(virtual_caps & RTE_PMD_IPU_CAP_NIC_STORES_HOST);
  EXPECT_FALSE(virtual_caps & RTE_PMD_IPU_CAP_COHERENT) << "PCIe is not";
  EXPECT_EQ(rte_pmd_ipu_window_fd(time.handle), -1);
  BarFile file(4096);
  auto conf = Conf(RTE_PMD_IPU_BAR, 4);
  conf.bar = file.path.c_str();
  Window bar(id, conf);
  const uint32_t bar_caps = rte_pmd_ipu_window_capabilities(bar.handle);
  EXPECT_FALSE(bar_caps & (RTE_PMD_IPU_CAP_NIC_STORES_HOST | RTE_PMD_IPU_CAP_COHERENT |
                           RTE_PMD_IPU_CAP_MODELLED | RTE_PMD_IPU_CAP_INTERRUPT));
}

TEST_F(WindowTest, ALineArrivesAtTheOtherEndAlone) {
  for (const auto backend : {RTE_PMD_IPU_SHM, RTE_PMD_IPU_VIRTUAL}) {
    Window host(id, Conf(backend, 3));
    Window nic(id, Conf(backend, 3, true));
    rte_pmd_ipu_window_post(host.handle, 1, kWords.data());
    for (int looks = 0; looks < 1000 && rte_pmd_ipu_window_peek(nic.handle, 1) == 0; ++looks) {
    }
    std::array<uint64_t, 8> line{};
    ASSERT_TRUE(rte_pmd_ipu_window_poll(nic.handle, 1, line.data()));
    EXPECT_EQ(line, kWords);
    EXPECT_EQ(rte_pmd_ipu_window_read(nic.handle, 1, 6), 7u);
    ASSERT_TRUE(rte_pmd_ipu_window_poll(nic.handle, 0, line.data()));
    EXPECT_EQ(line[0], 0u) << "never posted";
    EXPECT_EQ(rte_pmd_ipu_window_peek(host.handle, 1), 0u) << "the other direction is its own";
  }
}

TEST_F(WindowTest, ABarCarriesSealedLines) {
  constexpr uint64_t kOffset = 1024;
  constexpr uint32_t kLines = 4;
  BarFile file(8192);
  auto conf = Conf(RTE_PMD_IPU_BAR, kLines);
  conf.bar = file.path.c_str();
  conf.offset = kOffset;
  Window host(id, conf);
  EXPECT_EQ(OpenError(id, conf), -EBUSY);
  rte_pmd_ipu_window_post(host.handle, 2, kWords.data());
  bar::Line line = file.At(kOffset + 2 * 64);
  ASSERT_TRUE(bar::UnsealLine(line));
  EXPECT_EQ(line.word, kWords);

  // The device's lines follow the host's lines.
  bar::Line& nic = file.At(kOffset + (kLines + 3) * 64);
  nic = bar::SealLine({.word = kWords});
  std::array<uint64_t, 8> words;
  EXPECT_EQ(rte_pmd_ipu_window_peek(host.handle, 3), 1u);
  ASSERT_TRUE(rte_pmd_ipu_window_poll(host.handle, 3, words.data()));
  EXPECT_EQ(words, kWords);
  nic.word[3] ^= 1;
  EXPECT_FALSE(rte_pmd_ipu_window_poll(host.handle, 3, words.data())) << "torn";
  nic.word[0] = ~uint64_t{0};
  EXPECT_EQ(rte_pmd_ipu_window_peek(host.handle, 3), ~uint64_t{0}) << "dead";
}

TEST_F(WindowTest, TheTraceHoldsTheNewestOperations) {
  Window host(id, Conf(RTE_PMD_IPU_SHM, 2));
  rte_pmd_ipu_window_flush(host.handle);
  EXPECT_EQ(rte_pmd_ipu_window_trace_count(host.handle), 0u);
  std::array<rte_pmd_ipu_trace_entry, 3> entries{};
  rte_pmd_ipu_window_trace(host.handle, entries.data(), 3);
  std::array<uint64_t, 8> line;
  rte_pmd_ipu_window_peek(host.handle, 1);
  rte_pmd_ipu_window_poll(host.handle, 0, line.data());
  rte_pmd_ipu_window_flush(host.handle);
  rte_pmd_ipu_window_post(host.handle, 1, kWords.data());
  EXPECT_EQ(rte_pmd_ipu_window_trace_count(host.handle), 4u);
  EXPECT_EQ(entries[0].operation, RTE_PMD_IPU_OP_POST) << "the fourth took the first one's place";
  EXPECT_EQ(entries[0].line, 1u);
  EXPECT_EQ(entries[0].bytes_down, 88u) << "64 bytes, header 16 and framing 8";
  EXPECT_EQ(entries[0].bytes_up, 0u);
  EXPECT_EQ(entries[1].operation, RTE_PMD_IPU_OP_POLL);
  EXPECT_EQ(entries[2].operation, RTE_PMD_IPU_OP_FLUSH);
  rte_pmd_ipu_window_trace(host.handle, nullptr, 0);
  rte_pmd_ipu_window_flush(host.handle);
  EXPECT_EQ(rte_pmd_ipu_window_trace_count(host.handle), 4u);
}

/// Runs both ends in the calling thread.
uint64_t SwapInOneThread(Window& host, Window& nic, uint64_t swaps) {
  CWindow host_end = host.End();
  CWindow nic_end = nic.End();
  swap::ResponderPort<CWindow> responder(nic_end, 0, NewResponder());
  Increment resource;
  uint64_t looks = 0;
  return Initiate(host_end, swaps, [&] {
    responder.Poll(resource);
    return ++looks < 1000 * (swaps + 10);
  });
}

TEST_F(WindowTest, SwapsRunBetweenTheEndsInOneProcess) {
  for (const auto backend : {RTE_PMD_IPU_SHM, RTE_PMD_IPU_VIRTUAL}) {
    Window host(id, Conf(backend, 1));
    Window nic(id, Conf(backend, 1, true));
    EXPECT_EQ(SwapInOneThread(host, nic, 1000), 1000u);
  }
}

TEST_F(WindowTest, ASwapInVirtualTimeIsOneLineEachWay) {
  Window host(id, Conf(RTE_PMD_IPU_VIRTUAL, 1));
  Window nic(id, Conf(RTE_PMD_IPU_VIRTUAL, 1, true));
  std::vector<rte_pmd_ipu_trace_entry> down(100'000), up(100'000);
  rte_pmd_ipu_window_trace(host.handle, down.data(), 100'000);
  rte_pmd_ipu_window_trace(nic.handle, up.data(), 100'000);
  ASSERT_EQ(SwapInOneThread(host, nic, 10), 10u);
  const auto posts = [](const std::vector<rte_pmd_ipu_trace_entry>& entries, uint64_t count) {
    std::vector<rte_pmd_ipu_trace_entry> found;
    for (uint64_t i = 0; i < count; ++i) {
      if (entries[i].operation == RTE_PMD_IPU_OP_POST) found.push_back(entries[i]);
    }
    return found;
  };
  const auto offers = posts(down, rte_pmd_ipu_window_trace_count(host.handle));
  const auto answers = posts(up, rte_pmd_ipu_window_trace_count(nic.handle));
  // The trace also contains the lines of the initial handshake.
  ASSERT_GE(offers.size(), 10u);
  ASSERT_GE(answers.size(), 10u);
  for (size_t i = 1; i <= 10; ++i) {
    const auto& offer = offers[offers.size() - i];
    const auto& answer = answers[answers.size() - i];
    EXPECT_EQ(offer.bytes_down, 88u);
    EXPECT_EQ(offer.bytes_up, 0u);
    EXPECT_EQ(answer.bytes_up, 88u);
    EXPECT_EQ(answer.bytes_down, 0u);
    EXPECT_GT(answer.time_ps, offer.time_ps) << "one way takes time";
  }
}

TEST_F(WindowTest, SwapsRunWithAnotherProcess) {
  constexpr uint32_t kLines = 2;
  Window host(id, Conf(RTE_PMD_IPU_SHM, kLines));
  const int inherited = dup(rte_pmd_ipu_window_fd(host.handle));  // Without close-on-exec.
  ASSERT_GE(inherited, 0);
  int input[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  std::string fd = std::to_string(inherited);
  std::string lines = std::to_string(kLines);
  std::string program = std::getenv("WINDOW_PEER");
  char* const arguments[] = {program.data(), fd.data(), lines.data(), nullptr};
  pid_t peer = 0;
  ASSERT_EQ(posix_spawn(&peer, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(inherited);
  close(input[0]);

  CWindow end = host.End();
  const uint64_t deadline = rte_get_timer_cycles() + 60 * rte_get_timer_hz();
  const auto between = [&] {
    sched_yield();
    return rte_get_timer_cycles() < deadline;
  };
  EXPECT_EQ(Initiate(end, 1000, between), 1000u);
  close(input[1]);  // Ends the peer.
  int status = 0;
  ASSERT_EQ(waitpid(peer, &status, 0), peer);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sluice::net_ipu::test
