// SPDX-License-Identifier: BSD-3-Clause
//
// Compares the blocks of a card with the CPU's model. Two hosts perform the same random actions;
// all state visible to software or on the wire must be equal. Features that the card lacks
// (docs/gpu.md) are not used.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "card_nic.h"
#include "host.h"

namespace sluice::device::enso {
namespace {

constexpr uint32_t kPipes = 8;
constexpr uint32_t kBuffers = 3;

struct Case {
  const char* name;
  EnsoConfig config;
  uint32_t operations;
  uint64_t frames;  ///< Minimum number of frames that must reach a pipe in total.
  bool faults;      ///< The run also disables pipes and buffers, until the engine wedges.
};
std::ostream& operator<<(std::ostream& out, const Case& which) { return out << which.name; }

/// Drives two hosts from reset until the engine wedges, or for a number of operations.
class Session {
 public:
  Session(const Case& which, uint64_t seed)
      : case_(which), model_(which.config, &MakeModel), card_(which.config), random_(seed) {
    for (Host* host : {&model_, &card_}) {
      for (uint32_t i = 0; i < kBuffers; ++i) host->OpenNb(i);
      for (uint32_t i = 0; i < kPipes; ++i) host->OpenPipe(i, i % kBuffers);
      host->Allocate(2 * case_.config.pipe_flits * kFlitBytes);  // Space for a ring that is moved.
      source_ = host->Allocate((kSourceFlits + 2) * kFlitBytes);
      host->Fallback(kPipes, kPipes - 1, 0);
    }
    Fill();
  }

  /// Returns the number of operations performed.
  uint32_t Run(uint32_t operations) {
    operations_ = 0;
    for (uint32_t step = 0; operations_ < operations && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      Step();
      CompareCounters();
      if (step % 32 == 0) CompareRegisters();
      if (step % 256 == 0) CompareMemory();
      if (model_.Count("wedged") != 0) break;
    }
    CompareRegisters();
    CompareMemory();
    return operations_;
  }
  uint64_t received() { return model_.Count("rx_frames"); }
  uint64_t sent() { return model_.Count("tx_frames"); }
  uint64_t Count(std::string_view name) { return card_.Count(name); }

 private:
  static std::unique_ptr<Device> MakeModel(const bar::DmaSpace& dma, const EnsoConfig& config) {
    return std::make_unique<EnsoNic>(dma, config);
  }

  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  bool Rarely() { return Below(64) == 0; }
  uint32_t mask() const { return case_.config.pipe_flits - 1; }

  void Store(uint32_t offset, uint32_t value) {
    ++operations_;
    model_.Write32(offset, value);
    card_.Write32(offset, value);
  }

  void Step() {
    const uint32_t pipe = Below(kPipes), nb = Below(kBuffers);
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      // The host frees all flits or a random number of flits. Rarely, it stores an arbitrary head.
      case 5: {
        const uint32_t tail = model_.Tail(pipe), head = model_.Read32(PipePage(pipe) + kRxHead);
        const uint32_t some = head + Below(((tail - head) & mask()) + 1);
        Store(PipePage(pipe) + kRxHead, Rarely()        ? Below(2 * mask())
                                        : Below(2) != 0 ? tail
                                                        : some & mask());
        break;
      }
      case 6:
      case 7:
        Store(NbPage(nb) + kRxHead, Rarely() ? Below(40) : model_.NbTail(nb));
        break;
      case 8:
        if (Rarely()) Configure(nb);
        break;
      case 9:
        if (case_.faults && Below(8) == 0) Fault(pipe, nb);
        break;
      case 10:
        Send(open_ == kNone ? nb : open_);
        break;
      default:
        Receive();
        break;
    }
  }

  void Receive() {
    static constexpr uint32_t kLengths[] = {60, 60, 60, 60, 64, 65, 128, 1514};
    static constexpr uint8_t kProtocols[] = {17, 17, 6, 1};
    std::vector<Bytes> frames;
    // If an engine may wedge, frames after the one that wedges it are not compared.
    for (uint32_t n = case_.faults ? 1 : 1 + Below(16); n != 0; --n) {
      const uint32_t length = Below(8) == 0 ? 60 + Below(1600) : kLengths[Below(8)];
      frames.push_back(MakeFrame(length,
                                 {.protocol = kProtocols[Below(4)],
                                  .dst_ip = kDst + Below(4),
                                  .src_ip = kSrc + Below(4),
                                  .dst_port = Port(),
                                  .src_port = Port(),
                                  .tcp_flags = static_cast<uint8_t>(Below(4))},
                                 static_cast<uint8_t>(random_())));
    }
    operations_ += static_cast<uint32_t>(frames.size());
    const bool pause = Below(4) == 0;
    ASSERT_EQ(model_.ReceiveAll(frames, pause), card_.ReceiveAll(frames, pause));
  }
  uint16_t Port() { return static_cast<uint16_t>(1000 + Below(4)); }

