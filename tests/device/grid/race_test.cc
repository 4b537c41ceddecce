// SPDX-License-Identifier: BSD-3-Clause
//
// Tests blocks that run concurrently with each other and with a driver, each in a separate thread.
// Runs under ThreadSanitizer, without EAL.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bar/dma.h"
#include "bar/posted_queue.h"
#include "duel.h"
#include "emulator/enso_model.h"
#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "model_statistics.h"
#include "pipe_bench.h"

namespace sluice::device::grid {
namespace {

using namespace regs::enso;  // NOLINT: the vocabulary of every test here
using std::chrono::steady_clock;

using NotificationDuel = PipeBench;

// While frames are appended, the driver frees all frames that it was notified of. Exactly one of
// the two blocks notifies it of the new frames.
TEST_F(NotificationDuel, FramesThatArriveAsTheHeadIsStoredAreNotified) {
  Duel::Fight([&] { HoldOneFrame(); }, [&] { StoreHead(tail_); }, [&] { Accept(); },
              [&] { ExpectOneNotification(); });
}

// The driver empties a full pipe while frames are dropped. It must be notified of the next frames.
TEST_F(NotificationDuel, ADropDoesNotMuteAPipeThatWasEmptiedMeanwhile) {
  Duel::Fight([&] { Fill(); }, [&] { StoreHead(tail_); }, [&] { Drop(); }, [&] { ExpectArmed(); });
}

/// Faults that a driver can apply to one frame of 128 bytes (including the FCS).
enum class Misdeed { kNone, kDrop, kSendTwice, kSwap, kAlterPayload, kAlterTag };

/// A driver that sends every frame back in place, and stores a pipe's head only up to the notified
/// tail.
class Driver {
 public:
  static constexpr uint32_t kBuffers = 2, kPipes = 4;
  static constexpr uint32_t kPipeFlits = 256, kEntries = 64;

  explicit Driver(emulator::HostedModel& model) : model_(model) {
    memory_ = static_cast<uint8_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_TRUE(dma_.Add(kBus, memory_, kBytes));
    std::string error;
    EXPECT_TRUE(
        model.Connect(emulator::EnsoSettings(kPipeFlits, kEntries), dma_, queue_.get(), &error))
        << error;
    for (uint32_t nb = 0; nb < kBuffers; ++nb) {
      Post(NbPage(nb) + kRxMemLo, 8, kBus + RxRing(nb));
      Post(NbPage(nb) + kTxMemLo, 8, kBus + TxRing(nb));
    }
    for (uint32_t id = 0; id < kPipes; ++id) {
      Post(PipePage(id) + kRxMemLo, 8, (kBus + Ring(id)) | id % kBuffers);
      Post(PipePage(id) + kRxHead, 4, 0);
    }
    const FallbackConfig fallback = {
        kSignalConfig, static_cast<uint64_t>(ConfigId::kFallback), kPipes, kPipes - 1, 0, {}};
    Publish(0, fallback, {});
    const auto end = steady_clock::now() + kPatience;
    while (!buffers_[0].sent.empty() && steady_clock::now() < end) Step();
    EXPECT_TRUE(buffers_[0].sent.empty());
  }
  ~Driver() {
    model_.Disconnect(false);
    munmap(memory_, kBytes);
  }

  /// Runs until `done` returns true. Returns false if no frame arrives for kPatience.
  template <typename Done>
  bool Run(Done done) {
    auto end = steady_clock::now() + kPatience;
    for (uint64_t idle = 0;;) {
      if (Step()) {
        end = steady_clock::now() + kPatience;
        idle = 0;
      } else if (++idle % 64 == 0) {
        if (done()) return true;
        if (steady_clock::now() > end) return false;
        std::this_thread::yield();
      }
    }
  }
  uint64_t bytes() const { return bytes_; }
  /// Must be called before the wire is enabled. If `apart` is true, the driver waits after each
  /// misplaced frame until the frame is read, so that later frames are in another chunk.
  void SetMisdeed(Misdeed misdeed, bool apart) {
    misdeed_ = misdeed;
    apart_ = apart;
  }
  bool Repents() const { return misdeed_ == Misdeed::kNone; }

 private:
  static constexpr uint64_t kBus = 0x55'0000'0000;
  static constexpr size_t kBytes = 4 << 20;
  static constexpr std::chrono::seconds kPatience{60};

