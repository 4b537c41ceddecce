// SPDX-License-Identifier: BSD-3-Clause
//
// Sends POST requests over HTTP. An answer may be an endless stream.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::etcd {

class HttpPoster {
 public:
  HttpPoster();
  ~HttpPoster();
  HttpPoster(const HttpPoster&) = delete;
  HttpPoster& operator=(const HttpPoster&) = delete;

  /// Posts JSON and passes the answer to `take` in pieces, until `take` returns false. `timeout_s`
  /// limits the whole request; 0 means no limit, but an unreachable peer is detected within half a
  /// minute. Returns an empty string if the answer is complete or `take` returned false; otherwise
  /// returns the error. Only one thread may call it at a time.
  std::string Post(const std::string& url, const std::string& json, int timeout_s,
                   const std::function<bool(std::string_view)>& take);

  /// Ends the current request and all later ones. May be called by any thread.
  void Interrupt();
  bool interrupted() const { return interrupted_; }

 private:
  CURLM* const multi_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace sluice::etcd
