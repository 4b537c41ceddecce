// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/ipu_program.h"

#include <memory>
#include <new>

#include "device/grid/ipu_blocks.h"

namespace sluice::emulator {

extern const char kIpuPtx[];

namespace {

using device::grid::IpuCard;
using device::grid::IpuEndpoint;
using device::grid::IpuExchange;
using device::grid::IpuLink;
using device::grid::IpuMemory;
using device::grid::IpuRole;
using device::grid::kIpuQueues;

const char* Reset(device::grid::Card& base, const SettingValues&, uint8_t* staging) {
  auto& card = static_cast<IpuCard&>(base);
  const uint32_t most = card.most_frames != 0 ? card.most_frames : card.wire.shape.batch_frames;
  // Resets the model's members, except those of the base class, to their power-on state.
  const auto fresh = std::make_unique<IpuCard>();
  static_cast<device::grid::Card&>(*fresh) = base;
  card = *fresh;
  card.staging = staging;
  card.most_frames = most;
  card.settings.batch_frames = card.settings.segments = 1;
  return nullptr;
}

// Disables rings, links and endpoints whose memory has been moved or removed, like
// IpuNic::MemoryTaken.
void FindRings(device::grid::Card& base) {
  auto& card = static_cast<IpuCard&>(base);
  for (uint32_t i = 0; i < kIpuQueues; ++i) {
    if (!card.rx[i].Reachable(card.dma)) {
      card.Count(regs::ipu::kStatRxDmaFault);
      card.rx[i].place = card.settings.rings[i].place = 0;
      card.config += 2;
    }
    IpuLink& link = card.links[i];
    if (card.gates[i].has(IpuExchange::kLink) &&
        card.dma.Translate(link.end.bus, link.end.bytes) != link.end.memory) {
      card.Count(regs::ipu::kStatLinkFaults);
      card.gates[i].Close();
      card.settings.rings[i] = {};
      card.config += 2;
    }
    const IpuEndpoint& endpoint = card.endpoints[i];
    if (HasEndpoint(card, i) &&
        FindEndpoint(card, endpoint.opened_base, endpoint.opened_bytes) != endpoint.state.memory) {
      card.Count(regs::ipu::kStatLineFaults);
      AbandonEndpoint(card, i);
      card.config += 2;
    }
    if (!card.tx[i].Reachable(card.dma)) {
      card.Count(regs::ipu::kStatTxDmaFault);
      card.tx[i].place = 0;
      card.tx[i].epoch = (card.tx[i].epoch | 1) + 1;
    }
  }
}

// Counts the frames held by the endpoints of a dead host, like IpuNic::HostDied.
void HostDied(device::grid::Card& base) {
  auto& card = static_cast<IpuCard&>(base);
  for (uint32_t i = 0; i < kIpuQueues; ++i) AbandonEndpoint(card, i);
}

}  // namespace

const GridProgram kIpuProgram = {
    .kernel = "sluice_ipu",
    .ptx = kIpuPtx,
    .card_bytes = sizeof(IpuCard),
    .block_bytes = sizeof(IpuMemory),
    .staging_bytes = device::grid::kIpuCardMemoryBytes + device::grid::kEndpointCopiesBytes,
    .exchanges = true,
    .events = regs::ipu::kStatisticNames,
    .received = regs::ipu::kStatRxFrames,
    .construct = [](void* memory) -> device::grid::Card* { return new (memory) IpuCard; },
    .reset = Reset,
    .find_rings = FindRings,
    .host_died = HostDied,
    .begin =
        [](device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
           const device::grid::Team& team, void* memory) {
          device::grid::CallRole(roles, block, [&]<IpuRole kRole>(uint32_t, uint32_t) {
            device::grid::BeginTurns<kRole>(static_cast<IpuCard&>(card), team,
                                            *static_cast<IpuMemory*>(memory));
          });
        },
    .turn =
        [](device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
           const device::grid::Team& team, void* memory) {
          const auto take = [&]<IpuRole kRole>(uint32_t number, uint32_t count) {
            device::grid::RunTurn<kRole>(static_cast<IpuCard&>(card), number, count, team,
                                         *static_cast<IpuMemory*>(memory));
          };
          device::grid::CallRole(roles, block, take);
        }};

}  // namespace sluice::emulator
