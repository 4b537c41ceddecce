// SPDX-License-Identifier: BSD-3-Clause
//
// Immutable tables that a control thread replaces while workers read them: read-copy-update
// over rte_rcu_qsbr. A worker looks at the pointer between bursts only (AtRest, worker.h);
// what was replaced is freed once every worker has been at rest since.
//
// A worker reports first and then reads the pointer: whoever reports the token of a
// replacement has seen it, and reads no older pointer from then on.
#pragma once

#include <rte_rcu_qsbr.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "packet/burst.h"

namespace sluice::runtime {

/// Which of a fixed number of readers may still hold what was replaced.
class QuietReaders {
 public:
  explicit QuietReaders(uint32_t readers) : rcu_(Allocate(readers)) {
    for (uint32_t i = 0; i < readers; ++i) rte_rcu_qsbr_thread_register(rcu_.get(), i);
  }

  /// The reader itself: from its first look to its last one.
  void Enter(uint32_t reader) { rte_rcu_qsbr_thread_online(rcu_.get(), reader); }
  void Rest(uint32_t reader) { rte_rcu_qsbr_quiescent(rcu_.get(), reader); }
  void Leave(uint32_t reader) { rte_rcu_qsbr_thread_offline(rcu_.get(), reader); }

  /// One writer: after it replaced something; what WereAtRest is then asked about.
  uint64_t Replaced() { return rte_rcu_qsbr_start(rcu_.get()); }
  /// Whether every reader has rested since, or is not there.
  bool WereAtRest(uint64_t token) { return rte_rcu_qsbr_check(rcu_.get(), token, false) == 1; }

 private:
  struct Free {
    void operator()(rte_rcu_qsbr* rcu) const { std::free(rcu); }
  };
  static rte_rcu_qsbr* Allocate(uint32_t readers) {
    const size_t bytes = rte_rcu_qsbr_get_memsize(readers);
    void* const memory = std::aligned_alloc(RTE_CACHE_LINE_SIZE, bytes);
    if (memory == nullptr) throw std::bad_alloc();
    auto* const rcu = static_cast<rte_rcu_qsbr*>(memory);
    rte_rcu_qsbr_init(rcu, readers);
    return rcu;
  }

  std::unique_ptr<rte_rcu_qsbr, Free> rcu_;
};

/// The tables in force. One control thread at a time writes; `readers` workers read.
template <typename T>
class Published {
 public:
  /// How long Publish waits for readers. Workers rest every few microseconds, unless the
  /// machine does not let them run.
  static constexpr std::chrono::milliseconds kPatience{200};

  Published(uint32_t readers, std::unique_ptr<const T> first)
      : readers_(readers), current_(first.release()) {}
  /// No reader is there any more.
  ~Published() { delete current_.load(); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  /// Replaces the tables, and waits until no reader holds the old ones, which are then freed.
  /// False: a reader did not rest in time; the old ones are kept until a later Publish or the
  /// end, and the new ones are in force all the same.
  bool Publish(std::unique_ptr<const T> next) {
    std::unique_ptr<const T> old(current_.exchange(next.release(), std::memory_order_acq_rel));
    retired_.push_back({std::move(old), readers_.Replaced()});
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!Reclaim() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return retired_.empty();
  }

  /// The writer's own view: valid until its next Publish.
  const T& current() const { return *current_.load(std::memory_order_relaxed); }
  /// What an engine reads at rest.
  const std::atomic<const T*>* pointer() const { return &current_; }
  QuietReaders& readers() { return readers_; }

 private:
  struct Retired {
    std::unique_ptr<const T> tables;
    uint64_t token;
  };

  /// Frees what nobody holds. True: that was all.
  bool Reclaim() {
    std::erase_if(retired_, [this](const Retired& old) { return readers_.WereAtRest(old.token); });
    return retired_.empty();
  }

  QuietReaders readers_;
  std::atomic<const T*> current_;
  std::vector<Retired> retired_;
};

/// An engine that reads published tables, as Session runs it: rests, then lets the engine
/// take up what is in force. Stays where it is made, so that others may look at its counters.
template <typename Engine, typename T>
class WithTables {
 public:
  static constexpr auto& kDropReasons = Engine::kDropReasons;
  static constexpr bool kWritesFrames = packet::WritesFrames<Engine>();
  static constexpr bool kOwnFramesOnly = packet::OwnFramesOnly<Engine>();

  /// `reader`: this worker's number in `published`, which outlives it. The engine is made of
  /// the published pointer and `arguments`; it may read the tables while it is made, but
  /// must not keep them.
  template <typename... Arguments>
  WithTables(Published<T>& published, uint32_t reader, Arguments&&... arguments)
      : readers_(published.readers()), reader_(reader), engine_([&] {
          const Visit visit(readers_, reader);
          return Engine(published.pointer(), std::forward<Arguments>(arguments)...);
        }()) {}
  WithTables(const WithTables&) = delete;
  WithTables& operator=(const WithTables&) = delete;

  void Enter() { readers_.Enter(reader_); }
  void Leave() { readers_.Leave(reader_); }
  void AtRest(uint64_t now) {
    readers_.Rest(reader_);
    engine_.AtRest(now);
  }
  void Prepare(const uint8_t* frame, uint32_t length) const requires
      requires(const Engine& engine) {
    engine.Prepare(frame, length);
  }
  { engine_.Prepare(frame, length); }
  packet::Verdict Process(packet::Frame& frame, uint64_t now) {
    return packet::ProcessFrame(engine_, frame, now);
  }
  template <packet::Burst Burst>
  [[gnu::always_inline]] void ProcessBurst(Burst& burst, uint64_t now) requires
      requires(Engine& engine) {
    engine.ProcessBurst(burst, now);
  }
  { engine_.ProcessBurst(burst, now); }

  const Engine& engine() const { return engine_; }

 private:
  /// A reader for as long as it lives.
  class Visit {
   public:
    Visit(QuietReaders& readers, uint32_t reader) : readers_(readers), reader_(reader) {
      readers_.Enter(reader_);
    }
    ~Visit() { readers_.Leave(reader_); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    QuietReaders& readers_;
    uint32_t reader_;
  };

  QuietReaders& readers_;
  uint32_t reader_;
  Engine engine_;
};

}  // namespace sluice::runtime
