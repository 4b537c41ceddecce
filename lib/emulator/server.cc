// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/server.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "emulator/log.h"
#include "emulator/model.h"
#include "emulator/queue_memory.h"

namespace sluice::emulator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Returns whether `request`, of which `bytes` bytes were received, is a valid request in this
/// protocol version. If so, sets `*name`; otherwise sets `*wrong` to the reason.
bool IsRequest(const Request& request, size_t bytes, std::string_view* name, const char** wrong) {
  if (bytes != sizeof(request)) {
    *wrong = "a message does not have the length of a request";
  } else if (request.magic != kMessageMagic) {
    *wrong = "a message is not a request";
  } else if (request.version != kProtocolVersion) {
    *wrong = "protocol version mismatch; use the driver of this build";
  } else if (!GetText(request.name, name)) {
    *wrong = "a name has no terminating null or is not printable";
  } else {
    return true;
  }
  return false;
}

/// Returns the reason for a failed receive; empty if the peer is gone.
std::string WhyNot(const Channel& channel) {
  pollfd end = {channel.fd(), POLLRDHUP, 0};
  return poll(&end, 1, 0) != 0 ? "" : "a message is too long or empty, or has more than one file";
}

void Refuse(Channel& channel, uint32_t sequence, std::string_view why) {
  Reply reply;
  reply.sequence = sequence;
  reply.refused = 1;
  SetText(reply.text, why);
  channel.Send(&reply, sizeof(reply));
}

bool SameFile(int a, int b) {
  struct stat first {
  }, second{};
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace

const char* NamedMemory::WhyNot(std::string_view name) const {
  const Entry* const known = Find(name);
  if (known != nullptr) return known->bus != 0 ? "the name of the memory is in use" : nullptr;
  const bool all_attached = std::all_of(entries_.begin(), entries_.end(),
                                        [](const auto& entry) { return entry.second.bus != 0; });
  return entries_.size() >= kMaxNames && all_attached ? "too many named memories" : nullptr;
}

void NamedMemory::Keep(std::string_view name, Entry entry) {
  entry.order = ++latest_;
  if (entries_.size() >= kMaxNames && Find(name) == nullptr) {
    // The attached host's entries are replaced last.
    const auto age = [](const auto& e) { return std::pair(e.second.bus != 0, e.second.order); };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [&](const auto& a, const auto& b) { return age(a) < age(b); }));
  }
  entries_.insert_or_assign(std::string(name), std::move(entry));
}

const NamedMemory::Entry* NamedMemory::Find(std::string_view name) const {
  const auto entry = entries_.find(name);
  return entry != entries_.end() ? &entry->second : nullptr;
}

void NamedMemory::Forget(std::string_view name) {
  if (const auto entry = entries_.find(name); entry != entries_.end()) entries_.erase(entry);
}

void NamedMemory::Detach() {
  for (auto& [name, entry] : entries_) entry.bus = 0;
}

std::unique_ptr<Server> Server::Create(ServerOptions options, HostedModel& model,
                                       std::string* error) {
  std::unique_ptr<Listener> listener = Listener::Create(options.path, error);
  if (listener == nullptr) return nullptr;
  return std::unique_ptr<Server>(new Server(std::move(options), model, std::move(listener)));
}

Server::Server(ServerOptions options, HostedModel& model, std::unique_ptr<Listener> listener)
    : options_(std::move(options)), model_(model), listener_(std::move(listener)) {}

Server::~Server() { Reset(); }

