// SPDX-License-Identifier: BSD-3-Clause
//
// Sends the same frames to the same services on every interface. The NIC decodes the frames on one
// interface, and the host decodes them on each kind of queue. All answers must have the same bytes,
// and unanswered frames must be counted under the same name.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coherent/host_end.h"
#include "device/rpc/fifo_placement.h"
#include "device/rpc/rpc_nic.h"
#include "engine/rpc/server.h"
#include "line_pair.h"
#include "link_pair.h"
#include "nic/bilateral.h"
#include "nic/coherent.h"
#include "nic/mbuf_pipes.h"
#include "nic/packetized.h"
#include "nic/streaming.h"
#include "packet/defragmenter.h"
#include "packet/own_addresses.h"
#include "process_page.h"
#include "ring_port.h"
#include "rpc/frames.h"
#include "rpc/random_wire.h"
#include "service_functions.h"

namespace sluice::rpc_app {
namespace {

using device::rpc::RpcCounter;
using device::rpc::RpcNic;
using engine::rpc::Counts;
using engine::rpc::Server;
using nic_test::Bytes;
using Words = std::vector<uint32_t>;

constexpr uint16_t kPort = 2000;  // The same port as in rpc/frames.h.
constexpr uint32_t kMtu = 1500;
constexpr uint32_t kAdd = 0x20000103;
constexpr uint32_t kEcho = 0x20000102;
constexpr uint32_t kOdd = 0x20000777;

// The NIC, the operating system of one core and the process of one service, in one thread.
class LineHost : public device::rpc::HostPort, private device::FrameSink {
 public:
  explicit LineHost(const ServiceFunctions& functions)
      : answerer_(functions.table()),
        nic({.dispatcher = {}, .users = kUserGeometry}, placement_, *this) {
    nic.AttachKernel(0, {kernel_memory_.span(), 0});
    nic.AddService(1, 1, {kPort, functions.table(), {}});
    const device::rpc::Endpoint endpoint = {user_memory_.span(),
                                            reinterpret_cast<uint64_t>(user_memory_.span().data())};
    EXPECT_TRUE(nic.Start(1, functions.entries(), {&endpoint, 1}));
  }

  std::optional<Bytes> Answer(const Bytes& frame) {
    const device::WireFrame sent = {frame.data(), static_cast<uint32_t>(frame.size())};
    nic.Receive({&sent, 1}, false);
    for (int turn = 0; turn < 6; ++turn) {  // Load, switch, load, call, reply.
      Step();
      if (!switched_ && kernel_.Wait(0) == coherent::Got::kContent) {
        kernel_.Return({.kind = coherent::Kind::kNoReply});
        switched_ = true;
      }
      if (switched_ && user_.Wait(0) == coherent::Got::kContent) answerer_.Answer(user_);
    }
    return std::exchange(reply_, std::nullopt);
  }

  void Interrupt(device::rpc::CoreId, device::rpc::ProcessId) override { ADD_FAILURE(); }
  void Kill(device::rpc::ProcessId) override { ADD_FAILURE(); }
  void Wake(device::rpc::CoreId) override {}
  void Answered(const device::rpc::CallTrace&) override {}

 private:
  struct Pages {
    explicit Pages(size_t bytes)
        : bytes_((bytes + 4095) / 4096 * 4096),
          memory_(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes_)), std::free) {
      std::memset(memory_.get(), 0, bytes_);
    }
    std::span<uint8_t> span() { return {memory_.get(), bytes_}; }
    size_t bytes_;
    std::unique_ptr<uint8_t, void (*)(void*)> memory_;
  };

  void Step() {
    nic.SetTime(now_ns_ += 100);
    for (int i = 0; i < 3; ++i) nic.Transmit(*this, 64);
  }
  void Deliver(std::span<const device::WireFrame> frames) override {
    ASSERT_EQ(frames.size(), 1u);
    EXPECT_EQ(reply_, std::nullopt);
    reply_ = Bytes(frames[0].data, frames[0].data + frames[0].length);
  }

