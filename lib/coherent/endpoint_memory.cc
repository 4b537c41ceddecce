// SPDX-License-Identifier: BSD-3-Clause
#include "coherent/endpoint_memory.h"

namespace sluice::coherent {

EndpointMemory EndpointMemory::Format(std::span<uint8_t> memory, const Geometry& geometry) {
  EndpointMemory endpoint;
  endpoint.base_ = memory.data();
  endpoint.geometry_ = geometry;
  EndpointHeader& header = endpoint.header();
  header.geometry = geometry;
  header.ready = kReady;
  std::atomic_ref(header.magic).store(kMagic, std::memory_order_release);
  return endpoint;
}

EndpointMemory EndpointMemory::Find(std::span<uint8_t> memory) {
  if (memory.size() < sizeof(EndpointHeader) ||
      reinterpret_cast<uintptr_t>(memory.data()) % kLineBytes != 0) {
    return {};
  }
  const auto& header = *reinterpret_cast<const EndpointHeader*>(memory.data());
  if (bar::LoadOnce(header.magic, std::memory_order_acquire) != kMagic) return {};
  const Geometry geometry = {
      bar::LoadOnce(header.geometry.mode), bar::LoadOnce(header.geometry.overflow_lines),
      bar::LoadOnce(header.geometry.buffer_bytes), bar::LoadOnce(header.geometry.headroom_bytes)};
  if (geometry.Error() != nullptr || geometry.Bytes() > memory.size()) return {};
  EndpointMemory endpoint;
  endpoint.base_ = memory.data();
  endpoint.geometry_ = geometry;
  return endpoint;
}

}  // namespace sluice::coherent
