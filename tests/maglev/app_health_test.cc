// SPDX-License-Identifier: BSD-3-Clause
//
// Tests which events change a backend's health. Backends are sockets of this process.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control.h"
#include "health.h"
#include "health_state.h"
#include "local_fault.h"

namespace sluice::maglev {
namespace {

using engine::maglev::BackendSetup;
using engine::maglev::IpAddress;
using engine::maglev::Tables;
using engine::maglev::VipSetup;
using nlohmann::json;

constexpr CheckOutcome kSuccess = CheckOutcome::kSuccess, kFailure = CheckOutcome::kFailure;

TEST(HealthState, FallFailuresInARowAndRiseSuccessesInARowDecide) {
  HealthState state;
  const auto observe = [&](CheckOutcome outcome) { return state.Observe(outcome, 2, 3); };
  EXPECT_TRUE(state.healthy());
  EXPECT_FALSE(observe(kFailure));
  EXPECT_FALSE(observe(kFailure));
  EXPECT_FALSE(observe(kSuccess));  // This interrupts the sequence.
  EXPECT_FALSE(observe(kFailure));
  EXPECT_FALSE(observe(CheckOutcome::kNoResult));  // This does not interrupt the sequence.
  EXPECT_FALSE(observe(kFailure));
  EXPECT_TRUE(observe(kFailure));
  EXPECT_FALSE(state.healthy());
  EXPECT_FALSE(observe(kSuccess));
  EXPECT_FALSE(observe(kFailure));
  EXPECT_FALSE(observe(kSuccess));
  EXPECT_TRUE(observe(kSuccess));
  EXPECT_TRUE(state.healthy());
}

TEST(HealthCheck, GoesToThePortThatIsMostParticular) {
  VipSetup vip;
  vip.port = 80;
  BackendSetup backend;
  backend.address = *IpAddress::Parse("10.1.0.1");
  HealthCheck check;
  check.kind = HealthCheck::Kind::kHttp;
  check.path = "/up";
  EXPECT_EQ(CheckUrl(check, vip, backend), "http://10.1.0.1:80/up");
  backend.port = 8080;
  EXPECT_EQ(CheckUrl(check, vip, backend), "http://10.1.0.1:8080/up");
  check.port = 9090;
  EXPECT_EQ(CheckUrl(check, vip, backend), "http://10.1.0.1:9090/up");
  backend.address = *IpAddress::Parse("fc00::1");
  check.kind = HealthCheck::Kind::kTcp;
  EXPECT_EQ(CheckUrl(check, vip, backend), "http://[fc00::1]:9090/");
}

TEST(LocalFault, TellsThisHostsErrorsFromTheNetworks) {
  for (const int error : {EMFILE, ENFILE, EPERM, ENOBUFS, ENOMEM, EADDRNOTAVAIL, EAGAIN}) {
    EXPECT_TRUE(IsLocalFault(error)) << error;
  }
  // Errors that are not local: none; those caused by a backend that refuses or is unreachable; and
  // those caused by a router.
  for (const int error : {0, ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ECONNRESET}) {
    EXPECT_FALSE(IsLocalFault(error)) << error;
  }
  EXPECT_EQ(FaultOfSending(*IpAddress::Parse("127.0.0.1")), 0);
}

/// Listens on a port of the loopback address and handles each connection with `serve`.
class Listener {
 public:
  explicit Listener(std::function<void(int)> serve) : serve_(std::move(serve)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    EXPECT_EQ(listen(fd_, 100), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int fd = -1; (fd = accept(fd_, nullptr, nullptr)) >= 0; ++served_) {
        serve_(fd);
        close(fd);
      }
    });
  }
  ~Listener() { Stop(); }
  /// Closes the listening socket, so that connections are refused.
  void Stop() {
    if (!thread_.joinable()) return;
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  int port() const { return port_; }
  int served() const { return served_; }

 private:
  std::function<void(int)> serve_;
  int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::atomic<int> served_{0};
  std::thread thread_;
};

void Send(int fd, const std::string& text) { send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

/// Returns VIPs with one backend "b" each. The backends are checked at the given ports.
json Checked(const std::vector<std::pair<std::string, int>>& ports, const json& health) {
  json config = {{"next_hop", "02:00:00:00:00:01"}, {"connections", 1000}, {"slots", 7}};
  int number = 0;
  for (const auto& [name, port] : ports) {
    json vip = {{"name", name},
                {"address", "10.0.0." + std::to_string(++number)},
                {"port", 80},
                {"health", health},
                {"backends", {{{"name", "b"}, {"address", "127.0.0.1"}}}}};
    vip["health"]["port"] = port;
    config["vips"].push_back(vip);
  }
  return config;
}

Config ParseOrFail(const json& config) {
  std::vector<std::string> errors;
  auto parsed = ParseConfig(config.dump(), &errors);
  EXPECT_TRUE(parsed) << (errors.empty() ? "" : errors.front());
  return parsed.value_or(Config());
}

bool IsUp(const Control& control, const std::string& vip_name) {
  bool up = false;
  control.View([&](const Config&, const Tables& tables) {
    for (const VipSetup& vip : tables.setup().vips) {
      if (vip.name == vip_name) up = vip.backends[0].state == engine::maglev::BackendState::kUp;
    }
  });
  return up;
}

bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

const json kQuick = {
    {"type", "tcp"}, {"interval_s", 0.05}, {"timeout_s", 60}, {"fall", 1}, {"rise", 1}};

/// The network loses every third check. This makes backends unhealthy one after another, and
/// sometimes all of them.
TEST(FailOpen, UnderLossABackendServesUnlessItIsKnownToBeWorseThanAnother) {
  constexpr size_t kBackends = 3;
  constexpr int kFall = 2, kRise = 3;
  for (const bool fail_open : {false, true}) {
    json config =
        Checked({{"web", 80}},
                {{"type", "tcp"}, {"fall", kFall}, {"rise", kRise}, {"fail_open", fail_open}});
    json& backends = config["vips"][0]["backends"];
    backends = json::array();
    for (size_t i = 0; i < kBackends; ++i) {
      backends.push_back({{"name", std::to_string(i)}, {"address", "127.0.0.1"}});
    }
    Control control(ParseOrFail(config), "", 1);
    std::array<HealthState, kBackends> states;
    std::array<int, kBackends> lost{}, answered{};
    std::array<bool, kBackends> healthy;
    healthy.fill(true);
    std::mt19937 draw(7);
    uint64_t rounds_without_any = 0;
    for (int round = 0; round < 3000; ++round) {
      std::vector<std::pair<BackendId, bool>> changes;
      for (size_t i = 0; i < kBackends; ++i) {
        const bool lose = draw() % 3 == 0;
        lost[i] = lose ? lost[i] + 1 : 0;
        answered[i] = lose ? 0 : answered[i] + 1;
        if (healthy[i] ? lost[i] == kFall : answered[i] == kRise) healthy[i] = !healthy[i];
        if (states[i].Observe(lose ? kFailure : kSuccess, kRise, kFall)) {
          changes.push_back({{"web", std::to_string(i)}, states[i].healthy()});
        }
      }
      control.SetHealthy(changes);
      const bool any = std::ranges::find(healthy, true) != healthy.end();
      rounds_without_any += !any;
      control.View([&](const Config&, const Tables& tables) {
        const VipSetup& vip = tables.setup().vips[0];
        ASSERT_EQ(vip.failed_open, fail_open && !any) << round;
        for (size_t i = 0; i < kBackends; ++i) {
          const bool serves = any ? healthy[i] : fail_open;
          ASSERT_EQ(vip.backends[i].state == engine::maglev::BackendState::kUp, serves) << round;
        }
      });
    }
    EXPECT_GT(rounds_without_any, 20u);
  }
}

TEST(HealthMonitor, AReloadOfItsPaceKeepsWhatItFoundOut) {
  Listener good([](int) {});
  Listener bad([](int) {});
  bad.Stop();
  const std::string path = testing::TempDir() + "/maglev_health_" + std::to_string(getpid());
  json config = Checked({{"good", good.port()}, {"bad", bad.port()}}, kQuick);
  Control control(ParseOrFail(config), path, 1);
  const HealthMonitor monitor(control);
  ASSERT_TRUE(Eventually([&] { return !IsUp(control, "bad"); }));
  // If the check started with a new state, the backend would stay up for more than a minute with
  // this `fall`.
  for (json& vip : config["vips"]) {
    vip["health"].update({{"interval_s", 0.06}, {"timeout_s", 59}, {"fall", 1000}});
  }
  std::ofstream(path) << config.dump();
  ASSERT_EQ(control.Reload(), "");
  const int before = good.served();
  ASSERT_TRUE(Eventually([&] { return good.served() > before + 3; })) << "it has seen the reload";
  EXPECT_FALSE(IsUp(control, "bad"));
  // A different type of check has a separate state.
  config["vips"][1]["health"]["type"] = "http";
  std::ofstream(path) << config.dump();
  ASSERT_EQ(control.Reload(), "");
  EXPECT_TRUE(Eventually([&] { return IsUp(control, "bad"); }));
  unlink(path.c_str());
}

TEST(HealthMonitor, AHostWithoutDescriptorsDecidesNothing) {
  Listener listener([](int) {});
  Control control(ParseOrFail(Checked({{"tcp", listener.port()}}, kQuick)), "", 1);
  const HealthMonitor monitor(control);
  ASSERT_TRUE(Eventually([&] { return listener.served() > 0; }));
  // Use all descriptors below the limit. When a check ends, it frees one.
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{64, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> in_use;
  EXPECT_TRUE(Eventually([&] {
    for (int fd = -1; (fd = dup(STDERR_FILENO)) >= 0;) in_use.push_back(fd);
    return control.no_results() > 3;
  }));
  EXPECT_TRUE(IsUp(control, "tcp"));
  for (const int fd : in_use) close(fd);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  listener.Stop();
  EXPECT_TRUE(Eventually([&] { return !IsUp(control, "tcp"); })) << "it asks again";
}

TEST(HealthMonitor, HttpIsDecidedByTheStatusLineHoweverTheAnswerGoesOn) {
  const auto answer = [](const std::string& text) { return [text](int fd) { Send(fd, text); }; };
  Listener cut(answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc"));
  Listener no_body(answer("HTTP/1.1 204 No Content\r\n"));
  Listener after_continue(answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"));
  std::atomic<bool> stop{false};
  Listener endless([&](int fd) {
    Send(fd, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string more(1000, 'x');
    while (!stop && send(fd, more.data(), more.size(), MSG_NOSIGNAL) > 0) continue;
  });
  Listener error(answer("HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nabc"));
  Listener only_continue(answer("HTTP/1.1 100 Continue\r\n\r\n"));
  Listener no_http(answer("SSH-2.0-x\r\n"));
  json health = kQuick;
  health["type"] = "http";
  Control control(ParseOrFail(Checked({{"cut", cut.port()},
                                       {"no_body", no_body.port()},
                                       {"after_continue", after_continue.port()},
                                       {"endless", endless.port()},
                                       {"error", error.port()},
                                       {"only_continue", only_continue.port()},
                                       {"no_http", no_http.port()}},
                                      health)),
                  "", 1);
  {
    const HealthMonitor monitor(control);
    for (const char* name : {"error", "only_continue", "no_http"}) {
      EXPECT_TRUE(Eventually([&] { return !IsUp(control, name); })) << name;
    }
    for (const Listener* listener : {&cut, &no_body, &after_continue, &endless}) {
      EXPECT_TRUE(Eventually([&] { return listener->served() > 2; })) << "an answer has an end";
    }
    for (const char* name : {"cut", "no_body", "after_continue", "endless"}) {
      EXPECT_TRUE(IsUp(control, name)) << name;
    }
  }
  stop = true;
}

}  // namespace
}  // namespace sluice::maglev
