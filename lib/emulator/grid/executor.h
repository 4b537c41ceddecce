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

  /// Allocates zeroed card memory, which remains valid for the lifetime of this object. On failure,
  /// returns null and sets `error` to a one-line message.
  virtual void* Allocate(size_t bytes, std::string* error) = 0;
  /// Copy between card memory and host memory. Return false on failure.
  virtual bool Write(void* card, const void* host, size_t bytes) = 0;
  virtual bool Read(void* host, const void* card, size_t bytes) = 0;

  /// Makes host memory (whole pages) accessible to the card at the same address. Ranges of one
  /// executor must not overlap. On failure, returns false and sets `error` to a one-line message.
  /// Unregister undoes this and must be called with the same range.
  virtual bool Register(void* begin, size_t bytes, std::string* error) = 0;
  virtual void Unregister(void* begin, size_t bytes) = 0;

  /// Starts all blocks. They run until the card's `stopping` member is set.
  virtual bool Start(device::grid::Card* card, const device::grid::Roles& roles,
                     std::string* error) = 0;
  /// Waits until all blocks have ended.
  virtual void Join() = 0;
  /// Returns whether the blocks are running. Returns false once they have ended or failed.
  virtual bool Running() = 0;
  /// Returns the name of the executor, for the log.
  virtual std::string Describe() const = 0;
};

/// Opens GPU number `index`. On failure, returns null and sets `error` to a one-line message; errno
/// is then ENODEV if the GPU or its driver is missing or fails, ENOMEM if the GPU does not have
/// enough memory, or EINVAL if other arguments are needed.
std::unique_ptr<Executor> MakeGpuExecutor(uint32_t index, const GridProgram& program,
                                          const device::grid::Roles& roles, std::string* error);

/// Runs the blocks on `threads` threads of this process, for tests and host debuggers.
std::unique_ptr<Executor> MakeThreadExecutor(uint32_t threads, const GridProgram& program);

}  // namespace sluice::emulator
