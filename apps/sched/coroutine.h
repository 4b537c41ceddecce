// SPDX-License-Identifier: BSD-3-Clause
//
// A function with a stack of its own, which can be left in the middle and gone on with later, by
// any thread. A switch is Boost.Context's: some ten instructions and no system call. Its lower
// face (fcontext) is used, since a coroutine that a signal took off its CPU cannot be unwound: one
// that is dropped before it ends is forgotten as it is, with whatever its frames own.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <span>

namespace sluice::sched {

class Coroutine {
 public:
  using Body = void (*)(void* argument);

  /// On `stack`, which outlives it and which nobody else uses.
  explicit Coroutine(std::span<std::byte> stack) : stack_(stack) {}
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  /// The next Resume calls `body(argument)`, which must not throw. Whatever was begun before is
  /// forgotten.
  void Start(Body body, void* argument);
  /// Goes on until the body pauses or ends. True: it has ended. Not of a body that has.
  bool Resume();
  /// Called by the body: goes on after the Resume that runs it, until the next one.
  void Pause();

 private:
  static void Enter(boost::context::detail::transfer_t from);

  std::span<std::byte> stack_;
  Body body_ = nullptr;
  void* argument_ = nullptr;
  bool ended_ = true;
  boost::context::detail::fcontext_t own_ = nullptr;     ///< While it is paused.
  boost::context::detail::fcontext_t caller_ = nullptr;  ///< While it runs.

  // What AddressSanitizer wants to know of stacks.
  void* fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_bytes_ = 0;
};

}  // namespace sluice::sched
