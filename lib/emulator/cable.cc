// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/cable.h"

#include <algorithm>
#include <utility>

#include "emulator/socket_path.h"

namespace sluice::emulator {
namespace {

constexpr size_t kMaxNameBytes = 48;

bool MayBeInAName(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
         c == '_' || c == '.';
}

}  // namespace

std::optional<std::string> CablePath(std::string_view name, std::string* error) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  if (name.empty() || name.size() > kMaxNameBytes || !std::ranges::all_of(name, MayBeInAName)) {
    *error =
        "give a cable name of at most 48 letters, digits, '-', '_' and '.', or the path of a "
        "socket";
    return std::nullopt;
  }
  const std::optional<std::string> folder = RuntimeFolder(error);
  if (!folder) return std::nullopt;
  return *folder + "/sluice-cable-" + std::string(name) + ".sock";
}

std::unique_ptr<CableWire> CableWire::Create(const std::string& name, std::string_view nic,
                                             MacAddress* mac, std::string* error,
                                             std::chrono::milliseconds patience) {
  std::optional<std::string> path = CablePath(name, error);
  std::unique_ptr<CableWire> wire;
  if (path) {
    wire.reset(new CableWire(*std::move(path), std::string(nic) + ": cable " + name, *mac));
  }
  if (wire == nullptr || !wire->link_.Start(patience, error)) {
    error->insert(0, "wire=cable:" + name + ": ");
    return nullptr;
  }
  if (wire->link_.joined()) {
    wire->Begin();
    if (wire->link_.peer_mac() == *mac) mac->back() ^= 1;
  }
  return wire;
}

void CableWire::Begin() {
  ends_ = std::make_unique<Ends>(link_);
  ++counters_[kJoins].value;
}

void CableWire::Finish() {
  counters_[kOversize].value += ends_->sender.ReadAndClearOversize();
  counters_[kCutTx].value += ends_->sender.InFlight() + waiting_.size();
  counters_[kCutRx].value += ends_->receiver.InFlight();
  waiting_.Pop(waiting_.size());
  ends_.reset();
  link_.Release();
}

std::span<const device::WireFrame> CableWire::Pull(uint64_t, uint32_t max) {
  if (ends_ == nullptr) return {};
  return ends_->receiver.Pull(max);
}

void CableWire::Consumed(uint32_t count) {
  if (count == 0) return;
  ends_->receiver.Consumed(count);
  totals_.offered += count;
}

void CableWire::Deliver(uint64_t, std::span<const device::WireFrame> frames) {
  if (!link_.joined()) {
    counters_[kDown].value += frames.size();
    return;
  }
  const uint32_t sent = waiting_.size() == 0 ? ends_->sender.Send(frames) : 0;
  for (const device::WireFrame& frame : frames.subspan(sent)) {
    if (waiting_.Push(frame, 0) == nullptr) ++counters_[kFull].value;
  }
}

bool CableWire::Ready() {
  while (waiting_.size() != 0) {
    const auto frames = waiting_.Front(0, waiting_.size());
    const uint32_t sent = link_.joined() ? ends_->sender.Send(frames) : 0;
    waiting_.Pop(sent);
    if (sent < frames.size()) return false;
  }
  return true;
}

bool CableWire::LinkUp(uint64_t now_ns) {
  if (now_ns >= next_turn_ns_) {
    next_turn_ns_ = now_ns + kTurn_ns;
    Turn(now_ns);
  }
  return link_.joined();
}

void CableWire::Turn(uint64_t now_ns) {
  if (link_.cut()) {
    if (ends_->receiver.InFlight() == 0 || now_ns - cut_ns_ >= kDrain_ns) Finish();
    return;
  }
  if (link_.joined() && (ends_->sender.lied_to() || ends_->receiver.lied_to())) {
    link_.Cut("the ring of the other end contains invalid values");
  } else {
    link_.Turn(now_ns);
  }
  if (link_.joined() && ends_ == nullptr) Begin();
  if (link_.cut()) cut_ns_ = now_ns;
}

std::span<const device::Counter> CableWire::Counters() {
  if (ends_ != nullptr) counters_[kOversize].value += ends_->sender.ReadAndClearOversize();
  return counters_;
}

}  // namespace sluice::emulator