bool Server::Turn(int wake, milliseconds patience) {
  if (newcomer_ != nullptr) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(newcomer_->deadline - steady_clock::now());
    if (left.count() <= 0) newcomer_.reset();
    patience = std::clamp(left, milliseconds(0), patience);
  }
  // Accepts the next newcomer only after the previous one has sent its hello.
  const int newcomers = newcomer_ == nullptr ? listener_->Await(&patience) : -1;
  std::array<pollfd, 5> wait = {{{wake, POLLIN, 0},
                                 {host_ != nullptr ? host_->channel.fd() : -1, POLLIN, 0},
                                 {newcomer_ != nullptr ? newcomer_->channel.fd() : -1, POLLIN, 0},
                                 {newcomers, POLLIN, 0},
                                 {host_ != nullptr ? host_->alarm.fd() : -1, POLLIN, 0}}};
  poll(wait.data(), wait.size(), static_cast<int>(patience.count()));
  if (wait[0].revents != 0) return false;
  // Handles the current host first: a newcomer may have connected because that host is gone.
  if (wait[4].revents != 0) {
    EndLink("the host truncated memory that the device uses");
  } else if (wait[1].revents != 0) {
    Attempt(&Server::Answer);
  }
  // If memory ran out while the host was served, the newcomer has also been closed.
  if (wait[2].revents != 0 && newcomer_ != nullptr) Attempt(&Server::Greet);
  if (wait[3].revents != 0) Attempt(&Server::Accept);
  return true;
}

void Server::Attempt(void (Server::*step)()) {
  try {
    (this->*step)();
  } catch (const std::bad_alloc&) {
    newcomer_.reset();
    if (host_ != nullptr) EndLink("out of memory");
  }
}

void Server::Accept() {
  base::OwnedFd socket = listener_->Accept();
  if (!socket) return;
  const std::optional<Peer> peer = PeerOf(socket);
  if (!peer || !IsOwnOrRoot(peer->uid)) {
    Log(RTE_LOG_ERR, "rejected a connection from another user's process");
    return;
  }
  newcomer_ = std::make_unique<Visitor>();
  newcomer_->channel = Channel(std::move(socket));
  newcomer_->pid = peer->pid;
  newcomer_->deadline = steady_clock::now() + kMessagePatience;
}

void Server::Greet() {
  std::unique_ptr<Visitor> peer = std::move(newcomer_);
  Request hello;
  base::OwnedFd queue;
  const auto bytes = peer->channel.Receive(&hello, sizeof(hello), &queue, milliseconds(0));
  std::string_view name;
  const char* wrong = nullptr;
  std::string refusal = WhyNot(peer->channel);
  // A newcomer that gave up while this process was suspended must not cause a reset.
  if (refusal.empty()) return;
  Reply reply;
  if (!bytes) {
    wrong = refusal.c_str();
  } else if (IsRequest(hello, *bytes, &name, &wrong)) {
    if (host_ != nullptr) {
      refusal = "the device already serves process " + std::to_string(host_->pid) +
                ": end it, or start another sluice-device with --socket";
      wrong = refusal.c_str();
    } else {
      host_ = std::make_unique<Host>();
      static_cast<Visitor&>(*host_) = std::move(*peer);
      wrong = Admit(hello, std::move(queue), &refusal, &reply);
      if (wrong == nullptr) {
        ++hosts_;
        host_name_ = name;
        Log(RTE_LOG_INFO, host_name_ + " of process " + std::to_string(host_->pid) + " attached");
        reply.sequence = hello.sequence;
        if (!host_->channel.Send(&reply, sizeof(reply))) EndDeaf();
        return;
      }
      static_cast<Visitor&>(*peer) = std::move(*host_);
      host_.reset();
    }
  }
  Log(RTE_LOG_ERR, "refused process " + std::to_string(peer->pid) + ": " + wrong);
  Refuse(peer->channel, 1, wrong);
}

