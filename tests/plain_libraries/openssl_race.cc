// One context of a digest for two threads, each of which keeps count of what it put in: the context is OpenSSL's and not watched, the count is.
// PACKAGES: openssl
// FLAGS: -I{here}/../e2e
#include <openssl/evp.h>

#include <thread>

#include "invisible.h"

struct Hasher {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  int bytes = 0;
  NOINLINE void Add(const char* text, int count) {
    EVP_DigestUpdate(context, text, static_cast<size_t>(count));
    bytes += count;  // RACE(count) CHAIN(count): Add < lambda
  }
};

int main() {
  Hasher hasher;
  EVP_DigestInit_ex(hasher.context, EVP_sha256(), nullptr);
  std::thread other([&] {
    hasher.Add("abc", 3);
    Arrive();
  });
  std::thread another([&] {
    Await(1);
    hasher.Add("def", 3);
  });
  other.join();
  another.join();
  EVP_MD_CTX_free(hasher.context);
}
