// Transactions of other implementations than GCC's -fgnu-tm, which Redflag knows without being told. A transaction manager says what each transaction
// reads and writes, and when it commits; two that have a byte in common are in order then, and a race of one with an access outside of
// transactions is found.
//
//   redflag::transaction transaction;         // begins
//   transaction.read(&account->balance);
//   transaction.write(&account->balance);
//   transaction.commit();                     // at the commit point, before others can see it; destroyed without: aborted
//
// A transaction that is tried again is another one. Nested ones are part of the outer one. Without Redflag's runtime in the process, nothing.
#ifndef REDFLAG_TRANSACTION_HPP_
#define REDFLAG_TRANSACTION_HPP_

#include <stddef.h>

extern "C" {
__attribute__((weak)) void redflag_transaction_begin(void);
__attribute__((weak)) void redflag_transaction_access(const volatile void* memory, size_t bytes, int is_write);
__attribute__((weak)) void redflag_transaction_commit(void);
__attribute__((weak)) void redflag_transaction_abort(void);
}

namespace redflag {

class transaction {
 public:
  transaction() {
    if (redflag_transaction_begin) redflag_transaction_begin();
  }
  ~transaction() {
    if (is_open_) abort();
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  template <class T>
  void read(const T* variable) {
    if (redflag_transaction_access) redflag_transaction_access(variable, sizeof(T), 0);
  }
  template <class T>
  void write(const T* variable) {
    if (redflag_transaction_access) redflag_transaction_access(variable, sizeof(T), 1);
  }
  void commit() {
    is_open_ = false;
    if (redflag_transaction_commit) redflag_transaction_commit();
  }
  void abort() {
    is_open_ = false;
    if (redflag_transaction_abort) redflag_transaction_abort();
  }

 private:
  bool is_open_ = true;
};

}  // namespace redflag

#endif
