// SPDX-License-Identifier: BSD-3-Clause
//
// Requests over HTTP whose answers may never end.
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

  /// Posts JSON and hands over the answer piece by piece; `take` returns false to have no more.
  /// `timeout_s` is for everything; 0: none, but a peer that vanishes is noticed in half a minute.
  /// Nothing if it came to its end or `take` had enough, otherwise why not. One thread at a time.
  std::string Post(const std::string& url, const std::string& json, int timeout_s,
                   const std::function<bool(std::string_view)>& take);

  /// Ends the request under way and all that would follow. From any thread.
  void Interrupt();
  bool interrupted() const { return interrupted_; }

 private:
  CURLM* const multi_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace sluice::etcd