  Pages kernel_memory_{kKernelGeometry.Bytes()};
  Pages user_memory_{kUserGeometry.Bytes()};
  coherent::HostEnd kernel_{
      coherent::EndpointMemory::Format(kernel_memory_.span(), kKernelGeometry),
      coherent::WaitMethod::kPause};
  coherent::HostEnd user_{coherent::EndpointMemory::Format(user_memory_.span(), kUserGeometry),
                          coherent::WaitMethod::kPause};
  Answerer answerer_;
  device::rpc::test::FifoPlacement placement_;
  uint64_t now_ns_ = 0;
  bool switched_ = false;
  std::optional<Bytes> reply_;

 public:
  RpcNic nic;
};

// RFC 5531 section 9: xid, CALL, RPC version 2, and AUTH_NONE twice.
Words Call(uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure,
           const Words& arguments = {}) {
  Words words = {xid, 0, 2, program, version, procedure, 0, 0, 0, 0};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

Bytes FrameOf(const Bytes& message, uint16_t port = kPort) {
  Bytes frame(packet::Datagram::kPlainPayload + message.size());
  packet::Datagram::WritePlain(
      frame.data(),
      {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {10, 0, 0, 1}, {10, 0, 0, 2}, 40000, port},
      static_cast<uint32_t>(message.size()));
  std::ranges::copy(message, frame.begin() + packet::Datagram::kPlainPayload);
  frame.resize(std::max<size_t>(frame.size(), 60));
  return frame;
}
Bytes FrameOf(const Words& message, uint16_t port = kPort) {
  Bytes bytes(4 * message.size());
  for (size_t i = 0; i < message.size(); ++i) packet::StoreBe32(&bytes[4 * i], message[i]);
  return FrameOf(bytes, port);
}

// An interface under test: a queue, its other end, and a server.
class Interface {
 public:
  virtual ~Interface() = default;
  virtual const char* name() const = 0;
  virtual std::vector<Bytes> Answer(const Bytes& frame) = 0;
};

class Interfaces : public nic_test::RingPort {
 protected:
  // Compares all answers to `frame` with the NIC's answer.
  void Compare(LineHost& host, const std::vector<std::unique_ptr<Interface>>& interfaces,
               const Bytes& frame) {
    const std::optional<Bytes> expected = host.Answer(frame);
    const std::vector<Bytes> all = expected ? std::vector<Bytes>{*expected} : std::vector<Bytes>{};
    answered_ += expected.has_value();
    for (const auto& interface : interfaces)
      EXPECT_EQ(interface->Answer(frame), all) << interface->name();
  }

  template <typename Queue, typename Receive, typename Sent>
  class Behind final : public Interface {
   public:
    Behind(const char* name, const device::rpc::Services& services, Queue queue, Receive receive,
           Sent sent)
        : name_(name),
          server_(services, counts_, packet::OwnAddresses(), kMtu),
          queue_(std::move(queue)),
          receive_(receive),
          sent_(sent) {
      server_.set_outbox(queue_->outbox());
    }
    const char* name() const override { return name_; }
    std::vector<Bytes> Answer(const Bytes& frame) override {
      receive_(frame);
      for (int polls = 0; polls < 4; ++polls) queue_->Poll(server_, 0);
      queue_->FlushSent();
      return sent_();
    }

   private:
    const char* name_;
    Counts counts_{};
    Server server_;
    Queue queue_;
    Receive receive_;
    Sent sent_;
  };
  template <typename Queue, typename Receive, typename Sent>
  static std::unique_ptr<Interface> Make(const char* name, const device::rpc::Services& services,
                                         Queue queue, Receive receive, Sent sent) {
    return std::make_unique<Behind<Queue, Receive, Sent>>(name, services, std::move(queue), receive,
                                                          sent);
  }

  // packetized and streaming share the fixture's port; the others have separate ends.
  std::vector<std::unique_ptr<Interface>> All(const device::rpc::Services& services) {
    using namespace nic;  // NOLINT: four queues
    const auto receive = [this](const Bytes& frame) { Receive(frame); };
    const auto sent = [this] { return Sent(); };
    link_ = std::make_unique<nic_test::LinkPair>();
    lines_ = std::make_unique<nic_test::LinePair>();
    std::vector<std::unique_ptr<Interface>> all;
    all.push_back(
        Make("packetized", services,
             std::make_unique<PacketizedQueue>(port_->id(), 0, 32, ExceptionPath{}, port_->pool(0)),
             receive, sent));
    all.push_back(
        Make("streaming", services,
             std::make_unique<StreamingQueue<MbufPipes>>(MbufPipes(port_->id(), 0, port_->pool(0))),
             receive, sent));
    all.push_back(Make(
        "bilateral", services, std::make_unique<BilateralQueue<nic_test::LinkPair>>(*link_),
        [this](const Bytes& frame) { ASSERT_TRUE(link_->Receive(frame)); },
        [this] { return link_->Send(); }));
    all.push_back(Make(
        "frames in lines", services, std::make_unique<CoherentQueue<nic_test::LinePair>>(*lines_),
        [this](const Bytes& frame) { ASSERT_TRUE(lines_->Receive(frame)); },
        [this] { return lines_->Sent(); }));
    return all;
  }

  std::unique_ptr<ServiceFunctions> Load(const std::string& object, const std::string& x) {
    std::string error;
    auto functions = ServiceFunctions::Load(object, x, &error);
    EXPECT_NE(functions, nullptr) << error;
    return functions;
  }

  std::unique_ptr<nic_test::LinkPair> link_;
  std::unique_ptr<nic_test::LinePair> lines_;
  uint32_t answered_ = 0;
};

TEST_F(Interfaces, GiveTheSameAnswers) {
  struct Case {
    const char* object;
    const char* x;
    std::vector<Bytes> frames;
  };
  // Procedures of ODD: 3 fails, 4 returns more than any datagram can hold, 5 modifies a union, and
  // 6 succeeds.
  const std::vector<Case> cases = {
      {ADD_OBJECT,
       ADD_X,
       {FrameOf(Call(1, kAdd, 1, 1, {7, 5})),
        FrameOf(Call(2, kAdd, 1, 0)),
        FrameOf(Call(3, kAdd, 1, 1, {7})),
        FrameOf(Call(4, kAdd, 1, 1, {7, 5, 9})),
        FrameOf(Call(5, kAdd, 1, 9)),
        FrameOf(Call(6, kAdd, 3, 1)),
        FrameOf(Call(7, 99, 1, 1)),
        FrameOf(Words{8, 0, 3, kAdd, 1, 1, 0, 0, 0, 0}),
        FrameOf(Words{9, 0, 3}),
        FrameOf(Words{10, 0, 2, kAdd, 1, 1, 1, 4, 0xdeadbeef, 0, 0}),
        FrameOf(Words{11, 0, 2, kAdd, 1, 1, 77, 0, 0, 0}),
        FrameOf(Words{12, 0, 2, kAdd, 1, 1, 0, 0, 0, 401}),
        FrameOf(Words{13, 0, 2, kAdd, 1, 1, 1, 20, 1, 0, 2, 3, 0, 0, 0, 40, 2}),
        FrameOf(Words{14, 1, 0, 0, 0, 0}),
        FrameOf(Words{15}),
        FrameOf(Call(16, kAdd, 1, 1, {1, 2}), 999),
        test::kCall4,
        test::kCall6,
        test::kVlanCall4,
        Bytes(60, 0)}},
      {ECHO_OBJECT,
       ECHO_X,
       {FrameOf(Call(20, kEcho, 1, 1, {4, 0x01020304})), FrameOf(Call(21, kEcho, 1, 1, {0})),
        FrameOf(Call(22, kEcho, 1, 1, {5, 0x01020304})), FrameOf(Call(23, kEcho, 1, 1, {8193}))}},
      {ODD_OBJECT,
       ODD_X,
       {FrameOf(Call(30, kOdd, 1, 3)), FrameOf(Call(31, kOdd, 1, 4)),
        FrameOf(Call(32, kOdd, 1, 5, {1, 3, 0x61626300})),
        FrameOf(Call(33, kOdd, 1, 5, {5, 2, 10, 20})), FrameOf(Call(34, kOdd, 1, 5, {7})),
        FrameOf(Call(35, kOdd, 1, 5, {5, 9})), FrameOf(Call(36, kOdd, 1, 6))}}};
  for (const Case& test : cases) {
    const auto functions = Load(test.object, test.x);
    ASSERT_NE(functions, nullptr);
    device::rpc::Services services;
    ASSERT_TRUE(services.Add(1, functions->At(kPort)));
    LineHost host(*functions);
    const auto interfaces = All(services);
    for (size_t i = 0; i < test.frames.size(); ++i) {
      SCOPED_TRACE(std::string(test.x) + ", frame " + std::to_string(i));
      Compare(host, interfaces, test.frames[i]);
    }
    // Truncates the call at each length and adjusts the length fields.
    const Bytes whole(test.frames[0].begin() + packet::Datagram::kPlainPayload,
                      test.frames[0].end());
    for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
      SCOPED_TRACE(bytes);
      Compare(host, interfaces, FrameOf(Bytes(whole.begin(), whole.begin() + bytes)));
    }
  }
  // All frames above are answered except a reply, a lone xid, frames to another port and
  // non-datagrams. The first frame of each service, truncated after its header, is also answered.
  EXPECT_GE(answered_, 27u);
}

