// SPDX-License-Identifier: BSD-3-Clause
//
// Immutable tables that a control thread replaces while workers read them (read-copy-update with
// rte_rcu_qsbr). A worker loads the pointer only between bursts (AtRest, worker.h). Replaced tables
// are freed once every worker has been at rest since the replacement.
//
// A worker reports its quiescent state first and then loads the pointer. Therefore a worker that
// has reported the token of a replacement has seen the replacement and never loads an older
// pointer.
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

#include "packet/engine.h"

namespace sluice::runtime {

/// Tracks which of a fixed number of readers may still be using replaced tables.
class QuietReaders {
 public:
  explicit QuietReaders(uint32_t readers) : rcu_(Allocate(readers)) {
    for (uint32_t i = 0; i < readers; ++i) rte_rcu_qsbr_thread_register(rcu_.get(), i);
  }

  /// Called by the reader: Enter before its first access, Rest when it is not using any table, and
  /// Leave after its last access.
  void Enter(uint32_t reader) { rte_rcu_qsbr_thread_online(rcu_.get(), reader); }
  void Rest(uint32_t reader) { rte_rcu_qsbr_quiescent(rcu_.get(), reader); }
  void Leave(uint32_t reader) { rte_rcu_qsbr_thread_offline(rcu_.get(), reader); }

  /// Called by the single writer after a replacement. Returns the token for WereAtRest.
  uint64_t Replaced() { return rte_rcu_qsbr_start(rcu_.get()); }
  /// Returns whether every reader has been at rest since the token was created, or is offline.
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

/// The current tables. One control thread at a time writes them, and `readers` workers read them.
template <typename T>
class Published {
 public:
  /// How long Publish waits for readers. Workers rest every few microseconds unless the machine
  /// does not schedule them.
  static constexpr std::chrono::milliseconds kPatience{200};

  Published(uint32_t readers, std::unique_ptr<const T> first)
      : readers_(readers), current_(first.release()) {}
  /// No reader may be online during destruction.
  ~Published() { delete current_.load(); }
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  /// Replaces the tables, waits until no reader uses the old ones, and frees them. Returns false if
  /// a reader does not rest in time. Even then the new tables are in force, but the old ones remain
  /// allocated until a later Publish or the destructor.
  bool Publish(std::unique_ptr<const T> next) {
    std::unique_ptr<const T> old(current_.exchange(next.release(), std::memory_order_acq_rel));
    retired_.push_back({std::move(old), readers_.Replaced()});
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!Reclaim() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return retired_.empty();
  }

  /// Returns the current tables for the writer; valid until its next Publish.
  const T& current() const { return *current_.load(std::memory_order_relaxed); }
  /// Returns the pointer that an engine loads when it is at rest.
  const std::atomic<const T*>* pointer() const { return &current_; }
  QuietReaders& readers() { return readers_; }

 private:
  struct Retired {
    std::unique_ptr<const T> tables;
    uint64_t token;
  };

  /// Frees tables that no reader uses. Returns whether none remain.
  bool Reclaim() {
    std::erase_if(retired_, [this](const Retired& old) { return readers_.WereAtRest(old.token); });
    return retired_.empty();
  }

  QuietReaders readers_;
  std::atomic<const T*> current_;
  std::vector<Retired> retired_;
};

/// Wraps an engine that reads published tables, for Session. Reports the quiescent state, then lets
/// the engine load the current tables. Not movable, so that other threads can read the engine's
/// counters.
template <packet::QueueEngine Engine, typename T>
class WithTables final : public packet::EngineLayer<Engine> {
  using Base = packet::EngineLayer<Engine>;

 public:
  /// `reader` is this worker's number in `published`, which must outlive this object. The engine is
  /// constructed from the published pointer and `arguments`. Its constructor may read the tables
  /// but must not store a reference to them.
  template <typename... Arguments>
  WithTables(Published<T>& published, uint32_t reader, Arguments&&... arguments)
      : Base([&] {
          const Visit visit(published.readers(), reader);
          return Engine(published.pointer(), std::forward<Arguments>(arguments)...);
        }),
        readers_(published.readers()),
        reader_(reader) {}
  WithTables(const WithTables&) = delete;
  WithTables& operator=(const WithTables&) = delete;

  void Enter() override {
    readers_.Enter(reader_);
    Base::Enter();
  }
  void AtRest(uint64_t now) override {
    readers_.Rest(reader_);
    Base::AtRest(now);
  }
  void Leave() override {
    Base::Leave();
    readers_.Leave(reader_);
  }

 private:
  /// Registers a reader while it exists.
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
};

}  // namespace sluice::runtime
