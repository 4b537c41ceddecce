// SPDX-License-Identifier: BSD-3-Clause
#include "health.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "health_state.h"
#include "ping.h"

namespace sluice::maglev {

namespace {

using engine::maglev::BackendSetup;
using engine::maglev::BackendState;
using engine::maglev::IpAddress;
using engine::maglev::Tables;
using engine::maglev::VipSetup;

constexpr int kLookMs = 50;  // Longest time between two looks at clock, stop and configuration.

// A body is of no interest: the status decides.
size_t Discard(char* /*data*/, size_t size, size_t count, void* /*user*/) { return size * count; }

}  // namespace

std::string CheckUrl(const HealthCheck& check, const VipSetup& vip, const BackendSetup& backend) {
  const std::string host = backend.address.ToString();
  const uint16_t port = check.port != 0 ? check.port : backend.port != 0 ? backend.port : vip.port;
  return "http://" + (backend.address.ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port) +
         (check.kind == HealthCheck::Kind::kHttp ? check.path : "/");
}

/// All TCP and HTTP checks that are under way.
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

/// A backend that is checked.
class HealthMonitor::Target {
 public:
  Target(const HealthCheck& check, std::string url, const IpAddress& address, Curl& curl)
      : check_(check),
        url_(std::move(url)),
        address_(address),
        curl_(curl),
        state_(check.rise, check.fall) {}
  ~Target() { Stop(); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  bool IsSame(const HealthCheck& check, const std::string& url) const {
    return check_ == check && url_ == url;
  }
  bool healthy() const { return state_.healthy(); }
  int fd() const { return ping_ ? ping_->fd() : -1; }
  CURL* transfer() const { return easy_; }
  Clock::time_point due() const { return IsUnderWay() ? deadline_ : next_; }

  /// Begins a check that is due. The outcome, once there is one.
  std::optional<bool> Tick(Clock::time_point now) {
    if (!IsUnderWay() && now >= next_) Start(now);
    if (ping_ && (ping_->failed() || ping_->IsAnswered())) return Finish(!ping_->failed());
    if (IsUnderWay() && now >= deadline_) return Finish(false);
    return std::nullopt;
  }
  /// curl is done.
  bool Finished(CURLcode code) {
    long status = 0;
    if (check_.kind == HealthCheck::Kind::kHttp) {
      curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    }
    const bool answered =
        check_.kind == HealthCheck::Kind::kTcp ? code == CURLE_OK : status >= 200 && status < 400;
    return Finish(code == CURLE_OK && answered);
  }
  /// True: it changed.
  bool Observe(bool success) { return state_.Observe(success); }

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
    curl_easy_setopt(easy_, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(easy_, CURLOPT_PROXY, "");
    curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy_, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy_, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy_, CURLOPT_USERAGENT, "sluice-maglev");
    curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, Discard);
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

  bool Finish(bool success) {
    Stop();
    return success;
  }

  const HealthCheck check_;
  const std::string url_;
  const IpAddress address_;
  Curl& curl_;
  HealthState state_;
  std::optional<Ping> ping_;
  CURL* easy_ = nullptr;
  Clock::time_point next_{};      ///< When the next check begins.
  Clock::time_point deadline_{};  ///< When the one under way has failed.
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
  control_.View([&](const Config& config, const Tables&) {
    for (size_t i = 0; i < config.setup.vips.size(); ++i) {
      const VipSetup& vip = config.setup.vips[i];
      const std::optional<HealthCheck>& check = config.health[i];
      for (const BackendSetup& backend : vip.backends) {
        if (!check || backend.state == BackendState::kDown) continue;
        const BackendId id{vip.name, backend.name};
        const std::string url = CheckUrl(*check, vip, backend);
        const auto old = targets_.find(id);
        next[id] = old != targets_.end() && old->second->IsSame(*check, url)
                       ? std::move(old->second)
                       : std::make_unique<Target>(*check, url, backend.address, *curl_);
      }
    }
  });
  std::swap(targets_, next);
  std::vector<std::pair<BackendId, bool>> known;
  // A backend that is asked no more, or in another way, begins as healthy.
  for (const auto& [id, old] : next) {
    if (old != nullptr && !old->healthy()) known.emplace_back(id, true);
  }
  // One that was gone for a moment is forgotten there, and is still the same here.
  for (const auto& [id, target] : targets_) {
    if (!target->healthy()) known.emplace_back(id, false);
  }
  control_.SetHealthy(known);
}

void HealthMonitor::Tick(Clock::time_point now) {
  std::vector<std::pair<BackendId, bool>> changed;
  const auto observe = [&](const BackendId& id, Target& target, bool success) {
    if (target.Observe(success)) changed.emplace_back(id, target.healthy());
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
    if (const std::optional<bool> outcome = target->Tick(now)) observe(id, *target, *outcome);
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
