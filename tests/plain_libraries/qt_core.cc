// Qt: locks, semaphores and conditions, pools of threads, threads that are waited for, and calls and signals to objects of other threads.
// NORACE
// PACKAGES: Qt5Core
// FLAGS: -fPIC
#include <QCoreApplication>
#include <QMetaObject>
#include <QMutex>
#include <QObject>
#include <QQueue>
#include <QReadWriteLock>
#include <QRunnable>
#include <QSemaphore>
#include <QSharedPointer>
#include <QThread>
#include <QThreadPool>
#include <QTimer>
#include <QWaitCondition>
#include <cstdlib>
#include <memory>
#include <vector>

struct Job : QRunnable {
  explicit Job(int* number) : number_(number) {}
  void run() override { *number_ += 1; }
  int* number_;
};

struct Worker : QThread {
  void run() override {
    for (int i = 0; i < 100; ++i) sum += i;
  }
  int sum = 0;
};

static QMutex mutex;
static QWaitCondition changed;
static QQueue<int*> queue;
static QReadWriteLock table_lock;
static int table;
static QSemaphore semaphore;
static int announced;

static int Pools() {
  std::vector<int> numbers(50);
  QThreadPool pool;
  pool.setMaxThreadCount(4);
  for (int& number : numbers) pool.start(new Job(&number));
  pool.waitForDone();
  pool.start([&] { numbers[0] = 5; });
  pool.waitForDone();
  int sum = 0;
  for (const int number : numbers) sum += number;
  return sum;
}

static int Threads() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    Worker worker;
    worker.start();
    if (i % 2 == 1) QThread::msleep(2);  // it has ended before it is waited for
    worker.wait();
    sum += worker.sum;
  }
  return sum;
}

static int Locks() {
  const std::unique_ptr<QThread> other(QThread::create([] {
    for (int i = 0; i < 100; ++i) {
      int* number = new int(i);
      {
        const QWriteLocker locker(&table_lock);
        ++table;
      }
      const QMutexLocker locker(&mutex);
      queue.enqueue(number);
      changed.wakeOne();
    }
    announced = 7;
    semaphore.release();
  }));
  other->start();
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    {
      const QReadLocker locker(&table_lock);
      if (table > 100) std::abort();
    }
    mutex.lock();
    while (queue.isEmpty()) changed.wait(&mutex);
    const std::unique_ptr<int> number(queue.dequeue());
    mutex.unlock();
    sum += *number;
  }
  semaphore.acquire();
  sum += announced;
  other->wait();
  return sum;
}

// A signal of QTimer's, and functions, for objects that live in another thread; and back.
static int Calls(QCoreApplication& application) {
  QThread thread;
  QObject there, here;
  there.moveToThread(&thread);
  thread.start();
  int total = 0, local = 0;
  for (int i = 0; i < 50; ++i) {
    const auto data = QSharedPointer<int>::create(i);
    const auto call = [&, data] {
      local += *data;
      const auto back = QSharedPointer<int>::create(local);
      const auto answer = [&, back] { total += *back; };
      QMetaObject::invokeMethod(&here, answer, Qt::QueuedConnection);
    };
    QMetaObject::invokeMethod(&there, call, Qt::QueuedConnection);
  }
  QMetaObject::invokeMethod(&there, [&] { ++local; }, Qt::BlockingQueuedConnection);
  const int seen = local;
  int named = 0;
  here.setObjectName("before");
  QObject::connect(&here, &QObject::objectNameChanged, &there,
                   [&](const QString& name) { named += name.size() + seen; });
  here.setObjectName("after");
  QTimer::singleShot(20, &application, &QCoreApplication::quit);
  QCoreApplication::exec();
  thread.quit();
  thread.wait();
  return local + (total > 0) + (named > 0);
}

int main(int argc, char** argv) {
  QCoreApplication application(argc, argv);
  return Pools() == 54 && Threads() == 49500 && Locks() == 4957 && Calls(application) == 1228 ? 0 : 1;
}
