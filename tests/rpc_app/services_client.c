/* SPDX-License-Identifier: BSD-3-Clause
 *
 * services_client ADDRESS: calls the services that are part of sluice-rpc through rpcgen's stubs
 * and libtirpc over UDP, and prints whether each answer is right. The port mapper returns their
 * ports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add.h"
#include "echo.h"
#include "front.h"
#include "store.h"

static const char *address;
static int bad;

static CLIENT *client_of(unsigned long program) {
  CLIENT *client = clnt_create(address, program, 1, "udp");
  if (client == NULL) {
    printf("%s\n", clnt_spcreateerror("no client"));
    exit(1);
  }
  return client;
}

static void say(const char *what, int good) {
  printf("%s: %s\n", what, good ? "good" : "bad");
  bad |= !good;
}

static int is(const void *value, u_int length, const char *expected) {
  return length == strlen(expected) && memcmp(value, expected, length) == 0;
}

static void call_echo_and_add(void) {
  static char bytes[1000];
  echo_data data = {sizeof(bytes), bytes}, *got;
  add_pair pair = {0xfffffff0u, 0x20};
  u_int *sum;
  CLIENT *client = client_of(ECHO_PROGRAM);
  size_t i;
  for (i = 0; i < sizeof(bytes); ++i) bytes[i] = (char)(7 * i);
  got = echo_1(&data, client);
  say("echo", got != NULL && got->echo_data_len == sizeof(bytes) &&
                  memcmp(got->echo_data_val, bytes, sizeof(bytes)) == 0);
  clnt_destroy(client);
  client = client_of(ADD_PROGRAM);
  sum = add_1(&pair, client);
  say("add", sum != NULL && *sum == 0x10);
  clnt_destroy(client);
}

static void call_store(void) {
  store_key key = {3, "key"}, none = {0, ""};
  store_item item = {{3, "key"}, {5, "value"}};
  store_found *found;
  store_status *status;
  CLIENT *client = client_of(STORE_PROGRAM);
  status = store_put_1(&item, client);
  say("put", status != NULL && *status == STORE_OK);
  found = store_get_1(&key, client);
  say("get", found != NULL && found->status == STORE_OK &&
                 is(found->store_found_u.value.store_value_val,
                    found->store_found_u.value.store_value_len, "value"));
  status = store_delete_1(&key, client);
  say("delete", status != NULL && *status == STORE_OK);
  found = store_get_1(&key, client);
  say("get what is gone", found != NULL && found->status == STORE_NOT_FOUND);
  found = store_get_1(&none, client);
  say("get an empty key", found != NULL && found->status == STORE_BAD_KEY);
  clnt_destroy(client);
}

static void call_front(void) {
  front_key key = {5, "other"}, none = {4, "none"};
  front_item item = {{5, "other"}, {4, "kept"}};
  front_value *value;
  front_found *found;
  CLIENT *client = client_of(FRONT_PROGRAM);
  value = keep_1(&item, client);
  say("keep", value != NULL && is(value->front_value_val, value->front_value_len, "kept"));
  found = look_up_1(&key, client);
  say("look up", found != NULL && found->status == FRONT_OK &&
                     is(found->front_found_u.value.front_value_val,
                        found->front_found_u.value.front_value_len, "kept"));
  found = look_up_1(&none, client);
  say("look up nothing", found != NULL && found->status == FRONT_NOT_FOUND);
  clnt_destroy(client);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  address = argv[1];
  call_echo_and_add();
  call_store();
  call_front();
  return bad;
}
