// SPDX-License-Identifier: BSD-3-Clause
//
// Sends random valid and invalid calls to two servers of zoo.x: sluice-rpc's (the complete path:
// frame, NIC, line, function and back) and libtirpc's. Both must answer with the same bytes, or
// neither must answer. Where libtirpc deviates from RFC 5531, the expected reply follows the RFC.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coherent/host_end.h"
#include "device/rpc/fifo_placement.h"
#include "device/rpc/pages.h"
#include "device/rpc/rpc_nic.h"
#include "engine/rpc/message_server.h"
#include "libtirpc_server.h"
#include "packet/datagram.h"
#include "process_page.h"
#include "rpc/random_wire.h"
#include "service_functions.h"

// rpcgen's server calls these functions after it has sent a result. The results point to the
// arguments and must not be freed.
extern "C" int zoo_2_freeresult(SVCXPRT*, xdrproc_t, caddr_t) { return 1; }
extern "C" int zoo_4_freeresult(SVCXPRT*, xdrproc_t, caddr_t) { return 1; }

namespace sluice::rpc_app::test {
namespace {

using coherent::Got;
using sluice::test::Bytes;

constexpr uint16_t kPort = 20049;

const ServiceFunctions& Zoo() {
  static const std::unique_ptr<ServiceFunctions> functions = [] {
    std::string error;
    auto loaded = ServiceFunctions::Load(ZOO_OBJECT, ZOO_X, &error);
    if (loaded == nullptr) std::fprintf(stderr, "%s\n", error.c_str());
    return loaded;
  }();
  return *functions;
}

/// The NIC, and a core that waits in the service's process. Both run in this process.
class SluiceServer final : public device::rpc::HostPort, private device::FrameSink {
 public:
  SluiceServer()
      : nic_({.dispatcher = {}, .users = kUserGeometry}, placement_, *this),
        answerer_(Zoo().table()) {
    nic_.AttachKernel(0, {kernel_pages_.span(), 0});
    EXPECT_TRUE(nic_.AddService(0, 1, {kPort, Zoo().table(), {}}));
    const device::rpc::Endpoint endpoint = {user_pages_.span(),
                                            reinterpret_cast<uint64_t>(user_pages_.span().data())};
    EXPECT_TRUE(nic_.Start(0, Zoo().entries(), {&endpoint, 1}));
    // The first call switches the core to the service.
    kernel_.Wait(0);
    nic_.Transmit(*this, 1);
    Receive(BytesOf({1, 0, 2, ZOO, 2, 0, 0, 0, 0, 0}));
    EXPECT_EQ(kernel_.Wait(0), Got::kContent);
    kernel_.Return({.kind = coherent::Kind::kNoReply});
    user_.Wait(0);
    nic_.Transmit(*this, 1);
    EXPECT_TRUE(Step().has_value());
  }

  static Bytes BytesOf(const std::vector<uint32_t>& words) {
    Bytes bytes(4 * words.size());
    for (size_t i = 0; i < words.size(); ++i) packet::StoreBe32(&bytes[4 * i], words[i]);
    return bytes;
  }

  std::optional<Bytes> Answer(const Bytes& message) {
    Receive(message);
    return Step();
  }

 private:
  void Receive(const Bytes& message) {
    frame_.resize(packet::Datagram::kPlainPayload);
    packet::Datagram::WritePlain(
        frame_.data(),
        {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, kPort},
        static_cast<uint32_t>(message.size()));
    frame_.insert(frame_.end(), message.begin(), message.end());
    const device::WireFrame frame = {frame_.data(), static_cast<uint32_t>(frame_.size())};
    nic_.Receive({&frame, 1}, false);
  }
  std::optional<Bytes> Step() {
    reply_.reset();
    if (user_.Wait(0) == Got::kContent) {
      answerer_.Answer(user_);
      user_.Wait(0);
    }
    nic_.Transmit(*this, 1);
    return std::exchange(reply_, std::nullopt);
  }
  void Deliver(std::span<const device::WireFrame> frames) override {
    for (const device::WireFrame& frame : frames) {
      EXPECT_FALSE(reply_.has_value()) << "two replies";
      const auto datagram = packet::Datagram::In(frame.data, frame.length);
      const uint8_t* const payload = frame.data + datagram.payload;
      reply_ = Bytes(payload, payload + datagram.payload_bytes);
    }
  }
  void Interrupt(device::rpc::CoreId, device::rpc::ProcessId) override {}
  void Kill(device::rpc::ProcessId) override { ADD_FAILURE(); }
  void Wake(device::rpc::CoreId) override {}
  void Answered(const device::rpc::CallTrace&) override {}

