#pragma once
#include <curl/curl.h>
#include <sys/socket.h>

// Swift cannot call the variadic `curl_easy_setopt` and `curl_easy_getinfo`, so each argument type
// has a function. `long` serves `curl_off_t` too, since both have 64 bits.
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

static inline CURLcode CCurl_set_progress(CURL *easy, curl_xferinfo_callback function) {
  return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, function);
}

static inline CURLcode CCurl_get_number(CURL *easy, CURLINFO information, long *value) {
  return curl_easy_getinfo(easy, information, value);
}

// The structure ends with an address, which may be longer than its type.
static inline const struct sockaddr *CCurl_address(const struct curl_sockaddr *to) {
  return &to->addr;
}
