// SPDX-License-Identifier: BSD-3-Clause
//
// A model as a function on another program's PCI bus: listens for clients of the vfio-user
// protocol, such as QEMU's device vfio-user-pci, and serves one at a time. The next one finds the
// function as it is after power-on; the wire with its verification, and all counters, go on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "emulator/channel.h"
#include "emulator/front.h"
#include "emulator/hosted_model.h"
#include "emulator/listener.h"
#include "emulator/model.h"
#include "emulator/vfio_user/session.h"

namespace sluice::emulator::vfio_user {

class BusServer final : public Front {
 public:
  /// Listens at `path`. All outlive the server. Null, with the reason in `error`, if it cannot, or
  /// the model is no PCI function. `interrupts`: as FunctionOf.
  static std::unique_ptr<BusServer> Create(const std::string& path, const ModelInfo& info,
                                           const SettingValues& settings, HostedModel& model,
                                           std::string* error, bool interrupts = true);
  ~BusServer() override;
  BusServer(const BusServer&) = delete;
  BusServer& operator=(const BusServer&) = delete;

  bool Turn(int wake, std::chrono::milliseconds patience) override;
  /// For the client: the device is unplugged without a word. It does not connect again by itself.
  void Reset() override;
  std::string Attached() const override;
  uint64_t hosts() const override { return hosts_; }

 private:
  BusServer(const FunctionParts& parts, std::unique_ptr<Listener> listener);

  void Accept();
  /// Lets the client speak. Where this process has no room for what it asks, it is disconnected.
  void Hear();
  /// Needs no memory. An empty reason: it is gone by itself.
  void End(std::string_view reason);

  const FunctionParts parts_;
  const std::unique_ptr<Listener> listener_;
  std::unique_ptr<Session> client_;
  uint64_t hosts_ = 0;
};

}  // namespace sluice::emulator::vfio_user
