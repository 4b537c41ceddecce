// SPDX-License-Identifier: BSD-3-Clause
#include "coroutine.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sluice::sched {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// Inform AddressSanitizer of every stack switch. `fake_stack` stores the sanitizer's data about the
// frames of the old stack, or is null if these frames will never be resumed.
#ifdef __SANITIZE_ADDRESS__
void LeaveStack(void** fake_stack, const void* next, size_t next_bytes) {
  __sanitizer_start_switch_fiber(fake_stack, next, next_bytes);
}
void ArriveOnStack(void* fake_stack, const void** last, size_t* last_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, last, last_bytes);
}
void ForgetFrames(std::span<std::byte> stack) {
  __asan_unpoison_memory_region(stack.data(), stack.size());
}
#else
void LeaveStack(void**, const void*, size_t) {}
void ArriveOnStack(void*, const void**, size_t*) {}
void ForgetFrames(std::span<std::byte>) {}
#endif

}  // namespace

void Coroutine::Start(Body body, void* argument) {
  ForgetFrames(stack_);
  body_ = body;
  argument_ = argument;
  ended_ = false;
  fake_stack_ = nullptr;
  own_ = make_fcontext(stack_.data() + stack_.size(), stack_.size(), &Enter);
}

bool Coroutine::Resume() {
  void* fake_stack = nullptr;
  LeaveStack(&fake_stack, stack_.data(), stack_.size());
  own_ = jump_fcontext(own_, this).fctx;
  ArriveOnStack(fake_stack, nullptr, nullptr);
  return ended_;
}

void Coroutine::Pause() {
  LeaveStack(&fake_stack_, caller_stack_, caller_bytes_);
  caller_ = jump_fcontext(caller_, nullptr).fctx;
  ArriveOnStack(fake_stack_, &caller_stack_, &caller_bytes_);
}

void Coroutine::Enter(transfer_t from) {
  auto& self = *static_cast<Coroutine*>(from.data);
  ArriveOnStack(nullptr, &self.caller_stack_, &self.caller_bytes_);
  self.caller_ = from.fctx;
  self.body_(self.argument_);
  self.ended_ = true;
  LeaveStack(nullptr, self.caller_stack_, self.caller_bytes_);
  jump_fcontext(self.caller_, nullptr);
  __builtin_unreachable();
}

}  // namespace sluice::sched