TEST_F(Interfaces, AnswerRandomAndBentArgumentsAlike) {
  const auto functions = Load(ODD_OBJECT, ODD_X);
  ASSERT_NE(functions, nullptr);
  device::rpc::Services services;
  ASSERT_TRUE(services.Add(1, functions->At(kPort)));
  LineHost host(*functions);
  const auto interfaces = All(services);
  std::mt19937_64 random(18);
  const rpc::Table& table = functions->table();
  const rpc::Lookup turn = table.Find(kOdd, 1, 5);
  ASSERT_EQ(turn.stat, rpc::AcceptStat::kSuccess);
  test::RandomWire wire(table, random);
  for (uint32_t i = 0; i < 400 && !HasFailure(); ++i) {
    const Bytes head = FrameOf(Call(i, kOdd, 1, 5));
    Bytes message(head.begin() + packet::Datagram::kPlainPayload,
                  head.begin() + packet::Datagram::kPlainPayload + 40);
    const Bytes arguments = wire.Of(table.procedures[turn.procedure].arguments);
    message.insert(message.end(), arguments.begin(), arguments.end());
    if (i % 3 == 1) message[random() % message.size()] ^= 1 << random() % 8;
    if (i % 3 == 2) message.resize(message.size() - random() % message.size());
    // For an empty name, the service returns the bytes after it, which are undefined.
    const bool empty = message.size() >= 48 && packet::LoadBe32(&message[40]) == 1 &&
                       packet::LoadBe32(&message[44]) == 0;
    if (empty) continue;
    SCOPED_TRACE(i);
    Compare(host, interfaces, FrameOf(message));
  }
  EXPECT_GT(answered_, 200u);
}

