// SPDX-License-Identifier: BSD-3-Clause
//
// Where a capture looks into a streaming interface. Set by lib/runtime.
#pragma once

#include <cstdint>

namespace sluice::nic {

/// Sees the bytes that pass a streaming queue, for captures: called once a span
/// before the engine and once a run before its transmission, never once a frame.
/// The frames in it start on flits, as in a pipe.
struct SpanTap {
  enum class Direction : uint8_t { kReceived, kSent };
  void (*see)(void* context, Direction direction, const uint8_t* data, uint32_t bytes) = nullptr;
  void* context = nullptr;
};

}  // namespace sluice::nic
