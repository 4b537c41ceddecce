// SPDX-License-Identifier: BSD-3-Clause
//
// A model on a PCI bus. The model and its server run on threads of this process; the test contains
// the client.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../waiting.h"
#include "client.h"
#include "emulator/arguments.h"
#include "emulator/hosted_model.h"
#include "emulator/model.h"
#include "emulator/vfio_user/bus_server.h"

namespace sluice::emulator::vfio_user::test {

class Rig {
 public:
  explicit Rig(const ModelInfo& model, const std::vector<Argument>& arguments = {},
               const SettingValues& settings = {})
      : settings_(settings) {
    std::string error;
    const auto parsed = ParseArguments(arguments, &error);
    EXPECT_TRUE(parsed) << error;
    model_ = MakeModel("bus", model, *parsed, &error);
    EXPECT_NE(model_, nullptr) << error;
    server_ = BusServer::Create(TestSocket(), model, settings_, *model_, &error);
    EXPECT_NE(server_, nullptr) << error;
    thread_ = std::thread([this] {
      while (!stop_) server_->Serve(wake_.fd(), std::chrono::milliseconds(1000));
    });
  }
  ~Rig() {
    Stop();
    server_.reset();
  }
  /// Stops serving the client, but keeps the server.
  void Stop() {
    stop_ = true;
    eventfd_write(wake_.fd(), 1);
    if (thread_.joinable()) thread_.join();
  }

  uint64_t operator[](const std::string& name) {
    for (const Statistic& statistic : model_->Statistics()) {
      if (statistic.name == name) return statistic.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return ~uint64_t{0};
  }
  HostedModel& model() { return *model_; }
  /// Checks that a new client is served.
  void ExpectServes() {
    Client client(TestSocket());
    EXPECT_TRUE(client.Greet());
    EXPECT_TRUE(client.Grants(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0})));
  }

 private:
  const SettingValues settings_;
  std::unique_ptr<HostedModel> model_;
  std::unique_ptr<BusServer> server_;
  const base::OwnedFd wake_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice::emulator::vfio_user::test
