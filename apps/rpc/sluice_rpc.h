/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a service of sluice-rpc may do beside answering: call other services of the same NIC.
 *
 * A service is a shared object with the functions that `rpcgen -M` declares for its .x file,
 *
 *   int add_1_svc(add_pair *arguments, unsigned int *result, struct svc_req *request);
 *
 * which return 1, or 0 if they failed: the caller gets SYSTEM_ERR. A function that needs another
 * service's answer first starts a call, and returns what sluice_rpc_call returned:
 *
 *   int look_up_1_svc(look_up_key *key, look_up_result *result, struct svc_req *request) {
 *     static const struct sluice_rpc_procedure get = {STORE_PROGRAM, STORE_VERSION, STORE_GET};
 *     return sluice_rpc_call(request, &get, key, found, NULL);
 *   }
 *
 * No thread waits for the answer. When it is there, the service's continuation is called, by any
 * of its threads, and returns as the function would have: with a result, with 0, or with another
 * call.
 *
 *   static int found(const struct sluice_rpc_reply *reply, void *result, void *request) {
 *     if (reply->status != SLUICE_RPC_SUCCESS) return 0;
 *     ...
 *     return 1;
 *   }
 *
 * After a call that was started, the continuation is called exactly once, unless the process ends:
 * also if the other service is not there, dies, or does not answer in time. Headers for C and C++;
 * nothing has to be linked.
 */
#ifndef SLUICE_RPC_H
#define SLUICE_RPC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a call. Up to SYSTEM_ERR: accept_stat of RFC 5531. */
enum sluice_rpc_status {
  SLUICE_RPC_SUCCESS = 0,
  SLUICE_RPC_PROG_UNAVAIL = 1, /**< No service has this program. */
  SLUICE_RPC_PROG_MISMATCH = 2,
  SLUICE_RPC_PROC_UNAVAIL = 3,
  SLUICE_RPC_GARBAGE_ARGS = 4,
  SLUICE_RPC_SYSTEM_ERR = 5, /**< The service died, failed, or returned what cannot be. */
  SLUICE_RPC_BUSY = 6,       /**< Not executed: too many calls wait for the service. */
  SLUICE_RPC_TOO_MANY = 7,   /**< Not executed: this service has too many calls under way. */
  SLUICE_RPC_TOO_DEEP = 8,   /**< Not executed: calls in calls in calls. */
  SLUICE_RPC_TIMED_OUT = 9   /**< No answer in time. Executed, or not, or later. */
};

/** Whom to call: one of the programs that the .x files of --services declare. */
struct sluice_rpc_procedure {
  uint32_t program;
  uint32_t version;
  uint32_t procedure;
};

/** What a continuation gets; valid until it returns. */
struct sluice_rpc_reply {
  enum sluice_rpc_status status;
  void* result;  /**< After SUCCESS: the result's structure, as rpcgen declares it; else NULL. */
  void* context; /**< As sluice_rpc_call had it. */
};

/** `result` and `request` are those of the function that made the call: the structure of its
 * result, all zero, and the request to make another call by. */
typedef int sluice_rpc_continuation(const struct sluice_rpc_reply* reply, void* result,
                                    void* request);

/** Of sluice_rpc_call: a call was started. To be returned at once. */
#define SLUICE_RPC_CALLED 0x43616c6c

/** What `request` of a service's function points to. Not to be used but by sluice_rpc_call. */
struct sluice_rpc_request {
  int (*call)(struct sluice_rpc_request* request, const struct sluice_rpc_procedure* procedure,
              const void* arguments, sluice_rpc_continuation* then, void* context);
};

/** Starts a call when the function that got `request` returns; of several calls, the last one.
 * `arguments`: the structure that the procedure takes, copied with all that its pointers lead to.
 * `context`: the caller's, for the continuation. Returns SLUICE_RPC_CALLED; or 0, and the
 * continuation is not called: nobody declares the procedure, the arguments cannot be sent, or
 * whoever runs the service makes no calls. */
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