// The NIC answers with one datagram. A port whose frame size is limited by the MTU sends the
// datagram in fragments.
TEST_F(Interfaces, SendLongResultsInFragments) {
  const auto functions = Load(ODD_OBJECT, ODD_X);
  ASSERT_NE(functions, nullptr);
  device::rpc::Services services;
  ASSERT_TRUE(services.Add(1, functions->At(kPort)));
  LineHost host(*functions);
  const Bytes call = FrameOf(Call(1, kOdd, 1, 10, {8000, 4, 0x01020304}));
  const std::optional<Bytes> expected = host.Answer(call);
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->size(), packet::Datagram::kPlainPayload + 24 + 4 + 8000);
  for (const auto& interface : All(services)) {
    SCOPED_TRACE(interface->name());
    packet::Defragmenter defragmenter(1, 1, /*seed=*/1);
    const std::vector<Bytes> pieces = interface->Answer(call);
    EXPECT_EQ(pieces.size(), 6u);  // 8036 bytes of UDP, with at most 1480 bytes in each fragment.
    Bytes whole;
    for (const Bytes& piece : pieces) {
      EXPECT_LE(piece.size(), 14 + kMtu);
      const packet::Headers headers =
          packet::Parse(piece.data(), static_cast<uint32_t>(piece.size()));
      const auto made = defragmenter.Accept(piece.data(), headers, 0);
      whole.assign(made.frame, made.frame + made.length);
    }
    ASSERT_EQ(whole.size(), expected->size());
    std::copy_n(expected->begin() + 18, 8, whole.begin() + 18);  // Identification to checksum.
    EXPECT_EQ(whole, *expected);
  }
}

