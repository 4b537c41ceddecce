// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/vfio_user/session.h"

#include <rte_log.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emulator/log.h"

namespace sluice::emulator::vfio_user {
namespace {

using std::chrono::steady_clock;

constexpr uint32_t kMaxToldRefusals = 16;

/// Maximum size of one register read, in bytes. Bounds the duration of the read, because the
/// model's thread takes about ten microseconds per register. A processor never reads more than 64
/// bytes in one access.
constexpr uint32_t kMaxRegisterBytes = 4096;

constexpr const char* kCutOff = "a message is shorter than its command needs";

/// Copies the struct at the start of a payload. Returns false if the payload is too short.
template <typename T>
bool Get(const Message& message, T* value) {
  if (message.payload.size() < sizeof(T)) return false;
  std::memcpy(value, message.payload.data(), sizeof(T));
  return true;
}

bool IsPostedStore(const Header& header) {
  const auto command = static_cast<Command>(header.command);
  return (command == Command::kRegionWrite || command == Command::kRegionWriteMulti) &&
         (header.flags & (kTypeMask | kNoReplyFlag)) == kNoReplyFlag;
}

template <typename T>
std::vector<uint8_t> Bytes(const T& value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

}  // namespace

Session::Session(base::OwnedFd socket, Peer peer, const FunctionParts& parts)
    : parts_(parts), peer_(peer), socket_(std::move(socket)) {}

bool Session::Turn(std::string* reason) {
  const size_t waited = socket_.waiting_bytes();
  if (!socket_.Flush()) return false;
  const bool reads = socket_.waiting_bytes() < waited;
  if (!SendDma(reason)) return false;
  const bool begins_to_wait = waited == 0 && socket_.waiting();
  if (begins_to_wait) waits_ = true;
  if (reads || begins_to_wait) patience_.Begin();
  // Do not receive from a client that does not read its answers.
  if (socket_.waiting()) return true;
  if (!pending()) hears_ = socket_.Receive(&wrong_);
  if (!HandlePending(reason)) return false;
  if (messages_.bloated()) parts_.model.ChangeMemory([this] { memory_.ForgetCopies(); });
  if (socket_.waiting()) {
    waits_ = true;
    patience_.Begin();
  } else if (attached()) {
    waits_ = false;
  }
  if (hears_ || pending()) return true;
  if (wrong_ != nullptr) *reason = wrong_;
  return false;
}

bool Session::HandlePending(std::string* reason) {
  const bool gone = socket_.HungUp();
  const auto end = steady_clock::now() + kTurnTime;
  while (!socket_.messages().empty()) {
    Message message = std::move(socket_.messages().front());
    socket_.messages().pop_front();
    // If the client is gone, execute its last stores. Drop other requests, since their answers
    // cannot be delivered.
    if (gone && !IsPostedStore(message.header)) continue;
    if (!Handle(message, reason)) return false;
    if (socket_.waiting() || steady_clock::now() >= end) break;
  }
  return true;
}

bool Session::Handle(Message& message, std::string* reason) {
  const Header& asked = message.header;
  const auto command = static_cast<Command>(asked.command);
  if (!message.files.empty() && command != Command::kDmaMap && command != Command::kSetIrqs) {
    *reason = "unexpected files";
    return false;
  }
  if ((asked.flags & kTypeMask) != 0) {
    if (const char* const why = AcceptReply(message)) *reason = why;
    return reason->empty();
  }
  Outcome outcome;
  if (attached()) {
    outcome = Answer(message);
  } else {
    outcome = Greet(message);
  }
  if (outcome.fatal == nullptr && attached() && !host_->alive()) {
    outcome.fatal = "the model has not answered for 2 s";
  }
  if (outcome.fatal != nullptr) {
    *reason = outcome.fatal;
    return false;
  }
  if ((asked.flags & kNoReplyFlag) != 0) return true;
  Header reply = {.id = asked.id,
                  .command = asked.command,
                  .size = static_cast<uint32_t>(sizeof(Header) + outcome.payload.size()),
                  .flags = kReplyType,
                  .error = static_cast<uint32_t>(outcome.error)};
  if (outcome.error != 0) reply.flags |= kErrorFlag;
  // Sends the device's earlier writes before the answer.
  if (!SendDma(reason)) return false;
  return Send(reply, outcome.payload, outcome.file, reason);
}

bool Session::Send(const Header& header, std::span<const uint8_t> payload, int file,
                   std::string* reason) {
  const char* wrong;
  const bool sent = socket_.Send(header, payload, file, &wrong);
  if (wrong != nullptr) *reason = wrong;
  return sent;
}

bool Session::SendDma(std::string* reason) {
  MessageDma::Outgoing outgoing;
  while (messages_.Next(&outgoing)) {
    if (!std::exchange(told_of_messages_, true)) {
      Log(RTE_LOG_WARNING,
          "memory of process " + std::to_string(peer_.pid) +
              " is not backed by a file: each access requires a message, and links and endpoints "
              "are unavailable; start QEMU with -object memory-backend-memfd,share=on");
    }
    if (!Send(outgoing.header, outgoing.payload, -1, reason)) return false;
  }
  return true;
}

const char* Session::AcceptReply(const Message& message) {
  if (const char* const wrong = messages_.Answered(message)) return wrong;
  interrupts_.WritesArrived();
  if (messages_.refusals() != 0 && !std::exchange(told_of_refusals_, true)) {
    Log(RTE_LOG_ERR,
        "process " + std::to_string(peer_.pid) + " rejects accesses to memory that it has mapped");
  }
  return nullptr;
}

Session::Outcome Session::Refuse(int error, const char* why) {
  if (++refusals_ <= kMaxToldRefusals) {
    Log(RTE_LOG_ERR, "refused process " + std::to_string(peer_.pid) + " a request: " + why);
  }
  return {.error = error};
}

Session::Outcome Session::Greet(const Message& message) {
  if (message.header.command != static_cast<uint16_t>(Command::kVersion)) {
    return {.fatal = "the first message is not a version message"};
  }
  if (const char* const wrong = ReadVersion(message.payload, &agreement_)) {
    return {.fatal = wrong};
  }
  if (!alarm_ || messages_.fd() < 0)
    return {.fatal = "sluice-device has run out of file descriptors"};
  messages_.set_max_transfer_bytes(agreement_.max_transfer_bytes);
  std::string error;
  host_ = FunctionHost::Create(parts_, *dma_, interrupts_, &error);
  if (host_ == nullptr) return {.fatal = "the device cannot be powered on"};
  return {.payload = WriteVersion(agreement_, GuestMemory::kMapsAnywhere, message.payload.size())};
}

Session::Outcome Session::Answer(Message& message) {
  switch (static_cast<Command>(message.header.command)) {
    case Command::kDmaMap:
      return MapMemory(message);
    case Command::kDmaUnmap:
      return UnmapMemory(message);
    case Command::kGetInfo:
      return GetInfo(message);
    case Command::kGetRegionInfo:
      return GetRegionInfo(message);
    case Command::kGetIrqInfo:
      return GetIrqInfo(message);
    case Command::kSetIrqs:
      return SetIrqs(message);
    case Command::kRegionRead:
      return ReadRegion(message);
    case Command::kRegionWrite:
      return WriteRegion(message);
    case Command::kRegionWriteMulti:
      return WriteMultiple(message);
    case Command::kReset:
      host_->Reset();
      return {};
    case Command::kVersion:
      return {.fatal = "the client sent its version twice"};
    default:
      return Refuse(ENOTSUP, "unsupported command");
  }
}

Session::Outcome Session::GetInfo(const Message& message) const {
  DeviceInfo info;
  if (!Get(message, &info)) return {.fatal = kCutOff};
  return {.payload =
              Bytes(DeviceInfo{sizeof(info), kDeviceResets | kDeviceIsPci, kRegions, kIrqs})};
}

Session::Outcome Session::GetRegionInfo(const Message& message) const {
  RegionInfo info;
  if (!Get(message, &info)) return {.fatal = kCutOff};
  if (info.index >= kRegions) return {.error = EINVAL};
  const uint64_t bytes = host_->RegionBytes(info.index);
  const int file = host_->RegionFile(info.index);
  uint32_t flags = bytes != 0 ? kRegionReadable | kRegionWritable : 0;
  if (file >= 0) flags |= kRegionMappable;
  return {.payload = Bytes(RegionInfo{sizeof(info), flags, info.index, 0, bytes, 0}), .file = file};
}

Session::Outcome Session::GetIrqInfo(const Message& message) const {
  IrqInfo info;
  if (!Get(message, &info)) return {.fatal = kCutOff};
  if (info.index >= kIrqs) return {.error = EINVAL};
  const uint32_t count = info.index == kMsixIrq ? parts_.function.msix.vectors : 0;
  const uint32_t flags = count != 0 ? kIrqEventfd : 0;
  return {.payload = Bytes(IrqInfo{sizeof(info), flags, info.index, count})};
}

Session::Outcome Session::SetIrqs(Message& message) {
  IrqSet set;
  if (!Get(message, &set)) return {.fatal = kCutOff};
  const std::span<const uint8_t> data = std::span(message.payload).subspan(sizeof(set));
  const uint32_t vectors = set.index == kMsixIrq ? parts_.function.msix.vectors : 0;
  const bool disables = set.flags == (kIrqDataNone | kIrqActionTrigger) && set.count == 0;
  if (set.index >= kIrqs || (set.flags & kIrqActionTrigger) == 0) {
    return Refuse(EINVAL, "the device does not support these interrupts, or cannot mask them");
  }
  if (disables) {
    if (vectors != 0) interrupts_.Disable();
    return {};
  }
  if (set.start >= vectors || set.count > vectors - set.start) {
    return Refuse(EINVAL, "the device does not support this interrupt");
  }
  switch (set.flags & ~kIrqActionTrigger) {
    case kIrqDataEventfd:
      if (message.files.empty()) {
        interrupts_.Clear(set.start, set.count);
        return {};
      }
      if (message.files.size() != set.count)
        return {.fatal = "the numbers of interrupts and files differ"};
      return interrupts_.Set(set.start, std::move(message.files))
                 ? Outcome{}
                 : Refuse(EINVAL, "the files of interrupts must be eventfds");
    case kIrqDataBool:
      if (data.size() < set.count) return {.fatal = kCutOff};
      [[fallthrough]];
    case kIrqDataNone:
      for (uint32_t i = 0; i < set.count; ++i) {
        if ((set.flags & kIrqDataNone) != 0 || data[i] != 0) interrupts_.Raise(set.start + i);
      }
      return {};
    default:
      return Refuse(EINVAL, "a request for interrupts must have exactly one kind of data");
  }
}

Session::Outcome Session::MapMemory(const Message& message) {
  DmaMap map;
  if (!Get(message, &map)) return {.fatal = kCutOff};
  if (message.files.size() > 1) return {.fatal = "a mapping has more than one file"};
  const base::OwnedFd none;
  const base::OwnedFd& file = message.files.empty() ? none : message.files[0];
  // QEMU also sends DMA maps for this function's BARs that it has mapped. The device must not
  // access BARs by DMA.
  if (!file && host_->IsBar(map.address, map.bytes)) map.flags = 0;
  const char* wrong = nullptr;
  if (file) {
    wrong = memory_.Map(map, file);
  } else {
    parts_.model.ChangeMemory([&] { wrong = memory_.Map(map, file); });
  }
  if (wrong != nullptr) return Refuse(EINVAL, wrong);
  return {};
}

Session::Outcome Session::UnmapMemory(const Message& message) {
  DmaUnmap unmap;
  if (!Get(message, &unmap)) return {.fatal = kCutOff};
  if (const char* const wrong = memory_.WhyNotUnmap(unmap)) return Refuse(EINVAL, wrong);
  parts_.model.ChangeMemory([&] { memory_.Unmap(unmap); });
  interrupts_.WritesArrived();
  return {.payload = Bytes(unmap)};
}

bool Session::HasBytes(uint32_t region, uint64_t offset, uint64_t count) const {
  const uint64_t bytes = host_->RegionBytes(region);
  return offset < bytes && count <= bytes - offset;
}

Session::Outcome Session::ReadRegion(const Message& message) {
  RegionAccess access;
  if (!Get(message, &access)) return {.fatal = kCutOff};
  if (access.count > kMaxTransferBytes) return {.fatal = "a read is longer than a message"};
  // Reads without a reply are rejected, because they could keep this process busy indefinitely.
  if ((message.header.flags & kNoReplyFlag) != 0)
    return {.fatal = "a read does not request a reply"};
  if (!HasBytes(access.region, access.offset, access.count)) {
    return Refuse(EINVAL, "an access exceeds its region");
  }
  if (host_->AsksModel(access.region) && access.count > kMaxRegisterBytes) {
    return Refuse(EINVAL, "a read exceeds 4096 bytes of registers");
  }
  std::vector<uint8_t> payload = Bytes(access);
  payload.resize(sizeof(access) + access.count);
  host_->Read(access.region, access.offset, std::span(payload).subspan(sizeof(access)));
  return {.payload = std::move(payload)};
}

Session::Outcome Session::WriteRegion(const Message& message) {
  RegionAccess access;
  if (!Get(message, &access)) return {.fatal = kCutOff};
  if (message.payload.size() - sizeof(access) != access.count) {
    return {.fatal = "a write's length differs from its header"};
  }
  if (!HasBytes(access.region, access.offset, access.count)) {
    return Refuse(EINVAL, "an access exceeds its region");
  }
  host_->Write(access.region, access.offset, std::span(message.payload).subspan(sizeof(access)));
  return {.payload = Bytes(access)};
}

Session::Outcome Session::WriteMultiple(const Message& message) {
  uint64_t count;
  if (!agreement_.write_multiple) return {.fatal = "multiple writes were not negotiated"};
  if (!Get(message, &count)) return {.fatal = kCutOff};
  const std::span<const uint8_t> writes = std::span(message.payload).subspan(sizeof(count));
  if (count != writes.size() / sizeof(SingleWrite) || writes.size() % sizeof(SingleWrite) != 0) {
    return {.fatal = "the length of writes differs from the header"};
  }
  for (size_t i = 0; i < count; ++i) {
    SingleWrite write;
    std::memcpy(&write, &writes[i * sizeof(write)], sizeof(write));
    if (write.count == 0 || write.count > sizeof(write.value)) {
      return {.fatal = "a write does not have the size of a register"};
    }
    if (!HasBytes(write.region, write.offset, write.count)) {
      return Refuse(EINVAL, "an access exceeds its region");
    }
    std::array<uint8_t, sizeof(write.value)> value;
    std::memcpy(value.data(), &write.value, value.size());
    host_->Write(write.region, write.offset, std::span(value).first(write.count));
  }
  return {.payload = Bytes(count)};
}

}  // namespace sluice::emulator::vfio_user
