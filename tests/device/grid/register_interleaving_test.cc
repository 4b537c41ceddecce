// SPDX-License-Identifier: BSD-3-Clause
//
// Tests a lane that stores registers while another lane, or another block, uses them. The store is
// tried at every instruction of the use.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "coherent/endpoint_memory.h"
#include "device/grid/enso_registers.h"
#include "device/grid/enso_transmit.h"
#include "device/grid/ipu_registers.h"
#include "interleave.h"
#include "swap/link_memory.h"

namespace sluice::device::grid {
namespace {

struct Ignored {
  void Append(const SlotWrite&) {}
};

struct Free {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, Free>;
Memory Pages(size_t bytes) {
  uint8_t* const memory = static_cast<uint8_t*>(std::aligned_alloc(4096, bytes));
  std::memset(memory, 0, bytes);
  return Memory(memory);
}

/// Two memory areas at different bus addresses. Either can contain a ring, a link or an endpoint of
/// queue pair 0.
class Lanes : public testing::Test {
 protected:
  static constexpr uint64_t kBus[] = {0x10'0000, 0x80'0000};
  static constexpr uint64_t kBytes = 1u << 20;
  static constexpr uint32_t kPage = regs::ipu::QueuePage(0);

  Lanes() {
    for (uint32_t i = 0; i < 2; ++i) {
      card_->dma.ranges[i] = {kBus[i], kBytes, reinterpret_cast<uintptr_t>(memory_[i].get())};
    }
    card_->dma.count = 2;
    card_->wire.shape.largest = Flits(regs::ipu::kMaxFrameBytes);
    card_->most_frames = kBatchFrames;
  }

  void FormatLinks() {
    for (const Memory& memory : memory_) {
      std::memset(memory.get(), 0, kBytes);
      swap::LinkMemory::Format({memory.get(), kBytes},
                               {.regions = 3, .region_bytes = 4096, .max_frames = 16});
    }
  }
  void FormatEndpoints() {
    for (const Memory& memory : memory_) {
      std::memset(memory.get(), 0, kBytes);
      coherent::EndpointMemory::Format({memory.get(), kBytes}, {});
    }
  }
  void Write(uint32_t offset, uint32_t bytes, uint64_t value) {
    Ignored ignored;
    IpuRegisters(*card_).Write(kPage + offset, bytes, value, ignored);
  }
  /// Writes a control register. If the other lane holds the lock, this lane waits for it.
  bool Control(uint32_t offset, uint32_t value) {
    if (Load(&card_->control_lock) != 0) return false;
    Write(offset, 4, value);
    return true;
  }
  /// Powers the queue pair on. All its registers describe the first memory area.
  void Reset() {
    using namespace regs::ipu;
    card_->rx[0] = card_->tx[0] = {};
    card_->gates[0] = {};
    card_->links[0] = {};
    card_->endpoints[0] = {};
    card_->settings.rings[0] = {};
    for (const uint32_t block : {kRxBlock, kTxBlock}) {
      Write(block + kRingBase, 8, kBus[0]);
      Write(block + kRingEntries, 4, kMinRing);
    }
    Write(kRxBlock + kRingBuffer, 4, 2048);
    Write(kLinkBlock + kLinkBase, 8, kBus[0]);
    Write(kLinkBlock + kLinkBytes, 8, kBytes);
    Write(kEndpointBlock + kEndpointBase, 8, kBus[0]);
    Write(kEndpointBlock + kEndpointBytes, 8, kBytes);
  }
  /// Runs `use` while another lane stores a value to a register.
  void StoreMeanwhile(uint32_t offset, uint32_t bytes, uint64_t value,
                      const std::function<void()>& use, const std::function<void()>& judge) {
    const auto stores = [&] {
      Write(offset, bytes, value);
      return true;
    };
    ExploreFirst([&] { Reset(); }, use, stores, judge);
  }
  /// Expects that only one protocol uses the queue pair, with complete settings.
  void ExpectOneProtocol() {
    const IpuRxSettings& settings = card_->settings.rings[0];
    const bool linked = card_->gates[0].has(IpuExchange::kLink);
    const bool endpoint = HasEndpoint(*card_, 0);
    ASSERT_EQ(settings.flags & (kRxLinked | kRxOnCard), linked     ? settings.flags & kRxLinked
                                                        : endpoint ? kRxOnCard
                                                                   : 0u);
    ASSERT_EQ((settings.flags & kRxLinked) != 0, linked);
    exchanges_ += linked || endpoint;
    rings_ += (card_->rx[0].place | card_->tx[0].place) != 0;
    if (linked || endpoint) {
      ASSERT_NE(settings.place, 0u);
      ASSERT_EQ(card_->rx[0].place | card_->tx[0].place, 0u);
    } else {
      ASSERT_EQ(settings.place, card_->rx[0].place);
    }
  }

