// SPDX-License-Identifier: BSD-3-Clause
#include "load_wire.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/monotonic_clock.h"
#include "packet/bytes.h"
#include "packet/datagram.h"
#include "rpc/call.h"
#include "rpc/message.h"

namespace sluice::rpc_app {
namespace {

using packet::Datagram;
using packet::LoadBe32;
using packet::StoreBe32;

/// Size of a successful reply without data (RFC 5531 section 9).
constexpr uint32_t kReplyBytes = 24;
/// Size of a key in XDR: the length field, and four bytes.
constexpr uint32_t kKeyBytes = 8;
/// Number of slots that each step checks for lost calls.
constexpr uint32_t kExpirePerStep = 4;

constexpr packet::MacAddress kClientMac = {{0x02, 0, 0, 0, 0, 1}};

packet::Ipv4Address Address(uint8_t last) { return {{10, 0, 0, last}}; }

// Returns the byte at position `at` of a call's data.
uint8_t Byte(uint32_t xid, uint32_t at) { return static_cast<uint8_t>(xid * 31 + at * 7); }

}  // namespace

LoadWire::LoadWire(LoadOptions options)
    : options_(std::move(options)),
      slots_(std::clamp(options_.outstanding, 1u, kMaxSlots)),
      turn_(static_cast<uint32_t>(options_.seed)) {
  const uint32_t longest = Datagram::kPlainPayload + rpc::kCallBytes + kKeyBytes + 4 +
                           ((options_.echo_bytes + 3) & ~3u) + 8;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    slots_[i].frame.resize(std::max(longest, emulator::kMinFrameBytes));
    free_.push_back(i);
  }
  frames_.reserve(slots_.size());
}

uint32_t LoadWire::WriteArguments(const LoadTarget& target, uint32_t xid, uint8_t* to) const {
  switch (target.kind) {
    case LoadTarget::Kind::kEmpty:
      return 0;
    case LoadTarget::Kind::kAdd:
      StoreBe32(to, xid * 2654435761u);
      StoreBe32(to + 4, xid);
      return 8;
    case LoadTarget::Kind::kKeep:
      // Each slot uses a different key, so concurrent calls do not conflict.
      StoreBe32(to, 4);
      StoreBe32(to + 4, xid & (kMaxSlots - 1));
      return kKeyBytes + WriteBytes(xid, to + kKeyBytes);
    case LoadTarget::Kind::kEcho:
      return WriteBytes(xid, to);
  }
  return 0;
}

uint32_t LoadWire::WriteBytes(uint32_t xid, uint8_t* to) const {
  const uint32_t bytes = options_.echo_bytes;
  StoreBe32(to, bytes);
  for (uint32_t i = 0; i < bytes; ++i) to[4 + i] = Byte(xid, i);
  const uint32_t padded = (bytes + 3) & ~3u;
  std::memset(to + 4 + bytes, 0, padded - bytes);
  return 4 + padded;
}

void LoadWire::Make(uint32_t number, uint64_t now_ns) {
  Slot& slot = slots_[number];
  slot.xid = ++turn_ << kTurnShift | number;
  slot.target = next_target_;
  if (++run_ >= options_.run_calls) {
    run_ = 0;
    next_target_ = next_target_ + 1 < options_.targets.size() ? next_target_ + 1 : 0;
  }
  slot.sent_ns = now_ns;
  slot.begun_ns = base::MonotonicNs();
  slot.waits = true;
  const LoadTarget& target = options_.targets[slot.target];
  uint8_t* const call = slot.frame.data() + Datagram::kPlainPayload;
  rpc::WriteCall(call, slot.xid, target.program, target.version, target.procedure);
  const uint32_t bytes = rpc::kCallBytes + WriteArguments(target, slot.xid, call + rpc::kCallBytes);
  Datagram::WritePlain(slot.frame.data(),
                       {kClientMac, options_.server, Address(1), Address(2),
                        static_cast<uint16_t>(40000 + number % 16), target.port},
                       bytes);
  const uint32_t length = std::max(Datagram::kPlainPayload + bytes, emulator::kMinFrameBytes);
  frames_.push_back({slot.frame.data(), length});
}

std::span<const device::WireFrame> LoadWire::MakeAll() {
  free_.clear();
  for (uint32_t i = 0; i < slots_.size() && !options_.targets.empty(); ++i) Make(i, 0);
  return frames_;
}

