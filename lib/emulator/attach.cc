// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/attach.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "bar/posted_queue.h"
#include "device/enso/enso_nic.h"
#include "device/ipu/ipu_nic.h"
#include "emulator/arguments.h"
#include "emulator/gen.h"
#include "emulator/host_memory.h"
#include "emulator/loopback.h"
#include "emulator/port.h"
#include "emulator/runner.h"
#include "emulator/service.h"
#include "emulator/stepper.h"
#include "regs/enso.h"
#include "regs/ipu.h"

namespace sluice::emulator {
namespace {

RTE_LOG_REGISTER(log_type, sluice.emulator, NOTICE);

/// Locally administered, the same for the same name in every run.
MacAddress MacOf(std::string_view name) {
  uint32_t hash = 0x811c'9dc5;
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x0100'0193;
  return {0x02,
          0x53,
          0x6c,
          static_cast<uint8_t>(hash >> 16),
          static_cast<uint8_t>(hash >> 8),
          static_cast<uint8_t>(hash)};
}

/// The CPUs of EAL's control threads: those without an lcore, else the main lcore's.
cpu_set_t ControlCpus() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  pthread_t thread;
  const auto read = [](void* set) -> void* {
    pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), static_cast<cpu_set_t*>(set));
    return nullptr;
  };
  if (rte_ctrl_thread_create(&thread, "affinity", nullptr, read, &cpus) == 0) {
    pthread_join(thread, nullptr);
  }
  return cpus;
}

/// The CPU that the user named; nothing, with one line in `error`, if threads of
/// this process may not run there.
std::optional<cpu_set_t> NamedCpu(uint32_t cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  // The calling thread may be pinned to an lcore; a thread of ours tells what is allowed.
  bool allowed = false;
  std::thread([&] {
    allowed = pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) == 0;
  }).join();
  if (!allowed) return std::nullopt;
  return cpus;
}

class Instance final : public Attachment {
 public:
  explicit Instance(std::string_view name) : name_(name), mac_(MacOf(name)) {}
  ~Instance() override {
    service_.reset();
    runner_.reset();
    queue_.TakeLinkDown();
  }

  bool Start(Model model, const Settings& settings, Arguments& arguments, std::string* error);

  bar::Bar& registers() override { return bar_; }
  bool Map(const bar::RingMemory& memory, std::string_view) override {
    return dma_.Add(reinterpret_cast<uint64_t>(memory.data()), memory.data(), memory.bytes());
  }
  void Unmap(const bar::RingMemory& memory) override {
    dma_.Remove(reinterpret_cast<uint64_t>(memory.data()));
  }
  /// Nothing outlives the process that the model lives in.
  bar::RingMemory Adopt(std::string_view) override { return {}; }
  uint32_t Generation() const override { return 1; }
  std::vector<Statistic> Statistics() override;
  bool WireUp() override { return runner_->LinkUp(); }
  void MacAddress(uint8_t mac[6]) override { std::copy(mac_.begin(), mac_.end(), mac); }
  void EnableWire(bool enabled) override { runner_->EnableWire(enabled); }

 private:
  bool CreateDevice(Model model, const Settings& settings, std::string* error);
  bool CreateWire(Arguments& arguments, std::string* error);

  const std::string name_;
  emulator::MacAddress mac_;
  bar::PostedQueue queue_;
  bar::DmaSpace dma_;
  bar::Bar bar_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<Stepper> stepper_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<Service> service_;
};

bool Instance::CreateDevice(Model model, const Settings& settings, std::string* error) {
  if (model == Model::kIpu) {
    bar_ = bar::Bar(&queue_, regs::ipu::kBarBytes);
    device_ = std::make_unique<device::ipu::IpuNic>(dma_, device::ipu::IpuConfig{});
    return true;
  }
  device::enso::EnsoConfig config;
  if (settings.pipe_flits != 0) config.pipe_flits = settings.pipe_flits;
  if (settings.nb_entries != 0) config.nb_entries = settings.nb_entries;
  config.notify_per_packet = settings.notify_per_packet;
  if (const char* wrong = config.Error()) {
    *error = wrong;
    return false;
  }
  bar_ = bar::Bar(&queue_, regs::enso::kBarBytes);
  device_ = std::make_unique<device::enso::EnsoNic>(dma_, config);
  return true;
}

