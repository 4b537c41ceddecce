// SPDX-License-Identifier: BSD-3-Clause
//
// Tests the port mapper over TCP on the loopback interface, including hostile peers. Expected
// replies follow RFC 5531 sections 9 and 11, and RFC 1833 section 3.
#include "tcp_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "packet/bytes.h"
#include "service_functions.h"

namespace sluice::rpc_app {
namespace {

using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint32_t>;

constexpr uint32_t kLast = 1u << 31;
constexpr uint32_t kPortmap = 100000;

Bytes BytesOf(const Words& words) {
  Bytes bytes(4 * words.size());
  for (size_t i = 0; i < words.size(); ++i) packet::StoreBe32(&bytes[4 * i], words[i]);
  return bytes;
}
Words Marked(Words message) {
  message.insert(message.begin(), kLast | static_cast<uint32_t>(4 * message.size()));
  return message;
}
/// Returns xid, CALL, RPC version 2, and AUTH_NONE twice. GETPORT is procedure 3, and DUMP is
/// procedure 4.
Words Call(uint32_t xid, uint32_t procedure, const Words& arguments = {}, uint32_t version = 2) {
  Words words = {xid, 0, 2, kPortmap, version, procedure, 0, 0, 0, 0};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}
Words Port(uint32_t xid) { return Call(xid, 3, {kPortmap, 2, 17, 0}); }
const Words kPort = {1, 1, 0, 0, 0, 0, 111};

class Client {
 public:
  explicit Client(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{20, 0};
    setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(socket_.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }

  void Send(const Bytes& bytes) const {
    send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  void Send(const Words& words) const { Send(BytesOf(words)); }
  /// Sends until the server does not accept any more bytes.
  void Flood(const Bytes& bytes) const {
    for (size_t sent = 0; sent < (size_t{64} << 20); sent += bytes.size()) {
      if (send(socket_.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    }
    ADD_FAILURE() << "64 MiB were taken, and no reply was read";
  }
  /// Returns the next record, or an empty one if the connection was closed.
  Words Receive() const {
    uint8_t mark[4];
    if (recv(socket_.fd(), mark, 4, MSG_WAITALL) != 4) return {};
    EXPECT_EQ(mark[0] & 0x80, 0x80);
    Bytes bytes(packet::LoadBe32(mark) & ~kLast);
    if (recv(socket_.fd(), bytes.data(), bytes.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(bytes.size())) {
      return {};
    }
    Words words;
    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      words.push_back(packet::LoadBe32(&bytes[at]));
    }
    return words;
  }

 private:
  base::OwnedFd socket_;
};

class TcpServerTest : public testing::Test {
 protected:
  void Serve(const TcpLimits& limits = {}) {
    setenv("SLUICE_RPC_PROGRAMS", "100000:2:udp:10.0.0.2.0.111", 1);
    std::string error;
    functions_ = ServiceFunctions::Load(PORTMAP_OBJECT, PORTMAP_X, &error);
    ASSERT_NE(functions_, nullptr) << error;
    messages_ = std::make_unique<engine::rpc::MessageServer>(functions_->At(111));
    base::OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    ASSERT_EQ(bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
    ASSERT_EQ(listen(listener.fd(), 256), 0);
    getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &bytes);
    port_ = ntohs(address.sin_port);
    std::vector<base::OwnedFd> listeners;
    listeners.push_back(std::move(listener));
    server_ = std::make_unique<TcpServer>(std::move(listeners), *messages_, limits);
    thread_ = std::thread([this] {
      while (!stop_) {
        server_->Step(std::chrono::milliseconds(5));
        most_ = std::max<size_t>(most_, server_->connections());
      }
    });
  }
  ~TcpServerTest() override {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Client Connect() const { return Client(port_); }
  void ExpectServed() const {
    const Client client = Connect();
    client.Send(Marked(Port(1)));
    EXPECT_EQ(client.Receive(), kPort);
  }

  uint16_t port_ = 0;
  std::atomic<size_t> most_{0};  ///< Maximum number of simultaneous connections.

 private:
  std::unique_ptr<ServiceFunctions> functions_;
  std::unique_ptr<engine::rpc::MessageServer> messages_;
  std::unique_ptr<TcpServer> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST_F(TcpServerTest, CallsAreAnsweredHoweverTheyCome) {
  Serve();
  const Client client = Connect();
  client.Send(Marked(Port(1)));
  EXPECT_EQ(client.Receive(), kPort);
  // Sends two records at once.
  Words two = Marked(Port(1));
  const Words dump = Marked(Call(2, 4));
  two.insert(two.end(), dump.begin(), dump.end());
  client.Send(two);
  EXPECT_EQ(client.Receive(), kPort);
  EXPECT_EQ(client.Receive(), (Words{2, 1, 0, 0, 0, 0, 1, kPortmap, 2, 17, 111, 0}));
  // Sends a record byte by byte, in three fragments of 4, 0 and 52 bytes.
  Words fragments = {4, 1, 0, kLast | 52};
  const Words call = Port(1);
  fragments.insert(fragments.end(), call.begin() + 1, call.end());
  for (const uint8_t byte : BytesOf(fragments)) client.Send(Bytes{byte});
  EXPECT_EQ(client.Receive(), kPort);
}

TEST_F(TcpServerTest, WhatCannotBeDoneIsRefusedAndTheConnectionGoesOn) {
  Serve();
  const Client client = Connect();
  const struct {
    Words message, reply;
  } kCases[] = {
      {Call(1, 3, {kPortmap}), {1, 1, 0, 0, 0, 4}},
      {Call(2, 99), {2, 1, 0, 0, 0, 3}},
      {Call(3, 0, {}, 9), {3, 1, 0, 0, 0, 2, 2, 4}},
      {{4, 0, 2, 99, 1, 0, 0, 0, 0, 0}, {4, 1, 0, 0, 0, 1}},
      {{5, 0, 3, kPortmap, 2, 0, 0, 0, 0, 0}, {5, 1, 1, 0, 2, 2}},
      {{6, 0, 2, kPortmap, 2, 0, 77, 0, 0, 0}, {6, 1, 1, 1, 2}},
  };
  for (const auto& c : kCases) {
    client.Send(Marked(c.message));
    EXPECT_EQ(client.Receive(), c.reply) << c.message[0];
  }
}

TEST_F(TcpServerTest, WhoDoesNotKeepToTheProtocolIsDisconnected) {
  Serve({.call_bytes = 1000});
  const struct {
    const char* name;
    Words stream;
  } kCases[] = {
      {"a mark that lies", {kLast | 0x7fffffff}},
      {"a call that is too long", {kLast | 1001}},
      {"one that becomes too long", {4, 1, 1000}},
      {"no call", Marked({1, 1, 0, 0, 0, 0})},
      {"an empty record", {kLast}},
      {"half a header", Marked({1, 0, 2})},
  };
  for (const auto& c : kCases) {
    const Client client = Connect();
    client.Send(c.stream);
    EXPECT_EQ(client.Receive(), Words()) << c.name;
  }
  ExpectServed();
}

TEST_F(TcpServerTest, WhoIsSlowIsDisconnected) {
  Serve({.patience = std::chrono::milliseconds(50)});
  const Client silent = Connect(), half = Connect();
  half.Send(Words{kLast | 40, 1, 0, 2});
  EXPECT_EQ(silent.Receive(), Words());
  EXPECT_EQ(half.Receive(), Words());
}

TEST_F(TcpServerTest, ManyConnectionsAreBoundedAndTheNewestIsServed) {
  Serve({.connections = 8});
  std::vector<Client> kept;
  for (int i = 0; i < 100; ++i) kept.push_back(Connect());
  ExpectServed();
  EXPECT_EQ(most_, 8u);
}

TEST_F(TcpServerTest, WhoDoesNotReadItsRepliesIsNotReadFrom) {
  Serve();
  const Client deaf = Connect();
  Bytes calls;
  for (int i = 0; i < 1000; ++i) {
    const Bytes one = BytesOf(Marked(Call(2, 4)));
    calls.insert(calls.end(), one.begin(), one.end());
  }
  deaf.Flood(calls);
  ExpectServed();
  // Once the client reads, it must receive all answers.
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(deaf.Receive(), (Words{2, 1, 0, 0, 0, 0, 1, kPortmap, 2, 17, 111, 0}));
  }
}

}  // namespace
}  // namespace sluice::rpc_app
