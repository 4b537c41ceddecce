// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/start_log.h"

#include <fcntl.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/owned_fd.h"

namespace sluice::runtime {

namespace {

// Redirects standard output to /dev/null while it exists.
class Hush {
 public:
  Hush() : before_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {
    std::fflush(stdout);
    const base::OwnedFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (before_ && nowhere) dup2(nowhere.fd(), STDOUT_FILENO);
  }
  ~Hush() {
    std::fflush(stdout);
    if (before_) dup2(before_.fd(), STDOUT_FILENO);
  }
  Hush(const Hush&) = delete;
  Hush& operator=(const Hush&) = delete;

 private:
  const base::OwnedFd before_;
};

}  // namespace

StartLog::StartLog(Lines lines) : keep_(lines == Lines::kKept) {
  const cookie_io_functions_t functions = {nullptr, &StartLog::Write, nullptr, nullptr};
  stream_ = fopencookie(this, "w", functions);
  if (stream_ != nullptr) rte_openlog_stream(stream_);
}

StartLog::~StartLog() {
  if (stream_ == nullptr) return;
  rte_openlog_stream(nullptr);
  std::fclose(stream_);
}

ssize_t StartLog::Write(void* self, const char* text, size_t bytes) {
  StartLog& log = *static_cast<StartLog*>(self);
  const auto level = static_cast<uint32_t>(rte_log_cur_msg_loglevel());
  if (log.keep_ && level > RTE_LOG_CRIT) {
    log.kept_.append(text, bytes);
  } else {
    std::fwrite(text, 1, bytes, stderr);
  }
  if (log.first_error_.empty() && level <= RTE_LOG_ERR) {
    const std::string_view line(text, bytes);
    log.first_error_ = line.substr(0, line.find('\n'));
    log.first_errno_ = rte_errno;
  }
  return static_cast<ssize_t>(bytes);
}

bool StartLog::StartEal(int argc, char** argv) {
  const Hush hush;
  rte_errno = 0;  // EAL may leave it unset; errno then shows whether descriptors ran out.
  errno = 0;
  const bool started = rte_eal_init(argc, argv) >= 0;
  const bool descriptors = errno == EMFILE || errno == ENFILE;
  refused_ = !started && !descriptors && (rte_errno == EINVAL || rte_errno == ENODEV);
  return started;
}

void StartLog::Show() {
  std::fwrite(kept_.data(), 1, kept_.size(), stderr);
  kept_.clear();
  keep_ = false;
}

// The first logged error takes precedence, because EAL does not always set rte_errno.
std::string StartLog::WhyNotStarted() const {
  constexpr std::string_view kOwn = "EAL: ";
  if (!first_error_.empty()) {
    return first_error_.substr(first_error_.starts_with(kOwn) ? kOwn.size() : 0);
  }
  return rte_errno != 0 ? rte_strerror(rte_errno) : "unknown error";
}

}  // namespace sluice::runtime