  /// Content of a TX slot: the pipe, and the head to store after the slot's completion.
  struct Sent {
    uint32_t pipe = kPipes;
    uint32_t head = 0;
  };
  struct Buffer {
    uint32_t rx_head = 0, tx_tail = 0, tx_done = 0;
    std::deque<Sent> sent;
  };
  static uint64_t RxRing(uint32_t nb) { return uint64_t{nb} * 2 * kEntries * kFlitBytes; }
  static uint64_t TxRing(uint32_t nb) { return RxRing(nb) + kEntries * kFlitBytes; }
  static uint64_t Ring(uint32_t id) { return (1 << 20) + uint64_t{id} * kPipeFlits * kFlitBytes; }

  void Post(uint32_t offset, uint32_t bytes, uint64_t value) { queue_->Post(offset, bytes, value); }
  std::atomic_ref<uint64_t> Signal(uint64_t slot) {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(memory_ + slot));
  }

  template <typename Format>
  void Publish(uint32_t nb, const Format& slot, Sent sent) {
    Buffer& buffer = buffers_[nb];
    const uint64_t at = TxRing(nb) + uint64_t{buffer.tx_tail} * kFlitBytes;
    std::memcpy(memory_ + at + 8, reinterpret_cast<const uint8_t*>(&slot) + 8, kFlitBytes - 8);
    Signal(at).store(slot.signal, std::memory_order_release);
    buffer.sent.push_back(sent);
    EXPECT_LT(buffer.sent.size(), kEntries);
    buffer.tx_tail = (buffer.tx_tail + 1) % kEntries;
    Post(NbPage(nb) + kTxTail, 4, buffer.tx_tail);
  }

  bool Step() {
    bool any = false;
    for (uint32_t nb = 0; nb < kBuffers; ++nb) {
      any |= Complete(nb);
      any |= Receive(nb);
    }
    return any;
  }

  bool Complete(uint32_t nb) {
    Buffer& buffer = buffers_[nb];
    if (buffer.sent.empty()) return false;
    const uint64_t at = TxRing(nb) + uint64_t{buffer.tx_done} * kFlitBytes;
    if (Signal(at).load(std::memory_order_acquire) != kSignalNone) return false;
    const Sent sent = buffer.sent.front();
    buffer.sent.pop_front();
    buffer.tx_done = (buffer.tx_done + 1) % kEntries;
    if (sent.pipe != kPipes) Post(PipePage(sent.pipe) + kRxHead, 4, sent.head);
    return true;
  }

  bool Receive(uint32_t nb) {
    Buffer& buffer = buffers_[nb];
    const uint64_t at = RxRing(nb) + uint64_t{buffer.rx_head} * kFlitBytes;
    if (Signal(at).load(std::memory_order_acquire) != kSignalData) return false;
    // Waits if the TX ring may be too full: a notification needs two or four slots.
    if (buffer.sent.size() + 4 >= kEntries) return false;
    RxNotification note;
    std::memcpy(&note, memory_ + at, sizeof(note));
    Signal(at).store(0, std::memory_order_relaxed);
    buffer.rx_head = (buffer.rx_head + 1) % kEntries;
    Post(NbPage(nb) + kRxHead, 4, buffer.rx_head);
    const auto id = static_cast<uint32_t>(note.pipe), tail = static_cast<uint32_t>(note.tail);
    EXPECT_LT(id, kPipes);
    EXPECT_LT(tail, kPipeFlits);
    Send(nb, id, tail);
    return true;
  }

  /// Sends all flits of the pipe from the last sent flit up to `tail`.
  void Send(uint32_t nb, uint32_t id, uint32_t tail) {
    uint32_t& sent = sent_[id];
    // Modifies an address of the first frame, as any application may.
    if (sent != tail) memory_[Ring(id) + uint64_t{sent} * kFlitBytes + 6] ^= 1;
    if (tail >= sent + 3 * kFrameFlits && misdeed_ != Misdeed::kNone) Misbehave(nb, id);
    while (sent != tail) {
      const uint32_t end = tail < sent ? kPipeFlits : tail;
      const uint8_t* const begin = memory_ + Ring(id) + uint64_t{sent} * kFlitBytes;
      const uint64_t bytes = uint64_t{end - sent} * kFlitBytes;
      for (uint64_t i = 0; i < bytes; i += kFlitBytes) bytes_ += begin[i + 12] != 0 ? 64 : 1;
      sent = end % kPipeFlits;
      const uint64_t bus = kBus + static_cast<uint64_t>(begin - memory_);
      Publish(nb, TxNotification{kSignalData, bus, bytes, {}}, {id, sent});
    }
  }