  device::rpc::test::Pages kernel_pages_{kKernelGeometry.Bytes()};
  device::rpc::test::Pages user_pages_{kUserGeometry.Bytes()};
  coherent::HostEnd kernel_{coherent::EndpointMemory::Format(kernel_pages_.span(), kKernelGeometry),
                            coherent::WaitMethod::kPause};
  coherent::HostEnd user_{coherent::EndpointMemory::Format(user_pages_.span(), kUserGeometry),
                          coherent::WaitMethod::kPause};
  device::rpc::test::FifoPlacement placement_;
  device::rpc::RpcNic nic_;
  Answerer answerer_;
  Bytes frame_;
  std::optional<Bytes> reply_;
};

/// Generates calls of every kind. Most of them are valid; the others contain an error.
class Calls {
 public:
  explicit Calls(uint64_t seed) : random_(seed), values_(Zoo().table(), random_) {}

  Bytes Next() {
    const auto& procedures = Zoo().table().procedures;
    const rpc::Procedure& procedure = procedures[Below(procedures.size())];
    std::vector<uint32_t> head = {Word(),          0, 2, procedure.program, procedure.version,
                                  procedure.number};
    if (OneIn(20)) head[3 + Below(3)] = Below(9);
    if (OneIn(50)) head[1 + Below(2)] = Below(4);
    Bytes message = SluiceServer::BytesOf(head);
    Append(message, Credential());
    Append(message, Body(0, OneIn(10) ? Below(5) * 4 : 0));
    Append(message, values_.Of(procedure.arguments));
    if (OneIn(10)) message.resize(message.size() + 4 * Below(4));  // Longer than required.
    if (OneIn(3)) Bend(message);
    return message;
  }

 private:
  uint32_t Below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool OneIn(uint32_t n) { return Below(n) == 0; }
  uint32_t Word() { return static_cast<uint32_t>(random_()); }
  static void Append(Bytes& message, const Bytes& more) {
    message.insert(message.end(), more.begin(), more.end());
  }

  /// Returns an opaque body with this flavor and arbitrary contents.
  Bytes Body(uint32_t flavor, uint32_t bytes) {
    Bytes body = SluiceServer::BytesOf({flavor, bytes});
    while (body.size() < 8 + rpc::Padded(bytes)) body.push_back(static_cast<uint8_t>(random_()));
    return body;
  }
  Bytes Credential() {
    constexpr uint32_t kOthers[] = {2, 5, 77, 0xffffffff};
    switch (Below(8)) {
      case 0:
        return Body(kOthers[Below(std::size(kOthers))], 4 * Below(10));
      case 1:
        return Body(0, Below(20));
      case 2:
      case 3:
        return Sys();
      default:
        return Body(0, 0);
    }
  }
  /// Returns AUTH_SYS credentials (RFC 5531 appendix A).
  Bytes Sys() {
    const uint32_t letters = OneIn(30) ? 256 : Below(20), groups = OneIn(30) ? 17 : Below(17);
    Bytes sys = SluiceServer::BytesOf({Word(), letters});
    while (sys.size() < 8 + rpc::Padded(letters)) sys.push_back('h');
    std::vector<uint32_t> ids = {Word(), Word(), groups};
    for (uint32_t i = 0; i < groups; ++i) ids.push_back(Word());
    Append(sys, SluiceServer::BytesOf(ids));
    const uint32_t said = OneIn(30) ? 4 * Below(8) : static_cast<uint32_t>(sys.size());
    if (said < sys.size()) sys.resize(said);
    Bytes whole = SluiceServer::BytesOf({1, said});
    Append(whole, sys);
    whole.resize(8 + rpc::Padded(said));
    return whole;
  }
  /// Changes a word of the message or truncates it.
  void Bend(Bytes& message) {
    if (OneIn(4)) return message.resize(Below(message.size()));
    // Excludes 2^32 - 1, which libtirpc rejects as the length of a string (docs/rpc.md).
    constexpr uint32_t kWords[] = {0, 1, 2, 3, 4, 5, 7, 20, 21, 34, 401, 3000};
    packet::StoreBe32(&message[4 * Below(message.size() / 4)], kWords[Below(std::size(kWords))]);
  }

