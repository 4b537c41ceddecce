// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/running_model.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_memory.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "dpdk/release.h"
#include "emulator/cable.h"
#include "emulator/gen.h"
#include "emulator/log.h"
#include "emulator/loopback.h"
#include "emulator/model.h"
#include "emulator/port.h"

namespace sluice::emulator {
namespace {

/// Returns the CPU that the user specified. If threads of this process may not run there, returns
/// nullopt and sets `error` to a one-line message.
std::optional<cpu_set_t> NamedCpu(uint32_t cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  // The calling thread may be pinned to an lcore, so a new thread is used to test whether the CPU
  // is allowed.
  bool allowed = false;
  std::thread([&] {
    allowed = pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) == 0;
  }).join();
  if (!allowed) return std::nullopt;
  return cpus;
}

}  // namespace

Service::Service(std::string_view name, Runner& runner, bool workers) {
  const int32_t service_lcores = rte_service_lcore_count();
  if (service_lcores <= 0 && !workers) return;
  rte_service_spec spec = {};
  std::snprintf(spec.name, sizeof(spec.name), "model_%.*s",
                static_cast<int>(name.size() < 24 ? name.size() : 24), name.data());
  spec.callback = [](void* argument) -> int32_t {
    return static_cast<Runner*>(argument)->TurnForOther() ? 0 : -EAGAIN;
  };
  spec.callback_userdata = &runner;
  spec.capabilities = RTE_SERVICE_CAP_MT_SAFE;
  spec.socket_id = SOCKET_ID_ANY;
  if (rte_service_component_register(&spec, &id_) != 0) return;
  registered_ = true;
  rte_service_component_runstate_set(id_, 1);
  if (service_lcores <= 0) rte_service_runstate_set(id_, 1);
  // When EAL starts, it distributes the services over the lcores. A device that is plugged in later
  // is mapped to a running service lcore here.
  std::array<uint32_t, RTE_MAX_LCORE> lcores;
  const int32_t count = rte_service_lcore_list(lcores.data(), RTE_MAX_LCORE);
  for (int32_t i = 0; i < count; ++i) {
    if (rte_service_lcore_may_be_active(lcores[i]) != 1) continue;
    rte_service_map_lcore_set(id_, lcores[i], 1);
    rte_service_runstate_set(id_, 1);
    break;
  }
}

Service::~Service() {
  // During rte_eal_cleanup, services no longer exist.
  if (!registered_ || rte_service_component_runstate_set(id_, 0) != 0) return;
  while (rte_service_may_be_active(id_) == 1) std::this_thread::yield();
  rte_service_component_unregister(id_);
}

cpu_set_t ControlCpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const auto read = [&] { pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus); };
  dpdk::CallOnControlThread(read);
  return cpus;
}

RunningModel::RunningModel(std::string_view name, const ModelInfo& model, const MacAddress& mac)
    : name_(name), model_(model), mac_(mac) {}

RunningModel::~RunningModel() {
  service_.reset();
  runner_.reset();
}

bool RunningModel::CreateWire(Arguments& arguments, std::string* error) {
  switch (arguments.wire) {
    case Arguments::WireKind::kLoopback:
      wire_ = std::make_unique<LoopbackWire>();
      break;
    case Arguments::WireKind::kGenerator:
      wire_ = GeneratorWire::Create(arguments.generator, arguments.verify, error);
      break;
    case Arguments::WireKind::kReplay: {
      std::string summary;
      wire_ = ReplayWire::Create(arguments.replay, arguments.verify, &summary, error);
      if (wire_ == nullptr) {
        error->insert(0, "wire=pcap:");
      } else {
        Log(RTE_LOG_NOTICE, name_ + ": replays " + summary);
      }
      break;
    }
    case Arguments::WireKind::kPort: {
      std::unique_ptr<PortWire> port = PortWire::Create(arguments.port, name_, error);
      if (port != nullptr) mac_ = port->mac();
      wire_ = std::move(port);
      break;
    }
    case Arguments::WireKind::kCable:
      wire_ = CableWire::Create(arguments.cable, name_, &mac_, error);
      break;
    case Arguments::WireKind::kLibrary:
      arguments.library.nic = mac_;
      wire_ = LoadWire(arguments.library, error);
      break;
  }
  if (wire_ != nullptr && arguments.faults.Any()) {
    wire_ = std::make_unique<FaultyWire>(std::move(wire_), arguments.faults);
  }
  return wire_ != nullptr;
}