// The host must count a frame under the same name as the NIC.
TEST_F(Interfaces, CountUnderTheSameNames) {
  const auto functions = Load(ADD_OBJECT, ADD_X);
  ASSERT_NE(functions, nullptr);
  device::rpc::Services services;
  ASSERT_TRUE(services.Add(1, functions->At(kPort)));
  LineHost host(*functions);
  Counts counts{};
  Server server(services, counts, packet::OwnAddresses());
  Bytes summed = test::kCall4;  // The frame has a UDP checksum, which is now wrong.
  summed.back() ^= 1;
  Bytes fragment = FrameOf(Call(1, kAdd, 1, 1, {1, 2}));
  packet::StoreBe16(&fragment[20], 0x2000);
  packet::StoreBe16(&fragment[24], 0);
  packet::Store(&fragment[24], packet::FinishChecksum(packet::SumBytes(&fragment[14], 20)));
  Bytes lying = FrameOf(Call(1, kAdd, 1, 1, {1, 2}));
  packet::StoreBe16(&lying[38], 2000);
  const std::vector<Bytes> frames = {summed,
                                     fragment,
                                     lying,
                                     FrameOf(Words{15}),
                                     FrameOf(Words{14, 1, 0, 0, 0, 0}),
                                     FrameOf(Call(1, kAdd, 1, 1, {1})),
                                     FrameOf(Call(1, kAdd, 1, 9)),
                                     FrameOf(Call(1, kAdd, 3, 1)),
                                     FrameOf(Call(1, 99, 1, 1)),
                                     FrameOf(Words{9, 0, 3}),
                                     FrameOf(Words{11, 0, 2, kAdd, 1, 1, 77}),
                                     FrameOf(Call(1, kAdd, 1, 1, {1, 2}))};
  std::array<uint64_t, 6> drops{};
  for (Bytes frame : frames) {
    host.Answer(frame);
    packet::Frame view{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0, nullptr};
    const packet::Verdict verdict = server.Process(view, 0);
    if (verdict.action == packet::Action::kDrop) ++drops[verdict.reason];
  }
  for (uint32_t i = 0; i < drops.size(); ++i) {
    const auto counter = static_cast<RpcCounter>(i + 1);
    EXPECT_EQ(drops[i], host.nic.counter(counter)) << Server::kDropReasons[i];
    EXPECT_EQ(Server::kDropReasons[i], device::rpc::kRpcCounterNames[i + 1]);
  }
  for (uint32_t i = static_cast<uint32_t>(RpcCounter::kRpcMismatch); i < counts.size(); ++i) {
    EXPECT_EQ(counts[i], host.nic.counter(static_cast<RpcCounter>(i)))
        << device::rpc::kRpcCounterNames[i];
  }
  EXPECT_EQ(counts[static_cast<uint32_t>(RpcCounter::kReceived)], 1u);
}

// If addresses are configured, only calls to those addresses are answered.
TEST_F(Interfaces, ServeTheirOwnAddressesAlone) {
  const auto functions = Load(ADD_OBJECT, ADD_X);
  ASSERT_NE(functions, nullptr);
  device::rpc::Services services;
  ASSERT_TRUE(services.Add(1, functions->At(kPort)));
  Counts counts{};
  std::string error;
  for (const auto& [mac, address, action] :
       {std::tuple(uint8_t{2}, "10.0.0.2", packet::Action::kForward),
        std::tuple(uint8_t{3}, "10.0.0.2", packet::Action::kPass),
        std::tuple(uint8_t{2}, "10.0.0.3", packet::Action::kPass)}) {
    packet::OwnAddresses own({2, 0, 0, 0, 0, mac});
    ASSERT_TRUE(own.Add(address, &error));
    Server server(services, counts, own);
    Bytes frame = FrameOf(Call(1, kAdd, 1, 1, {1, 2}));
    packet::Frame view{frame.data(), static_cast<uint32_t>(frame.size()), 0, 0, nullptr};
    EXPECT_EQ(server.Process(view, 0).action, action) << int{mac} << " " << address;
  }
}

}  // namespace
}  // namespace sluice::rpc_app
