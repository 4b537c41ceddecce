// SPDX-License-Identifier: BSD-3-Clause
//
// Presents a model as a function on another program's PCI bus. Listens for clients of the vfio-user
// protocol, such as QEMU's vfio-user-pci device, and serves one at a time. The function is reset to
// its power-on state for the next client; the wire with its verification, and all counters, are not
// reset.
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
  /// Listens at `path`. All arguments must outlive the server. `interrupts` is passed to
  /// FunctionOf. On failure, or if the model is not a PCI function, returns null and sets `error`.
  static std::unique_ptr<BusServer> Create(const std::string& path, const ModelInfo& info,
                                           const SettingValues& settings, HostedModel& model,
                                           std::string* error, bool interrupts = true);
  ~BusServer() override;
  BusServer(const BusServer&) = delete;
  BusServer& operator=(const BusServer&) = delete;

  bool Turn(int wake, std::chrono::milliseconds patience) override;
  /// Ends the connection, which the client sees as an unplugged device. The client does not connect
  /// again automatically.
  void Reset() override;
  std::string Attached() const override;
  uint64_t hosts() const override { return hosts_; }

 private:
  BusServer(const FunctionParts& parts, std::unique_ptr<Listener> listener);

  void Accept();
  /// Handles the client's messages. Disconnects the client if the session is over or memory is
  /// exhausted.
  void Hear();
  /// Disconnects the client, even if memory for the log message cannot be allocated. An empty
  /// reason means that the client has closed the connection.
  void End(std::string_view reason);

  const FunctionParts parts_;
  const std::unique_ptr<Listener> listener_;
  std::unique_ptr<Session> client_;
  uint64_t hosts_ = 0;
};

}  // namespace sluice::emulator::vfio_user
