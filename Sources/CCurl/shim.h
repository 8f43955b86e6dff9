#pragma once
#include <curl/curl.h>
#include <sys/socket.h>

// Swift cannot call the variadic `curl_easy_setopt`, `curl_easy_getinfo` and `curl_multi_setopt`, so
// each argument type has a function. `long` serves `curl_off_t` too, since both have 64 bits.
static inline CURLcode CCurl_set_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode CCurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode CCurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

typedef size_t (*CCurlBytes)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode CCurl_set_bytes(CURL *easy, CURLoption option, CCurlBytes function) {
  return curl_easy_setopt(easy, option, function);
}
typedef curl_socket_t (*CCurlOpen)(void *context, curlsocktype purpose, struct curl_sockaddr *to);
static inline CURLcode CCurl_set_open(CURL *easy, CURLoption option, CCurlOpen function) {
  return curl_easy_setopt(easy, option, function);
}

static inline CURLcode CCurl_get_number(CURL *easy, CURLINFO information, long *value) {
  return curl_easy_getinfo(easy, information, value);
}

// The structure ends with an address, which may be longer than its type.
static inline const struct sockaddr *CCurl_address(const struct curl_sockaddr *to) {
  return &to->addr;
}

static inline CURLMcode CCurl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode CCurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode CCurl_multi_set_watch(CURLM *multi, curl_socket_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}
static inline CURLMcode CCurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

// Returns a transfer that has ended, and its code; NULL if no further one has.
static inline CURL *CCurl_multi_next_ended(CURLM *multi, CURLcode *code) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

static inline curl_socket_t CCurl_get_socket(CURL *easy) {
  curl_socket_t socket = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK ? socket
                                                                          : CURL_SOCKET_BAD;
}