std::span<const device::WireFrame> LoadWire::Pull(uint64_t now_ns, uint32_t max) {
  // Frames that are not pulled yet still point to their slots, so no slot may be reused.
  const bool taken = first_frame_ == frames_.size();
  for (uint32_t i = 0; taken && i < kExpirePerStep; ++i) {
    expiring_ = expiring_ + 1 < slots_.size() ? expiring_ + 1 : 0;
    Slot& slot = slots_[expiring_];
    if (!slot.waits || now_ns - slot.sent_ns < options_.timeout_ns) continue;
    slot.waits = false;
    Count(figures_.lost);
    free_.push_back(expiring_);
  }
  if (taken) {
    frames_.clear();
    first_frame_ = 0;
    const bool stopped = std::atomic_ref(stopped_).load(std::memory_order_relaxed);
    while (!stopped && !options_.targets.empty() && !free_.empty() && frames_.size() < max) {
      const uint32_t number = free_.back();
      free_.pop_back();
      Make(number, now_ns);
    }
  }
  const size_t count = std::min<size_t>(max, frames_.size() - first_frame_);
  return std::span(frames_).subspan(first_frame_, count);
}

void LoadWire::Consumed(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    Count(figures_.tx_bytes, frames_[first_frame_ + i].length);
  }
  Count(figures_.calls, count);
  totals_.offered += count;
  first_frame_ += count;
}

void LoadWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  const uint64_t clock_ns = base::MonotonicNs();
  for (const device::WireFrame& frame : frames) OnReply(clock_ns, frame);
}

bool LoadWire::ResultHolds(const LoadTarget& target, uint32_t xid, const uint8_t* result,
                           uint32_t bytes) const {
  switch (target.kind) {
    case LoadTarget::Kind::kEmpty:
      return bytes == 0;
    case LoadTarget::Kind::kAdd:
      return bytes == 4 && LoadBe32(result) == xid * 2654435761u + xid;
    case LoadTarget::Kind::kKeep:
    case LoadTarget::Kind::kEcho: {
      const uint32_t length = options_.echo_bytes;
      if (bytes != 4 + ((length + 3) & ~3u) || LoadBe32(result) != length) return false;
      for (uint32_t i = 0; i < length; ++i) {
        if (result[4 + i] != Byte(xid, i)) return false;
      }
      return true;
    }
  }
  return false;
}

LoadWire::Verdict LoadWire::Judge(const device::WireFrame& frame, uint32_t* number) const {
  const Datagram datagram = Datagram::In(frame.data, frame.length);
  if (datagram.kind != Datagram::Kind::kUdp || datagram.payload_bytes < kReplyBytes ||
      LoadBe32(frame.data + datagram.payload + 4) !=
          static_cast<uint32_t>(rpc::MessageType::kReply)) {
    return Verdict::kUnknown;
  }
  const uint8_t* const reply = frame.data + datagram.payload;
  const uint32_t xid = LoadBe32(reply);
  *number = xid & (kMaxSlots - 1);
  if (*number >= slots_.size() || slots_[*number].xid != xid) return Verdict::kNoCall;
  // Checks for MSG_ACCEPTED, an AUTH_NONE verifier without a body, and SUCCESS.
  if (LoadBe32(reply + 8) != 0 || LoadBe32(reply + 20) != 0) return Verdict::kRefused;
  const bool holds = LoadBe32(reply + 12) == 0 && LoadBe32(reply + 16) == 0 &&
                     ResultHolds(options_.targets[slots_[*number].target], xid, reply + kReplyBytes,
                                 datagram.payload_bytes - kReplyBytes);
  return holds ? Verdict::kRight : Verdict::kWrong;
}

void LoadWire::OnReply(uint64_t clock_ns, const device::WireFrame& frame) {
  Count(figures_.rx_bytes, frame.length);
  uint32_t number = 0;
  const Verdict verdict = Judge(frame, &number);
  if (verdict == Verdict::kUnknown) {
    ++totals_.foreign;
    return Count(figures_.unknown);
  }
  if (verdict == Verdict::kNoCall || !slots_[number].waits) return Count(figures_.late);
  slots_[number].waits = false;
  free_.push_back(number);
  ++totals_.recognised;
  if (verdict == Verdict::kRefused) return Count(figures_.refused);
  if (verdict == Verdict::kWrong) return Count(figures_.wrong);
  Count(figures_.answered);
  latency_.Record(clock_ns - slots_[number].begun_ns);
}

LoadFigures LoadWire::Figures() const {
  const auto load = [](uint64_t& value) {
    return std::atomic_ref(value).load(std::memory_order_relaxed);
  };
  return {load(figures_.calls),   load(figures_.answered), load(figures_.wrong),
          load(figures_.refused), load(figures_.lost),     load(figures_.late),
          load(figures_.unknown), load(figures_.tx_bytes), load(figures_.rx_bytes)};
}

}  // namespace sluice::rpc_app
