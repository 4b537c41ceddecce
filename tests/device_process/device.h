// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a model and its server, as in sluice-device, on a thread of this process. Host and device
// still share data only through the socket and its files.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../waiting.h"
#include "emulator/arguments.h"
#include "emulator/attach.h"
#include "emulator/enso_model.h"
#include "emulator/hosted_model.h"
#include "emulator/ipu_model.h"
#include "emulator/model.h"
#include "emulator/server.h"

namespace sluice::emulator {

class DeviceThread {
 public:
  explicit DeviceThread(const ModelInfo& model, const std::vector<Argument>& arguments = {},
                        const SettingValues& settings = {}) {
    std::string error;
    const auto parsed = ParseArguments(arguments, &error);
    EXPECT_TRUE(parsed) << error;
    model_ = MakeModel("device", model, *parsed, &error);
    EXPECT_NE(model_, nullptr) << error;
    server_ = Server::Create({TestSocket(), &model, settings}, *model_, &error);
    EXPECT_NE(server_, nullptr) << error;
    thread_ = std::thread([this] { Serve(); });
  }
  ~DeviceThread() {
    Do([this](Server&) { stop_ = true; });
    thread_.join();
    server_.reset();
    close(wake_);
  }

  /// Runs `task` on the server's thread and waits for it.
  void Do(std::function<void(Server&)> task) {
    std::promise<void> done;
    {
      const std::scoped_lock lock(mutex_);
      tasks_.push_back([&](Server& server) {
        task(server);
        done.set_value();
      });
    }
    eventfd_write(wake_, 1);
    done.get_future().wait();
  }
  uint64_t hosts() {
    uint64_t hosts = 0;
    Do([&](Server& server) { hosts = server.hosts(); });
    return hosts;
  }
  bool attached() {
    bool attached = false;
    Do([&](Server& server) { attached = server.host() != 0; });
    return attached;
  }

 private:
  void Serve() {
    while (!stop_) {
      server_->Serve(wake_, std::chrono::seconds(10));
      eventfd_t ignored;
      eventfd_read(wake_, &ignored);
      std::vector<std::function<void(Server&)>> tasks;
      {
        const std::scoped_lock lock(mutex_);
        tasks.swap(tasks_);
      }
      for (auto& task : tasks) task(*server_);
    }
  }

  const int wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::unique_ptr<HostedModel> model_;
  std::unique_ptr<Server> server_;
  std::mutex mutex_;
  std::vector<std::function<void(Server&)>> tasks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sluice::emulator
