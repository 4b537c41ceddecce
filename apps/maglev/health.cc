// SPDX-License-Identifier: BSD-3-Clause
#include "health.h"

#include <curl/curl.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/maglev/address.h"
#include "health_state.h"
#include "local_fault.h"
#include "socket_address.h"

namespace sluice::maglev {

namespace {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::IpAddress;
using engine::maglev::Tables;
using engine::maglev::VipSetup;

/// ICMP echo over a non-blocking kernel ping socket. This needs no privilege if
/// net.ipv4.ping_group_range includes the process's group.
class Ping {
 public:
  /// Sends an echo request. failed() returns true if the kernel does not send it.
  explicit Ping(const engine::maglev::IpAddress& to);
  ~Ping();
  Ping(const Ping&) = delete;
  Ping& operator=(const Ping&) = delete;

  bool failed() const { return fd_ < 0; }
  /// Returns the errno of a local fault; 0 if there was none. See local_fault.h.
  int local_fault() const { return local_fault_; }
  /// Returns the descriptor to poll for reading; -1 after a failure.
  int fd() const { return fd_; }
  /// Reads all received messages. Returns true if the answer is among them.
  bool IsAnswered();

 private:
  bool Send(const engine::maglev::IpAddress& to);

  int fd_;
  int local_fault_ = 0;
  uint8_t answer_type_;
};

Ping::Ping(const engine::maglev::IpAddress& to)
    : fd_(socket(to.ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                 to.ipv6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP})),
      answer_type_(to.ipv6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) {
  if (fd_ < 0) {
    local_fault_ = errno;
  } else if (!Send(to)) {
    local_fault_ = IsLocalFault(errno) ? errno : 0;
    close(fd_);
    fd_ = -1;
  }
}

Ping::~Ping() {
  if (fd_ >= 0) close(fd_);
}

bool Ping::Send(const engine::maglev::IpAddress& to) {
  const SocketAddress address(to);
  // Only type and code are set; the kernel fills in checksum and identifier, and delivers replies
  // with the identifier to this socket. Each request has a separate socket, so a sequence number is
  // not needed.
  std::array<uint8_t, 16> request{};
  request[0] = to.ipv6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
  return connect(fd_, address.get(), address.bytes) == 0 &&
         send(fd_, request.data(), request.size(), 0) == static_cast<ssize_t>(request.size());
}

bool Ping::IsAnswered() {
  std::array<uint8_t, 64> reply;
  ssize_t bytes = 0;
  while ((bytes = recv(fd_, reply.data(), reply.size(), 0)) > 0) {
    if (reply[0] == answer_type_) return true;
  }
  return false;
}

constexpr int kLookMs = 50;  // Maximum interval between checks of the clock, the stop flag and the
                             // configuration.

// Ends a transfer at the first line with a final status (not 1xx). The other headers and the body
// are irrelevant, and either may be endless.
size_t ReadHeader(char* /*line*/, size_t size, size_t count, void* easy) {
  long status = 0;
  curl_easy_getinfo(static_cast<CURL*>(easy), CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 ? 0 : size * count;
}

// Opens a socket as curl does by default, and stores errno if this fails.
curl_socket_t OpenSocket(void* error, curlsocktype /*purpose*/, curl_sockaddr* address) {
  const int fd =
      socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address->protocol);
  if (fd < 0) *static_cast<int*>(error) = errno;
  return fd < 0 ? CURL_SOCKET_BAD : fd;
}

}  // namespace

std::string CheckUrl(const HealthCheck& check, const VipSetup& vip, const BackendSetup& backend) {
  const std::string host = backend.address.ToString();
  const uint16_t port = check.port != 0 ? check.port : backend.port != 0 ? backend.port : vip.port;
  return "http://" + (backend.address.ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) +
         (check.kind == HealthCheck::Kind::kHttp ? check.path : "/");
}

/// All TCP and HTTP checks in progress.
class HealthMonitor::Curl {
 public:
  Curl() : multi_((curl_global_init(CURL_GLOBAL_DEFAULT), curl_multi_init())) {}
  ~Curl() {
    curl_multi_cleanup(multi_);
    curl_global_cleanup();
  }
  CURLM* get() const { return multi_; }

 private:
  CURLM* multi_;
};

