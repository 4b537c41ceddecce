// SPDX-License-Identifier: BSD-3-Clause
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "plan.h"

namespace sluice::maglev {

namespace {

using Json = nlohmann::ordered_json;

constexpr timeval kPatience{30, 0};
constexpr size_t kMaxAnswer = size_t{1} << 17;  // DPDK's limit is 16 KiB.

/// Returns the folder in which EAL creates its runtime folder, in the order of
/// eal_create_runtime_dir: systemd's RuntimeDirectory= comes first.
std::string RuntimeFolder() {
  if (const char* const given = std::getenv("RUNTIME_DIRECTORY")) return given;
  if (geteuid() == 0) return "/var/run";
  const char* const folder = std::getenv("XDG_RUNTIME_DIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

struct Socket {
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  ~Socket() {
    if (fd >= 0) close(fd);
  }
};

bool Receive(int fd, std::string* text) {
  std::vector<char> buffer(kMaxAnswer);
  const ssize_t bytes = recv(fd, buffer.data(), buffer.size(), 0);
  if (bytes <= 0) return false;
  text->assign(buffer.data(), static_cast<size_t>(bytes));
  return true;
}

}  // namespace

std::optional<Json> AskInstance(const std::string& prefix, const std::string& command,
                                const std::string& parameters, std::string* error) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = RuntimeFolder() + "/dpdk/" + prefix + "/dpdk_telemetry.v2";
  if (prefix.empty() || prefix.find('/') != std::string::npos ||
      path.size() >= sizeof(address.sun_path)) {
    *error = "give the --file-prefix of a running instance";
    return std::nullopt;
  }
  path.copy(address.sun_path, path.size());
  const Socket socket;
  setsockopt(socket.fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  std::string text;
  if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      !Receive(socket.fd, &text)) {
    *error = path + ": " + std::strerror(errno) + ": give the --file-prefix of a running instance";
    return std::nullopt;
  }
  const std::string question = command + "," + parameters;
  if (send(socket.fd, question.data(), question.size(), MSG_NOSIGNAL) < 0 ||
      !Receive(socket.fd, &text)) {
    *error = path + ": " + std::strerror(errno);
    return std::nullopt;
  }
  const Json answer = Json::parse(text, nullptr, false);
  if (!answer.is_object() || !answer.contains(command) || !answer[command].is_object()) {
    *error = path + ": does not answer " + command +
             ": give the --file-prefix of a running sluice-maglev";
    return std::nullopt;
  }
  return answer[command];
}

}  // namespace sluice::maglev
