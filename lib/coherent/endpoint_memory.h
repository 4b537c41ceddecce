// SPDX-License-Identifier: BSD-3-Clause
//
// Access to an endpoint's memory (layout.h), and operations that both ends share. One endpoint
// occupies one sealed memfd (bar/ring_memory.h) or one window of a device; it may be mapped at any
// address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bar/load_once.h"
#include "coherent/layout.h"
#include "coherent/table.h"

namespace sluice::coherent {

/// The fields of a line other than its payload.
struct Content {
  Kind kind = Kind::kNone;
  uint32_t length = 0;     ///< Bytes of payload.
  uint8_t count = 0;       ///< Number of frames in a payload of Kind::kFrames.
  bool in_buffer = false;  ///< The payload is in the line's buffer, not in the line.
  uint64_t code = 0;       ///< Request: the function to call. Reply: its status.
  uint64_t data = 0;       ///< Request: a value that the host passes to the function.
};

/// Access to an endpoint in mapped memory. Copies refer to the same memory; the owner of the memory
/// must keep it mapped.
class EndpointMemory {
 public:
  EndpointMemory() = default;

  /// Initializes an endpoint in zeroed memory of at least geometry.Bytes(), aligned to 4096. The
  /// geometry must be valid. Memory that one process has used must not be initialized again for
  /// another, because the first, although considered dead, may still write to it.
  static EndpointMemory Format(std::span<uint8_t> memory, const Geometry& geometry);
  /// Returns the endpoint in `memory`. All values are checked, because the peer can write to them.
  /// Returns an empty object if `memory` is not aligned to kLineBytes, or if its layout is invalid
  /// or exceeds it.
  static EndpointMemory Find(std::span<uint8_t> memory);
  /// Returns the same endpoint, mapped at another address.
  EndpointMemory At(uint8_t* base) const {
    EndpointMemory moved = *this;
    moved.base_ = base;
    return moved;
  }

  explicit operator bool() const { return base_ != nullptr; }
  /// Returns a copy that was read only once, so that the peer cannot change it.
  const Geometry& geometry() const { return geometry_; }
  EndpointHeader& header() const { return *reinterpret_cast<EndpointHeader*>(base_); }
  EndpointHeader::HostWord& host(Pair pair) const {
    return header().host[static_cast<size_t>(pair)];
  }
  /// Returns the line used by load `number`.
  ControlLine& line(Pair pair, uint64_t number) const {
    return *reinterpret_cast<ControlLine*>(base_ + geometry_.LineOffset(pair, number));
  }
  /// Returns the payload space for load `number`: in its line, or in that line's buffer.
  std::span<uint8_t> Room(Pair pair, uint64_t number, bool in_buffer) const {
    return in_buffer
               ? std::span(base_ + geometry_.BufferOffset(pair, number), geometry_.buffer_bytes)
               : std::span(line(pair, number).payload.data(), geometry_.LineCapacity());
  }

 private:
  uint8_t* base_ = nullptr;
  Geometry geometry_;
};

/// The state of a pair that both ends keep: the protocol state, the number of the last load, and
/// the pair's addresses. Copyable, because tests explore the ends by copying them.
class PairEnd {
 public:
  State state() const { return state_; }
  uint64_t number() const { return number_; }

 protected:
  PairEnd(const EndpointMemory& memory, Pair pair, const Machine& machine, State state)
      : machine_(&machine), pair_(pair), state_(state) {
    Bind(memory);
  }
  /// Points the pair to its lines in `memory`.
  void Bind(const EndpointMemory& memory) {
    word_ = &memory.host(pair_);
    lines_ = {&memory.line(pair_, 0), &memory.line(pair_, 1)};
    capacity_ = {memory.geometry().LineCapacity(), memory.geometry().buffer_bytes};
  }

  Action Move(Input input) {
    const Transition transition = machine_->Find(state_, input);
    state_ = transition.next;
    return transition.action;
  }
  /// Returns the line of the last load.
  ControlLine& line() const { return *lines_[number_ & 1]; }
  /// Returns the payload capacity in bytes of the line, or of its buffer.
  uint32_t Capacity(bool in_buffer) const { return capacity_[in_buffer]; }
  /// Returns the payload space: in the line, or in its buffer.
  std::span<uint8_t> Room(const EndpointMemory& memory, bool in_buffer) const {
    return in_buffer ? memory.Room(pair_, number_, true)
                     : std::span(line().payload.data(), capacity_[0]);
  }
  /// Writes the head of line(). The payload must already be there.
  void Publish(const Content& content) const {
    ControlLine& line = this->line();
    std::atomic_ref(line.code).store(content.code, std::memory_order_relaxed);
    std::atomic_ref(line.data).store(content.data, std::memory_order_relaxed);
    const Control control = {static_cast<uint32_t>(number_), content.length, content.count,
                             content.in_buffer, content.kind};
    std::atomic_ref(line.control).store(control.Word(), std::memory_order_release);
  }

  const Machine* machine_;
  EndpointHeader::HostWord* word_ = nullptr;
  std::array<ControlLine*, 2> lines_{};
  std::array<uint32_t, 2> capacity_{};
  uint64_t number_ = 0;
  Pair pair_;
  State state_;
};

}  // namespace sluice::coherent
