// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of stepping the model of the packetized NIC in one thread, without a worker: a
// burst is received into buffers or regions and sent from there, as in an echo. `rx_cycles` and
// `tx_cycles` are TSC cycles per frame of Receive and of Transmit, as medians over bursts. They
// exclude the work of the host.
//
//   arguments: frame bytes (0: random 60 … 1514)
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "bar/dma.h"
#include "cpu/clock.h"
#include "device/ipu/ipu_nic.h"
#include "device_bench.h"
#include "swap/host_link.h"

namespace sluice::device::ipu {
namespace {

using namespace regs::ipu;  // NOLINT

/// A NIC with one queue pair, and the host memory that it accesses.
class Host {
 public:
  Host(const benchmark::State& state, size_t memory_bytes)
      : arrivals_(static_cast<uint32_t>(state.range(0)), 1000),
        bytes_(memory_bytes),
        memory_(static_cast<uint8_t*>(std::aligned_alloc(2u << 20, memory_bytes))) {
    std::memset(memory_.get(), 0, bytes_);
    dma_->Add(kBus, memory_.get(), bytes_);
    nic_ = std::make_unique<IpuNic>(*dma_, IpuConfig{.queue_pairs = 1});
    nic_->WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
    nic_->WriteRegister(kMaxFrame, 4, 1514);
  }

  uint32_t burst() const { return arrivals_.burst(); }

  bench::Sink sink;
  std::vector<uint64_t> rx_cycles, tx_cycles;  ///< Cycles of each burst.

 protected:
  static constexpr uint64_t kBus = uint64_t{1} << 40;

  void Write(uint32_t offset, uint64_t value, uint32_t bytes = 4) {
    nic_->WriteRegister(QueuePage(0) + offset, bytes, value);
  }
  bool Receive() {
    const auto frames = arrivals_.Next();
    const uint64_t start = cpu::Cycles();
    const bool taken = nic_->Receive(frames, false) == burst();
    rx_cycles.push_back(cpu::Cycles() - start);
    return taken;
  }
  bool Transmit() {
    const uint64_t before = sink.count;
    const uint64_t start = cpu::Cycles();
    nic_->Transmit(sink, 10 * burst());
    tx_cycles.push_back(cpu::Cycles() - start);
    return sink.count - before == burst();
  }
  uint8_t* At(size_t offset) { return memory_.get() + offset; }

  std::unique_ptr<bar::DmaSpace> dma_ = std::make_unique<bar::DmaSpace>();
  std::unique_ptr<IpuNic> nic_;

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  bench::Arrivals arrivals_;
  const size_t bytes_;
  std::unique_ptr<uint8_t, Free> memory_;
};

/// Rings of kEntries buffers, posted as a driver does.
class RingHost : public Host {
 public:
  explicit RingHost(const benchmark::State& state) : Host(state, kMemory) {
    for (const uint32_t block : {kRxBlock, kTxBlock}) {
      Write(block + kRingBase, kBus + (block == kRxBlock ? 0 : kRingBytes), 8);
      Write(block + kRingEntries, kEntries);
      Write(block + kRingBuffer, kBuffer);
      Write(block + kRingControl, kRingEnable);
    }
    for (; posted_ < kEntries; ++posted_) Post(posted_);
    Write(kRxBlock + kRingTail, posted_);
  }

  bool Step() {
    if (!Receive()) return false;
    for (uint32_t i = 0; i < burst(); ++i, ++next_) {
      const Descriptor& done = Ring(0)[next_ % kEntries];
      if ((done.high & kDone) == 0) return false;
      Ring(1)[next_ % kEntries] = {Buffer(next_),
                                   static_cast<uint16_t>(done.high) | kTxEndOfPacket | kTxReport};
      Post(posted_++);
    }
    Write(kTxBlock + kRingTail, next_);
    Write(kRxBlock + kRingTail, posted_);
    return Transmit();
  }

 private:
  static constexpr uint32_t kEntries = 1024, kBuffer = 2048;
  static constexpr size_t kRingBytes = kEntries * kDescriptorBytes;
  static constexpr size_t kMemory = size_t{4} << 20;
  static_assert(2 * kRingBytes + size_t{kEntries} * kBuffer <= kMemory);

  Descriptor* Ring(uint32_t which) { return reinterpret_cast<Descriptor*>(At(which * kRingBytes)); }
  static uint64_t Buffer(uint32_t index) {
    return kBus + 2 * kRingBytes + (index % kEntries) * uint64_t{kBuffer};
  }
  void Post(uint32_t index) { Ring(0)[index % kEntries] = {Buffer(index), 0}; }

  uint32_t posted_ = 0;
  uint32_t next_ = 0;
};

/// A NIC with one link of the default geometry.
class LinkHost : public Host {
 public:
  explicit LinkHost(const benchmark::State& state) : Host(state, kMemory) {
    const size_t bytes = swap::LinkMemory::BytesFor({});
    link_ = swap::HostLink::Open(swap::LinkMemory::Format({At(0), bytes}, {}), ~uint64_t{0});
    Write(kLinkBlock + kLinkBase, kBus, 8);
    Write(kLinkBlock + kLinkBytes, bytes, 8);
    Write(kLinkBlock + kLinkEpoch, link_->epoch());
    Write(kLinkBlock + kLinkControl, kLinkEnable);
    Swap(0);
  }

  bool Step() {
    // The first swap delivers the burst to the host; the second returns it to the NIC.
    if (!Receive() || !Swap(0) || link_->received() != burst()) return false;
    link_->Give(burst(), false);
    link_->Poll(1);
    return Transmit() && Settle();
  }

 private:
  static constexpr size_t kMemory = size_t{4} << 20;

  bool Swap(uint32_t frames) {
    if (link_->holding()) link_->Give(frames, false);
    return Settle();
  }
  bool Settle() {
    for (int i = 0; i < 4 && !link_->holding(); ++i) {
      nic_->Transmit(sink, burst());
      link_->Poll(1);
    }
    return link_->holding();
  }

  std::unique_ptr<swap::HostLink> link_;
};

template <typename Host>
void IpuEcho(benchmark::State& state) {
  bench::MeasureEcho<Host>(state);
}
BENCHMARK(IpuEcho<RingHost>)->Iterations(500)->Arg(60)->Arg(508)->Arg(1514)->Arg(0);
BENCHMARK(IpuEcho<LinkHost>)->Iterations(500)->Arg(60)->Arg(508)->Arg(1514)->Arg(0);

}  // namespace
}  // namespace sluice::device::ipu

BENCHMARK_MAIN();
