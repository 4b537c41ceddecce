// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost per frame of a link of regions. One end is the packetized device model; the
// other end is a host that reads the first line of every frame and returns the frame in place. The
// ends run alternately in one thread, and then on two cores. `link_bench [frames] [device core]
// [host core]`.
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "cpu/clock.h"
#include "device/ipu/ipu_nic.h"
#include "swap/host_link.h"

namespace sluice {
namespace {

using namespace regs::ipu;  // NOLINT: most lines use these names

constexpr uint32_t kBurst = 32;

class CountingSink final : public device::FrameSink {
 public:
  void Deliver(std::span<const device::WireFrame> frames) override { sent += frames.size(); }
  uint64_t sent = 0;
};

/// Cycles per frame of one side, for each call that found work. The median is robust against other
/// programs on the cores.
class Cost {
 public:
  void Add(uint64_t cycles, uint64_t frames) {
    samples_.push_back(static_cast<float>(cycles) / static_cast<float>(frames));
    frames_ += frames;
  }
  double Median() {
    if (samples_.empty()) return 0;
    const auto middle = samples_.begin() + static_cast<ptrdiff_t>(samples_.size() / 2);
    std::nth_element(samples_.begin(), middle, samples_.end());
    return *middle;
  }
  double FramesPerCall() const {
    return static_cast<double>(frames_) / static_cast<double>(samples_.size());
  }

 private:
  std::vector<float> samples_;
  uint64_t frames_ = 0;
};

class Rig {
 public:
  explicit Rig(uint32_t frame_bytes)
      : bytes_(swap::LinkMemory::BytesFor(kGeometry)),
        memory_(static_cast<uint8_t*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0))),
        nic_(dma_, {}),
        source_(kBurst * 2048, 0x5a),
        host_(swap::HostLink::Open(swap::LinkMemory::Format({memory_, bytes_}, kGeometry),
                                   ~uint64_t{0})) {
    dma_.Add(kBus, memory_, bytes_);
    nic_.WriteRegister(kPortControl, 4, kPortReceive | kPortPromiscuous);
    nic_.WriteRegister(kMaxFrame, 4, kMaxFrameBytes);
    const uint32_t link = QueuePage(0) + kLinkBlock;
    nic_.WriteRegister(link + kLinkBase, 8, kBus);
    nic_.WriteRegister(link + kLinkBytes, 8, bytes_);
    nic_.WriteRegister(link + kLinkEpoch, 4, host_->epoch());
    nic_.WriteRegister(link + kLinkControl, 4, kLinkEnable);
    for (uint32_t i = 0; i < kBurst; ++i) wire_[i] = {source_.data() + i * 2048, frame_bytes};
  }
  ~Rig() { munmap(memory_, bytes_); }

  /// Receives a burst from the wire and sends a burst to the wire. The cost per frame includes both
  /// directions.
  void StepDevice() {
    const uint64_t before = sink_.sent;
    const uint64_t start = cpu::Cycles();
    const uint32_t received = nic_.Receive(wire_, true);
    nic_.Transmit(sink_, kBurst);
    const uint64_t end = cpu::Cycles();
    const uint64_t passed = received + (sink_.sent - before);
    if (passed != 0) device.Add(2 * (end - start), passed);
  }

  /// Gives a region back and polls for the next region.
  void StepHost() {
    const uint64_t start = cpu::Cycles();
    if (!host_->holding() && !host_->Poll(start)) return;
    const swap::Region region = host_->region();
    const uint32_t frames = host_->received();
    for (uint32_t i = 0; i < frames; ++i) {
      constexpr uint32_t kAhead = 8;
      if (i + kAhead < frames) {
        __builtin_prefetch(region.base + swap::EntryOffset(region.entries()[i + kAhead]), 1);
      }
      const swap::Entry entry = region.entries()[i];
      if (swap::EntryIsSound(entry, kGeometry)) ++region.base[swap::EntryOffset(entry)];
    }
    host_->Give(frames, frames == 0);
    if (frames == 0) return;
    host.Add(cpu::Cycles() - start, frames);
  }

  uint64_t sent() const { return sink_.sent; }

  Cost device;
  Cost host;

 private:
  static constexpr swap::Geometry kGeometry{};
  static constexpr uint64_t kBus = 0x4000'0000;

  size_t bytes_;
  uint8_t* memory_;
  bar::DmaSpace dma_;
  device::ipu::IpuNic nic_;
  std::vector<uint8_t> source_;
  std::array<device::WireFrame, kBurst> wire_;
  CountingSink sink_;
  std::unique_ptr<swap::HostLink> host_;
};

void Pin(uint32_t core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  if (pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) != 0) {
    std::fprintf(stderr, "cannot use core %u\n", core);
  }
}

void Report(const char* threads, uint32_t frame_bytes, uint64_t cycles, Rig& rig) {
  std::printf(
      "%s, %4u B: %6.1f cycles a frame; medians: device %6.1f, host %6.1f; "
      "%5.1f frames a swap\n",
      threads, frame_bytes, static_cast<double>(cycles) / static_cast<double>(rig.sent()),
      rig.device.Median(), rig.host.Median(), rig.host.FramesPerCall());
}

void InTurn(uint32_t frame_bytes, uint64_t frames) {
  Rig rig(frame_bytes);
  const uint64_t start = cpu::Cycles();
  while (rig.sent() < frames) {
    rig.StepDevice();
    rig.StepHost();
  }
  Report("one thread ", frame_bytes, cpu::Cycles() - start, rig);
}

void OnTwoCores(uint32_t frame_bytes, uint64_t frames, uint32_t device_core, uint32_t host_core) {
  Rig rig(frame_bytes);
  std::atomic<bool> stop{false};
  std::thread host([&] {
    Pin(host_core);
    while (!stop.load(std::memory_order_relaxed)) rig.StepHost();
  });
  uint64_t cycles = 0;
  std::thread device([&] {
    Pin(device_core);
    const uint64_t start = cpu::Cycles();
    while (rig.sent() < frames) rig.StepDevice();
    cycles = cpu::Cycles() - start;
  });
  device.join();
  stop = true;
  host.join();
  Report("two threads", frame_bytes, cycles, rig);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const uint64_t frames = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  const auto core = [&](int argument, uint32_t otherwise) {
    return argc > argument ? static_cast<uint32_t>(std::atoi(argv[argument])) : otherwise;
  };
  for (const uint32_t bytes : {64u, 1514u}) {
    sluice::InTurn(bytes, frames);
    sluice::OnTwoCores(bytes, frames, core(2, 0), core(3, 1));
  }
  return 0;
}
