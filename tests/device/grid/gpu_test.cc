// SPDX-License-Identifier: BSD-3-Clause
//
// Tests GPU models without a GPU: a stand-in for the GPU driver library (fake_cuda.h) registers
// memory and starts kernels that do not run any blocks.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "emulator/grid/gpu_share.h"
#include "emulator/grid/ipu_program.h"
#include "emulator/grid/program.h"
#include "emulator/hosted_model.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"
#include "fake_cuda.h"
#include "model_statistics.h"

namespace sluice::device::grid {
namespace {

using std::chrono::steady_clock;

class OnGpu : public testing::Test {
 protected:
  static constexpr size_t kBytes = 8u << 20;

  OnGpu()
      : memory_(static_cast<std::byte*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    program_.ptx = "for the stand-in";
    info_.grid = &program_;
    // The library is now loaded, so opening it by its name finds it.
    void* const library = dlopen(FAKE_CUDA, RTLD_NOW | RTLD_GLOBAL);
    EXPECT_NE(library, nullptr) << dlerror();
    fake_ = reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "sluice_fake_cuda"))();
    fake_->refused = fake_->pointer_offset = 0;
    fake_->processors = 128;
  }
  ~OnGpu() override {
    EXPECT_TRUE(fake_->registered.empty());
    EXPECT_EQ(fake_->contexts, 0u);
    munmap(memory_, kBytes);
  }

  std::unique_ptr<emulator::HostedModel> Make(const std::string& on = "gpu") {
    error_.clear();
    const std::vector<std::pair<std::string, std::string>> given = {{"wire", "gen:size=64"},
                                                                    {"on", on}};
    const auto arguments = emulator::ParseArguments(given, &error_);
    EXPECT_TRUE(arguments) << error_;
    return emulator::MakeModel("gpu", info_, *arguments, &error_);
  }
  bool Connect(emulator::HostedModel& model, const bar::DmaSpace& dma, bar::PostedQueue& queue) {
    return model.Connect({}, dma, &queue, &error_);
  }
  /// Waits until the condition is true.
  static bool Await(const std::function<bool()>& is_true) {
    const auto end = steady_clock::now() + std::chrono::seconds(10);
    while (!is_true() && steady_clock::now() < end) std::this_thread::yield();
    return is_true();
  }
  static uint64_t Bus(const void* at) { return reinterpret_cast<uintptr_t>(at); }

  std::byte* const memory_;
  emulator::GridProgram program_ = emulator::kIpuProgram;
  emulator::ModelInfo info_ = emulator::kIpuModel;
  FakeCuda* fake_;
  std::string error_;
};

TEST_F(OnGpu, TwoNicsOfAProcessShareTheRegistrationsOfItsMemory) {
  bar::DmaSpace first_dma, second_dma;
  const auto first_queue = std::make_unique<bar::PostedQueue>();
  const auto second_queue = std::make_unique<bar::PostedQueue>();
  auto first = Make();
  ASSERT_NE(first, nullptr) << error_;
  // The second NIC sees one range where the first one sees two ranges, which were added one after
  // the other.
  ASSERT_TRUE(first_dma.Add(Bus(memory_), memory_, kBytes / 2));
  ASSERT_TRUE(Connect(*first, first_dma, *first_queue)) << error_;
  ASSERT_TRUE(first_dma.Add(Bus(memory_) + kBytes / 2, memory_ + kBytes / 2, kBytes / 2));
  const auto second = Make();
  ASSERT_NE(second, nullptr) << error_;
  ASSERT_TRUE(second_dma.Add(Bus(memory_), memory_, kBytes));
  ASSERT_TRUE(Connect(*second, second_dma, *second_queue)) << error_;
  for (emulator::HostedModel* model : {first.get(), second.get()}) {
    ModelStatistics value(*model);
    value.Update();
    EXPECT_EQ(value("model_unregistered_bytes"), 0u);
  }
  first->Disconnect(false);
  first.reset();
  EXPECT_TRUE(fake_->Has(memory_)) << "the second NIC uses it";
  EXPECT_TRUE(fake_->Has(memory_ + kBytes - 1));
  // Memory that both NICs have freed is not registered.
  const std::pair<uint64_t, std::byte*> half = {Bus(memory_), memory_};
  ASSERT_TRUE(second_dma.Replace(std::vector<uint64_t>{half.first},
                                 std::vector<bar::DmaMapping>{{half.first, memory_, kBytes / 2}}));
  EXPECT_TRUE(fake_->Has(memory_));
  EXPECT_FALSE(fake_->Has(memory_ + kBytes - 1));
  second->Disconnect(false);
  EXPECT_FALSE(fake_->Has(memory_));
}

