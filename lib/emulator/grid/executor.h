// SPDX-License-Identifier: BSD-3-Clause
//
// An executor runs the blocks of a grid and owns the memory of its card.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/grid/roles.h"
#include "emulator/grid/program.h"

namespace sluice::emulator {

/// Runs the blocks of one card. Used by one controlling thread at a time. Only Join and Running may
/// be called while blocks run.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Allocates zeroed memory of the card, which stays valid as long as this object. On failure
  /// returns null and sets `error` to one line.
  virtual void* Allocate(size_t bytes, std::string* error) = 0;
  /// Copy between the card's memory and the host's. Return false on failure.
  virtual bool Write(void* card, const void* host, size_t bytes) = 0;
  virtual bool Read(void* host, const void* card, size_t bytes) = 0;

  /// Makes host memory (whole pages) accessible to the card at the same address. Ranges of one
  /// executor must not overlap. On failure returns false and sets `error` to one line. Unregister
  /// undoes this for the same range.
  virtual bool Register(void* begin, size_t bytes, std::string* error) = 0;
  virtual void Unregister(void* begin, size_t bytes) = 0;

  /// Starts all blocks. They run until the card's `stopping` is set.
  virtual bool Start(device::grid::Card* card, const device::grid::Roles& roles,
                     std::string* error) = 0;
  /// Waits until all blocks have ended.
  virtual void Join() = 0;
  /// Returns true while the blocks run; false once they have ended or failed.
  virtual bool Running() = 0;
  /// Returns the name of the executor, for the log.
  virtual std::string Describe() const = 0;
};

/// Opens GPU number `index`. On failure returns null and sets `error` to one line; errno is then
/// ENODEV if the GPU or its driver is missing or fails, ENOMEM if its memory does not suffice, or
/// EINVAL if other arguments are needed.
std::unique_ptr<Executor> MakeGpuExecutor(uint32_t index, const GridProgram& program,
                                          const device::grid::Roles& roles, std::string* error);

/// Runs the blocks on `threads` threads of this process, for tests and host debuggers.
std::unique_ptr<Executor> MakeThreadExecutor(uint32_t threads, const GridProgram& program);

}  // namespace sluice::emulator
