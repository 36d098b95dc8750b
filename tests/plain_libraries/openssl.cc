// OpenSSL, as programs use it in threads: digests and ciphers each for itself, one context of TLS for all, a callback that counts under a lock.
// NORACE
// PACKAGES: openssl
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static int handshakes;

static void Digest(unsigned char* out) {
  for (int i = 0; i < 20; ++i) {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
    EVP_DigestUpdate(context, "abc", 3);
    unsigned length = 0;
    EVP_DigestFinal_ex(context, out, &length);
    EVP_MD_CTX_free(context);
    EVP_MD* fetched = EVP_MD_fetch(nullptr, "SHA512", nullptr);
    EVP_MD_free(fetched);
  }
}

static void Encrypt() {
  unsigned char key[32] = {1}, iv[16] = {2}, in[64], out[128];
  RAND_bytes(in, sizeof in);
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int count = 0, rest = 0;
  EVP_EncryptInit_ex(context, EVP_aes_256_cbc(), nullptr, key, iv);
  EVP_EncryptUpdate(context, out, &count, in, sizeof in);
  EVP_EncryptFinal_ex(context, out + count, &rest);
  EVP_CIPHER_CTX_free(context);
}

static void OnState(const SSL*, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_DONE) == 0) return;
  const std::lock_guard lock(mutex);
  ++handshakes;
}

static void Talk(SSL_CTX* server_context, SSL_CTX* client_context) {
  for (int round = 0; round < 3; ++round) {
    BIO *left = nullptr, *right = nullptr;
    BIO_new_bio_pair(&left, 0, &right, 0);
    SSL* server = SSL_new(server_context);
    SSL* client = SSL_new(client_context);
    SSL_set_bio(server, left, left);
    SSL_set_bio(client, right, right);
    SSL_set_accept_state(server);
    SSL_set_connect_state(client);
    for (int i = 0; i < 20 && !(SSL_is_init_finished(server) && SSL_is_init_finished(client)); ++i) {
      SSL_do_handshake(client);
      SSL_do_handshake(server);
    }
    char buffer[16];
    SSL_write(client, "hello", 5);
    if (SSL_read(server, buffer, sizeof buffer) != 5 || std::memcmp(buffer, "hello", 5) != 0) std::abort();
    SSL_free(server);
    SSL_free(client);
  }
}

static X509* Certificate(EVP_PKEY* key) {
  X509* x509 = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509), 0);
  X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
  X509_set_pubkey(x509, key);
  const unsigned char name[] = "here";
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC, name, -1, -1, 0);
  X509_set_issuer_name(x509, X509_get_subject_name(x509));
  X509_sign(x509, key, EVP_sha256());
  return x509;
}

int main() {
  unsigned char digests[4][64];
  std::vector<std::thread> threads;
  for (auto& digest : digests) {
    threads.emplace_back([&digest] {
      Digest(digest);
      Encrypt();
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  if (digests[0][0] != 0xba || digests[3][0] != 0xba) return 1;

  EVP_PKEY* key = EVP_RSA_gen(2048);
  X509* certificate = Certificate(key);
  SSL_CTX* server = SSL_CTX_new(TLS_server_method());
  SSL_CTX* client = SSL_CTX_new(TLS_client_method());
  SSL_CTX_use_certificate(server, certificate);
  SSL_CTX_use_PrivateKey(server, key);
  SSL_CTX_set_info_callback(server, OnState);
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { Talk(server, client); });
  for (std::thread& thread : threads) thread.join();
  SSL_CTX_free(server);
  SSL_CTX_free(client);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return handshakes >= 12 ? 0 : 1;
}
