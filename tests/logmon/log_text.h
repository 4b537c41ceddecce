// SPDX-License-Identifier: BSD-3-Clause
//
// Generates, from a seed, text that resembles a server's logs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace sluice::test {

/// Generates sshd lines with the frequencies of a host under attack.
class LogText {
 public:
  explicit LogText(uint64_t seed) : random_(seed) {}

  /// Returns at least `bytes` bytes of complete lines, each terminated by LF.
  std::string Auth(size_t bytes) {
    std::string text;
    while (text.size() < bytes) {
      AddStamp(&text);
      text += "bastion sshd[" + std::to_string(Below(30000) + 1000) + "]: ";
      AddAuthMessage(&text);
      text += '\n';
    }
    return text;
  }

  /// Returns lines of a service that answers requests. One line in a hundred contains ERROR.
  std::string Service(size_t bytes) {
    static constexpr const char* kPaths[] = {"/",       "/v1/orders",     "/v1/orders/items",
                                             "/health", "/static/app.js", "/v2/users/profile"};
    std::string text;
    while (text.size() < bytes) {
      AddStamp(&text);
      text += "shop-" + std::to_string(Below(9)) + " gateway[" + std::to_string(Below(900)) + "]: ";
      const uint64_t kind = Below(1000);
      if (kind < 10) {
        text += "ERROR upstream " + Address() + (kind < 5 ? ": connection refused" : ": reset");
      } else if (kind < 15) {
        text += std::string("WARN request ") + (kind < 12 ? "timeout" : "deadline") + " exceeded";
      } else {
        text += "INFO " + Address() + " GET " + kPaths[Below(std::size(kPaths))] + " 200 " +
                std::to_string(Below(20000)) + " bytes in " + std::to_string(Below(90)) + " ms";
      }
      text += '\n';
    }
    return text;
  }

 private:
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  std::string Address() {
    return "203.0." + std::to_string(Below(256)) + "." + std::to_string(Below(256));
  }

  std::string User() {
    static constexpr const char* kUsers[] = {"root", "admin", "oracle", "test", "ubuntu", "git"};
    return kUsers[Below(std::size(kUsers))];
  }

  void AddStamp(std::string* text) {
    char stamp[32];
    std::snprintf(stamp, sizeof(stamp), "Nov %2u %02u:%02u:%02u ", unsigned(Below(30) + 1),
                  unsigned(Below(24)), unsigned(Below(60)), unsigned(Below(60)));
    *text += stamp;
  }

  void AddAuthMessage(std::string* text) {
    const std::string from = " from " + Address() + " port " + std::to_string(Below(60000) + 1024);
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
        *text += "Failed password for invalid user " + User() + from + " ssh2";
        break;
      case 3:
      case 4:
        *text += "Failed password for root" + from + " ssh2";
        break;
      case 5:
        *text += "Invalid user " + User() + from;
        break;
      case 6:
        *text += "input_userauth_request: invalid user " + User() + " [preauth]";
        break;
      case 7:
      case 8:
        *text +=
            "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh "
            "ruser= rhost=" +
            Address() + "  user=" + User();
        break;
      case 9:
        *text += "pam_unix(sshd:auth): check pass; user unknown";
        break;
      case 10:
      case 11:
        *text += "Received disconnect" + from + ":11: Bye Bye [preauth]";
        break;
      case 12:
        *text += "Connection closed by " + Address() + " [preauth]";
        break;
      case 13:
        *text += "reverse mapping checking getaddrinfo for host-" + std::to_string(Below(999)) +
                 ".example.net [" + Address() + "] failed - POSSIBLE BREAK-IN ATTEMPT!";
        break;
      case 14:
        *text += "Accepted publickey for " + User() + from + " ssh2: ED25519 SHA256:q7Zk2v";
        break;
      default:
        *text += "pam_unix(sshd:session): session opened for user " + User() + " by (uid=0)";
    }
  }

  std::mt19937_64 random_;
};

/// Returns typical filters for the operator of a service, in CloudWatch's syntax.
inline std::vector<std::string> LightPatterns() {
  return {"ERROR", "\"connection refused\"", "?timeout ?deadline"};
}

/// Returns expressions like fail2ban's expressions for sshd. They match rejected users and their
/// addresses.
inline std::vector<std::string> HeavyExpressions() {
  const std::string sshd = "sshd\\[\\d+\\]: ";
  std::vector<std::string> all;
  for (const char* message :
       {"Failed \\S+ for invalid user \\S* from <HOST>( port \\d+)?( ssh\\d*)?$",
        "Failed \\S+ for \\S+ from <HOST>( port \\d+)?( ssh\\d*)?$",
        "Failed (password|publickey|keyboard-interactive/pam) for .* from <HOST>",
        "Invalid user .* from <HOST>( port \\d+)?$",
        "input_userauth_request: invalid user \\S* \\[preauth\\]$",
        "pam_unix\\(sshd:auth\\): authentication failure;.* rhost=<HOST>(\\s+user=\\S*)?$",
        "pam_\\w+\\(sshd:auth\\): .*user unknown$",
        "Received disconnect from <HOST>( port \\d+)?:\\s*\\d+: .*\\[preauth\\]$",
        "Received disconnect from <HOST>.*: (Auth fail|Too many authentication failures)",
        "Connection (closed|reset) by (authenticating user \\S+ )?<HOST>.*\\[preauth\\]$",
        "Disconnected from (invalid|authenticating) user \\S* <HOST>( port \\d+)?",
        "reverse mapping checking getaddrinfo for \\S+ \\[<HOST>\\] failed",
        "Address <HOST> maps to \\S+, but this does not map back",
        "User \\S+ from <HOST> not allowed because (not )?listed in \\w+$",
        "User \\S+ from <HOST> not allowed because a group is listed in \\w+$",
        "User \\S+ from <HOST> not allowed because account is locked",
        "refused connect from \\S+ \\(<HOST>\\)$",
        "maximum authentication attempts exceeded for .* from <HOST>",
        "Unable to negotiate with <HOST>.*: no matching .* found",
        "Did not receive identification string from <HOST>",
        "Bad protocol version identification '.*' from <HOST>",
        "ROOT LOGIN REFUSED( FROM|.*from) <HOST>"}) {
    all.push_back(sshd + message);
  }
  return all;
}

}  // namespace sluice::test