/// A backend with a health check.
class HealthMonitor::Target {
 public:
  Target(const HealthCheck& check, std::string url, const IpAddress& address, Curl& curl)
      : check_(check), url_(std::move(url)), address_(address), curl_(curl) {}
  ~Target() { Stop(); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// Returns whether `check` sends the same request to the backend.
  bool AsksTheSame(const HealthCheck& check, const std::string& url) const {
    return check_.kind == check.kind && url_ == url;
  }
  /// Changes the interval, the timeout and the thresholds. The state and a check in progress are
  /// not affected.
  void SetPace(const HealthCheck& check, Clock::time_point now) {
    check_ = check;
    next_ = std::min(next_, now + Seconds(check_.interval_s));
  }
  bool healthy() const { return state_.healthy(); }
  int fd() const { return ping_ ? ping_->fd() : -1; }
  CURL* transfer() const { return easy_; }
  Clock::time_point due() const { return IsUnderWay() ? deadline_ : next_; }
  /// Returns the reason (errno) why the last check has no result; 0 if it has a result.
  int fault() const { return fault_; }
  /// Returns whether the previous check had a different fault, or none.
  bool IsNewFault() const { return fault_ != fault_before_; }

  /// Starts a due check. Returns the outcome of a check once it is known.
  std::optional<CheckOutcome> Tick(Clock::time_point now) {
    if (!IsUnderWay() && now >= next_) {
      Start(now);
      if (!IsUnderWay()) return Finish(CheckOutcome::kFailure, ENOMEM);
    }
    if (ping_ && ping_->failed()) return Finish(CheckOutcome::kFailure, ping_->local_fault());
    if (ping_ && ping_->IsAnswered()) return Finish(CheckOutcome::kSuccess);
    if (!IsUnderWay() || now < deadline_) return std::nullopt;
    return Finish(CheckOutcome::kFailure, easy_ == nullptr ? 0 : FaultOfSending(address_));
  }
  /// Handles the end of a curl transfer. Returns the outcome of the check.
  CheckOutcome Finished(CURLcode code) {
    if (code == CURLE_COULDNT_CONNECT) {
      long error = socket_error_;
      if (error == 0) curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &error);
      const bool local = socket_error_ != 0 || IsLocalFault(static_cast<int>(error));
      return Finish(CheckOutcome::kFailure, local ? static_cast<int>(error) : 0);
    }
    long status = 0;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    const bool success =
        check_.kind == HealthCheck::Kind::kTcp ? code == CURLE_OK : status >= 200 && status < 400;
    return Finish(success ? CheckOutcome::kSuccess : CheckOutcome::kFailure);
  }
  /// Returns true if healthy() has changed.
  bool Observe(CheckOutcome outcome) { return state_.Observe(outcome, check_.rise, check_.fall); }

 private:
  static Clock::duration Seconds(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  bool IsUnderWay() const { return ping_ || easy_ != nullptr; }

  void Start(Clock::time_point now) {
    next_ = now + Seconds(check_.interval_s);
    deadline_ = now + Seconds(check_.timeout_s);
    if (check_.kind == HealthCheck::Kind::kIcmp) {
      ping_.emplace(address_);
      return;
    }
    easy_ = curl_easy_init();
    if (easy_ == nullptr) return;
    socket_error_ = 0;
    curl_easy_setopt(easy_, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy_, CURLOPT_USERAGENT, "sluice-maglev");
    curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, ReadHeader);
    curl_easy_setopt(easy_, CURLOPT_HEADERDATA, easy_);
    curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
    curl_easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, &socket_error_);
    if (check_.kind == HealthCheck::Kind::kTcp) {
      curl_easy_setopt(easy_, CURLOPT_CONNECT_ONLY, 1L);
    }
    curl_multi_add_handle(curl_.get(), easy_);
  }

  void Stop() {
    ping_.reset();
    if (easy_ == nullptr) return;
    curl_multi_remove_handle(curl_.get(), easy_);
    curl_easy_cleanup(easy_);
    easy_ = nullptr;
  }

  /// `fault`: errno of a fault of this host; 0 if there was none.
  CheckOutcome Finish(CheckOutcome outcome, int fault = 0) {
    Stop();
    fault_before_ = std::exchange(fault_, fault);
    return fault == 0 ? outcome : CheckOutcome::kNoResult;
  }

  HealthCheck check_;
  const std::string url_;
  const IpAddress address_;
  Curl& curl_;
  HealthState state_;
  std::optional<Ping> ping_;
  CURL* easy_ = nullptr;
  int socket_error_ = 0;  ///< Reason why curl got no socket; 0 if it got one.
  int fault_ = 0;
  int fault_before_ = 0;
  Clock::time_point next_{};      ///< Start of the next check.
  Clock::time_point deadline_{};  ///< Deadline of the check in progress.
};

