// SPDX-License-Identifier: BSD-3-Clause
//
// A function with a separate stack. It can be paused at any point and resumed later by any thread.
// Boost.Context switches the stacks, which costs about ten instructions and no system call. The
// low-level interface (fcontext) is used because a coroutine that was interrupted by a signal
// cannot be unwound. A coroutine that is dropped before its end is abandoned, and objects in its
// frames leak.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <span>

namespace sluice::sched {

class Coroutine {
 public:
  using Body = void (*)(void* argument);

  /// Runs on `stack`, which must outlive the object and must not be used for anything else.
  explicit Coroutine(std::span<std::byte> stack) : stack_(stack) {}
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  /// Prepares a call to `body(argument)`, which the next Resume makes. `body` must not throw. An
  /// unfinished earlier body is abandoned.
  void Start(Body body, void* argument);
  /// Runs the body until it pauses or ends. Returns true if it has ended. Do not call it again
  /// after the end.
  bool Resume();
  /// For the body: returns from the current Resume; the next Resume continues here.
  void Pause();

 private:
  static void Enter(boost::context::detail::transfer_t from);

  std::span<std::byte> stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  boost::context::detail::fcontext_t own_ = nullptr;     ///< Valid while paused.
  boost::context::detail::fcontext_t caller_ = nullptr;  ///< Valid while running.

  // Data for AddressSanitizer.
  void* fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_bytes_ = 0;
};

}  // namespace sluice::sched
