// SPDX-License-Identifier: BSD-3-Clause
//
// Runs both ends of a link of regions at full speed in two threads, with random cancels, resets and
// restarts from memory. Tags account for every frame.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "swap/host_link.h"
#include "swap/nic_link.h"

namespace sluice::swap::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kFrames = 100'000;
#elif defined(__has_feature)
constexpr uint64_t kFrames = __has_feature(thread_sanitizer) ? 100'000 : 1'000'000;
#else
constexpr uint64_t kFrames = 1'000'000;
#endif

constexpr Geometry kGeometry{
    .regions = 6, .region_bytes = 16384, .max_frames = 64, .headroom_bytes = 64};
constexpr uint32_t kWords = 9;
constexpr uint32_t kFrameBytes = kWords * 8;

void WriteTagged(uint8_t* frame, uint64_t tag) {
  for (uint64_t word = 0; word < kWords; ++word) {
    const uint64_t value = tag + word * 0x9e37'79b9'7f4a'7c15;
    std::memcpy(frame + 8 * word, &value, 8);
  }
}
/// Returns 0 if the frame is torn.
uint64_t ReadTagged(const uint8_t* frame, uint32_t length) {
  uint64_t tag;
  std::memcpy(&tag, frame, 8);
  for (uint64_t word = 1; word < kWords; ++word) {
    uint64_t value;
    std::memcpy(&value, frame + 8 * word, 8);
    if (value != tag + word * 0x9e37'79b9'7f4a'7c15) return 0;
  }
  return length == kFrameBytes ? tag : 0;
}

/// Checks that tags arrive complete and in order.
struct Tally {
  void See(uint64_t tag) {
    torn += tag == 0;
    disordered += tag <= last;
    last = tag;
    ++count;
  }
  uint64_t count = 0;
  uint64_t last = 0;
  uint64_t torn = 0;
  uint64_t disordered = 0;
};

class Memory {
 public:
  Memory() : bytes_(new (std::align_val_t{4096}) uint8_t[Size()]()) {
    LinkMemory::Format(span(), kGeometry);
  }
  ~Memory() { ::operator delete[](bytes_, std::align_val_t{4096}); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::span<uint8_t> span() const { return {bytes_, Size()}; }

 private:
  static size_t Size() { return LinkMemory::BytesFor(kGeometry); }
  uint8_t* bytes_;
};

/// State shared by the two threads: the device's register and the stop flag.
struct Wires {
  std::atomic<uint32_t> enable{0};  ///< The epoch. The upper bits contain the number of writes.
  std::atomic<uint64_t> accepted{0};
  std::atomic<bool> stop{false};
};

struct NicSide {
  Tally sent;
  uint64_t opened = 0;
  /// Number of times that the NIC's end was opened while the host's end kept running.
  uint64_t opened_alone = 0;
  bool faulted = false;

  void Run(const Memory& memory, Wires& wires) {
    std::mt19937 random(7);
    std::unique_ptr<NicLink> link;
    uint32_t enabled = 0;
    uint64_t accepted = 0;
    while (!wires.stop.load(std::memory_order_relaxed)) {
      const uint32_t enable = wires.enable.load(std::memory_order_acquire);
      if (enable != enabled || (link != nullptr && random() % 2048 == 0)) {
        opened_alone += enable == enabled;
        enabled = enable;
        link = NicLink::Open(memory.span(), static_cast<uint16_t>(enable));
        ++opened;
      }
      if (link == nullptr) continue;
      bool moved = link->Serve();
      for (uint32_t i = random() % 16; i > 0 && accepted < kFrames; --i) {
        uint8_t* const to = link->Reserve(kFrameBytes);
        if (to == nullptr) break;
        WriteTagged(to, ++accepted);
        link->Publish(kFrameBytes);
        moved = true;
      }
      wires.accepted.store(accepted, std::memory_order_relaxed);
      moved |= Send(*link, 1 + random() % 16);
      faulted |= link->faulted();
      if (!moved) sched_yield();
    }
    while (Send(*link, 16)) {
    }
  }

  bool Send(NicLink& link, uint32_t most) {
    FrameToSend frames[16];
    const uint32_t count = link.DequeueFrames(frames, most);
    for (uint32_t i = 0; i < count; ++i) sent.See(ReadTagged(frames[i].data, frames[i].length));
    return count != 0;
  }
};

struct HostSide {
  Tally delivered;
  uint64_t given = 0;
  /// Number of frames that were delivered and then discarded before they were given back.
  uint64_t forgotten = 0;
  HostLinkCounters total;
  uint64_t opened = 0;
  bool faulted = false;

  void Run(const Memory& memory, Wires& wires) {
    Open(memory, wires);
    bool cancelled = false;
    uint64_t looks = 0;
    while (Seen() < kFrames || !link_->holding()) {
      if (link_->faulted()) break;
      if (!link_->holding() && !link_->Poll(++looks)) {
        const uint32_t dice = random_() % 256;
        if (dice == 0 && !cancelled) Open(memory, wires);
        if (dice == 1) Reset(wires);
        // Sometimes cancels the offer, because further frames may not arrive.
        if (dice == 2) cancelled |= link_->Cancel();
        sched_yield();
        continue;
      }
      cancelled = false;
      if (rejected_ != link_->counters().rejected) {
        rejected_ = link_->counters().rejected;
        if (std::exchange(resumed_, false)) Forget();
        if (away_ > 0) link_->Give(away_, false);  // The region was returned; send it again.
        continue;
      }
      resumed_ = false;
      given += std::exchange(away_, 0);
      if (link_->received() == 0 && Seen() == kFrames) continue;
      const uint32_t dice = random_() % 32;
      if (dice == 0) {
        Open(memory, wires);  // Drops frames that have not been read.
        continue;
      }
      if (dice == 1) Reset(wires);
      away_ = Read();
      link_->Give(away_, away_ == 0 && random_() % 2 != 0);
    }
    faulted = link_->faulted();
    Retire();
  }

 private:
  uint64_t Seen() const {
    return delivered.count - forgotten + total.discarded_pkts + link_->counters().discarded_pkts;
  }
  /// Reads all frames.
  uint32_t Read() {
    const Region region = link_->region();
    for (uint32_t i = 0; i < link_->received(); ++i) {
      const Entry entry = region.entries()[i];
      delivered.See(EntryIsSound(entry, kGeometry)
                        ? ReadTagged(region.base + EntryOffset(entry), EntryLength(entry))
                        : 0);
    }
    return link_->received();
  }
  void Enable(Wires& wires) {
    wires.enable.store(++enables_ << 16 | link_->epoch(), std::memory_order_release);
  }
  void Reset(Wires& wires) {
    link_->Reset();
    Enable(wires);
  }
  void Retire() {
    if (link_ == nullptr) return;
    total.swaps += link_->counters().swaps;
    total.rejected += link_->counters().rejected;
    total.too_late += link_->counters().too_late;
    total.resets += link_->counters().resets;
    total.in_doubt += link_->counters().in_doubt;
    total.discarded_pkts += link_->counters().discarded_pkts;
    total.faults += link_->counters().faults;
    link_.reset();
  }
  void Open(const Memory& memory, Wires& wires) {
    Retire();
    link_ = HostLink::Open(LinkMemory::Find(memory.span()), ~uint64_t{0});
    ++opened;
    Enable(wires);
    rejected_ = 0;
    resumed_ = !link_->holding();
    if (link_->holding()) Forget();
  }
  /// Discards the frames of a region. Called by a new process that finds a region of its
  /// predecessor.
  void Forget() { forgotten += std::exchange(away_, 0); }

  std::unique_ptr<HostLink> link_;
  uint32_t away_ = 0;  ///< Number of frames that were given and may not have arrived.
  uint64_t rejected_ = 0;
  bool resumed_ = false;  ///< Set if an earlier process gave the frames that away_ counts.
  std::mt19937 random_{11};
  uint32_t enables_ = 0;
};

TEST(LinkStress, EveryFrameIsAccountedForAcrossCancelsResetsAndStarts) {
  const Memory memory;
  Wires wires;
  NicSide nic;
  HostSide host;
  std::thread device([&] { nic.Run(memory, wires); });
  host.Run(memory, wires);
  wires.stop = true;
  device.join();

  EXPECT_FALSE(host.faulted);
  EXPECT_FALSE(nic.faulted);
  EXPECT_EQ(host.delivered.torn + nic.sent.torn, 0u);
  EXPECT_EQ(host.delivered.disordered + nic.sent.disordered, 0u);
  EXPECT_EQ(host.delivered.count - host.forgotten + host.total.discarded_pkts, kFrames);
  EXPECT_EQ(nic.sent.count, host.given) << "what the host knows to have arrived has left";
  EXPECT_GT(host.opened, 10u);
  EXPECT_GT(nic.opened_alone, 0u);
  EXPECT_GT(host.total.resets, 10u);
  std::printf(
      "%lu swaps, %lu rejected, %lu cancelled too late, %lu in doubt at a reset or start; "
      "host started %lu times and reset %lu times, NIC started %lu times; %lu frames "
      "delivered, %lu discarded with a region of a host that ended, %lu sent\n",
      host.total.swaps, host.total.rejected, host.total.too_late, host.total.in_doubt, host.opened,
      host.total.resets, nic.opened, host.delivered.count, host.total.discarded_pkts,
      nic.sent.count);
}

}  // namespace
}  // namespace sluice::swap::test