  /// Fills the source with new bytes: frames of all lengths, one after the other.
  void Fill() {
    static constexpr uint16_t kTotalLengths[] = {46, 46, 46, 46, 50, 51, 0, 100, 498, 1500};
    Bytes bytes(kSourceFlits * kFlitBytes);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
    ends_.clear();
    uint32_t flit = 0;
    for (;;) {
      const uint16_t length = kTotalLengths[Below(std::size(kTotalLengths))];
      if (flit + Flits(length + 14u) > kSourceFlits) break;
      PutBe16(bytes, flit * kFlitBytes + 16, length);
      flit += Flits(length + 14u);
      ends_.push_back(flit);
    }
    at_ = 0;
    for (Host* host : {&model_, &card_}) {
      std::memcpy(host->At(source_), bytes.data(), bytes.size());
    }
  }

  /// Sends some slots, with one tail store or several, up to the end of a frame or into the next
  /// frame. If a frame is incomplete, the buffer's next slot continues it.
  void Send(uint32_t nb) {
    if (at_ == ends_.back()) Fill();
    const auto next = std::upper_bound(ends_.begin(), ends_.end(), at_);
    const auto last =
        next + Below(static_cast<uint32_t>(std::min<ptrdiff_t>(ends_.end() - next, 40)));
    uint32_t end = *last;
    open_ = kNone;
    if (Below(8) == 0 && end - at_ > 1) {
      end -= 1 + Below(std::min(end - at_ - 1, 3u));
      if (!std::binary_search(ends_.begin(), ends_.end(), end)) open_ = nb;
    }
    for (uint32_t slots = 0; at_ != end; ++slots) {
      // A ring of four entries can hold three.
      const bool is_last = slots + 3 >= case_.config.nb_entries;
      const uint32_t flits = is_last ? end - at_ : 1 + Below(end - at_);
      uint64_t length = flits * kFlitBytes;
      // Bytes missing in the slot are zeros.
      const bool ends = std::binary_search(ends_.begin(), ends_.end(), at_ + flits);
      if (Rarely() && ends && length > 64) length -= 1 + Below(30);
      Put(nb, source_ + uint64_t{at_} * kFlitBytes, length);
      at_ += flits;
      if (Below(2) != 0) StoreTail(nb);
    }
    if (open_ == kNone && Below(8) == 0 && case_.config.nb_entries > 4) Odd(nb);
    StoreTail(nb);
    Transmit();
  }
  void Put(uint32_t nb, uint64_t bus, uint64_t length) {
    ++operations_;
    for (Host* host : {&model_, &card_}) host->PutData(nb, bus, length);
  }
  /// Sends a slot with an invalid or unaligned address.
  void Odd(uint32_t nb) {
    if (Below(2) != 0) return Put(nb, 0xdead'0000'0000, 64 + Below(1000));
    const uint32_t odd = 1 + Below(40);
    Bytes bytes(64 + odd);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
    PutBe16(bytes, odd + 16, 46);
    const uint64_t bus = source_ + uint64_t{kSourceFlits} * kFlitBytes;
    for (Host* host : {&model_, &card_}) std::memcpy(host->At(bus), bytes.data(), bytes.size());
    Put(nb, bus + odd, 64);
    StoreTail(nb);
    Transmit();
  }
  void StoreTail(uint32_t nb) {
    ++operations_;
    for (Host* host : {&model_, &card_}) host->StoreTxTail(nb);
  }
  void Transmit() {
    for (Host* host : {&model_, &card_}) {
      // A call that returns 0 may have processed slots that contain no frame.
      for (uint32_t idle = 0; idle < 4;) idle = host->Transmit(100'000) == 0 ? idle + 1 : 0;
    }
    ASSERT_EQ(model_.wire.frames, card_.wire.frames);
    for (Host* host : {&model_, &card_}) host->wire.frames.clear();
  }

  template <typename Format>
  void Command(uint32_t nb, const Format& command) {
    ++operations_;
    model_.Configure(command, nb);
    card_.Configure(command, nb);
  }
  void Configure(uint32_t nb) {
    if (open_ != kNone) nb = open_;
    const auto id = [](ConfigId command) { return static_cast<uint64_t>(command); };
    switch (Below(4)) {
      case 0:
        return Command(nb, TxNotification{kSignalConfig, 99, Below(1000), {}});
      case 1: {
        const uint32_t count = Below(8) == 0 ? 0 : 1u << Below(4);
        return Command(
            nb,
            FallbackConfig{
                kSignalConfig, id(ConfigId::kFallback), count, count == 0 ? 0 : count - 1, 0, {}});
      }
      default:
        return Command(nb, FlowEntryConfig{kSignalConfig,
                                           id(ConfigId::kFlowEntry),
                                           Port(),
                                           Port(),
                                           kDst + Below(4),
                                           Below(2) != 0 ? kSrc + Below(4) : 0,
                                           17,
                                           Below(4) == 0 ? kUnbind : Below(kPipes),
                                           {}});
    }
  }

  void Fault(uint32_t pipe, uint32_t nb) {
    const uint32_t page = Below(4) == 0 ? NbPage(nb) : PipePage(pipe);
    switch (Below(4)) {
      case 0:
        Store(page + kRxMemLo, 0);
        Store(page + kRxMemHi, 0);
        break;
      case 1:
        Store(page + kRxTail, Below(300));
        break;
      case 2: {  // The ring's end is beyond the memory.
        const uint64_t bus = Host::kBus + Host::kMemoryBytes - 1024;
        Store(PipePage(pipe) + kRxMemLo, static_cast<uint32_t>(bus | nb));
        Store(PipePage(pipe) + kRxMemHi, static_cast<uint32_t>(bus >> 32));
        break;
      }
      default:
        Store(PipePage(pipe) + kRxMemLo, static_cast<uint32_t>(model_.pipe_ring(pipe) + 4096) | nb);
        break;
    }
  }

  void CompareCounters() {
    const auto model = model_.nic->Counters(), card = card_.nic->Counters();
    for (size_t i = 0; i < model.size(); ++i) {
      ASSERT_EQ(model[i].value, card[i].value) << model[i].name;
    }
  }
  void CompareRegisters() {
    for (uint32_t i = 0; i < kPipes + kBuffers; ++i) {
      const uint32_t page = i < kPipes ? PipePage(i) : NbPage(i - kPipes);
      for (uint32_t at = 0; at < kFlitBytes; at += 8) {
        ASSERT_EQ(model_.nic->ReadRegister(page + at, 8), card_.nic->ReadRegister(page + at, 8))
            << "page " << i << " " << at;
      }
    }
  }
  /// Compares all allocated host memory, and the last KiB of host memory.
  void CompareMemory() {
    ASSERT_EQ(std::memcmp(model_.At(Host::kBus), card_.At(Host::kBus), model_.allocated()), 0);
    const uint64_t end = Host::kBus + Host::kMemoryBytes - 1024;
    ASSERT_EQ(std::memcmp(model_.At(end), card_.At(end), 1024), 0);
  }

  static constexpr uint32_t kNone = ~0u;
  static constexpr uint32_t kSourceFlits = 300;

  const Case& case_;
  Host model_, card_;
  std::mt19937_64 random_;
  uint64_t source_ = 0;         ///< Bus address of the data to send.
  std::vector<uint32_t> ends_;  ///< Ends of the frames in the source, in flits.
  uint32_t at_ = 0;             ///< First flit of the source that was not sent.
  uint32_t open_ = kNone;       ///< Buffer that sends the frame of flit at_; kNone: any.
  uint32_t operations_ = 0;
};

class Differential : public testing::TestWithParam<Case> {};

TEST_P(Differential, NothingThatCanBeSeenDiffers) {
  uint64_t received = 0, sent = 0, wedged = 0;
  uint64_t seed = 7;
  for (uint32_t done = 0; done < GetParam().operations && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Session session(GetParam(), seed);
    done += session.Run(GetParam().operations - done);
    received += session.received();
    sent += session.sent();
    wedged += session.Count("wedged");
  }
  EXPECT_GT(received, GetParam().frames);
  EXPECT_GT(sent, GetParam().frames / 4);
  EXPECT_EQ(wedged > 10, GetParam().faults) << wedged;
}

INSTANTIATE_TEST_SUITE_P(
    All, Differential,
    testing::Values(Case{"reactive", {.pipe_flits = 256, .nb_entries = 64}, 500'000, 60'000, false},
                    Case{"small", {.pipe_flits = 32, .nb_entries = 4}, 200'000, 9'000, false},
                    Case{"per_packet",
                         {.pipe_flits = 64, .nb_entries = 64, .notify_per_packet = true},
                         200'000,
                         12'000,
                         false},
                    Case{"faults", {.pipe_flits = 64, .nb_entries = 32}, 100'000, 500, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sluice::device::enso
