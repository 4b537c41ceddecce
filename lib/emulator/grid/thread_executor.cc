// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/grid/memory.h"
#include "emulator/grid/executor.h"

namespace sluice::emulator {
namespace {

using device::grid::Card;
using device::grid::Roles;
using device::grid::Team;
using device::grid::TeamMemory;

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(uint32_t threads, const GridProgram& program)
      : count_(threads), program_(program) {}
  ~ThreadExecutor() override { Join(); }

  void* Allocate(size_t bytes, std::string* error) override {
    // Fresh pages contain zeros and are not allocated until they are used.
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      *error = "not enough memory for the card: " + std::to_string(bytes) + " bytes";
      return nullptr;
    }
    memory_.emplace_back(memory, Unmap{bytes});
    return memory;
  }
  bool Write(void* card, const void* host, size_t bytes) override {
    std::memcpy(card, host, bytes);
    return true;
  }
  bool Read(void* host, const void* card, size_t bytes) override {
    std::memcpy(host, card, bytes);
    return true;
  }
  bool Register(void*, size_t, std::string*) override { return true; }
  void Unregister(void*, size_t) override {}

  bool Start(Card* card, const Roles& roles, std::string*) override {
    const uint32_t blocks = device::grid::Blocks(roles);
    const uint32_t count = std::min(count_, blocks);
    running_ = count;
    for (uint32_t i = 0; i < count; ++i) {
      threads_.emplace_back(
          [this, card, roles, blocks, count, i] { Run(card, roles, i, blocks, count); });
    }
    return true;
  }
  void Join() override {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  bool Running() override { return running_ != 0; }
  std::string Describe() const override { return std::to_string(count_) + " threads"; }

 private:
  struct Unmap {
    size_t bytes;
    void operator()(void* memory) const { munmap(memory, bytes); }
  };

  /// Runs the turns of the blocks `first`, first + step, ….
  void Run(Card* card, const Roles& roles, uint32_t first, uint32_t blocks, uint32_t step) {
    std::vector<std::vector<std::max_align_t>> shared;
    TeamMemory team_memory;
    const Team team(&team_memory);
    for (uint32_t block = first; block < blocks; block += step) {
      shared.emplace_back(program_.block_bytes / sizeof(std::max_align_t) + 1);
      program_.begin(*card, roles, block, team, shared.back().data());
    }
    while (device::grid::Load(&card->stopping) == 0) {
      for (uint32_t block = first, i = 0; block < blocks; block += step, ++i) {
        program_.turn(*card, roles, block, team, shared[i].data());
      }
      std::this_thread::yield();
    }
    --running_;
  }

  const uint32_t count_;
  const GridProgram& program_;
  std::vector<std::unique_ptr<void, Unmap>> memory_;
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> running_{0};
};

}  // namespace

std::unique_ptr<Executor> MakeThreadExecutor(uint32_t threads, const GridProgram& program) {
  return std::make_unique<ThreadExecutor>(threads, program);
}

}  // namespace sluice::emulator