  std::unique_ptr<IpuCard> card_ = std::make_unique<IpuCard>();
  uint32_t rings_ = 0, exchanges_ = 0;  ///< Number of attempts that end with a ring enabled, and
                                        ///< with a link or an endpoint enabled.
  const std::array<Memory, 2> memory_ = {Pages(kBytes), Pages(kBytes)};
};

TEST_F(Lanes, ALinkIsOpenedWhereItWasChecked) {
  using namespace regs::ipu;
  FormatLinks();
  const IpuLinkEnd& end = card_->links[0].end;
  for (const auto& [reg, value] : {std::pair{kLinkBase, kBus[1]}, {kLinkBytes, 2 * kBytes}}) {
    bool opened = false;
    uint32_t opens = 0;
    StoreMeanwhile(
        kLinkBlock + reg, 8, value, [&] { opened = IpuLinkOpener(*card_, 0).Open(); },
        [&] {
          opens += opened;
          if (!opened) return;
          ASSERT_EQ(card_->dma.Translate(end.bus, end.bytes), end.memory);
        });
    EXPECT_GT(opens, 1u);
  }
}

TEST_F(Lanes, AnEndpointIsOpenedWhereItWasChecked) {
  using namespace regs::ipu;
  FormatEndpoints();
  const IpuEndpoint& endpoint = card_->endpoints[0];
  for (const auto& [reg, value] :
       {std::pair{kEndpointBase, kBus[1]}, {kEndpointBytes, 2 * kBytes}}) {
    bool opened = false;
    uint32_t opens = 0;
    StoreMeanwhile(
        kEndpointBlock + reg, 8, value, [&] { opened = OpenEndpoint(*card_, 0); },
        [&] {
          opens += opened;
          if (!opened) return;
          ASSERT_EQ(FindEndpoint(*card_, endpoint.opened_base, endpoint.opened_bytes),
                    endpoint.state.memory);
        });
    EXPECT_GT(opens, 1u);
  }
}

TEST_F(Lanes, ARingIsEnabledAsItWasChecked) {
  using namespace regs::ipu;
  const IpuRxSettings& settings = card_->settings.rings[0];
  for (const auto& [reg, value] :
       {std::pair{kRingBase, kBus[1]}, {kRingEntries, 2 * kMinRing}, {kRingBuffer, 0}}) {
    uint32_t opens = 0;
    StoreMeanwhile(
        kRxBlock + reg, reg == kRingBase ? 8 : 4, value,
        [&] { Write(kRxBlock + kRingControl, 4, kRingEnable); },
        [&] {
          ASSERT_TRUE(card_->rx[0].Reachable(card_->dma));
          opens += settings.place != 0;
          if (settings.place == 0) return;
          ASSERT_EQ(settings.room, 2048u);
        });
    EXPECT_GT(opens, 1u);
  }
}

// The host can describe the next ring before it disables this one.
TEST_F(Lanes, ARingIsLookedUpWhereItWasEnabled) {
  using namespace regs::ipu;
  for (const uint32_t block : {kRxBlock, kTxBlock}) {
    Reset();
    const IpuRing& ring = block == kTxBlock ? card_->tx[0] : card_->rx[0];
    Write(block + kRingControl, 4, kRingEnable);
    ASSERT_NE(ring.place, 0u);
    Write(block + kRingBase, 8, kBus[1]);
    Write(block + kRingEntries, 4, 1);
    EXPECT_TRUE(ring.Reachable(card_->dma));
    const uint64_t bus = card_->dma.ranges[0].bus;
    card_->dma.ranges[0].bus = kBus[0] + kBytes;
    EXPECT_FALSE(ring.Reachable(card_->dma));
    card_->dma.ranges[0].bus = bus;
  }
}

TEST_F(Lanes, TwoProtocolsAreNotEnabledAtOnce) {
  using namespace regs::ipu;
  struct Protocol {
    uint32_t control, enable;
  };
  const Protocol rx = {kRxBlock + kRingControl, kRingEnable},
                 tx = {kTxBlock + kRingControl, kRingEnable},
                 link = {kLinkBlock + kLinkControl, kLinkEnable},
                 endpoint = {kEndpointBlock + kEndpointControl, kEndpointEnable};
  const auto meet = [&](const Protocol& one, const Protocol& other) {
    Explore([&] { Reset(); }, [&] { return Control(one.control, one.enable); },
            [&] { return Control(other.control, other.enable); }, [&] { ExpectOneProtocol(); });
    EXPECT_GT(std::exchange(exchanges_, 0), 0u);
    EXPECT_EQ(std::exchange(rings_, 0) != 0, one.enable != 0);
  };
  FormatLinks();
  meet(rx, link);
  meet(tx, link);
  FormatEndpoints();
  meet(rx, endpoint);
  meet(tx, endpoint);
  // The link is disabled while its queue pair gets an endpoint.
  meet({link.control, 0}, endpoint);
}

/// The host moves its command ring while a block reads a command.
TEST(MovedRing, EndsACommandWithoutAnEffectOrBeforeIt) {
  using namespace regs::enso;
  constexpr uint64_t kBus = 0x10'0000, kElsewhere = 0x80'0000;
  constexpr uint32_t kEntries = 64, kPage = NbPage(0);
  const auto card = std::make_unique<EnsoCard>();
  card->nb_mask = kEntries - 1;
  const Memory ring = Pages(kEntries * kFlitBytes);
  card->dma.count = 1;
  card->dma.ranges[0] = {kBus, kEntries * kFlitBytes, reinterpret_cast<uintptr_t>(ring.get())};
  EnsoRegisters registers(*card);
  Ignored ignored;
  TeamMemory team_memory;
  const Team team(&team_memory);
  const auto memory = std::make_unique<EnsoReadMemory>();
  const auto prepare = [&] {
    card->buffers[0] = {};
    card->listed = card->sending[0] = card->fallback_count = 0;
    card->counters = {};
    *memory = {};
    memory->dma.Fill(card->dma);
    const FallbackConfig command = {
        kSignalConfig, static_cast<uint64_t>(ConfigId::kFallback), 4, 3, 0, {}};
    std::memcpy(ring.get(), &command, sizeof(command));
    registers.Write(kPage + kTxMemLo, 8, kBus, ignored);
    registers.Write(kPage + kTxTail, 4, 1, ignored);
  };
  const auto moves = [&] {
    registers.Write(kPage + kTxMemLo, 8, kElsewhere, ignored);
    return true;
  };
  uint32_t executed = 0, faults = 0;
  ExploreFirst(
      prepare, [&] { EXPECT_TRUE(EnsoReader(*card, team, *memory).Turn(0)); }, moves,
      [&] {
        const auto count = [&](Event event) {
          return card->counters.model[static_cast<uint32_t>(event)];
        };
        ASSERT_EQ(card->fallback_count, count(Event::kTxConfigs) != 0 ? 4u : 0u);
        ASSERT_GE(count(Event::kTxConfigs) + count(Event::kDmaFaults), 1u);
        executed += count(Event::kTxConfigs) != 0;
        faults += count(Event::kTxConfigs) == 0;
      });
  EXPECT_GT(executed, 0u);
  EXPECT_GT(faults, 0u);
}

}  // namespace
}  // namespace sluice::device::grid
