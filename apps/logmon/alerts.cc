// SPDX-License-Identifier: BSD-3-Clause
#include "alerts.h"

#include <absl/strings/str_format.h>
#include <absl/time/time.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "report.h"

extern char** environ;

namespace sluice::logmon {

namespace {

using engine::logmon::Alert;

// Programs that run at a time: a storm of alerts must not become a storm of processes.
constexpr size_t kMaxPrograms = 8;

}  // namespace

Alerts::Alerts(const Config& config, std::string program)
    : config_(config), program_(std::move(program)) {
  for (const FilterConfig& about : config.about) {
    std::string error;  // The configuration's reader saw to the bounds.
    alerts_.push_back(about.alert ? Alert::Create(*about.alert, &error) : std::nullopt);
  }
}

bool Alerts::WriteTo(const std::string& path, std::string* error) {
  return file_.Open(path, error);
}

std::vector<std::string> Alerts::Update(const std::vector<uint64_t>& events, uint64_t now_ms) {
  Reap();
  std::vector<std::string> lines;
  for (size_t i = 0; i < alerts_.size(); ++i) {
    if (!alerts_[i]) continue;
    Alert::Edge edge = alerts_[i]->OnTime(now_ms);
    // Of events at one moment, more than the threshold change nothing more.
    const uint64_t told = std::min(events[i], config_.about[i].alert->threshold);
    for (uint64_t n = 0; n < told && edge != Alert::Edge::kFired; ++n) {
      edge = alerts_[i]->OnEvent(now_ms);
    }
    if (edge == Alert::Edge::kNone) continue;
    const bool fired = edge == Alert::Edge::kFired;
    const FilterConfig& about = config_.about[i];
    // Names are the operator's own; those of files' expressions may hold anything printable.
    lines.push_back(absl::StrFormat("%s: \"%s\", %d events in %d s", fired ? "ALERT" : "normal",
                                    about.name, about.alert->threshold,
                                    about.alert->window / 1000));
    Tell(i, fired, now_ms);
  }
  return lines;
}

void Alerts::Tell(size_t filter, bool fired, uint64_t now_ms) {
  fired_ += fired;
  const FilterConfig& about = config_.about[filter];
  if (file_.is_open()) {
    nlohmann::ordered_json json;
    json["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                                    absl::FromUnixMillis(static_cast<int64_t>(now_ms)),
                                    absl::UTCTimeZone());
    json["filter"] = about.name;
    json["firing"] = fired;
    json["threshold"] = about.alert->threshold;
    json["window_s"] = about.alert->window / 1000;
    file_.Write(AsciiLine(json));
    file_.Flush();
  }
  if (fired && !program_.empty()) Run(filter);
}

// The program learns what fired from its environment. Nothing of what was logged reaches it.
void Alerts::Run(size_t filter) {
  if (running_.size() >= kMaxPrograms) {
    ++failed_programs_;
    return;
  }
  const FilterConfig& about = config_.about[filter];
  std::vector<std::string> own{
      "SLUICE_FILTER=" + about.name,
      "SLUICE_THRESHOLD=" + std::to_string(about.alert->threshold),
      "SLUICE_WINDOW_S=" + std::to_string(about.alert->window / 1000)};
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  for (std::string& entry : own) environment.push_back(entry.data());
  environment.push_back(nullptr);
  char* arguments[] = {program_.data(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;  // Ours are blocked.
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  if (posix_spawnp(&pid, program_.c_str(), nullptr, &attributes, arguments, environment.data()) ==
      0) {
    running_.push_back(pid);
  } else {
    ++failed_programs_;
  }
  posix_spawnattr_destroy(&attributes);
}

void Alerts::Reap() {
  std::erase_if(running_, [this](pid_t pid) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == 0) return false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failed_programs_;
    return true;
  });
}

}  // namespace sluice::logmon
