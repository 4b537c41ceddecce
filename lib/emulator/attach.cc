// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/attach.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bar/posted_queue.h"
#include "emulator/arguments.h"
#include "emulator/host_memory.h"
#include "emulator/remote.h"
#include "emulator/running_model.h"
#include "regs/enso.h"
#include "regs/ipu.h"

namespace sluice::emulator {
namespace {

constexpr std::string_view kDeviceKey = "device";

/// A model in this process.
class Instance final : public Attachment {
 public:
  ~Instance() override {
    model_.reset();
    queue_.TakeLinkDown();
  }

  bool Start(std::string_view name, Model model, const Settings& settings, Arguments arguments,
             std::string* error) {
    bar_ = bar::Bar(&queue_, BarBytes(model));
    host_memory_ = std::make_unique<HostMemory>(name, dma_);
    if (!host_memory_->complete()) {
      *error =
          "DPDK's memory is in more pieces than a device can map; start with larger "
          "hugepages, or with --legacy-mem";
      return false;
    }
    model_ = RunningModel::Create(name, model, std::move(arguments), error);
    return model_ != nullptr && model_->Connect(settings, dma_, &queue_, error);
  }

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
  std::vector<Statistic> Statistics() override { return model_->Statistics(); }
  bool WireUp() override { return model_->WireUp(); }
  void MacAddress(uint8_t mac[6]) override {
    std::copy(model_->mac().begin(), model_->mac().end(), mac);
  }
  void EnableWire(bool enabled) override { model_->EnableWire(enabled); }

 private:
  bar::PostedQueue queue_;
  bar::DmaSpace dma_;
  bar::Bar bar_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<RunningModel> model_;
};

}  // namespace

size_t BarBytes(Model model) {
  return model == Model::kIpu ? regs::ipu::kBarBytes : regs::enso::kBarBytes;
}

std::span<const char* const> ArgumentKeys() {
  static const std::vector<const char*> keys = [] {
    std::vector<const char*> all(KnownKeys().begin(), KnownKeys().end());
    all.push_back(kDeviceKey.data());
    return all;
  }();
  return keys;
}

std::unique_ptr<Attachment> Attach(std::string_view name, Model model, const Settings& settings,
                                   std::span<const Argument> arguments, std::string* error) {
  const auto device = std::find_if(arguments.begin(), arguments.end(),
                                   [](const Argument& a) { return a.first == kDeviceKey; });
  if (device != arguments.end()) {
    for (const Argument& other : arguments) {
      if (&other == &*device) continue;
      *error = other.first + "=" + other.second + " with device=" + device->second +
               ": the model runs in that process: give it there, as --" +
               other.first + "=" + other.second;
      return nullptr;
    }
    return AttachRemote(name, model, settings, device->second, error);
  }
  std::optional<Arguments> parsed = ParseArguments(arguments, error);
  if (!parsed) return nullptr;
  try {
    auto instance = std::make_unique<Instance>();
    if (instance->Start(name, model, settings, *std::move(parsed), error)) return instance;
  } catch (const std::exception&) {
    *error = WhyNotStarted();
  }
  return nullptr;
}

}  // namespace sluice::emulator
