// SPDX-License-Identifier: BSD-3-Clause
//
// A view of an endpoint's memory (layout.h), and what both ends do with it. One endpoint lies in
// one sealed memfd (bar/ring_memory.h) or one window of a device; it may be mapped anywhere.
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

/// What goes into a line beside its payload.
struct Content {
  Kind kind = Kind::kNone;
  uint32_t length = 0;     ///< Bytes of payload.
  uint8_t count = 0;       ///< Frames in it, of Kind::kFrames.
  bool in_buffer = false;  ///< The payload is in the line's buffer, not behind it.
  uint64_t code = 0;       ///< Of a request: what to call. Of a reply: its status.
  uint64_t data = 0;       ///< Of a request: with which state of the process.
};

/// Copies refer to the same memory, which its owner keeps mapped.
class EndpointMemory {
 public:
  EndpointMemory() = default;

  /// Lays an endpoint out in zeroed memory of at least geometry.Bytes(), aligned to 4096. The
  /// geometry is sound. Memory that a process had is never laid out again for another one: a
  /// process that was thought dead may still write to it.
  static EndpointMemory Format(std::span<uint8_t> memory, const Geometry& geometry);
  /// Finds an endpoint in memory that the peer can write to. Nothing in it is trusted: without a
  /// sound layout that fits the memory, aligned to kLineBytes, the result is empty.
  static EndpointMemory Find(std::span<uint8_t> memory);
  /// The same endpoint, mapped somewhere else.
  EndpointMemory At(uint8_t* base) const {
    EndpointMemory moved = *this;
    moved.base_ = base;
    return moved;
  }

  explicit operator bool() const { return base_ != nullptr; }
  /// Read once; the peer cannot change it any more.
  const Geometry& geometry() const { return geometry_; }
  EndpointHeader& header() const { return *reinterpret_cast<EndpointHeader*>(base_); }
  EndpointHeader::HostWord& host(Pair pair) const {
    return header().host[static_cast<size_t>(pair)];
  }
  /// The line of load `number`.
  ControlLine& line(Pair pair, uint64_t number) const {
    return *reinterpret_cast<ControlLine*>(base_ + geometry_.LineOffset(pair, number));
  }
  /// Where a payload of the line goes: as much as fits.
  std::span<uint8_t> Room(Pair pair, uint64_t number, bool in_buffer) const {
    return in_buffer
               ? std::span(base_ + geometry_.BufferOffset(pair, number), geometry_.buffer_bytes)
               : std::span(line(pair, number).payload.data(), geometry_.LineCapacity());
  }

 private:
  uint8_t* base_ = nullptr;
  Geometry geometry_;
};

/// What both ends keep of a pair: a state, the number of the last load, and where the pair lies.
/// Copyable; tests explore the ends by copying them.
class PairEnd {
 public:
  State state() const { return state_; }
  uint64_t number() const { return number_; }

 protected:
  PairEnd(const EndpointMemory& memory, Pair pair, const Machine& machine, State state)
      : machine_(&machine), pair_(pair), state_(state) {
    Bind(memory);
  }
  /// The same endpoint, mapped at `memory`.
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
  /// Of the last load.
  ControlLine& line() const { return *lines_[number_ & 1]; }
  /// Bytes of payload that fit the line, or its buffer.
  uint32_t Capacity(bool in_buffer) const { return capacity_[in_buffer]; }
  /// Where a payload of the line is.
  std::span<uint8_t> Room(const EndpointMemory& memory, bool in_buffer) const {
    return in_buffer ? memory.Room(pair_, number_, true)
                     : std::span(line().payload.data(), capacity_[0]);
  }
  /// Writes the head of line(). The payload stands there already.
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
