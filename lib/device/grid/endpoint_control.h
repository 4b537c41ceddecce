// SPDX-License-Identifier: BSD-3-Clause
//
// Opens and closes the endpoints of a card. Called by one thread, while no batch of received frames
// is in progress (IpuRegisters::Change), or while no block runs.
#pragma once

#include <cstdint>

#include "coherent/frames.h"
#include "device/grid/endpoint_end.h"
#include "device/grid/fifo_end.h"
#include "device/grid/ipu_card.h"

namespace sluice::device::grid {

/// Returns the address of an endpoint's memory, or null if it is not mapped or not aligned.
inline uint8_t* FindEndpoint(const Card& card, uint64_t base, uint64_t bytes) {
  if (base % regs::ipu::kPageBytes != 0 || bytes < sizeof(coherent::EndpointHeader)) return nullptr;
  uint8_t* const memory = card.dma.Translate(base, bytes);
  return reinterpret_cast<uintptr_t>(memory) % coherent::kLineBytes == 0 ? memory : nullptr;
}

/// Reads the state of an endpoint from host memory, if its header is valid. Reads every word only
/// once.
inline bool ReadEndpoint(IpuCard& card, uint8_t* memory, uint64_t bytes, EndpointState* state) {
  using namespace coherent;
  const Quad first = LoadQuad(memory), second = LoadQuad(memory + sizeof(Quad));
  static_assert(offsetof(EndpointHeader, geometry) == 8 && sizeof(Geometry) == 16);
  const Geometry geometry = {static_cast<Mode>(first.high), static_cast<uint32_t>(first.high >> 32),
                             static_cast<uint32_t>(second.low),
                             static_cast<uint32_t>(second.low >> 32)};
  const uint32_t head = RecordBytes(0, geometry.headroom_bytes);
  // Frames never use the buffers, so this model does not read them.
  if (first.low != kMagic || geometry.Error() != nullptr || geometry.Bytes() > bytes ||
      geometry.buffer_bytes != 0 || geometry.LineCapacity() < head + kMinFrameBytes) {
    return false;
  }
  *state = {};
  state->memory = memory;
  state->geometry = geometry;
  const uint32_t room = geometry.LineCapacity() - head;
  state->most = (room < kMaxFrameBytes ? room : kMaxFrameBytes) & ~7u;
  // Reserves half a line for returned frames that outgrow their records, unless a single frame
  // needs more than half.
  const uint32_t half = geometry.LineCapacity() / 2, one = head + state->most;
  state->fill_bytes = half > one ? half : one;
  EndpointEnd(card, *state).Recover(NowNs());
  return true;
}

inline bool HasEndpoint(const IpuCard& card, uint32_t queue) {
  return card.gates[queue].has(IpuExchange::kEndpoint);
}

/// Counts the received frames that the host has not loaded, and discards the endpoint.
inline void DiscardEndpoint(IpuCard& card, uint32_t queue) {
  EndpointState& state = card.endpoints[queue].state;
  card.Count(regs::ipu::kStatLineRxDiscards, state.count + FifoEnd(card, queue).Close());
  state = {};
}

/// Disables an endpoint, if it is enabled, and closes its memory.
inline void CloseEndpoint(IpuCard& card, uint32_t queue) {
  if (!HasEndpoint(card, queue)) return;
  card.gates[queue].Close();
  EndpointEnd(card, card.endpoints[queue].state).Kill();
  DiscardEndpoint(card, queue);
}

/// Like CloseEndpoint, but does not access host memory. Frames that the host held are lost. No
/// block may be running.
inline void AbandonEndpoint(IpuCard& card, uint32_t queue) {
  if (!HasEndpoint(card, queue)) return;
  card.gates[queue] = {};
  card.Count(regs::ipu::kStatLineLost, card.endpoints[queue].state.lent_frames);
  DiscardEndpoint(card, queue);
}

/// Opens the endpoint whose address and size the host has stored. Returns false if its memory does
/// not contain a valid endpoint for frames.
inline bool OpenEndpoint(IpuCard& card, uint32_t queue) {
  IpuEndpoint& endpoint = card.endpoints[queue];
  // The host may store to the registers at the same time, so each is read only once.
  const uint64_t base = Load(&endpoint.base), bytes = Load(&endpoint.bytes);
  uint8_t* const memory = FindEndpoint(card, base, bytes);
  if (memory == nullptr || !ReadEndpoint(card, memory, bytes, &endpoint.state)) return false;
  endpoint.opened_base = base;
  endpoint.opened_bytes = bytes;
  FifoEnd(card, queue).Open(endpoint.state.most);
  Store(&endpoint.epoch, endpoint.epoch + 1);
  card.gates[queue].Open(IpuExchange::kEndpoint);
  return true;
}

}  // namespace sluice::device::grid