HealthMonitor::HealthMonitor(Control& control)
    : control_(control), curl_(std::make_unique<Curl>()), thread_([this] { Run(); }) {}

HealthMonitor::~HealthMonitor() {
  stop_.store(true, std::memory_order_relaxed);
  curl_multi_wakeup(curl_->get());
  thread_.join();
  targets_.clear();
}

void HealthMonitor::Synchronise() {
  std::map<BackendId, std::unique_ptr<Target>> next;
  const Clock::time_point now = Clock::now();
  control_.View([&](const Config& config, const Tables&) {
    for (size_t i = 0; i < config.setup.vips.size(); ++i) {
      const VipSetup& vip = config.setup.vips[i];
      const std::optional<HealthCheck>& check = config.health[i];
      for (const BackendSetup& backend : vip.backends) {
        if (!check || backend.state == BackendState::kDown) continue;
        const BackendId id{vip.name, backend.name};
        const std::string url = CheckUrl(*check, vip, backend);
        const auto old = targets_.find(id);
        if (old != targets_.end() && old->second->AsksTheSame(*check, url)) {
          next[id] = std::move(old->second);
          next[id]->SetPace(*check, now);
        } else {
          next[id] = std::make_unique<Target>(*check, url, backend.address, *curl_);
        }
      }
    }
  });
  std::swap(targets_, next);
  std::vector<std::pair<BackendId, bool>> known;
  // A backend becomes healthy when its check is removed or replaced by a different one.
  for (const auto& [id, old] : next) {
    if (old != nullptr && !old->healthy()) known.emplace_back(id, true);
  }
  // Control forgets the state of a backend that is removed and added again quickly; its Target
  // keeps the state.
  for (const auto& [id, target] : targets_) {
    if (!target->healthy()) known.emplace_back(id, false);
  }
  control_.SetHealthy(known);
}

void HealthMonitor::Tick(Clock::time_point now) {
  std::vector<std::pair<BackendId, bool>> changed;
  const auto observe = [&](const BackendId& id, Target& target, CheckOutcome outcome) {
    if (outcome == CheckOutcome::kNoResult) {
      control_.CountNoResult();
      if (target.IsNewFault()) {
        std::fprintf(stderr, "health: no result for %s of %s: %s (keeping the backend's state)\n",
                     id.second.c_str(), id.first.c_str(), std::strerror(target.fault()));
      }
    }
    if (target.Observe(outcome)) changed.emplace_back(id, target.healthy());
  };
  int running = 0;
  curl_multi_perform(curl_->get(), &running);
  CURLMsg* message = nullptr;
  int left = 0;
  std::map<CURL*, CURLcode> done;
  while ((message = curl_multi_info_read(curl_->get(), &left)) != nullptr) {
    if (message->msg == CURLMSG_DONE) done[message->easy_handle] = message->data.result;
  }
  for (const auto& [id, target] : targets_) {
    const auto it = target->transfer() == nullptr ? done.end() : done.find(target->transfer());
    if (it != done.end()) observe(id, *target, target->Finished(it->second));
    if (const std::optional<CheckOutcome> outcome = target->Tick(now))
      observe(id, *target, *outcome);
  }
  for (const auto& [id, healthy] : changed) {
    std::fprintf(stderr, "health: %s of %s is %s\n", id.second.c_str(), id.first.c_str(),
                 healthy ? "back" : "not answering");
  }
  control_.SetHealthy(changed);
}

void HealthMonitor::Run() {
  uint64_t generation = ~uint64_t{0};
  while (!stop_.load(std::memory_order_relaxed)) {
    if (const uint64_t now = control_.configurations(); now != generation) {
      generation = now;
      Synchronise();
    }
    const Clock::time_point now = Clock::now();
    Tick(now);
    std::vector<curl_waitfd> pings;
    Clock::time_point next = now + std::chrono::milliseconds(kLookMs);
    for (const auto& [id, target] : targets_) {
      next = std::min(next, target->due());
      if (target->fd() >= 0) pings.push_back({target->fd(), CURL_WAIT_POLLIN, 0});
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    curl_multi_poll(curl_->get(), pings.data(), static_cast<unsigned>(pings.size()),
                    static_cast<int>(std::max<int64_t>(wait, 0)), nullptr);
  }
}

}  // namespace sluice::maglev
