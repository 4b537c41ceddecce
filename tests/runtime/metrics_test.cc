// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the output of --metrics: Prometheus's names and format (docs "Exposition formats", text
// format 0.0.4), and the figures of the run.
#include "runtime/metrics.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sluice::runtime {
namespace {

constexpr std::array<std::string_view, 2> kDropNames{"malformed", "too_old"};

Sample Counted() {
  Sample sample;
  sample.counters.rx_pkts = 1000;
  sample.counters.tx_pkts = 900;
  sample.counters.engine_drops[1] = 60;
  sample.counters.tx_full = 40;
  sample.nic = {.by_name = {{"imissed", 1488}}, .no_mbuf = 7};
  return sample;
}

// Connects to the server at `url`. Returns -1 if it does not answer.
int Connect(const std::string& url) {
  const size_t colon = url.rfind(':');
  uint16_t port = 0;
  std::from_chars(url.data() + colon + 1, url.data() + url.size(), port);
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return connection;
  }
  close(connection);
  return -1;
}

// Sends `request`. Returns all bytes received until the server closes the connection or sends
// nothing for `patience`.
std::string Ask(const std::string& url, const std::string& request, timeval patience = {10, 0}) {
  const int connection = Connect(url);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  std::string answer;
  if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> bytes;
    for (ssize_t n = 0; (n = read(connection, bytes.data(), bytes.size())) > 0;) {
      answer.append(bytes.data(), static_cast<size_t>(n));
    }
  }
  close(connection);
  return answer;
}

// Returns the body of the response to GET `path`, or "" if the response's status is not 200.
std::string Get(const std::string& url, const std::string& path) {
  const std::string answer = Ask(url, "GET " + path + " HTTP/1.0\r\n\r\n");
  const size_t body = answer.find("\r\n\r\n");
  const bool ok = answer.find(" 200 ") < answer.find("\r\n");
  return ok && body != std::string::npos ? answer.substr(body + 4) : "";
}

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, AreServedAsText) {
  std::string error;
  const auto server = MetricsServer::Open("0", &error);
  ASSERT_NE(server, nullptr) << error;
  EXPECT_TRUE(server->url().starts_with("http://127.0.0.1:")) << server->url();
  server->Serve([] { return MetricsOf(Counted(), kDropNames); });
  const std::string text = Get(server->url(), "/metrics");
  EXPECT_TRUE(Has(text, "# TYPE sluice_rx_packets_total counter")) << text;
  EXPECT_TRUE(Has(text, "sluice_rx_packets_total 1000")) << text;
  EXPECT_TRUE(Has(text, "sluice_tx_packets_total 900")) << text;
  EXPECT_TRUE(Has(text, "sluice_sent_packets_total 0")) << text;
  EXPECT_TRUE(Has(text, "sluice_rx_desync_flits_total 0")) << text;
  EXPECT_TRUE(Has(text, "sluice_nic_dropped_packets_total{reason=\"imissed\"} 1488")) << text;
  EXPECT_TRUE(Has(text, "sluice_rx_nombuf_total 7")) << text;
  EXPECT_TRUE(Has(text, "sluice_dropped_packets_total{reason=\"malformed\"} 0")) << text;
  EXPECT_TRUE(Has(text, "sluice_dropped_packets_total{reason=\"too_old\"} 60")) << text;
  EXPECT_TRUE(Has(text, "sluice_dropped_packets_total{reason=\"tx_full\"} 40")) << text;
}

TEST(Metrics, OfNoRunAreNone) {
  std::string error;
  const auto server = MetricsServer::Open("127.0.0.1:0", &error);
  ASSERT_NE(server, nullptr) << error;
  server->Serve([] { return MetricsOf(Counted(), kDropNames); });
  server->Serve(nullptr);
  EXPECT_EQ(Get(server->url(), "/metrics").find("sluice_"), std::string::npos);
}

TEST(Metrics, AreNowhereElse) {
  std::string error;
  const auto server = MetricsServer::Open("0", &error);
  ASSERT_NE(server, nullptr) << error;
  EXPECT_EQ(Get(server->url(), "/"), "");
}

TEST(Metrics, AreServedBesideConnectionsThatNeverAsk) {
  std::string error;
  const auto server = MetricsServer::Open("0", &error);
  ASSERT_NE(server, nullptr) << error;
  server->Serve([] { return MetricsOf(Counted(), kDropNames); });
  std::vector<int> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(Connect(server->url()));
    ASSERT_GE(held.back(), 0) << i;
    // Half of the connections send an incomplete request.
    if (i % 2 == 0) {
      send(held.back(), "GET /metrics HTTP/1.1\r\nHost:", 28, MSG_NOSIGNAL);
    }
  }
  const std::string answer = Ask(server->url(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", {4, 0});
  EXPECT_TRUE(Has(answer, "sluice_rx_packets_total 1000")) << answer;
  for (const int connection : held) close(connection);
}

TEST(Metrics, AnswerAsHttpDoes) {
  std::string error;
  const auto server = MetricsServer::Open("0", &error);
  ASSERT_NE(server, nullptr) << error;
  server->Serve([] { return MetricsOf(Counted(), kDropNames); });
  // The expected status for each request line (RFC 9110).
  for (const auto& [request, status] : std::initializer_list<std::pair<std::string, std::string>>{
           {"GET /metrics HTTP/1.1", "200"},
           {"GET /metrics?name=x HTTP/1.1", "200"},
           {"HEAD /metrics HTTP/1.1", "200"},
           {"GET / HTTP/1.1", "404"},
           {"GET /metrics/ HTTP/1.1", "404"},
           {"POST /metrics HTTP/1.1", "405"},
           {"GET", "400"},
           {"GET /metrics SSH-2.0", "400"},
           {"", "400"}}) {
    const std::string answer = Ask(server->url(), request + "\r\nHost: x\r\n\r\n");
    EXPECT_EQ(answer.substr(0, 13), "HTTP/1.1 " + status + " ") << request;
    if (request.starts_with("HEAD")) {
      EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
    }
  }
  EXPECT_EQ(Ask(server->url(), std::string(PageServer::kMaxRequestBytes + 1, 'x')), "");
}

TEST(Metrics, NeedAPortThatIsFree) {
  std::string error;
  const auto server = MetricsServer::Open("0", &error);
  ASSERT_NE(server, nullptr) << error;
  const std::string taken = server->url().substr(7, server->url().rfind('/') - 7);
  EXPECT_EQ(MetricsServer::Open(taken, &error), nullptr);
  EXPECT_EQ(error,
            "--metrics=" + taken +
                ": cannot listen at this address: give an address of this host and a free port");
}

TEST(Metrics, AreRefusedWhereNoPortIsGiven) {
  for (const char* where : {"x", "", "127.0.0.1:", "1:2,3", "9000s", "localhost:1", "70000"}) {
    std::string error;
    EXPECT_EQ(MetricsServer::Open(where, &error), nullptr) << where;
    EXPECT_EQ(error, std::string("--metrics=") + where + ": give PORT or ADDRESS:PORT");
  }
}

}  // namespace
}  // namespace sluice::runtime
