/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allows services of sluice-rpc to call other services of the same NIC.
 *
 * A service is a shared object with the functions that `rpcgen -M` declares for its .x file,
 *
 *   int add_1_svc(add_pair *arguments, unsigned int *result, struct svc_req *request);
 *
 * They return 1, or 0 on failure, in which case the client gets SYSTEM_ERR. A function that needs
 * the answer of another service starts a call and returns the result of sluice_rpc_call:
 *
 *   int look_up_1_svc(look_up_key *key, look_up_result *result, struct svc_req *request) {
 *     static const struct sluice_rpc_procedure get = {STORE_PROGRAM, STORE_VERSION, STORE_GET};
 *     return sluice_rpc_call(request, &get, key, found, NULL);
 *   }
 *
 * No thread waits for the answer. When it arrives, one of the service's threads calls the
 * continuation, which returns like the function: with a result, with 0, or with another call.
 *
 *   static int found(const struct sluice_rpc_reply *reply, void *result, void *request) {
 *     if (reply->status != SLUICE_RPC_SUCCESS) return 0;
 *     ...
 *     return 1;
 *   }
 *
 * The continuation of a started call is called exactly once, unless the process ends. This includes
 * calls to a service that is missing, dies, or does not answer in time. This header works in C and
 * C++; no library is required.
 */
#ifndef SLUICE_RPC_H
#define SLUICE_RPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call. Values up to SYSTEM_ERR are those of accept_stat in RFC 5531. */
enum sluice_rpc_status {
  SLUICE_RPC_SUCCESS = 0,
  SLUICE_RPC_PROG_UNAVAIL = 1, /**< No service has this program. */
  SLUICE_RPC_PROG_MISMATCH = 2,
  SLUICE_RPC_PROC_UNAVAIL = 3,
  SLUICE_RPC_GARBAGE_ARGS = 4,
  SLUICE_RPC_SYSTEM_ERR = 5, /**< The service died, failed, or returned invalid data. */
  SLUICE_RPC_BUSY = 6,       /**< Not executed: too many calls wait for the service. */
  SLUICE_RPC_TOO_MANY = 7,   /**< Not executed: this service has too many calls in flight. */
  SLUICE_RPC_TOO_DEEP = 8,   /**< Not executed: calls are nested too deeply. */
  SLUICE_RPC_TIMED_OUT = 9   /**< No answer in time. The call may be executed, even later. */
};

/** A procedure to call; it must be declared by a .x file of --services. */
struct sluice_rpc_procedure {
  uint32_t program;
  uint32_t version;
  uint32_t procedure;
};

/** Argument of a continuation; valid until the continuation returns. */
struct sluice_rpc_reply {
  enum sluice_rpc_status status;
  void* result;  /**< After SUCCESS: the result's structure, as rpcgen declares it; else NULL. */
  void* context; /**< The argument of sluice_rpc_call. */
};

/** `result` is the result structure of the function that made the call, all zero. `request` is the
 * handle for another call. */
typedef int sluice_rpc_continuation(const struct sluice_rpc_reply* reply, void* result,
                                    void* request);

/** Return value of sluice_rpc_call for a started call. The function must return it immediately. */
#define SLUICE_RPC_CALLED 0x43616c6c

/** Type of a service function's `request`. Only sluice_rpc_call may use it. */
struct sluice_rpc_request {
  int (*call)(struct sluice_rpc_request* request, const struct sluice_rpc_procedure* procedure,
              const void* arguments, sluice_rpc_continuation* then, void* context);
};

/** Starts a call when the function that got `request` returns; of several calls, only the last one
 * is started. `arguments`: the structure of the procedure's arguments; it is copied with all data
 * that it points to. `context`: passed to the continuation. Returns SLUICE_RPC_CALLED.
 * Returns 0 if no .x file declares the procedure, the arguments cannot be sent, or the program that
 * runs the service does not support calls; the continuation is then not called. */
static inline int sluice_rpc_call(void* request, const struct sluice_rpc_procedure* procedure,
                                  const void* arguments, sluice_rpc_continuation* then,
                                  void* context) {
  struct sluice_rpc_request* const made = (struct sluice_rpc_request*)request;
  return made == NULL ? 0 : made->call(made, procedure, arguments, then, context);
}

#ifdef __cplusplus
}
#endif

#endif /* SLUICE_RPC_H */
