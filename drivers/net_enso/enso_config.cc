// SPDX-License-Identifier: BSD-3-Clause
//
// Configuration notifications (docs/enso-hardware.md, "Formats"). They use a separate buffer, so
// that waiting for one never disturbs a datapath. The NIC executes a command when it fetches the
// slot, possibly before data that other buffers published earlier, and completes the slot slightly
// before the command is in force. This code therefore relies on no order between commands and data,
// and waits for each command separately.
#include <cerrno>

#include "net_enso/enso_device.h"

namespace sluice::net_enso {

using namespace regs::enso;

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
