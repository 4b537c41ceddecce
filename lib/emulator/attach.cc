// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/attach.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "bar/posted_queue.h"
#include "emulator/arguments.h"
#include "emulator/host_memory.h"
#include "emulator/hosted_model.h"
#include "emulator/interrupt_files.h"
#include "emulator/model.h"
#include "emulator/queue_memory.h"
#include "emulator/remote.h"
#include "emulator/running_model.h"

namespace sluice::emulator {
namespace {

constexpr std::string_view kDeviceKey = "device";
constexpr std::string_view kDeviceUidKey = "device_uid";

/// A model that runs in this process.
class Instance final : public Attachment {
 public:
  ~Instance() override {
    model_.reset();
    if (queue_ != nullptr) queue_->MarkLinkDown();
  }

  bool Start(std::string_view name, const ModelInfo& model, const SettingValues& settings,
             Arguments arguments, std::string* error) {
    queue_memory_ = CreateQueue(&queue_);
    if (queue_ == nullptr) {
      *error = std::string("no memory for the register queue: ") + std::strerror(errno);
      return false;
    }
    queue_->SetModelProcess(getpid());
    bar_ = bar::Bar(queue_, model.bar_bytes,
                    {[](void* self) {
                       auto& awaited = static_cast<Instance*>(self)->model_;
                       awaited != nullptr ? awaited->AwaitedByHost() : std::this_thread::yield();
                     },
                     this, getpid()});
    host_memory_ = std::make_unique<HostMemory>(name, dma_);
    if (!host_memory_->complete()) {
      *error =
          "DPDK's memory has more segments than a device can map; use larger hugepages or "
          "--legacy-mem";
      return false;
    }
    model_ = MakeModel(name, model, std::move(arguments), error);
    if (model_ == nullptr || !model_->Connect(settings, dma_, queue_, error)) return false;
    model_->SetInterrupts(&interrupts_);
    return true;
  }

  bar::Bar& registers() override { return bar_; }
  const bar::RingMemory& register_memory() const override { return queue_memory_; }
  bool Map(const bar::RingMemory& memory, std::string_view) override {
    return dma_.Add(reinterpret_cast<uint64_t>(memory.data()), memory.data(), memory.bytes());
  }
  void Unmap(const bar::RingMemory& memory) override {
    dma_.Remove(reinterpret_cast<uint64_t>(memory.data()));
  }
  int MapExternal(void* begin, size_t bytes, std::string* error) override {
    const std::scoped_lock lock(external_mutex_);
    if (IsMapped(begin, bytes)) return 0;
    if (!dma_.Add(reinterpret_cast<uint64_t>(begin), begin, bytes)) {
      *error = "part of the memory is mapped already, or too many ranges are mapped";
      return -EEXIST;
    }
    external_[begin] = bytes;
    return 0;
  }
  int UnmapExternal(void* begin, size_t bytes) override {
    const std::scoped_lock lock(external_mutex_);
    if (!IsMapped(begin, bytes)) return -EINVAL;
    dma_.Remove(reinterpret_cast<uint64_t>(begin));
    external_.erase(begin);
    return 0;
  }
  /// The model ends with its process, so no memory outlives it.
  bar::RingMemory Adopt(std::string_view) override { return {}; }
  uint32_t Generation() const override { return 1; }
  int InterruptFd(uint32_t vector) override { return interrupts_.Open(vector); }
  std::vector<Statistic> Statistics() override { return model_->Statistics(); }
  bool WireUp() override { return model_->WireUp(); }
  void MacAddress(uint8_t mac[6]) override {
    std::copy(model_->mac().begin(), model_->mac().end(), mac);
  }
  void EnableWire(bool enabled) override { model_->EnableWire(enabled); }

 private:
  bool IsMapped(void* begin, size_t bytes) const {
    const auto range = external_.find(begin);
    return range != external_.end() && range->second == bytes;
  }

  bar::RingMemory queue_memory_;
  bar::PostedQueue* queue_ = nullptr;
  bar::DmaSpace dma_;
  bar::Bar bar_;
  std::mutex external_mutex_;
  std::map<void*, size_t> external_;
  InterruptFiles interrupts_;
  std::unique_ptr<HostMemory> host_memory_;
  std::unique_ptr<HostedModel> model_;
};

bool ReadUid(std::string_view text, std::optional<uid_t>* uid) {
  uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || value == static_cast<uid_t>(-1)) return false;
  *uid = value;
  return true;
}

}  // namespace

std::span<const char* const> ArgumentKeys() {
  static const std::vector<const char*> keys = [] {
    std::vector<const char*> all(KnownKeys().begin(), KnownKeys().end());
    all.push_back(kDeviceKey.data());
    all.push_back(kDeviceUidKey.data());
    return all;
  }();
  return keys;
}

std::unique_ptr<Attachment> Attach(std::string_view name, const ModelInfo& model,
                                   const SettingValues& settings,
                                   std::span<const Argument> arguments, std::string* error) try {
  const auto find = [&](std::string_view key) {
    return std::find_if(arguments.begin(), arguments.end(),
                        [&](const Argument& a) { return a.first == key; });
  };
  const auto device = find(kDeviceKey);
  const auto uid = find(kDeviceUidKey);
  if (uid != arguments.end() && device == arguments.end()) {
    *error = "device_uid=" + uid->second + ": requires device=SOCKET: add it, or omit device_uid";
    return nullptr;
  }
  if (device != arguments.end()) {
    for (const Argument& other : arguments) {
      if (&other == &*device || &other == &*uid) continue;
      *error =
          other.first + "=" + other.second + " with device=" + device->second +
          ": the model runs in sluice-device: omit the argument, and start sluice-device with --" +
          other.first + "=" + other.second;
      return nullptr;
    }
    DeviceSocket socket{device->second, std::nullopt};
    if (uid != arguments.end() && !ReadUid(uid->second, &socket.trusted)) {
      *error = "device_uid=" + uid->second + ": give the number of a user, as id -u prints it";
      return nullptr;
    }
    return AttachRemote(name, model, settings, socket, error);
  }
  std::optional<Arguments> parsed = ParseArguments(arguments, error);
  if (!parsed) return nullptr;
  auto instance = std::make_unique<Instance>();
  if (instance->Start(name, model, settings, *std::move(parsed), error)) return instance;
  return nullptr;
} catch (const std::exception&) {  // DPDK is C, so no exception may reach it.
  *error = WhyNotStarted();
  return nullptr;
}

}  // namespace sluice::emulator
