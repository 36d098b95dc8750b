// Races of a program's own code in runnables and threads of Qt.
// PACKAGES: Qt5Core
// FLAGS: -fPIC -I{here}/../e2e
#include <QMutex>
#include <QRunnable>
#include <QThread>
#include <QThreadPool>

#include "invisible.h"

int in_pool, locked;  // not static: what nobody reads may go
static QMutex mutex;

struct First : QRunnable {
  void run() override {
    in_pool = 1;  // RACE(pool) CHAIN(pool): run
    Arrive();
    Await(2);
  }
};

struct Second : QRunnable {
  void run() override {
    Await(1);
    in_pool = 2;  // RACE(pool) CHAIN(pool): run
    Arrive();
  }
};

struct Locker : QThread {
  void run() override {
    mutex.lock();
    locked = 1;  // RACE(unlocked) CHAIN(unlocked): run
    mutex.unlock();
    Arrive();
  }
};

int main() {
  QThreadPool pool;
  pool.setMaxThreadCount(2);
  pool.start(new First);
  pool.start(new Second);
  pool.waitForDone();
  Locker locker;
  locker.start();
  Await(3);
  USE(locked);  // RACE(unlocked) CHAIN(unlocked): main
  locker.wait();
}