std::unique_ptr<RunningModel> RunningModel::Create(std::string_view name, const ModelInfo& model,
                                                   Arguments arguments, const MacAddress& mac,
                                                   std::string* error) {
  std::unique_ptr<RunningModel> running(new RunningModel(name, model, mac));
  RunnerOptions options;
  options.cpus = arguments.device_cpu ? NamedCpu(*arguments.device_cpu) : ControlCpus();
  if (!options.cpus) {
    *error = "device_cpu=" + std::to_string(*arguments.device_cpu) +
             ": this process may not run on that CPU: give a CPU of its cpuset, or omit device_cpu";
    return nullptr;
  }
  running->on_workers_ = arguments.on_workers;
  options.thread_name = "model-" + running->name_;
  options.tsc_hz = rte_get_tsc_hz();
  if (arguments.wire == Arguments::WireKind::kPort) {
    // Only a port wire allocates mbufs. Registration gives the thread an lcore id, and thus a
    // mempool cache. With other wires, the thread is not registered, because registration would
    // prevent secondary processes from attaching later.
    options.on_start = [] { rte_thread_register(); };
    options.on_end = [] { rte_thread_unregister(); };
  }
  running->idle_ = model.make({}, *running->no_memory_, error);
  if (running->idle_ == nullptr || !running->CreateWire(arguments, error)) return nullptr;
  running->stepper_ =
      std::make_unique<Stepper>(nullptr, *running->idle_, *running->wire_, arguments.pause);
  running->runner_ = std::make_unique<Runner>(*running->stepper_, std::move(options));
  running->service_ =
      std::make_unique<Service>(running->name_, *running->runner_, arguments.on_workers);
  return running;
}

bool RunningModel::Connect(const SettingValues& settings, const bar::DmaSpace& dma,
                           bar::PostedQueue* queue, std::string* error) {
  std::unique_ptr<device::Device> device = model_.make(settings, dma, error);
  if (device == nullptr) return false;
  device->SetPermanentAddress(mac_);
  const Runner::Hold hold(*runner_);
  stepper_->Connect(queue, *device);
  device_ = std::move(device);
  return true;
}

void RunningModel::SetInterrupts(device::InterruptSink* sink) {
  const Runner::Hold hold(*runner_);
  stepper_->SetInterrupts(sink);
}

void RunningModel::SetMastering(bool on) {
  const Runner::Hold hold(*runner_);
  stepper_->SetMastering(on);
}

void RunningModel::ChangeMemory(const std::function<void()>& change) {
  const Runner::Hold hold(*runner_);
  const auto tell = [this] {
    if (device_ != nullptr) device_->MemoryTaken();
  };
  try {
    change();
  } catch (...) {
    tell();  // This is also necessary after an error, because part of the memory may have been
             // removed.
    throw;
  }
  tell();
}

void RunningModel::Disconnect(bool died) {
  runner_->EnableWire(false);
  const Runner::Hold hold(*runner_);
  stepper_->SetInterrupts(nullptr);
  if (died && device_ != nullptr) device_->HostDied(*stepper_);
  stepper_->Connect(nullptr, *idle_);
  device_.reset();
}

void RunningModel::AwaitedByHost() {
  if (!on_workers_ || !runner_->TurnForOther()) std::this_thread::yield();
}

std::vector<Statistic> RunningModel::Statistics() {
  const std::vector<uint64_t> values = runner_->Read();
  std::vector<Statistic> statistics;
  for (size_t i = 0; i < values.size(); ++i) statistics.push_back({runner_->names()[i], values[i]});
  return statistics;
}

std::string WhyNotStarted() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return "not enough memory for the model; give fewer flows or a smaller capture";
  } catch (const std::system_error& failure) {
    return std::string("cannot start the model's thread: ") + failure.what();
  } catch (const std::exception& failure) {
    return std::string("cannot start the model: ") + failure.what();
  }
}

}  // namespace sluice::emulator
