// SPDX-License-Identifier: BSD-3-Clause
//
// Capture hooks for interfaces without ethdev callbacks. lib/runtime sets them.
#pragma once

#include <cstdint>

namespace sluice::nic {

enum class TapDirection : uint8_t { kReceived, kSent };

/// Receives the bytes that pass through a streaming queue. Called once per span before the engine
/// and once per run before transmission, never per frame. Frames start on flit boundaries, as in a
/// pipe.
struct SpanTap {
  void (*see)(void* context, TapDirection direction, const uint8_t* data, uint32_t bytes) = nullptr;
  void* context = nullptr;
};

/// Receives the frames of a bilateral or coherent queue one by one: received frames before the
/// engine handles them, and sent frames when they are given to the NIC.
struct FrameTap {
  void (*see)(void* context, TapDirection direction, const uint8_t* frame,
              uint32_t length) = nullptr;
  void* context = nullptr;
};

}  // namespace sluice::nic
