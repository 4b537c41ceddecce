// SPDX-License-Identifier: BSD-3-Clause
//
// on=…: the executor of a model.
//
//   on=cpu                       a thread of this process (default)
//   on=gpu:index=0+receivers=12+senders=16+exchangers=16+batch=2048
//       blocks on an NVIDIA GPU, across PCIe; receivers, senders, exchangers: number of blocks of
//       each role, in total fewer than the GPU's multiprocessors, because one more block serves the
//       registers; the packetized NIC uses exchangers for regions and lines, the Ensō NIC has none;
//       batch: frames that a block receives at once
//   on=threads:threads=1+receivers=1+senders=1+exchangers=1+batch=2048
//       the same blocks as threads of this process: slow, for tests
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/grid/roles.h"
#include "device/grid/wire_state.h"

namespace sluice::emulator {

struct OnOptions {
  enum class Kind { kCpu, kGpu, kThreads };

  Kind kind = Kind::kCpu;
  uint32_t index = 0;
  uint32_t threads = 1;
  device::grid::Roles roles;
  /// Maximum number of frames that a block receives at once.
  uint32_t batch = device::grid::kBatchFrames;

  /// Parses the text after "on=". If it is invalid, returns false and sets `error` to a one-line
  /// message.
  bool Read(std::string_view text, std::string* error);
};

}  // namespace sluice::emulator