  /// Applies the fault to the first of at least three frames that are sent next.
  void Misbehave(uint32_t nb, uint32_t id) {
    uint32_t& sent = sent_[id];
    const uint64_t first = Ring(id) + uint64_t{sent} * kFlitBytes;
    constexpr uint64_t kBytes = kFrameFlits * kFlitBytes;
    const auto send = [&](uint64_t at) {
      const uint64_t slot = TxRing(nb) + uint64_t{buffers_[nb].tx_tail} * kFlitBytes;
      Publish(nb, TxNotification{kSignalData, kBus + at, kBytes, {}}, {});
      while (apart_ && Signal(slot).load(std::memory_order_acquire) != kSignalNone) {
        std::this_thread::yield();
      }
    };
    switch (std::exchange(misdeed_, Misdeed::kNone)) {
      case Misdeed::kNone:
        return;
      case Misdeed::kDrop:
        sent += kFrameFlits;
        return;
      case Misdeed::kSendTwice:
        return send(first);
      case Misdeed::kSwap:
        send(first + kBytes);
        send(first);
        sent += 2 * kFrameFlits;
        return;
      case Misdeed::kAlterPayload:
        memory_[first + 80] ^= 1;
        return;
      case Misdeed::kAlterTag:
        memory_[first + 124 - 16] ^= 1;
        return;
    }
  }
  static constexpr uint32_t kFrameFlits = 2;

