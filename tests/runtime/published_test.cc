// SPDX-License-Identifier: BSD-3-Clause
//
// Tests tables that are replaced while other threads read them. A reader must not see a freed
// table, and a table must be freed once no reader holds it.
#include "runtime/published.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::runtime {
namespace {

// Counts live tables. The destructor destroys the contents that readers check.
class Table {
 public:
  static constexpr uint64_t kAlive = 0x600d'600d'600d'600d;

  Table(uint64_t number, std::atomic<int>* living) : number_(number), living_(living) {
    ++*living_;
  }
  ~Table() {
    magic_ = 0;
    --*living_;
  }
  uint64_t number() const { return number_; }
  bool IsWhole() const { return magic_ == kAlive; }

 private:
  uint64_t magic_ = kAlive;
  uint64_t number_;
  std::atomic<int>* living_;
};

std::unique_ptr<const Table> Make(uint64_t number, std::atomic<int>* living) {
  return std::make_unique<const Table>(number, living);
}

// Reads tables in the same way as sluice's engines do.
class Reader final : public packet::Engine {
 public:
  explicit Reader(const std::atomic<const Table*>* tables) : tables_(tables) {}
  void AtRest(uint64_t /*now*/) override { table_ = tables_->load(std::memory_order_acquire); }
  packet::Verdict Process(packet::Frame& /*frame*/, uint64_t /*now*/) {
    whole_ = whole_ && table_->IsWhole() && table_->number() >= last_;
    last_ = table_->number();
    return packet::kForward;
  }
  bool whole() const { return whole_; }
  uint64_t last() const { return last_; }

 private:
  const std::atomic<const Table*>* tables_;
  const Table* table_ = nullptr;
  uint64_t last_ = 0;
  bool whole_ = true;
};

using Worker = WithTables<Reader, Table>;

TEST(Published, WithoutReadersAnOldTableIsFreedAtOnce) {
  std::atomic<int> living{0};
  {
    Published<Table> published(2, Make(1, &living));
    EXPECT_TRUE(published.Publish(Make(2, &living)));
    EXPECT_EQ(living, 1);
    EXPECT_EQ(published.current().number(), 2u);
  }
  EXPECT_EQ(living, 0);
}

TEST(Published, AReaderThatDoesNotRestKeepsTheOldTableAlive) {
  std::atomic<int> living{0};
  Published<Table> published(1, Make(1, &living));
  Worker worker(published, 0);
  packet::Frame frame{};
  worker.Enter();
  worker.AtRest(0);
  EXPECT_FALSE(published.Publish(Make(2, &living)));
  EXPECT_EQ(living, 2);
  worker.Process(frame, 0);
  EXPECT_TRUE(worker.engine().whole());
  EXPECT_EQ(worker.engine().last(), 1u);
  worker.AtRest(0);
  worker.Process(frame, 0);
  EXPECT_EQ(worker.engine().last(), 2u);
  worker.Leave();
  EXPECT_TRUE(published.Publish(Make(3, &living)));
  EXPECT_EQ(living, 1);
}

TEST(Published, AReaderThatLeftIsNotWaitedFor) {
  std::atomic<int> living{0};
  Published<Table> published(2, Make(1, &living));
  Worker stays(published, 0);
  Worker leaves(published, 1);
  leaves.Enter();
  leaves.AtRest(0);
  leaves.Leave();
  EXPECT_TRUE(published.Publish(Make(2, &living)));
  EXPECT_EQ(living, 1);
}

/// Reads the tables in its constructor while another thread replaces them.
class LooksAtBirth final : public packet::Engine {
 public:
  LooksAtBirth(const std::atomic<const Table*>* tables, Published<Table>* published,
               std::atomic<int>* living) {
    EXPECT_NE(tables->load(), nullptr);
    EXPECT_FALSE(published->Publish(Make(2, living)));
    EXPECT_EQ(*living, 2) << "what it may be reading is still there";
  }
  packet::Verdict Process(packet::Frame&, uint64_t) { return packet::kForward; }
};

TEST(Published, TablesOutliveTheMakingOfAnEngineThatReadsThem) {
  std::atomic<int> living{0};
  Published<Table> published(1, Make(1, &living));
  const WithTables<LooksAtBirth, Table> worker(published, 0, &published, &living);
  EXPECT_TRUE(published.Publish(Make(3, &living)));
  EXPECT_EQ(living, 1);
}

TEST(Published, ReadersSeeWholeTablesInOrderWhileTheyAreReplaced) {
  constexpr uint64_t kTables = 300;
  constexpr uint32_t kReaders = 2;
  std::atomic<int> living{0};
  std::atomic<bool> stop{false};
  Published<Table> published(kReaders, Make(1, &living));
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kReaders; ++i) {
    workers.push_back(std::make_unique<Worker>(published, i));
    threads.emplace_back([&stop, worker = workers.back().get()] {
      packet::Frame frame{};
      worker->Enter();
      do {
        worker->AtRest(0);
        for (int k = 0; k < 8; ++k) worker->Process(frame, 0);
      } while (!stop.load());
      worker->Leave();
    });
  }
  for (uint64_t i = 2; i <= kTables; ++i) published.Publish(Make(i, &living));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (const auto& worker : workers) EXPECT_TRUE(worker->engine().whole());
  EXPECT_TRUE(published.Publish(Make(kTables + 1, &living)));
  EXPECT_EQ(living, 1);
}

}  // namespace
}  // namespace sluice::runtime