bool Instance::CreateWire(Arguments& arguments, std::string* error) {
  switch (arguments.wire) {
    case Arguments::WireKind::kLoopback:
      wire_ = std::make_unique<LoopbackWire>();
      break;
    case Arguments::WireKind::kGenerator:
      arguments.generator.destination = mac_;
      wire_ = GeneratorWire::Create(arguments.generator, arguments.verify, error);
      break;
    case Arguments::WireKind::kReplay: {
      std::string summary;
      wire_ = ReplayWire::Create(arguments.replay, arguments.verify, &summary, error);
      if (wire_ == nullptr) {
        error->insert(0, "wire=pcap: ");
      } else {
        rte_log(RTE_LOG_NOTICE, static_cast<uint32_t>(log_type), "%s: replays %s\n", name_.c_str(),
                summary.c_str());
      }
      break;
    }
    case Arguments::WireKind::kPort: {
      std::unique_ptr<PortWire> port = PortWire::Create(arguments.port, name_, error);
      if (port != nullptr) mac_ = port->mac();
      wire_ = std::move(port);
      break;
    }
  }
  if (wire_ != nullptr && arguments.faults.Any()) {
    wire_ = std::make_unique<FaultyWire>(std::move(wire_), arguments.faults);
  }
  return wire_ != nullptr;
}

bool Instance::Start(Model model, const Settings& settings, Arguments& arguments,
                     std::string* error) {
  RunnerOptions options;
  options.cpus = arguments.device_cpu ? NamedCpu(*arguments.device_cpu) : ControlCpus();
  if (!options.cpus) {
    *error = "device_cpu=" + std::to_string(*arguments.device_cpu) +
             ": this process may not run there; give a CPU of its cpuset, or leave it out";
    return false;
  }
  options.thread_name = "model-" + name_;
  options.tsc_hz = rte_get_tsc_hz();
  if (arguments.wire == Arguments::WireKind::kPort) {
    // Only this wire allocates mbufs; an lcore id gives the thread a mempool cache.
    // Registering forbids secondary processes to attach later, so nobody else does.
    options.on_start = [] { rte_thread_register(); };
    options.on_end = [] { rte_thread_unregister(); };
  }
  if (!CreateDevice(model, settings, error)) return false;
  host_memory_ = std::make_unique<HostMemory>(name_, dma_);
  if (!host_memory_->complete()) {
    *error =
        "DPDK's memory is in more pieces than a device can map; start with larger "
        "hugepages, or with --legacy-mem";
    return false;
  }
  if (!CreateWire(arguments, error)) return false;
  stepper_ = std::make_unique<Stepper>(queue_, *device_, *wire_, arguments.pause);
  runner_ = std::make_unique<Runner>(*stepper_, std::move(options));
  service_ = std::make_unique<Service>(name_, *runner_);
  return true;
}

std::vector<Statistic> Instance::Statistics() {
  const std::vector<uint64_t> values = runner_->Read();
  std::vector<Statistic> statistics;
  for (size_t i = 0; i < values.size(); ++i) statistics.push_back({runner_->names()[i], values[i]});
  return statistics;
}

}  // namespace

std::span<const char* const> ArgumentKeys() { return KnownKeys(); }

std::unique_ptr<Attachment> Attach(std::string_view name, Model model, const Settings& settings,
                                   std::span<const Argument> arguments, std::string* error) {
  std::optional<Arguments> parsed = ParseArguments(arguments, error);
  if (!parsed) return nullptr;
  try {
    auto instance = std::make_unique<Instance>(name);
    if (instance->Start(model, settings, *parsed, error)) return instance;
  } catch (const std::bad_alloc&) {
    *error = "not enough memory for the model; give fewer flows or a smaller capture";
  } catch (const std::system_error& failure) {
    *error = std::string("cannot start the model's thread: ") + failure.what();
  }
  return nullptr;
}

}  // namespace sluice::emulator
