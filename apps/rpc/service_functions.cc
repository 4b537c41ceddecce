// SPDX-License-Identifier: BSD-3-Clause
#include "service_functions.h"

#include <dlfcn.h>

#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "rpc/marshal.h"
#include "rpc/unmarshal.h"

namespace sluice::rpc_app {
namespace {

/// Maximum size of a result in XDR; such a result fits into a datagram.
constexpr uint32_t kMaxXdr = 65536;
/// Maximum size of results that use the fast path: together with the head, they fit into the first
/// half of a line (coherent/layout.h).
constexpr uint32_t kSmallBytes = 32;
static_assert(kSmallBytes <= coherent::kInlineBytes);

// Default procedure 0 for services that do not define it.
int Nothing(void*, void*, void*) { return 1; }

}  // namespace

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<rpc::CompiledX> CompileFile(const std::string& path, const std::string& define,
                                          std::string* error) {
  const std::optional<std::string> text = ReadFile(path);
  if (!text) {
    *error = path + ": cannot be read";
    return std::nullopt;
  }
  const auto constants = rpc::ReadConstants(define, "--define", error);
  auto compiled = constants ? rpc::CompileX(*text, path, error, *constants) : std::nullopt;
  if (!compiled || compiled->several_arguments.empty()) return compiled;
  *error = path + ": " + compiled->several_arguments +
           " has several arguments, which sluice-rpc cannot pass: declare one struct instead";
  return std::nullopt;
}

std::string FunctionName(const std::string& procedure, uint32_t version) {
  std::string name;
  for (const char c : procedure) {
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name + "_" + std::to_string(version) + "_svc";
}

std::unique_ptr<ServiceFunctions> ServiceFunctions::Load(const std::string& object,
                                                         const std::string& x, std::string* error,
                                                         const std::string& define) {
  std::optional<rpc::CompiledX> compiled = CompileFile(x, define, error);
  if (!compiled) return nullptr;
  void* const handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    *error = dlerror();
    return nullptr;
  }
  auto functions = std::make_unique<ServiceFunctions>();
  functions->compiled_ = std::move(*compiled);
  const rpc::Table& table = functions->compiled_.table;
  for (size_t i = 0; i < table.procedures.size(); ++i) {
    const rpc::Procedure& procedure = table.procedures[i];
    const std::string name =
        FunctionName(functions->compiled_.procedure_names[i], procedure.version);
    void* function = dlsym(handle, name.c_str());
    if (function == nullptr && procedure.number == 0) {
      function = reinterpret_cast<void*>(&Nothing);
    }
    if (function == nullptr) {
      *error = object + ": has no function " + name + ", which " + x + " declares";
      return nullptr;
    }
    functions->entries_.push_back({reinterpret_cast<uint64_t>(function), procedure.result});
  }
  return functions;
}

Answerer::Answerer(const rpc::Table& table, const Callees* callees)
    : table_(table), caller_(callees), result_(table.MaxResultBytes() / 8 + 1), xdr_(kMaxXdr) {}

void Answerer::Answer(coherent::HostEnd& end) {
  const coherent::Content call = end.content();
  const rpc::Type& type = table_.types[static_cast<uint32_t>(call.data)];
  if (!type.straight || type.bytes > kSmallBytes) return AnswerAny(end, call);
  // The sizes are constants so that the compiler inlines the initialization and the copy of
  // `result`. All data is in the line's first 64 bytes.
  alignas(kSmallBytes) std::array<uint8_t, kSmallBytes> result{};
  const auto function = reinterpret_cast<engine::rpc::Function>(call.code);
  const int status = function(end.payload().data(), result.data(), caller_.request());
  if (status != 1 && AnswerWithoutResult(end, call, status)) [[unlikely]]
    return;
  std::memcpy(end.Room().data(), result.data(), kSmallBytes);
  end.Return({.kind = coherent::Kind::kReply,
              .length = type.bytes,
              .code = static_cast<uint64_t>(rpc::AcceptStat::kSuccess)});
}

bool Answerer::AnswerWithoutResult(coherent::HostEnd& end, const coherent::Content& call,
                                   int status) {
  if (status == SLUICE_RPC_CALLED && caller_.Return(end, call.data)) return true;
  if (status != SLUICE_RPC_CALLED && status != 0) return false;
  end.Return(
      {.kind = coherent::Kind::kReply, .code = static_cast<uint64_t>(rpc::AcceptStat::kSystemErr)});
  return true;
}

void Answerer::AnswerAny(coherent::HostEnd& end, const coherent::Content& call) {
  const auto type_index = static_cast<uint32_t>(call.data);
  const rpc::Type& type = table_.types[type_index];
  coherent::Content reply = {.kind = coherent::Kind::kReply,
                             .code = static_cast<uint64_t>(rpc::AcceptStat::kSuccess)};
  std::memset(result_.data(), 0, type.bytes);
  const auto function = reinterpret_cast<engine::rpc::Function>(call.code);
  const int status = function(end.payload().data(), result_.data(), caller_.request());
  if (AnswerWithoutResult(end, call, status)) return;
  if (type.straight && type.bytes <= end.Room().size()) {
    std::memcpy(end.Room().data(), result_.data(), type.bytes);
    reply.length = type.bytes;
    end.Return(reply);
    return;
  }
  // Pointed-to data is moved into the line after the result's structure. The data is copied through
  // XDR, because it may be in the line itself.
  const rpc::Marshalled xdr =
      rpc::Marshal(table_, type_index, rpc::Source::Own(result_.data()), xdr_.data(), kMaxXdr);
  reply.code = static_cast<uint64_t>(rpc::AcceptStat::kSystemErr);
  for (const bool in_buffer : {false, true}) {
    if (xdr.error != rpc::MarshalError::kNone) break;
    const std::span<uint8_t> room = end.Room(in_buffer);
    const rpc::Unmarshalled made =
        rpc::Unmarshal(table_, type_index, xdr_.data(), xdr.bytes,
                       rpc::Room::Here(room.data(), static_cast<uint32_t>(room.size())));
    if (made.error != rpc::UnmarshalError::kNone) continue;
    reply.code = static_cast<uint64_t>(rpc::AcceptStat::kSuccess);
    reply.length = made.bytes;
    reply.in_buffer = in_buffer;
    break;
  }
  end.Return(reply);
}

}  // namespace sluice::rpc_app
