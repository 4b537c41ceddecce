// SPDX-License-Identifier: BSD-3-Clause
//
// Tests that a byte stream yields the same messages however it is divided into pieces. Also tests
// the version negotiation.
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "client.h"
#include "emulator/vfio_user/client_socket.h"
#include "emulator/vfio_user/version.h"

namespace sluice::emulator::vfio_user {
namespace {

using test::Bytes;
using test::Join;
using test::MakeMessage;
using test::VersionPayload;

std::vector<base::OwnedFd> SomeFiles(size_t count) {
  std::vector<base::OwnedFd> files;
  for (size_t i = 0; i < count; ++i) files.emplace_back(eventfd(0, EFD_CLOEXEC));
  return files;
}

/// Returns three messages: one with a payload, one without, and one with a different payload.
Bytes Stream() {
  Bytes stream = MakeMessage(Command::kRegionWrite, Join(RegionAccess{8, 2, 4}, uint32_t{7}), 1);
  for (const Bytes& more : {MakeMessage(Command::kReset, {}, 2),
                            MakeMessage(Command::kGetInfo, Join(DeviceInfo{16, 0, 0, 0}), 3)}) {
    stream.insert(stream.end(), more.begin(), more.end());
  }
  return stream;
}

TEST(MessageReader, FindsTheSameMessagesWhereverTheStreamIsCut) {
  const Bytes stream = Stream();
  for (size_t first = 0; first <= stream.size(); ++first) {
    for (const size_t second : {first, (first + stream.size()) / 2, stream.size()}) {
      MessageReader reader;
      const std::span<const uint8_t> all(stream);
      EXPECT_EQ(reader.Read(all.first(first), {}), nullptr);
      EXPECT_EQ(reader.Read(all.subspan(first, second - first), {}), nullptr);
      EXPECT_EQ(reader.Read(all.subspan(second), {}), nullptr);
      ASSERT_EQ(reader.messages().size(), 3u) << first << ' ' << second;
      EXPECT_EQ(reader.messages()[0].payload, Join(RegionAccess{8, 2, 4}, uint32_t{7}));
      EXPECT_TRUE(reader.messages()[1].payload.empty());
      EXPECT_EQ(reader.messages()[2].header.id, 3);
      EXPECT_EQ(reader.waiting_bytes(), 0u);
    }
  }
}

TEST(MessageReader, FilesBelongToTheLastMessageThatBeginsInTheirPiece) {
  const Bytes stream = Stream();
  const size_t second = sizeof(Header) + sizeof(RegionAccess) + 4;
  const size_t third = second + sizeof(Header);
  const struct {
    size_t begin, end;  // The piece that has the files; earlier pieces had none.
    int owner;          // -1 if no message owns the files.
  } kRows[] = {{0, second, 0},        {0, 1, 0},
               {0, second + 1, 1},    {0, third, 1},
               {0, stream.size(), 2}, {second, third + 5, 2},
               {1, second, -1},       {1, second - 1, -1},
               {1, second + 1, 1},    {third, stream.size(), 2}};
  for (const auto& row : kRows) {
    MessageReader reader;
    const std::span<const uint8_t> all(stream);
    ASSERT_EQ(reader.Read(all.first(row.begin), {}), nullptr);
    const char* const wrong =
        reader.Read(all.subspan(row.begin, row.end - row.begin), SomeFiles(2));
    EXPECT_EQ(wrong == nullptr, row.owner >= 0) << row.begin << ' ' << row.end;
    if (wrong != nullptr) continue;
    ASSERT_EQ(reader.Read(all.subspan(row.end), {}), nullptr);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(reader.messages()[i].files.size(), i == row.owner ? 2u : 0u)
          << row.begin << ' ' << row.end;
    }
  }
}

TEST(MessageReader, IsBrokenByWhatMakesNoSense) {
  for (const uint32_t size : {0u, 15u, static_cast<uint32_t>(kMaxMessageBytes) + 1, ~0u}) {
    MessageReader reader;
    EXPECT_NE(reader.Read(Join(Header{1, 4, size, 0, 0}), {}), nullptr) << size;
    EXPECT_NE(reader.Read(MakeMessage(Command::kReset, {}), {}), nullptr) << "for good";
    EXPECT_TRUE(reader.messages().empty());
  }
  MessageReader reader;
  EXPECT_NE(reader.Read(Stream(), SomeFiles(kMaxMessageFiles + 1)), nullptr);
}

TEST(Version, IsAgreedOn) {
  const struct {
    std::string capabilities;
    Agreement agreement;
  } kRows[] = {
      {std::string(test::kQemuCapabilities), {1u << 20, true}},
      {"{}", {kMaxTransferBytes, false}},
      {"[]", {kMaxTransferBytes, false}},
      {R"({"capabilities":7})", {kMaxTransferBytes, false}},
      {R"({"capabilities":{"max_data_xfer_size":99999999}})", {kMaxTransferBytes, false}},
      {R"({"capabilities":{"max_data_xfer_size":1}})", {64, false}},
      {R"({"capabilities":{"max_data_xfer_size":-1,"write_multiple":1}})",
       {kMaxTransferBytes, false}},
      {R"({"capabilities":{"max_data_xfer_size":"2"}})", {kMaxTransferBytes, false}},
  };
  for (const auto& [capabilities, expected] : kRows) {
    Agreement agreement;
    ASSERT_EQ(ReadVersion(VersionPayload(capabilities), &agreement), nullptr) << capabilities;
    EXPECT_EQ(agreement.max_transfer_bytes, expected.max_transfer_bytes) << capabilities;
    EXPECT_EQ(agreement.write_multiple, expected.write_multiple) << capabilities;
  }
  Agreement agreement;
  EXPECT_EQ(ReadVersion(Join(VersionMessage{0, 0}), &agreement), nullptr) << "no JSON";
}

TEST(Version, IsRefused) {
  Bytes unended = VersionPayload("{}");
  unended.pop_back();
  Bytes cut = Join(VersionMessage{0, 0});
  cut.resize(3);
  Bytes other = VersionPayload("{}");
  other[0] = 1;
  for (const Bytes& payload :
       {Bytes{}, cut, unended, other, VersionPayload("{"), VersionPayload("nonsense"),
        VersionPayload(std::string(5000, ' ')), VersionPayload(std::string(3000, '['))}) {
    Agreement agreement;
    EXPECT_NE(ReadVersion(payload, &agreement), nullptr);
  }
}

TEST(Version, TheAnswerIsNeverLargerThanTheQuestion) {
  const Agreement agreement{1u << 20, true};
  size_t last = 0;
  for (size_t most = sizeof(VersionMessage); most < 256; ++most) {
    const Bytes answer = WriteVersion(agreement, 1234, most);
    EXPECT_LE(answer.size(), most);
    EXPECT_GE(answer.size(), last) << "more room, more to say";
    last = answer.size();
    if (answer.size() > sizeof(VersionMessage)) {
      Agreement heard;
      EXPECT_EQ(ReadVersion(answer, &heard), nullptr);
      EXPECT_TRUE(heard.write_multiple) << "goes first";
    }
  }
}

TEST(Version, TheAnswerSaysHowMuchTheDeviceTakes) {
  const Bytes question = VersionPayload();
  const Bytes answer = WriteVersion({1u << 20, true}, 1234, question.size());
  ASSERT_GT(answer.size(), sizeof(VersionMessage));
  const std::string said(answer.begin() + sizeof(VersionMessage), answer.end() - 1);
  for (const char* const part : {R"("max_dma_maps":1234)", R"("max_msg_fds":8)",
                                 R"("max_data_xfer_size":1048576)", R"("write_multiple":true)"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  }
}

TEST(ClientSocket, SaysWhatAClientThatReadsNothingDoesNot) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  base::OwnedFd peer(ends[1]);
  ClientSocket socket{base::OwnedFd(ends[0])};
  const Bytes payload(kMaxTransferBytes);
  const Header header{1, 9, static_cast<uint32_t>(sizeof(Header) + payload.size()), kReplyType, 0};
  const char* wrong = nullptr;
  int sent = 0;
  while (sent < 20 && socket.Send(header, payload, -1, &wrong)) ++sent;
  EXPECT_GE(sent, 15);
  EXPECT_LE(socket.waiting_bytes(), ClientSocket::kMaxWaitingBytes);
  EXPECT_NE(wrong, nullptr) << "it is still there";
  EXPECT_FALSE(socket.Send(header, {}, peer.fd(), &wrong)) << "a file behind what waits";
  EXPECT_NE(wrong, nullptr);
  peer = base::OwnedFd();
  ClientSocket left{base::OwnedFd(dup(socket.file().fd()))};
  EXPECT_FALSE(left.Send(header, {}, -1, &wrong));
  EXPECT_EQ(wrong, nullptr) << "it is gone";
}

// If QEMU 11.1.3 sees the end of the connection while some of its messages wait for socket space,
// it does not send anything else.
TEST(ClientSocket, EndsWhenAllThatTheClientHasSentIsRead) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  const base::OwnedFd client(ends[1]);
  ClientSocket socket{base::OwnedFd(ends[0])};
  const int room = 1 << 20;
  setsockopt(client.fd(), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
  const Bytes store(48);
  while (send(client.fd(), store.data(), store.size(), MSG_NOSIGNAL) > 0) {
  }
  ASSERT_EQ(errno, EAGAIN);
  int unread = -1;
  std::atomic<bool> looks = false;
  std::thread finds_the_end([&] {
    uint8_t byte;
    while (recv(client.fd(), &byte, 1, 0) != 0) looks = true;
    ioctl(client.fd(), SIOCOUTQ, &unread);
  });
  while (!looks) std::this_thread::yield();
  socket.Part();
  finds_the_end.join();
  EXPECT_EQ(unread, 0);
}

}  // namespace
}  // namespace sluice::emulator::vfio_user
