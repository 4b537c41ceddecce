// SPDX-License-Identifier: BSD-3-Clause
#include "etcd/http_post.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>

namespace sluice::etcd {

namespace {

constexpr long kConnectTimeoutS = 5;
// Keep-alive settings that http_post.h describes: after 15 s of silence, TCP sends three probes 5 s
// apart.
constexpr long kKeepAliveIdleS = 15, kKeepAliveIntervalS = 5;
// The period can be long, because each curl event ends the poll.
constexpr int kPollMs = 10'000;

struct Taking {
  const std::function<bool(std::string_view)>& take;
  bool enough = false;
};

size_t AppendBody(char* data, size_t size, size_t count, void* user) {
  auto& taking = *static_cast<Taking*>(user);
  taking.enough = !taking.take({data, size * count});
  return taking.enough ? CURL_WRITEFUNC_ERROR : size * count;
}

int KeepAlive(void* /*user*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  const int probes = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
  return CURL_SOCKOPT_OK;
}

}  // namespace

HttpPoster::HttpPoster() : multi_((curl_global_init(CURL_GLOBAL_DEFAULT), curl_multi_init())) {}

HttpPoster::~HttpPoster() {
  curl_multi_cleanup(multi_);
  curl_global_cleanup();
}

void HttpPoster::Interrupt() {
  interrupted_ = true;
  curl_multi_wakeup(multi_);
}

std::string HttpPoster::Post(const std::string& url, const std::string& json, int timeout_s,
                             const std::function<bool(std::string_view)>& take) {
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), curl_easy_cleanup);
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all);
  Taking taking{take};
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT, kConnectTimeoutS);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, static_cast<long>(timeout_s));
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleS);
  curl_easy_setopt(easy.get(), CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalS);
  curl_easy_setopt(easy.get(), CURLOPT_SOCKOPTFUNCTION, KeepAlive);
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "sluice");
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(json.size()));
  curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, json.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, AppendBody);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &taking);
  curl_multi_add_handle(multi_, easy.get());
  std::string error = "interrupted";
  for (int running = 1; !interrupted_;) {
    if (curl_multi_perform(multi_, &running) != CURLM_OK) {
      error = "libcurl failed";
      break;
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* const message = curl_multi_info_read(multi_, &left);
      const CURLcode code = message != nullptr ? message->data.result : CURLE_FAILED_INIT;
      if (code == CURLE_OK || taking.enough) {
        error.clear();
      } else {
        error = reason[0] != '\0' ? reason : curl_easy_strerror(code);
      }
      break;
    }
    curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
  }
  curl_multi_remove_handle(multi_, easy.get());
  return error;
}

}  // namespace sluice::etcd
