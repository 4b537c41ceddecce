// SPDX-License-Identifier: BSD-3-Clause
//
// The host's side of the Ensō NIC for tests: memory with bus addresses that differ from pointers,
// rings, and the bring-up order of docs/enso-hardware.md, "Bring-up and tear-down". Uses only
// regs/enso.h.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bar/dma.h"
#include "device/enso/enso_nic.h"
#include "regs/enso.h"

namespace sluice::device::enso {

using namespace regs::enso;  // NOLINT: every test uses these names

using Bytes = std::vector<uint8_t>;

/// Stores every frame that the NIC transmits.
class Collector final : public FrameSink {
 public:
  void Deliver(std::span<const WireFrame> burst) override {
    largest_burst = std::max(largest_burst, burst.size());
    for (const WireFrame& frame : burst) frames.emplace_back(frame.data, frame.data + frame.length);
  }
  std::vector<Bytes> frames;
  size_t largest_burst = 0;
};

inline constexpr uint32_t kDst = 0xc0a8'0000;  ///< 192.168.0.0
inline constexpr uint32_t kSrc = 0x0a00'0001;  ///< 10.0.0.1

/// Fields of a test frame; addresses and ports in host order.
struct Headers {
  uint8_t protocol = 17;
  uint32_t dst_ip = kDst;
  uint32_t src_ip = kSrc;
  uint16_t dst_port = 80;
  uint16_t src_port = 8080;
  uint8_t tcp_flags = 0x10;  ///< ACK
};

inline void PutBe16(Bytes& frame, size_t at, uint16_t value) {
  frame[at] = static_cast<uint8_t>(value >> 8);
  frame[at + 1] = static_cast<uint8_t>(value);
}
inline void PutBe32(Bytes& frame, size_t at, uint32_t value) {
  PutBe16(frame, at, static_cast<uint16_t>(value >> 16));
  PutBe16(frame, at + 2, static_cast<uint16_t>(value));
}
inline uint32_t Be32(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

/// Returns an IPv4 frame of `length` ≥ 48 bytes with a correct IP length. Payload byte i is `seed`
/// + i. A frame of at least 60 bytes has a tag near its end, like every frame from a card's wire
/// (device/grid/wire.h): 4 bytes that are the complement of the preceding 4 bytes.
inline Bytes MakeFrame(uint32_t length, const Headers& headers = {}, uint8_t seed = 1) {
  Bytes frame(length);
  for (size_t i = 48; i < length; ++i) frame[i] = static_cast<uint8_t>(seed + i);
  PutBe16(frame, 12, 0x0800);
  frame[14] = 0x45;
  PutBe16(frame, 16, static_cast<uint16_t>(length - 14));
  frame[23] = headers.protocol;
  PutBe32(frame, 26, headers.src_ip);
  PutBe32(frame, 30, headers.dst_ip);
  PutBe16(frame, 34, headers.src_port);
  PutBe16(frame, 36, headers.dst_port);
  frame[47] = headers.tcp_flags;
  if (length >= 60) {
    for (size_t i = length - 12; i < length - 8; ++i)
      frame[i] = static_cast<uint8_t>(~frame[i - 4]);
  }
  return frame;
}

/// Creates the model under test; each test program defines it.
std::unique_ptr<Device> MakeNic(const bar::DmaSpace& dma, const EnsoConfig& config);

/// A NIC and its host. Pipes and buffers are opened in the order of "Bring-up and tear-down".
class Host {
 public:
  static constexpr uint64_t kBus = 0x12'3400'0000;
  static constexpr size_t kMemoryBytes = 32u << 20;  ///< Large, but untouched pages use no memory.

  explicit Host(EnsoConfig config = {.pipe_flits = 64, .nb_entries = 32},
                decltype(MakeNic)* make = &MakeNic)
      : config_(config) {
    EXPECT_EQ(config.Error(), nullptr);
    memory_.reset(static_cast<Page*>(
        mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    EXPECT_TRUE(dma.Add(kBus, memory_.get(), kMemoryBytes));
    nic = make(dma, config);
  }

  void Write32(uint32_t offset, uint32_t value) { nic->WriteRegister(offset, 4, value); }
  void Write64(uint32_t offset, uint64_t value) { nic->WriteRegister(offset, 8, value); }
  uint32_t Read32(uint32_t offset) { return static_cast<uint32_t>(nic->ReadRegister(offset, 4)); }

  const EnsoConfig& config() const { return config_; }

  uint64_t Allocate(size_t bytes) {
    const uint64_t bus = kBus + used_;
    used_ += (bytes + sizeof(Page) - 1) / sizeof(Page) * sizeof(Page);
    EXPECT_LE(used_, kMemoryBytes);
    return bus;
  }
  uint8_t* At(uint64_t bus) { return memory_->bytes + (bus - kBus); }
  size_t allocated() const { return used_; }

  void OpenNb(uint32_t id) {
    Nb& nb = nbs_[id];
    nb.rx = Allocate(config_.nb_entries * kFlitBytes);
    nb.tx = Allocate(config_.nb_entries * kFlitBytes);
    const uint32_t page = NbPage(id);
    Write64(page + kRxMemLo, 0);
    Write32(page + kRxTail, 0);
    Write32(page + kRxHead, 0);
    nb.tx_tail = Read32(page + kTxTail);
    Write32(page + kTxHead, nb.tx_tail);
    Write64(page + kRxMemLo, nb.rx);
    Write64(page + kTxMemLo, nb.tx);
  }
  void OpenPipe(uint32_t id, uint32_t nb) {
    rings_[id] = Allocate(config_.pipe_flits * kFlitBytes);
    const uint32_t page = PipePage(id);
    Write64(page + kRxMemLo, 0);
    Write32(page + kRxTail, 0);
    Write32(page + kRxHead, 0);
    Write64(page + kRxMemLo, rings_[id] | nb);
    StoreHead(id, 0);
  }
  /// Opens NB 0, pipes 0 to n − 1, and the fallback over them, so that every frame is accepted.
  void OpenFallback(uint32_t pipes, uint32_t mask) {
    OpenNb(0);
    for (uint32_t i = 0; i < pipes; ++i) OpenPipe(i, 0);
    Fallback(pipes, mask, 0);
  }

  void StoreHead(uint32_t pipe, uint32_t head) { Write32(PipePage(pipe) + kRxHead, head); }
  uint32_t Tail(uint32_t pipe) { return Read32(PipePage(pipe) + kRxTail); }
  uint32_t NbTail(uint32_t nb) { return Read32(NbPage(nb) + kRxTail); }

  uint8_t* Flit(uint32_t pipe, uint32_t index) { return At(rings_[pipe] + index * kFlitBytes); }
  RxNotification Slot(uint32_t nb, uint32_t index) {
    RxNotification slot;
    std::memcpy(&slot, At(nbs_[nb].rx + index * kFlitBytes), sizeof(slot));
    return slot;
  }
  uint64_t pipe_ring(uint32_t pipe) { return rings_[pipe]; }
  uint64_t rx_ring(uint32_t nb) { return nbs_[nb].rx; }
  uint64_t tx_ring(uint32_t nb) { return nbs_[nb].tx; }
  TxNotification TxSlot(uint32_t nb, uint32_t index) {
    TxNotification slot;
    std::memcpy(&slot, At(nbs_[nb].tx + index * kFlitBytes), sizeof(slot));
    return slot;
  }

  /// Sends one frame from the wire. Returns whether the NIC accepted it.
  bool Receive(const Bytes& frame, bool pause = false) {
    const WireFrame wire = {frame.data(), static_cast<uint32_t>(frame.size())};
    return nic->Receive({&wire, 1}, pause) == 1;
  }
  /// Sends several frames from the wire in one burst. Returns the number that the NIC accepted.
  uint32_t ReceiveAll(const std::vector<Bytes>& frames, bool pause = false) {
    std::vector<WireFrame> wire;
    for (const Bytes& f : frames) wire.push_back({f.data(), static_cast<uint32_t>(f.size())});
    return nic->Receive(wire, pause);
  }

  /// Fills the next TX slot of `nb` without publishing it. Returns its index.
  template <typename Format>
  uint32_t Put(uint32_t nb, const Format& slot) {
    static_assert(sizeof(Format) == kFlitBytes);
    Nb& buffer = nbs_[nb];
    const uint32_t index = buffer.tx_tail;
    std::memcpy(At(buffer.tx + index * kFlitBytes), &slot, sizeof(slot));
    buffer.tx_tail = (index + 1) % config_.nb_entries;
    return index;
  }
  uint32_t PutData(uint32_t nb, uint64_t bus, uint64_t length) {
    return Put(nb, TxNotification{kSignalData, bus, length, {1, 2, 3, 4, 5}});
  }
  void StoreTxTail(uint32_t nb) { Write32(NbPage(nb) + kTxTail, nbs_[nb].tx_tail); }
  uint32_t Transmit(uint32_t budget = 1000) { return nic->Transmit(wire, budget); }

  template <typename Format>
  uint32_t Configure(const Format& command) {
    return Configure(command, config_nb);
  }
  template <typename Format>
  uint32_t Configure(const Format& command, uint32_t nb) {
    const uint32_t index = Put(nb, command);
    StoreTxTail(nb);
    Transmit();
    return index;
  }
  void Fallback(uint32_t count, uint32_t mask, uint64_t round_robin) {
    Configure(FallbackConfig{
        kSignalConfig, static_cast<uint64_t>(ConfigId::kFallback), count, mask, round_robin, {}});
  }
  void Bind(uint16_t dport, uint16_t sport, uint32_t dip, uint32_t sip, uint32_t pipe,
            uint32_t protocol = 17) {
    Configure(FlowEntryConfig{kSignalConfig,
                              static_cast<uint64_t>(ConfigId::kFlowEntry),
                              dport,
                              sport,
                              dip,
                              sip,
                              protocol,
                              pipe,
                              {}});
  }
  void Timestamp(uint64_t enable, uint64_t offset) {
    Configure(TimestampConfig{
        kSignalConfig, static_cast<uint64_t>(ConfigId::kTimestamp), enable, offset, {}});
  }
  void RateLimit(uint16_t num, uint16_t den, uint32_t enable) {
    Configure(RateLimitConfig{
        kSignalConfig, static_cast<uint64_t>(ConfigId::kRateLimit), den, num, enable, {}});
  }

  /// Copies frames to new memory, each to a flit boundary. Returns the bus address.
  uint64_t Compose(const std::vector<Bytes>& frames, uint64_t* bytes = nullptr) {
    uint64_t flits = 0;
    for (const Bytes& f : frames) flits += Flits(static_cast<uint32_t>(f.size()));
    const uint64_t bus = Allocate(flits * kFlitBytes);
    uint8_t* to = At(bus);
    for (const Bytes& f : frames) {
      std::memcpy(to, f.data(), f.size());
      to += Flits(static_cast<uint32_t>(f.size())) * kFlitBytes;
    }
    if (bytes != nullptr) *bytes = flits * kFlitBytes;
    return bus;
  }
  /// Publishes one slot that contains these frames. Returns the slot's index.
  uint32_t Send(uint32_t nb, const std::vector<Bytes>& frames) {
    uint64_t bytes = 0;
    const uint64_t bus = Compose(frames, &bytes);
    const uint32_t slot = PutData(nb, bus, bytes);
    StoreTxTail(nb);
    return slot;
  }

  uint64_t Count(std::string_view name) {
    for (const Counter& counter : nic->Counters()) {
      if (counter.name == name) return counter.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  bar::DmaSpace dma;
  std::unique_ptr<Device> nic;
  Collector wire;
  /// Buffer for configuration commands that are sent without a buffer argument.
  uint32_t config_nb = 0;

 private:
  struct alignas(4096) Page {
    uint8_t bytes[4096];
  };
  struct Unmap {
    void operator()(Page* memory) const { munmap(memory, kMemoryBytes); }
  };
  struct Nb {
    uint64_t rx = 0, tx = 0;
    uint32_t tx_tail = 0;
  };
  const EnsoConfig config_;
  std::unique_ptr<Page, Unmap> memory_;
  size_t used_ = 0;
  std::map<uint32_t, Nb> nbs_;
  std::map<uint32_t, uint64_t> rings_;
};

/// Compares all words of a notification.
inline void ExpectNotification(const RxNotification& slot, uint64_t pipe, uint64_t tail) {
  EXPECT_EQ(slot.signal, kSignalData);
  EXPECT_EQ(slot.pipe, pipe);
  EXPECT_EQ(slot.tail, tail);
  for (const uint64_t word : slot.reserved) EXPECT_EQ(word, 0u);
}

}  // namespace sluice::device::enso
