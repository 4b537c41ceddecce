// SPDX-License-Identifier: BSD-3-Clause
#include "supervision.h"

#include <signal.h>

#include <thread>
#include <utility>

namespace sluice::rpc_app {

using device::rpc::ProcessId;
using device::rpc::RpcNic;

Supervision::Supervision(const Settings& settings, const std::vector<rpc::CompiledX>& compiled,
                         ProcessTable& processes, NicThread& nic)
    : settings_(settings),
      compiled_(compiled),
      processes_(processes),
      nic_(nic),
      services_(settings.services.size()) {}

bool Supervision::Launch(ProcessId id, std::string* error) {
  Service& service = services_[id];
  service.process = ServiceProcess::Launch(settings_.service_program, settings_.services[id],
                                           settings_.cores, error);
  if (service.process == nullptr) return false;
  restarts_ += service.started;
  service.started = true;
  service.state = Service::State::kStarting;
  service.since = Clock::now();
  processes_.Set(id, service.process);
  return true;
}

bool Supervision::Admit(ProcessId id, std::string* error) {
  Service& service = services_[id];
  ServiceProcess& process = *service.process;
  switch (process.phase()) {
    case Phase::kReady: {
      auto entries = process.Entries();
      bool good = false;
      if (entries) {
        nic_.Do([&](RpcNic& nic) {
          good = nic.Start(id, std::move(*entries), process.Endpoints(), process.number());
        });
      }
      if (!good) {
        *error = settings_.services[id].object +
                 ": the functions of the object do not match the .x file";
        return false;
      }
      service.state = Service::State::kUp;
      service.since = Clock::now();
      return true;
    }
    case Phase::kFailed:
      *error = process.error();
      return false;
    default:
      if (!process.Ended() && Clock::now() - service.since < kPatience) return true;
      *error = settings_.services[id].object + ": the process of the service did not start in time";
      return false;
  }
}

void Supervision::TearDown(ProcessId id) {
  Service& service = services_[id];
  if (!service.process->Ended()) service.process->Signal(SIGKILL);
  nic_.Do([&](RpcNic& nic) { nic.Gone(id); });
  processes_.Set(id, nullptr);
  // A process that ran for longer than the maximum pause is restarted immediately.
  const bool lived =
      service.state == Service::State::kUp && Clock::now() - service.since > kLongestPause;
  if (lived) service.pauses.Reset();
  service.pause = lived ? std::chrono::milliseconds(0) : service.pauses.Next();
  service.process.reset();
  service.state = Service::State::kDown;
  service.since = Clock::now();
}

bool Supervision::Start(std::string* error) {
  for (size_t i = 0; i < services_.size(); ++i) {
    const auto id = static_cast<ProcessId>(i);
    bool known = false;
    nic_.Do([&](RpcNic& nic) {
      known = nic.AddService(id, settings_.service_cores,
                             {settings_.services[i].port, compiled_[i].table, {}});
    });
    if (!known) {
      *error = settings_.services[i].x + ": another service provides the same program";
      return false;
    }
    if (!Launch(id, error)) return false;
  }
  for (size_t i = 0; i < services_.size(); ++i) {
    while (services_[i].state == Service::State::kStarting) {
      if (!Admit(static_cast<ProcessId>(i), error)) return false;
      if (services_[i].state == Service::State::kStarting) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  return true;
}

void Supervision::Look() {
  std::string error;  // Ignored, because a failed start is retried.
  for (size_t i = 0; i < services_.size(); ++i) {
    const auto id = static_cast<ProcessId>(i);
    Service& service = services_[i];
    switch (service.state) {
      case Service::State::kDown:
        if (Clock::now() - service.since >= service.pause && !Launch(id, &error)) {
          service.since = Clock::now();
        }
        break;
      case Service::State::kStarting:
        if (!Admit(id, &error)) TearDown(id);
        break;
      case Service::State::kUp:
        if (service.process->Ended()) TearDown(id);
        break;
    }
  }
}

}  // namespace sluice::rpc_app
