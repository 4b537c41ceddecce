// SPDX-License-Identifier: BSD-3-Clause
#include "cipher_device.h"

#include <rte_crypto.h>
#include <rte_cryptodev.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <string.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "../executor.h"
#include "plain_mbuf.h"
#include "secret.h"

namespace sluice::chain_app {
namespace {

constexpr uint16_t kNonceBytes = 12;
constexpr uint16_t kTagBytes = 16;
/// Software drivers do the work when they are polled for results. An operation that is not complete
/// after this many polls is considered stuck.
constexpr uint32_t kPatience = 1u << 20;
/// Drivers that use only virtual addresses, no IOVAs.
constexpr std::array<std::string_view, 3> kDrivers = {"crypto_openssl", "crypto_aesni_gcm",
                                                      "crypto_aesni_mb"};
static_assert(CipherDevice::kLongestText <= kLongestMbuf);

}  // namespace

/// Memory layout that drivers expect: the operation, its symmetric part, and then its nonce.
struct CipherDevice::Operation {
  rte_crypto_op op;
  rte_crypto_sym_op about;
  std::array<uint8_t, 16> nonce;
  rte_mbuf from;
  rte_mbuf to;
};

std::unique_ptr<CipherDevice> CipherDevice::Make(const std::string& driver, std::string* error) {
  if (std::ranges::find(kDrivers, driver) == kDrivers.end()) {
    *error = "driver: give crypto_openssl, crypto_aesni_gcm or crypto_aesni_mb";
    return nullptr;
  }
  auto device = VirtualDevice::Make(driver, error);
  if (device == nullptr) return nullptr;
  std::unique_ptr<CipherDevice> made(new CipherDevice(std::move(device)));
  return made->Start(error) ? std::move(made) : nullptr;
}

CipherDevice::CipherDevice(std::unique_ptr<VirtualDevice> device)
    : device_(std::move(device)), operations_(std::make_unique<Operation[]>(kMaxBatch)) {}

CipherDevice::~CipherDevice() {
  if (started_) rte_cryptodev_stop(id_);
  for (const auto& sessions : {encrypting_, decrypting_})
    for (void* session : sessions)
      if (session != nullptr) rte_cryptodev_sym_session_free(id_, session);
  // Some drivers do not zero the key schedules of freed sessions.
  const auto wipe = [](rte_mempool* pool, void*, void* session, unsigned) {
    explicit_bzero(session, pool->elt_size);
  };
  if (sessions_ != nullptr) rte_mempool_obj_iter(sessions_, wipe, nullptr);
  rte_mempool_free(sessions_);
  // The device may still write to this memory, so it is leaked.
  if (stuck_) operations_.release();
}

bool CipherDevice::Start(std::string* error) {
  const int id = rte_cryptodev_get_dev_id(device_->name().c_str());
  id_ = static_cast<uint8_t>(id);
  rte_cryptodev_config config{};
  config.socket_id = SOCKET_ID_ANY;
  config.nb_queue_pairs = 1;
  rte_cryptodev_qp_conf pair{};
  // A ring of n entries has room for n - 1.
  pair.nb_descriptors = 2 * kMaxBatch;
  if (id >= 0 && rte_cryptodev_configure(id_, &config) == 0 &&
      rte_cryptodev_queue_pair_setup(id_, 0, &pair, SOCKET_ID_ANY) == 0) {
    sessions_ = rte_cryptodev_sym_session_pool_create(
        device_->name().c_str(), 2 * kKeys, rte_cryptodev_sym_get_private_session_size(id_), 0, 0,
        SOCKET_ID_ANY);
    const auto exclude = [](rte_mempool*, void*, rte_mempool_memhdr* chunk, unsigned) {
      const rte_memseg_list* const pages = rte_mem_virt2memseg_list(chunk->addr);
      if (pages != nullptr)
        ExcludeFromDumps({static_cast<uint8_t*>(chunk->addr), chunk->len}, pages->page_sz);
    };
    if (sessions_ != nullptr) rte_mempool_mem_iter(sessions_, exclude, nullptr);
    started_ = sessions_ != nullptr && rte_cryptodev_start(id_) == 0;
  }
  if (!started_) *error = device_->name() + " cannot start: give DPDK more memory";
  return started_;
}

void* CipherDevice::Session(bool encrypt, std::span<const uint8_t> key) {
  rte_crypto_sym_xform transform{};
  transform.type = RTE_CRYPTO_SYM_XFORM_AEAD;
  transform.aead.op = encrypt ? RTE_CRYPTO_AEAD_OP_ENCRYPT : RTE_CRYPTO_AEAD_OP_DECRYPT;
  transform.aead.algo = RTE_CRYPTO_AEAD_AES_GCM;
  transform.aead.key.data = key.data();
  transform.aead.key.length = static_cast<uint16_t>(key.size());
  static_assert(offsetof(Operation, about) == offsetof(rte_crypto_op, sym));
  transform.aead.iv.offset = offsetof(Operation, nonce);
  transform.aead.iv.length = kNonceBytes;
  transform.aead.digest_length = kTagBytes;
  return rte_cryptodev_sym_session_create(id_, &transform, sessions_);
}

bool CipherDevice::SetKey(uint32_t slot, std::span<const uint8_t> key, std::string* error) {
  encrypting_[slot] = Session(true, key);
  decrypting_[slot] = Session(false, key);
  if (encrypting_[slot] != nullptr && decrypting_[slot] != nullptr) return true;
  *error = device_->name() + " does not support a key of " + std::to_string(key.size()) + " bytes";
  return false;
}

void CipherDevice::Add(void* session, const Text& text) {
  Operation& one = operations_[count_++];
  if (stuck_) return;
  PointAt(one.from, text.from);
  PointAt(one.to, {text.to, text.from.size()});
  std::ranges::copy(text.nonce.first(kNonceBytes), one.nonce.begin());
  one.op = {};
  one.op.type = RTE_CRYPTO_OP_TYPE_SYMMETRIC;
  one.op.sess_type = RTE_CRYPTO_OP_WITH_SESSION;
  one.op.status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
  one.about = {};
  one.about.m_src = &one.from;
  one.about.m_dst = &one.to;
  one.about.session = session;
  one.about.aead.data.length = static_cast<uint32_t>(text.from.size());
  one.about.aead.digest.data = text.tag;
  one.about.aead.aad.data = one.nonce.data();  // The AAD has length 0 and is not read.
}

void CipherDevice::Run() {
  if (stuck_) return;
  std::array<rte_crypto_op*, kMaxBatch> waiting{};
  for (uint32_t i = 0; i < count_; ++i) waiting[i] = &operations_[i].op;
  std::array<rte_crypto_op*, kMaxBatch> ended{};
  uint16_t sent = 0, back = 0;
  for (uint32_t tries = 0; back < count_ && tries < kPatience; ++tries) {
    sent +=
        rte_cryptodev_enqueue_burst(id_, 0, &waiting[sent], static_cast<uint16_t>(count_ - sent));
    // crypto_openssl does not enqueue an operation that it cannot execute; it sets the status
    // instead.
    if (sent < count_ && waiting[sent]->status != RTE_CRYPTO_OP_STATUS_NOT_PROCESSED) {
      ++sent;
      ++back;
    }
    back += rte_cryptodev_dequeue_burst(id_, 0, ended.data(), static_cast<uint16_t>(ended.size()));
  }
  stuck_ = back < sent;
}

CipherDevice::Status CipherDevice::Of(size_t index) const {
  if (stuck_) return Status::kFailed;
  switch (operations_[index].op.status) {
    case RTE_CRYPTO_OP_STATUS_SUCCESS:
      return Status::kDone;
    case RTE_CRYPTO_OP_STATUS_AUTH_FAILED:
      return Status::kForged;
    default:
      return Status::kFailed;
  }
}

}  // namespace sluice::chain_app