const char* Server::Admit(const Request& hello, base::OwnedFd queue, std::string* refusal,
                          Reply* reply) {
  if (hello.kind != Kind::kHello || hello.sequence != 1) return "the first message is not a hello";
  std::string_view model;
  if (!GetText(hello.model, &model)) return "the name of the model has no terminating null";
  if (model != options_.model->name) {
    *refusal = "this device is " + std::string(options_.model->title) + "; attach " +
               std::string(options_.model->driver) +
               ", or start sluice-device with --model=" + std::string(model);
    return refusal->c_str();
  }
  const std::span<const ModelSetting> settings = options_.model->settings;
  SettingValues agreed{};
  bool agree = true;
  for (size_t i = 0; i < settings.size(); ++i) {
    agree &= Agree(settings[i], options_.settings[i], hello.settings[i], &agreed[i]);
  }
  if (!agree) {
    *refusal = "the host needs a sluice-device with ";
    for (size_t i = 0; i < settings.size(); ++i) {
      *refusal +=
          "--" + std::string(settings[i].key) + "=" + settings[i].Text(hello.settings[i]) + " ";
    }
    *refusal += "or none of these flags";
    return refusal->c_str();
  }
  if (hello.bytes != QueueBytes())
    return "the register queue's size differs from the size in this build";
  host_->queue_memory = bar::RingMemory::FromFile(queue.Release(), hello.bytes, false);
  if (!host_->queue_memory) return "the register queue's file cannot be mapped";
  host_->queue_guard = GuardedRange(host_->queue_memory.data(), host_->queue_memory.bytes(),
                                    GuardedRange::Loss::kRange, host_->alarm);
  if (!host_->queue_guard) return "sluice-device has run out of file descriptors";
  if (!model_.Connect(agreed, *host_->dma, FindQueue(host_->queue_memory), refusal)) {
    return refusal->c_str();
  }
  std::copy(model_.mac().begin(), model_.mac().end(), reply->mac);
  return nullptr;
}

void Server::Answer() {
  Request request;
  base::OwnedFd file;
  const auto bytes = host_->channel.Receive(&request, sizeof(request), &file, milliseconds(0));
  if (!bytes) return EndLink(WhyNot(host_->channel));
  std::string_view name;
  const char* wrong = nullptr;
  if (!IsRequest(request, *bytes, &name, &wrong)) return EndLink(wrong);
  if (request.sequence != ++host_->sequence) return EndLink("a request is out of sequence");

  if (request.kind == Kind::kStatistics) {
    const std::vector<Statistic> statistics = model_.Statistics();
    const size_t count = std::min<size_t>(statistics.size(), kMaxStatistics);
    std::vector<uint8_t> message(sizeof(Reply) + count * sizeof(StatisticEntry));
    Reply reply;
    reply.sequence = request.sequence;
    reply.count = static_cast<uint32_t>(count);
    std::memcpy(message.data(), &reply, sizeof(reply));
    for (size_t i = 0; i < count; ++i) {
      StatisticEntry entry;
      entry.value = statistics[i].value;
      SetText(entry.name, statistics[i].name);
      std::memcpy(message.data() + sizeof(reply) + i * sizeof(entry), &entry, sizeof(entry));
    }
    if (!host_->channel.Send(message.data(), message.size())) EndDeaf();
    return;
  }
  Reply reply;
  reply.sequence = request.sequence;
  int kept = -1;
  if (request.kind == Kind::kAdopt) {
    const NamedMemory::Entry* const named = names_.Find(name);
    if (named != nullptr && named->bus == 0) {
      kept = named->file.fd();
      reply.bytes = named->bytes;
      if (named->mirrored) reply.flags |= kMirrored;
    }
    wrong = kept < 0 ? "no memory has that name" : nullptr;
  } else {
    wrong = Handle(request, std::move(file), &reply);
  }
  if (wrong != nullptr) return Refuse(host_->channel, request.sequence, wrong);
  if (!host_->channel.Send(&reply, sizeof(reply), kept)) EndDeaf();
}