TEST_F(OnGpu, TheQueueOfAHostIsNotRegisteredAfterItsEnd) {
  bar::DmaSpace dma;
  const auto queue = std::make_unique<bar::PostedQueue>();
  const auto model = Make();
  ASSERT_NE(model, nullptr) << error_;
  ASSERT_TRUE(Connect(*model, dma, *queue)) << error_;
  EXPECT_TRUE(fake_->Has(queue.get()));
  model->Disconnect(true);
  EXPECT_FALSE(fake_->Has(queue.get()));
}

TEST_F(OnGpu, EveryLossOfTheBlocksIsNoticed) {
  bar::DmaSpace dma;
  const auto model = Make();
  ASSERT_NE(model, nullptr) << error_;
  for (uint32_t loss = 0; loss < 2; ++loss) {
    const auto queue = std::make_unique<bar::PostedQueue>();
    ASSERT_TRUE(Connect(*model, dma, *queue)) << error_;
    ASSERT_EQ(fake_->running.size(), 1u);
    {
      const std::scoped_lock lock(fake_->mutex);
      fake_->running.clear();
    }
    EXPECT_TRUE(Await([&] { return !queue->LinkUp(); })) << loss;
    model->Disconnect(false);
  }
}

TEST_F(OnGpu, MemoryThatCannotBeRegisteredIsLeftOutAndReported) {
  bar::DmaSpace dma;
  const auto queue = std::make_unique<bar::PostedQueue>();
  const auto model = Make();
  ASSERT_NE(model, nullptr) << error_;
  ASSERT_TRUE(dma.Add(Bus(memory_), memory_, kBytes / 2));
  ASSERT_TRUE(Connect(*model, dma, *queue)) << error_;
  // The range grows, as DPDK's memory does, by a part that cannot be registered.
  fake_->refused = Bus(memory_) + kBytes - 1;
  const uint64_t bus = Bus(memory_);
  ASSERT_TRUE(dma.Replace(std::vector<uint64_t>{bus},
                          std::vector<bar::DmaMapping>{{bus, memory_, kBytes}}));
  ModelStatistics value(*model);
  value.Update();
  EXPECT_EQ(value("model_unregistered_bytes"), kBytes / 2);
  const DmaTable& table = (*fake_->running.begin())->dma;
  EXPECT_EQ(table.Translate(bus + kBytes / 2 - 64, 64),
            reinterpret_cast<uint8_t*>(memory_) + kBytes / 2 - 64)
      << "the queues in it go on";
  EXPECT_EQ(table.Translate(bus + kBytes / 2, 64), nullptr);
  EXPECT_TRUE(queue->LinkUp());
  model->Disconnect(false);
}

TEST_F(OnGpu, ANicWhoseQueueCannotBeRegisteredIsRefusedAloneWithTheReason) {
  bar::DmaSpace dma;
  const auto queue = std::make_unique<bar::PostedQueue>();
  const auto other_queue = std::make_unique<bar::PostedQueue>();
  const auto model = Make(), other = Make("gpu:receivers=1");
  ASSERT_NE(model, nullptr) << error_;
  ASSERT_NE(other, nullptr) << error_;
  ASSERT_TRUE(Connect(*other, dma, *other_queue)) << error_;
  fake_->refused = Bus(queue.get()) + sizeof(*queue) / 2;
  EXPECT_FALSE(Connect(*model, dma, *queue));
  EXPECT_EQ(error_,
            "the register queue cannot be registered with the card: on=gpu: cuMemHostRegister "
            "fails: CUDA_ERROR_OF_THE_FAKE");
  EXPECT_FALSE(fake_->Has(queue.get()));
  EXPECT_TRUE(other_queue->LinkUp());
  EXPECT_EQ(fake_->running.size(), 1u);
  other->Disconnect(false);
}

TEST_F(OnGpu, MemoryAtAnotherAddressIsUnregistered) {
  fake_->pointer_offset = 1;
  EXPECT_EQ(Make(), nullptr);
  EXPECT_EQ(error_, "on=gpu: the GPU maps host memory at different addresses than the host");
  EXPECT_TRUE(fake_->registered.empty());
}

