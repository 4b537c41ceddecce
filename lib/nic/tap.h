// SPDX-License-Identifier: BSD-3-Clause
//
// Where a capture looks into an interface that has no ethdev callbacks. Set by
// lib/runtime.
#pragma once

#include <cstdint>

namespace sluice::nic {

enum class TapDirection : uint8_t { kReceived, kSent };

/// Sees the bytes that pass a streaming queue: called once a span before the engine and
/// once a run before its transmission, never once a frame. The frames in it start on
/// flits, as in a pipe.
struct SpanTap {
  void (*see)(void* context, TapDirection direction, const uint8_t* data, uint32_t bytes) = nullptr;
  void* context = nullptr;
};

/// Sees the frames that pass a bilateral or a coherent queue, one by one: each before the
/// engine, and each that is given to the NIC.
struct FrameTap {
  void (*see)(void* context, TapDirection direction, const uint8_t* frame,
              uint32_t length) = nullptr;
  void* context = nullptr;
};

}  // namespace sluice::nic