  Misdeed misdeed_ = Misdeed::kNone;
  bool apart_ = false;
  emulator::HostedModel& model_;
  bar::DmaSpace dma_;
  std::unique_ptr<bar::PostedQueue> queue_ = std::make_unique<bar::PostedQueue>();
  uint8_t* memory_;
  Buffer buffers_[kBuffers];
  uint32_t sent_[kPipes] = {};
  uint64_t bytes_ = 0;
};

struct Traffic {
  const char* name;
  const char* on;
  const char* wire;
  const char* pause;
};
std::ostream& operator<<(std::ostream& out, const Traffic& run) { return out << run.name; }

class BlocksRace : public testing::TestWithParam<Traffic> {};

TEST_P(BlocksRace, BesideADriverLoseNothing) {
  const Traffic& run = GetParam();
  const std::vector<std::pair<std::string, std::string>> given = {
      {"wire", run.wire}, {"pause", run.pause}, {"verify", "full"}, {"on", run.on}};
  std::string error;
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("race", emulator::kEnsoModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  Driver driver(*model);
  model->EnableWire(true);
  ModelStatistics value(*model);
  const uint64_t frames = arguments->generator.count;
  EXPECT_TRUE(driver.Run([&] {
    value.Update();
    return value("wire_offered") == frames && value("wire_returned") == value("wire_accepted") &&
           value("wire_accepted") + value("model_rx_pipe_full") == frames;
  }));
  EXPECT_EQ(value("wire_offered"), frames);
  EXPECT_EQ(value("wire_returned"), value("wire_accepted"));
  EXPECT_EQ(value("wire_accepted") + value("model_rx_pipe_full"), frames);
  if (arguments->pause) {
    EXPECT_EQ(value("model_rx_pipe_full"), 0u);
  }
  for (const char* name : {"wire_corrupted", "wire_foreign", "wire_duplicated", "wire_reordered",
                           "model_dma_faults", "model_wedged"}) {
    EXPECT_EQ(value(name), 0u) << name;
  }
  EXPECT_EQ(value("wire_verified"), value("wire_returned"));
  EXPECT_GT(driver.bytes(), 0u);
}

// One thread maps and unmaps memory while another one connects and disconnects the model.
TEST(Memory, ChangesWhileAModelConnectsAndDisconnects) {
  constexpr uint64_t kBus = 0x55'0000'0000;
  constexpr size_t kBytes = 1 << 20;
  std::string error;
  const std::pair<std::string, std::string> given[] = {{"on", "threads:threads=1"}};
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("memory", emulator::kEnsoModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  bar::DmaSpace dma;
  const auto queue = std::make_unique<bar::PostedQueue>();
  std::vector<uint8_t> memory(kBytes);
  std::atomic<uint32_t> changes = 0;
  std::atomic<bool> over = false;
  std::thread mapper([&] {
    do {
      EXPECT_TRUE(dma.Add(kBus, memory.data(), kBytes));
      dma.Remove(kBus);
      ++changes;
    } while (!over);
  });
  for (uint32_t i = 0; i < 10; ++i) {
    for (const uint32_t before = changes; changes == before;) std::this_thread::yield();
    EXPECT_TRUE(model->Connect(emulator::EnsoSettings(256, 64), dma, queue.get(), &error)) << error;
    for (const uint32_t before = changes; changes == before;) std::this_thread::yield();
    model->Disconnect(false);
  }
  over = true;
  mapper.join();
}

struct Case {
  const char* name;
  Misdeed misdeed;
  uint64_t returned;  ///< Number of returned frames minus number of sent frames, modulo 2^64.
  uint64_t lost, duplicated, reordered, corrupted;
};
std::ostream& operator<<(std::ostream& out, const Case& which) { return out << which.name; }

/// The case, and whether several blocks check chunks of one buffer in parallel, each with one of
/// the misplaced frames.
class Verification : public testing::TestWithParam<std::tuple<Case, bool>> {};

TEST_P(Verification, FindsOneWrongFrame) {
  std::string error;
  const auto& [expected, apart] = GetParam();
  const std::pair<std::string, std::string> given[] = {
      {"wire", "gen:size=128+flows=1+count=3000"},
      {"on", apart ? "threads:threads=6+senders=8+batch=64" : "threads:threads=3+batch=64"}};
  const auto arguments = emulator::ParseArguments(given, &error);
  ASSERT_TRUE(arguments) << error;
  const auto model = emulator::MakeModel("wrong", emulator::kEnsoModel, *arguments, &error);
  ASSERT_NE(model, nullptr) << error;
  Driver driver(*model);
  driver.SetMisdeed(expected.misdeed, apart);
  model->EnableWire(true);
  ModelStatistics value(*model);
  const uint64_t returned = 3000 + expected.returned;
  ASSERT_TRUE(driver.Run([&] {
    value.Update();
    return value("wire_offered") == 3000 && value("wire_returned") == returned;
  }));
  ASSERT_TRUE(driver.Repents());
  model->EnableWire(false);
  value.Update();
  EXPECT_EQ(value("wire_lost"), expected.lost);
  EXPECT_EQ(value("wire_duplicated"), expected.duplicated);
  EXPECT_EQ(value("wire_reordered"), expected.reordered);
  EXPECT_EQ(value("wire_corrupted"), expected.corrupted);
  EXPECT_EQ(value("wire_foreign"), 0u);
  EXPECT_EQ(value("wire_late"), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Verification,
    testing::Combine(testing::Values(Case{"Dropped", Misdeed::kDrop, ~uint64_t{0}, 1, 0, 0, 0},
                                     Case{"SentTwice", Misdeed::kSendTwice, 1, 0, 1, 0, 0},
                                     Case{"Swapped", Misdeed::kSwap, 0, 0, 0, 1, 0},
                                     Case{"PayloadAltered", Misdeed::kAlterPayload, 0, 0, 0, 0, 1},
                                     Case{"TagAltered", Misdeed::kAlterTag, 0, 1, 0, 0, 1}),
                     testing::Bool()),
    [](const auto& info) {
      return std::get<0>(info.param).name + std::string(std::get<1>(info.param) ? "Apart" : "");
    });

INSTANTIATE_TEST_SUITE_P(
    All, BlocksRace,
    testing::Values(Traffic{"WithManySenders", "threads:threads=6+receivers=2+senders=12+batch=16",
                            "gen:size=64+flows=100+count=20000", "on"},
                    Traffic{"OfMixedSizes", "threads:threads=6+receivers=2+senders=12+batch=64",
                            "gen:size=imix+flows=100+count=8000", "on"},
                    Traffic{"AtFullRate", "threads:threads=5+receivers=2+senders=2+batch=16",
                            "gen:size=64+flows=100+count=20000", "on"},
                    Traffic{"WithDrops", "threads:threads=5+receivers=2+senders=2+batch=64",
                            "gen:size=imix+flows=100+count=8000", "off"},
                    Traffic{"AtALowRate", "threads:threads=5+receivers=3+senders=2+batch=64",
                            "gen:size=64+flows=50+count=5000+rate=100k", "on"},
                    Traffic{"FrameByFrame", "threads:threads=4+receivers=2+senders=1+batch=1",
                            "gen:size=64/128/1518+flows=50+count=5000+rate=20k", "on"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::device::grid
