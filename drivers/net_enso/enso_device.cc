// SPDX-License-Identifier: BSD-3-Clause
#include "net_enso/enso_device.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::net_enso {

using namespace regs::enso;

// Notification buffers of a device, and functions used by all bring-up code.

Device::Device(std::unique_ptr<Backend> backend, const Geometry& geometry)
    : backend_(std::move(backend)),
      generation_(backend_->Generation()),
      geometry_(geometry),
      bar_(backend_->registers()) {}

Device::~Device() {
  const std::scoped_lock lock(mutex_);
  while (!nbs_.empty()) {
    // The control buffer is opened first and closed last, because it is needed to close the others.
    CloseNb(nbs_.back().get());
  }
}

int Device::OpenNb(NotificationBuffer** nb) {
  // Buffers that were opened before the device lost power must be closed first.
  if (Lost() && Recover() != 0) return -EIO;
  // The control buffer must exist before any operation that it may be needed to undo.
  if (const int result = EnsureControlNb(); result != 0) return result;
  return CreateNb(nb);
}

int Device::CreateNb(NotificationBuffer** nb) {
  uint32_t id = 0;
  while (id < nbs_used_.size() && nbs_used_[id]) ++id;
  if (id == nbs_used_.size()) return -ENOSPC;
  auto fresh = std::make_unique<NotificationBuffer>(this, id);
  if (const int result = fresh->Open(); result != 0) return result;
  nbs_used_.set(id);
  *nb = fresh.get();
  nbs_.push_back(std::move(fresh));
  return 0;
}

void Device::CloseNb(NotificationBuffer* nb) {
  for (auto& pipe : PipesOf(nb)) ClosePipe(pipe);
  // A buffer that the NIC did not release keeps its id, which must not be reused.
  if (nb->Close()) nbs_used_.reset(nb->id());
  if (nb == control_nb_) control_nb_ = nullptr;
  std::erase_if(nbs_, [nb](const auto& open) { return open.get() == nb; });
}

int Device::EnsureControlNb() { return control_nb_ != nullptr ? 0 : CreateNb(&control_nb_); }

std::vector<Pipe*> Device::PipesOf(const NotificationBuffer* nb) const {
  std::vector<Pipe*> pipes;
  for (const auto& pipe : open_pipes_) {
    if (pipe->nb == nb) pipes.push_back(pipe.get());
  }
  return pipes;
}

int Device::Recover() {
  if (!bar_.LinkUp()) return -EIO;
  if (!Lost()) return 0;
  if (InUse()) return -EBUSY;
  if (control_nb_ != nullptr) CloseNb(control_nb_);
  flows_ = FlowTable();
  fallback_count_ = 0;
  round_robin_ = false;
  nbs_used_.reset();
  stuck_rings_.clear();
  generation_ = backend_->Generation();
  return 0;
}

bool Device::StoreUntilRead(uint32_t offset, uint32_t value) {
  bar_.Write32(offset, value);
  Deadline deadline(kAnswerTimeoutUs);
  while (bar_.Read32(offset) != value) {
    if (!bar_.LinkUp() || deadline.Passed()) return false;
  }
  return true;
}

bool Device::StoreUntilRead64(uint32_t offset, uint64_t value) {
  bar_.Write64(offset, value);
  Deadline deadline(kAnswerTimeoutUs);
  while (bar_.Read64(offset) != value) {
    if (!bar_.LinkUp() || deadline.Passed()) return false;
  }
  return true;
}

void Device::KeepMapped(DmaRing ring) {
  Count(Event::kStuckRings);
  stuck_rings_.push_back(std::move(ring));
}

// Configuration notifications (docs/enso-hardware.md, "Formats"). They use a separate buffer, so
// that waiting for one never disturbs a datapath. The NIC executes a command when it fetches the
// slot, possibly before it processes data that other buffers published earlier. It completes the
// slot slightly before the command takes effect. This code therefore does not rely on any order
// between commands and data, and waits for each command separately.

int Device::Configure(const void* slot) {
  if (Lost()) return -EIO;
  if (const int result = EnsureControlNb(); result != 0) return result;
  return control_nb_->Configure(slot);
}

int Device::ConfigureFlow(const FlowKey& key, uint32_t pipe) {
  FlowEntryConfig command{};
  command.signal = kSignalConfig;
  command.id = static_cast<uint64_t>(ConfigId::kFlowEntry);
  command.dst_port = key.dst_port;
  command.src_port = key.src_port;
  command.dst_ip = key.dst_ip;
  command.src_ip = key.src_ip;
  command.pipe = pipe;
  return Configure(&command);
}

namespace {

int ToErrno(FlowTable::Result result) {
  switch (result) {
    case FlowTable::Result::kExists:
      return -EEXIST;
    case FlowTable::Result::kFull:
      return -ENOSPC;
    case FlowTable::Result::kStored:
      break;
  }
  return 0;
}

}  // namespace

int Device::CheckFlow(const FlowKey& key) const { return ToErrno(flows_.Check(key, kUnbind)); }

int Device::BindFlow(Pipe* pipe, const FlowKey& key) {
  if (!pipe->receives()) return -EINVAL;
  if (const int result = ToErrno(flows_.Insert(key, pipe->id)); result != 0) return result;
  pipe->reachable = true;
  return ConfigureFlow(key, pipe->id);
}

int Device::UnbindFlow(Pipe* pipe, const FlowKey& key) {
  if (!pipe->receives() || !flows_.Unbind(key, pipe->id)) return -EINVAL;
  return ConfigureFlow(key, kUnbind);
}

int Device::SetTimestamp(bool enable, uint8_t offset) {
  constexpr uint8_t kMaxOffset = 60;
  if (offset > kMaxOffset) return -EINVAL;
  TimestampConfig command{};
  command.signal = kSignalConfig;
  command.id = static_cast<uint64_t>(ConfigId::kTimestamp);
  command.enable = enable ? kEnable64 : 0;
  command.offset = offset;
  return Configure(&command);
}

int Device::SetRateLimit(bool enable, uint16_t numerator, uint16_t denominator) {
  // A numerator of 0 would block transmission permanently.
  if (enable && (numerator == 0 || denominator == 0)) return -EINVAL;
  RateLimitConfig command{};
  command.signal = kSignalConfig;
  command.id = static_cast<uint64_t>(ConfigId::kRateLimit);
  command.denominator = denominator;
  command.numerator = numerator;
  command.enable = enable ? kEnable32 : 0;
  return Configure(&command);
}

int Device::SetRoundRobin(bool enable) {
  round_robin_ = enable;
  return ConfigureFallback();
}

}  // namespace sluice::net_enso
