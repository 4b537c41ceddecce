// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/grid/enso_program.h"

#include <algorithm>
#include <new>

#include "device/enso/counters.h"
#include "device/enso/enso_nic.h"
#include "device/grid/enso_blocks.h"
#include "emulator/enso_model.h"

namespace sluice::emulator {

extern const char kEnsoPtx[];

namespace {

using device::enso::Event;
using device::grid::EnsoCard;
using device::grid::EnsoMemory;
using device::grid::EnsoRole;

constexpr uint32_t kBuffers = regs::enso::kMaxNotificationBuffers;

const char* Reset(device::grid::Card& base, const SettingValues& settings, uint8_t* staging) {
  device::enso::EnsoConfig config;
  if (const char* const wrong = ReadEnsoSettings(settings, &config)) return wrong;
  auto& card = static_cast<EnsoCard&>(base);
  // Resets the model's members, except those of the base class, to their power-on state.
  const auto fresh = std::make_unique<EnsoCard>();
  static_cast<device::grid::Card&>(*fresh) = base;
  card = *fresh;
  card.chunks = reinterpret_cast<device::grid::EnsoChunk*>(staging);
  card.pipe_mask = config.pipe_flits - 1;
  card.nb_mask = config.nb_entries - 1;
  card.per_packet = config.notify_per_packet ? 1 : 0;
  // Limits a batch to what fits into an empty pipe.
  device::grid::WireShape& shape = card.wire.shape;
  if (shape.looped != 0) {
    shape.batch_flits = std::min(device::grid::kBatchFlits, card.pipe_mask);
    return nullptr;
  }
  const uint32_t most = card.pipe_mask / shape.largest;
  if (shape.batch_frames > most) shape.batch_frames = most == 0 ? 1 : most;
  return nullptr;
}

void FindRings(device::grid::Card& base) {
  auto& card = static_cast<EnsoCard&>(base);
  const auto ring = [&](uint64_t bus, uint32_t mask) {
    return bus == 0 ? nullptr
                    : card.dma.Translate(bus, (uint64_t{mask} + 1) * regs::enso::kFlitBytes);
  };
  for (device::grid::EnsoPipe& pipe : card.pipes) {
    pipe.ring = ring(pipe.memory & ~regs::enso::kPipeNbMask, card.pipe_mask);
  }
  for (device::grid::EnsoBuffer& buffer : card.buffers) {
    buffer.rx_ring = ring(buffer.rx_memory, card.nb_mask);
    buffer.tx_ring = ring(buffer.tx_memory, card.nb_mask);
  }
}

}  // namespace

const GridProgram kEnsoProgram = {
    .kernel = "sluice_enso",
    .ptx = kEnsoPtx,
    .card_bytes = sizeof(EnsoCard),
    .block_bytes = sizeof(EnsoMemory),
    .staging_bytes = size_t{kBuffers} * device::grid::kChunks * sizeof(device::grid::EnsoChunk),
    .exchanges = false,
    .events = device::enso::kEventNames,
    .received = static_cast<uint32_t>(Event::kRxFrames),
    .construct = [](void* memory) -> device::grid::Card* { return new (memory) EnsoCard; },
    .reset = Reset,
    .find_rings = FindRings,
    .host_died = nullptr,
    .begin =
        [](device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
           const device::grid::Team& team, void* memory) {
          const auto begin = [&]<EnsoRole kRole>(uint32_t, uint32_t) {
            device::grid::BeginTurns<kRole>(static_cast<EnsoCard&>(card), team,
                                            *static_cast<EnsoMemory*>(memory));
          };
          device::grid::CallEnsoRole(roles, block, begin);
        },
    .turn =
        [](device::grid::Card& card, const device::grid::Roles& roles, uint32_t block,
           const device::grid::Team& team, void* memory) {
          const auto take = [&]<EnsoRole kRole>(uint32_t number, uint32_t count) {
            device::grid::RunTurn<kRole>(static_cast<EnsoCard&>(card), number, count, team,
                                         *static_cast<EnsoMemory*>(memory));
          };
          device::grid::CallEnsoRole(roles, block, take);
        }};

}  // namespace sluice::emulator
