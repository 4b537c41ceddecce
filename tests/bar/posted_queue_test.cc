// SPDX-License-Identifier: BSD-3-Clause
#include "bar/posted_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "bar/bar.h"
#include "one_cpu.h"

namespace sluice::bar {
namespace {

struct Recorder {
  std::vector<RegisterAccess> writes;
  std::map<uint32_t, uint64_t> registers;

  uint32_t Step(PostedQueue& queue) {
    return queue.Drain(
        64,
        [&](RegisterAccess access) {
          writes.push_back(access);
          registers[access.offset] = access.value;
        },
        [&](RegisterAccess access) { return registers[access.offset]; });
  }
};

TEST(PostedQueue, DeliversEveryStoreOfAThreadInOrderSameValueStoresIncluded) {
  const auto queue = std::make_unique<PostedQueue>();
  Bar bar(queue.get(), 4096);
  bar.Write32(4, 7);
  bar.Write32(4, 7);
  bar.Write64(8, 0x1'0000'0002);
  Recorder device;
  EXPECT_EQ(device.Step(*queue), 3u);
  ASSERT_EQ(device.writes.size(), 3u);
  EXPECT_EQ(device.writes[1].offset, 4u);
  EXPECT_EQ(device.writes[1].value, 7u);
  EXPECT_EQ(device.writes[2].bytes, 8u);
  EXPECT_EQ(device.writes[2].value, 0x1'0000'0002u);
}

TEST(PostedQueue, AReadTravelsBehindItsThreadsWrites) {
  const auto queue = std::make_unique<PostedQueue>();
  Bar bar(queue.get(), 4096);
  std::atomic<bool> stop{false};
  Recorder device;
  std::thread device_thread([&] {
    while (!stop.load(std::memory_order_acquire)) {
      if (device.Step(*queue) == 0) std::this_thread::yield();
    }
  });
  for (uint32_t i = 0; i < 2000; ++i) {
    bar.Write32(16, i);
    ASSERT_EQ(bar.Read32(16), i);
  }
  stop.store(true, std::memory_order_release);
  device_thread.join();
}

TEST(PostedQueue, KeepsTheOrderOfEachOfManyThreads) {
  const auto queue = std::make_unique<PostedQueue>();
  constexpr uint32_t kThreads = 70;  // More threads than lanes.
  constexpr uint32_t kStores = 300;
  std::atomic<bool> stop{false};
  std::map<uint32_t, uint64_t> next;
  bool in_order = true;
  std::thread device_thread([&] {
    const auto step = [&] {
      return queue->Drain(
          64, [&](RegisterAccess access) { in_order &= access.value == next[access.offset]++; },
          [](RegisterAccess) { return uint64_t{0}; });
    };
    while (!stop.load(std::memory_order_acquire)) {
      if (step() == 0) std::this_thread::yield();
    }
    while (step() != 0) {
    }
  });
  std::vector<std::thread> hosts;
  for (uint32_t t = 0; t < kThreads; ++t) {
    hosts.emplace_back([&, t] {
      Bar bar(queue.get(), 4096);
      for (uint32_t i = 0; i < kStores; ++i) bar.Write32(t * 4, i);
    });
  }
  for (std::thread& host : hosts) host.join();
  stop.store(true, std::memory_order_release);
  device_thread.join();
  EXPECT_TRUE(in_order);
  for (uint32_t t = 0; t < kThreads; ++t) EXPECT_EQ(next[t * 4], kStores);
}

TEST(PostedQueue, AFullQueueTakesTheLinkDownAfterABoundedWait) {
  const auto queue = std::make_unique<PostedQueue>();
  Bar bar(queue.get(), 4096);
  for (uint32_t i = 0; i < PostedQueue::kDepth; ++i) bar.Write32(0, i);
  EXPECT_TRUE(bar.LinkUp());
  const auto start = std::chrono::steady_clock::now();
  bar.Write32(0, 0);
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, PostedQueue::kTimeout);
  EXPECT_LT(waited, 5 * PostedQueue::kTimeout);
  EXPECT_FALSE(bar.LinkUp());
  EXPECT_EQ(bar.Read32(0), 0xffff'ffffu);
  EXPECT_EQ(bar.Read64(0), ~uint64_t{0});
}

TEST(PostedQueue, AModelWhoseProcessHasNoCpuMayAnswerLater) {
  const StarvedChild starved;
  const auto queue = std::make_unique<PostedQueue>();
  queue->SetModelProcess(starved.process());
  Bar bar(queue.get(), 4096);
  Recorder device;
  device.registers[8] = 5;
  std::atomic<uint32_t> value{0};
  std::thread reader([&] { value = bar.Read32(8); });
  std::this_thread::sleep_for(2 * PostedQueue::kTimeout);
  device.Step(*queue);
  reader.join();
  EXPECT_EQ(value, 5u);
  EXPECT_TRUE(bar.LinkUp());
}

TEST(PostedQueue, WhatWasPostedBeforeTheLinkWentDownNeverArrives) {
  const auto queue = std::make_unique<PostedQueue>();
  Bar bar(queue.get(), 4096);
  Recorder device;
  bar.Write32(0, 1);
  queue->MarkLinkDown();
  bar.Write32(0, 2);
  queue->BringLinkUp();
  bar.Write32(0, 3);
  device.Step(*queue);
  ASSERT_EQ(device.writes.size(), 1u);
  EXPECT_EQ(device.writes[0].value, 3u);
}

// Returns whether a read from a silent device ended when the link went down, before the read timed
// out.
bool ReadEndsWithTheLink() {
  const auto queue = std::make_unique<PostedQueue>();
  Bar bar(queue.get(), 4096);
  Recorder device;
  device.registers[8] = 5;
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<uint32_t> value{0};
  std::thread reader([&] { value.store(bar.Read32(8)); });
  // Repeat, because the read may start only after the link has come back up.
  while (value.load() == 0) {
    std::this_thread::yield();
    queue->MarkLinkDown();
    queue->BringLinkUp();
  }
  reader.join();
  EXPECT_EQ(value.load(), 0xffff'ffffu);
  const bool soon = std::chrono::steady_clock::now() - begin < PostedQueue::kTimeout;
  device.Step(*queue);
  EXPECT_TRUE(queue->LinkUp());
  return soon;
}

TEST(PostedQueue, AReadEndsWithTheLinkEvenIfTheLinkComesBackAtOnce) {
  // The scheduler may suspend the reader for longer than the timeout, but not in every attempt.
  bool soon = false;
  for (int attempt = 0; attempt < 5 && !soon; ++attempt) soon = ReadEndsWithTheLink();
  EXPECT_TRUE(soon);
}

TEST(PostedQueue, NobodyRunsWhatAnotherProcessDoesWhileItWaits) {
  for (const bool ours : {true, false}) {
    const auto queue = std::make_unique<PostedQueue>();
    Recorder device;
    struct Context {
      PostedQueue& queue;
      Recorder& device;
      uint32_t calls = 0;
    } context{*queue, device};
    const auto step = [](void* self) {
      auto& waiting = *static_cast<Context*>(self);
      ++waiting.calls;
      waiting.device.Step(waiting.queue);
    };
    // The step callback is stored in shared memory. Another process can find it there but must not
    // call it.
    Bar bar(queue.get(), 4096, {step, &context, ours ? getpid() : getpid() + 1});
    for (uint32_t i = 0; i < PostedQueue::kDepth; ++i) bar.Write32(0, i);
    std::thread later([&] {
      if (ours) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      device.Step(*queue);
    });
    bar.Write32(0, PostedQueue::kDepth);
    later.join();
    EXPECT_EQ(context.calls != 0, ours);
    EXPECT_TRUE(queue->LinkUp());
  }
}

TEST(PostedQueue, AProcessIsAGuestFromTheFirstStoreOnOrNever) {
  // The child process has not posted any store yet.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const auto queue = std::make_unique<PostedQueue>();
        Recorder device;
        bool right = true;
        std::thread([&] { right = PostedQueue::BecomeGuest(PostedQueue::kGuests - 1); }).join();
        Bar bar(queue.get(), 4096);
        std::thread([&] { bar.Write32(8, 5); }).join();
        device.Step(*queue);
        right = right && device.writes.size() == 1 && device.writes[0].value == 5;
        std::thread([&] {
          bar.Write32(8, 6);  // This thread owns a lane from now on.
          right = right && !PostedQueue::BecomeGuest(0);
          right = right && PostedQueue::BecomeGuest(PostedQueue::kGuests - 1);
        }).join();
        std::_Exit(right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(PostedQueue, ADeviceThatWritesAllOverTheQueueHoldsNoThreadUp) {
  // Overwrites locks, counts and indices with all ones, with other patterns, and with zeroes,
  // except for the link state.
  const auto queue = std::make_unique<PostedQueue>();
  uint8_t* const bytes = reinterpret_cast<uint8_t*>(queue.get());
  for (const int pattern : {0xff, 0x01, 0x80}) {
    std::memset(bytes, pattern, sizeof(PostedQueue));
    constexpr uint32_t kThreads = 70;  // More threads than lanes.
    std::atomic<uint32_t> done{0};
    std::vector<std::thread> hosts;
    for (uint32_t t = 0; t < kThreads; ++t) {
      hosts.emplace_back([&] {
        Bar bar(queue.get(), 4096);
        bar.Write32(0, 1);
        done.fetch_add(1);
        // Keep the thread's lane until every thread has used a lane or the link is down.
        while (done.load() < kThreads && bar.LinkUp()) std::this_thread::yield();
      });
    }
    const auto deadline = std::chrono::steady_clock::now() + 10 * PostedQueue::kTimeout;
    while (done.load() < kThreads && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(done.load(), kThreads) << "pattern " << pattern;
    std::memset(bytes, 0,
                sizeof(PostedQueue));  // The link is down, so every waiting thread returns.
    for (std::thread& host : hosts) host.join();
  }
}

}  // namespace
}  // namespace sluice::bar