  std::mt19937_64 random_;
  sluice::test::RandomWire values_;
};

uint32_t WordAt(const Bytes& bytes, size_t at) {
  return at + 4 <= bytes.size() ? packet::LoadBe32(&bytes[at]) : 0;
}

/// If libtirpc's reply deviates from RFC 5531 section 9, returns the reply that the RFC requires.
std::optional<Bytes> ByTheRfc(const Bytes& message) {
  const uint32_t xid = WordAt(message, 0);
  if (message.size() < 12 || WordAt(message, 4) != 0) return std::nullopt;
  if (WordAt(message, 8) != 2) return SluiceServer::BytesOf({xid, 1, 1, 0, 2, 2});
  if (message.size() < 32) return std::nullopt;
  // Checks `opaque body<400>` of the credential, then that of the verifier.
  const uint32_t credential = WordAt(message, 28);
  if (credential > 400) return SluiceServer::BytesOf({xid, 1, 1, 1, 1});
  const size_t verifier = 32 + rpc::Padded(credential);
  if (message.size() < verifier + 8) return std::nullopt;
  if (WordAt(message, verifier + 4) > 400) return SluiceServer::BytesOf({xid, 1, 1, 1, 3});
  return std::nullopt;
}

/// Returns libtirpc's reply without the effects of its additional kinds of credentials. libtirpc
/// implements AUTH_DH (3) and RPCSEC_GSS (6). It replies to a call that uses AUTH_SYS (1) with the
/// caller's verifier, although RFC 5531 section 8.2 requires an AUTH_NONE verifier.
std::optional<Bytes> Plain(const Bytes& message, std::optional<Bytes> reply) {
  const uint32_t flavor = WordAt(message, 24);
  if (!reply) return reply;
  if (flavor == 3 || flavor == 6) {
    EXPECT_EQ(WordAt(*reply, 8), 1u) << "it is believed";
    return SluiceServer::BytesOf({WordAt(message, 0), 1, 1, 1, 2});
  }
  if (flavor != 1 || WordAt(*reply, 8) != 0) return reply;
  const size_t body = rpc::Padded(WordAt(*reply, 16));
  reply->erase(reply->begin() + 20, reply->begin() + 20 + static_cast<ptrdiff_t>(body));
  std::fill_n(reply->begin() + 12, 8, uint8_t{0});
  return reply;
}

/// Returns the outcome of a call: "none", or the status words of the reply.
std::string StateOf(const std::optional<Bytes>& reply) {
  if (!reply) return "none";
  if (WordAt(*reply, 8) == 0) return "accepted " + std::to_string(WordAt(*reply, 20));
  return "denied " + std::to_string(WordAt(*reply, 12)) + " " + std::to_string(WordAt(*reply, 16));
}

void CompareMany(uint64_t seed, uint32_t count, bool whole) {
  SluiceServer ours;
  engine::rpc::MessageServer in_process(Zoo().At(0));
  LibtirpcServer theirs;
  Calls calls(seed);
  std::map<std::string, uint32_t> states;
  Bytes room(in_process.kReplyBytes);
  for (uint32_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const Bytes message = calls.Next();
    const std::optional<Bytes> said = theirs.Answer(message);
    std::optional<Bytes> expected = ByTheRfc(message);
    if (expected) {
      EXPECT_FALSE(said.has_value()) << "it answers, too";
    } else {
      expected = Plain(message, said);
    }
    // If a function fails, rpcgen's server does not send a reply, so the caller would wait forever.
    const bool fails = !said && !ByTheRfc(message) && WordAt(message, 20) == 7;
    const std::optional<Bytes> answer = ours.Answer(message);
    if (fails && answer) {
      expected = SluiceServer::BytesOf({WordAt(message, 0), 1, 0, 0, 0, 5});
    }
    EXPECT_EQ(answer, expected) << "call " << i;
    room.resize(in_process.kReplyBytes);
    room.resize(in_process.Answer(message, room));
    EXPECT_EQ(room, answer.value_or(Bytes())) << "over TCP, call " << i;
    ++states[StateOf(answer)];
  }
  for (const auto& [state, times] : states) std::printf("%-12s %u\n", state.c_str(), times);
  if (!whole) return;
  for (const char* const state :
       {"none", "accepted 0", "accepted 1", "accepted 2", "accepted 3", "accepted 4", "accepted 5",
        "denied 0 2", "denied 1 1", "denied 1 2", "denied 1 3"}) {
    EXPECT_GT(states[state], count / 5000) << state;
  }
}

TEST(Differential, TenThousandCallsAreAnsweredAsLibtirpcAnswersThem) {
  CompareMany(18, 10'000, false);
}

TEST(Differential, AHundredThousandCallsAreAnsweredAsLibtirpcAnswersThem) {
  CompareMany(5531, 100'000, true);
}

}  // namespace
}  // namespace sluice::rpc_app::test
