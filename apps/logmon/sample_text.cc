// SPDX-License-Identifier: BSD-3-Clause
#include <absl/strings/str_format.h>

#include <array>
#include <random>
#include <string_view>

#include "sample.h"

namespace sluice::logmon {

namespace {

constexpr std::array<std::string_view, 6> kUsers{"root", "admin", "anna", "backup", "git", "ivo"};
constexpr std::array<std::string_view, 6> kPaths{"/",      "/cart",         "/item/17",
                                                 "/login", "/api/v1/flows", "/img/logo.png"};
constexpr std::array<int, 10> kStatuses{200, 200, 200, 200, 200, 204, 304, 404, 500, 503};

class Author {
 public:
  explicit Author(uint64_t seed) : random_(seed) {}

  std::string Line() {
    const uint32_t kind = Below(100);
    if (kind < 40) return Access();
    if (kind < 65) return Login();
    if (kind < 95) return Service();
    return Kernel();
  }

 private:
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  template <typename Choices>
  auto Pick(const Choices& choices) {
    return choices[Below(choices.size())];
  }
  std::string Address() {
    return absl::StrFormat("198.51.%d.%d", 100 + Below(4), 1 + Below(254));  // RFC 5737.
  }

  std::string Access() {
    return absl::StrFormat(
        R"({"ip": "%s", "path": "%s", "status": %d, "bytes": %d, "latency": %.3f})", Address(),
        Pick(kPaths), Pick(kStatuses), 100 + Below(60'000), 0.2 + Below(90'000) / 1000.0);
  }
  std::string Login() {
    const uint32_t port = 1024 + Below(60'000);
    switch (Below(6)) {
      case 0:
        return absl::StrFormat("sshd[%d]: Failed password for %s from %s port %d ssh2",
                               1000 + Below(9000), Pick(kUsers), Address(), port);
      case 1:
        return absl::StrFormat("sshd[%d]: Invalid user %s from %s port %d", 1000 + Below(9000),
                               Pick(kUsers), Address(), port);
      default:
        return absl::StrFormat("sshd[%d]: Accepted publickey for %s from %s port %d ssh2",
                               1000 + Below(9000), Pick(kUsers), Address(), port);
    }
  }
  std::string Service() {
    switch (Below(12)) {
      case 0:
        return absl::StrFormat("[ERROR %d] request %08x failed after %d ms", 400 + Below(120),
                               Below(~0u), Below(5000));
      case 1:
        return absl::StrFormat("[WARN] pool %d is %d%% full", Below(16), 80 + Below(20));
      default:
        return absl::StrFormat("[INFO] request %08x done in %d ms, queue %d", Below(~0u),
                               Below(900), Below(64));
    }
  }
  std::string Kernel() {
    return absl::StrFormat("kernel: [%d.%06d] eth%d: link is %s", Below(900'000), Below(1'000'000),
                           Below(4), Below(2) == 0 ? "up" : "down");
  }

  std::mt19937_64 random_;
};

}  // namespace

std::string SampleText(uint64_t bytes, uint64_t seed) {
  Author author(seed);
  std::string text;
  while (text.size() < bytes) text += author.Line() + '\n';
  return text;
}

}  // namespace sluice::logmon