const char* Server::Handle(const Request& request, base::OwnedFd file, Reply* reply) {
  std::string_view name;
  GetText(request.name, &name);
  switch (request.kind) {
    case Kind::kMemory:
      if (!file) return "memory has no file";
      return host_->mappings.AddMemory(
          {request.bus, request.bytes, request.offset, request.area_bus, request.area_bytes},
          file.fd());
    case Kind::kForget:
      return host_->mappings.RemoveMemory(request.bus, request.bytes);
    case Kind::kMap:
      return Map(request, name, std::move(file));
    case Kind::kUnmap:
      return Unmap(request, name);
    case Kind::kInterrupts:
      return AcceptInterruptSocket(std::move(file));
    case Kind::kEnableWire:
      model_.EnableWire((request.flags & kEnabled) != 0);
      return nullptr;
    case Kind::kWireUp:
      if (model_.WireUp()) reply->flags |= kEnabled;
      return nullptr;
    default:
      return "unknown kind of request";
  }
}

const char* Server::Map(const Request& request, std::string_view name, base::OwnedFd file) {
  if (!file) return "a ring has no file";
  if ((request.flags & kExternal) != 0) {
    if (!name.empty()) return "memory of an application has no name";
    return host_->mappings.AddExternal(request.bus, request.bytes, request.offset, file.fd());
  }
  if (!name.empty()) {
    if (const char* const wrong = names_.WhyNot(name)) return wrong;
  }
  if (const char* const wrong = host_->mappings.AddRing(request.bus, request.bytes, file.fd())) {
    return wrong;
  }
  if (name.empty()) return nullptr;
  const NamedMemory::Entry* const known = names_.Find(name);
  if (known != nullptr && !SameFile(known->file.fd(), file.fd())) {
    Log(RTE_LOG_INFO, "replaced the memory with the name " + std::string(name));
  }
  names_.Keep(name, {.file = std::move(file),
                     .bytes = request.bytes,
                     .mirrored = (request.flags & kMirrored) != 0,
                     .bus = request.bus});
  return nullptr;
}

const char* Server::Unmap(const Request& request, std::string_view name) {
  if (!name.empty()) {
    const NamedMemory::Entry* const named = names_.Find(name);
    if (named == nullptr || named->bus != request.bus) return "the memory has no such name";
    names_.Forget(name);
    if (request.bus == 0) return nullptr;
  }
  return host_->mappings.RemoveRing(request.bus);
}

const char* Server::AcceptInterruptSocket(base::OwnedFd socket) {
  if (!InterruptSocket::Is(socket)) return "the descriptor for interrupts is not a message socket";
  model_.SetInterrupts(nullptr);
  host_->interrupts = InterruptSocket(std::move(socket));
  model_.SetInterrupts(&host_->interrupts);
  return nullptr;
}

void Server::EndLink(std::string_view reason) {
  // The order matters: first the device stops, then the host is notified, then the host's memory is
  // unmapped.
  const pid_t pid = host_->pid;
  model_.Disconnect(reason.empty());
  if (host_->queue_memory) FindQueue(host_->queue_memory)->MarkLinkDown();
  host_.reset();
  names_.Detach();
  try {
    const std::string who = host_name_ + " of process " + std::to_string(pid);
    if (reason.empty()) {
      Log(RTE_LOG_INFO, who + " is gone");
    } else {
      Log(RTE_LOG_ERR, (who + " is disconnected: ").append(reason));
    }
  } catch (const std::bad_alloc&) {  // The host has been disconnected; only the log message is
                                     // missing.
  }
}

void Server::EndDeaf() {
  pollfd peer = {host_->channel.fd(), 0, 0};
  poll(&peer, 1, 0);
  EndLink((peer.revents & POLLHUP) != 0 ? "" : "the host does not read answers");
}

std::string Server::Attached() const {
  if (host_ == nullptr) return "";
  return host_name_ + " of process " + std::to_string(host_->pid);
}

void Server::Reset() {
  newcomer_.reset();
  if (host_ != nullptr) EndLink("the link is reset");
}

}  // namespace sluice::emulator