TEST_F(OnGpu, TheBlocksOfAllNicsOfAProcessAreCounted) {
  fake_->processors = 64;
  auto first = Make();
  ASSERT_NE(first, nullptr) << error_;
  EXPECT_EQ(Make(), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(error_,
            "on=gpu: this NIC needs 45 blocks, and other NICs of this process use 45, but GPU 0 "
            "has 64 multiprocessors: give fewer receivers, senders or exchangers, or another "
            "index");
  EXPECT_NE(Make("gpu:receivers=6+senders=6+exchangers=6"), nullptr) << error_;
  first.reset();
  EXPECT_NE(Make(), nullptr) << error_;
}

TEST_F(OnGpu, AMissingGpuIsNoBadArgument) {
  EXPECT_EQ(Make("gpu:index=1"), nullptr);
  EXPECT_EQ(errno, ENODEV);
  EXPECT_EQ(error_,
            "on=gpu:index=1: this host has 1 GPU(s), numbered from 0: give one of these numbers");
}

// Several NICs acquire and release arbitrary ranges. Pages in use stay registered, each once, and a
// unit without users has no registered page.
TEST(PinnedMemory, IsRegisteredOnceWhileItIsUsed) {
  constexpr uintptr_t kPage = 4096, kPages = 4 * emulator::PinnedMemory::kUnitBytes / kPage,
                      kStep = 64;
  emulator::PinnedMemory memory;
  std::map<uintptr_t, uintptr_t> pinned;
  uint32_t refusals = 0, shared = 0;
  std::mt19937 random(1);
  const auto overlaps = [&](uintptr_t begin, uintptr_t end) {
    const auto next = pinned.lower_bound(end);
    return next != pinned.begin() && std::prev(next)->second > begin;
  };
  const auto pin = [&](void* at, size_t bytes, std::string* error) -> emulator::PinnedMemory::Undo {
    const auto begin = reinterpret_cast<uintptr_t>(at);
    EXPECT_FALSE(overlaps(begin, begin + bytes)) << "registered twice";
    EXPECT_EQ(begin / emulator::PinnedMemory::kUnitBytes,
              (begin + bytes - 1) / emulator::PinnedMemory::kUnitBytes);
    if (random() % 16 == 0) {
      *error = "full";
      return nullptr;
    }
    pinned[begin] = begin + bytes;
    return [&, begin] { EXPECT_EQ(pinned.erase(begin), 1u); };
  };
  const auto check = [&](void* at, std::string*) {
    return pinned.contains(reinterpret_cast<uintptr_t>(at)) && random() % 64 != 0;
  };
  std::vector<std::pair<uintptr_t, uintptr_t>> held;
  for (uint32_t round = 0; round < 20'000 && !testing::Test::HasFailure(); ++round) {
    if (held.size() == 6 || (!held.empty() && random() % 2 == 0)) {
      const size_t at = random() % held.size();
      memory.Release(reinterpret_cast<void*>(held[at].first), held[at].second - held[at].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const uintptr_t begin = kPage * kStep * (1 + random() % (kPages / kStep));
      const uintptr_t end = begin + kPage * kStep * (1 + random() % (kPages / kStep / 2));
      const auto before = pinned;
      std::string error;
      if (overlaps(begin, end)) ++shared;
      if (memory.Acquire(reinterpret_cast<void*>(begin), end - begin, pin, check, &error)) {
        held.emplace_back(begin, end);
      } else {
        ++refusals;
        EXPECT_EQ(pinned, before) << "a range that was refused has an effect";
      }
    }
    for (const auto& [begin, end] : held) {
      uintptr_t at = begin;
      for (auto piece = pinned.upper_bound(at); piece != pinned.begin() && at < end;) {
        --piece;
        if (piece->second <= at) break;
        at = piece->second;
        piece = pinned.upper_bound(at);
      }
      EXPECT_GE(at, end) << "used and not registered";
    }
    for (const auto& [begin, end] : pinned) {
      EXPECT_TRUE(std::any_of(held.begin(), held.end(), [&](const auto& range) {
        return range.first < end && range.second > begin;
      })) << "registered and not used";
    }
  }
  EXPECT_GT(refusals, 100u);
  EXPECT_GT(shared, 1000u);
}

TEST(PinnedMemory, PagesThatWereFreedBesideUsedOnesAreRefused) {
  emulator::PinnedMemory memory;
  uint32_t pins = 0;
  const auto pin = [&](void*, size_t, std::string*) -> emulator::PinnedMemory::Undo {
    ++pins;
    return [&] { --pins; };
  };
  const auto check = [](void*, std::string*) { return true; };
  const auto at = [](uintptr_t page) { return reinterpret_cast<void*>(page * 4096); };
  std::string error;
  ASSERT_TRUE(memory.Acquire(at(8), 8 * 4096, pin, check, &error));
  ASSERT_TRUE(memory.Acquire(at(8), 4 * 4096, pin, check, &error));
  EXPECT_EQ(pins, 1u);
  memory.Release(at(8), 8 * 4096);
  EXPECT_FALSE(memory.Acquire(at(8), 8 * 4096, pin, check, &error)) << "half of it may be new";
  EXPECT_NE(error.find("freed and mapped again"), std::string::npos) << error;
  memory.Release(at(8), 4 * 4096);
  EXPECT_EQ(pins, 0u);
  EXPECT_TRUE(memory.Acquire(at(8), 8 * 4096, pin, check, &error)) << error;
}

}  // namespace
}  // namespace sluice::device::grid
