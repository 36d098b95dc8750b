// Example 1 of the Goldilocks paper (PLDI 2007, section 2): a server whose time-out thread closes idle connections without synchronizing with
// the threads that serve them. The race is caught: the access to what was taken away does not happen, the worker says goodbye to its client, and
// the server goes on.
//
//   redflag c++ -O1 -g -Iinclude -o ftp_server examples/goldilocks/ftp_server.cc
//   redflag run --exit-code 0 ./ftp_server 10000 200       10,000 connections, every 200th idle for too long
//
// The clients are a process of their own. At the end, both sides have to agree: no connection is lost but those that raced, which were told so; no
// descriptor and no connection is left.
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <redflag/checked.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kIdle(150);
constexpr int kWorkers = 4, kClients = 4;

struct Reader {
  int fd;
  // One line, without its end; false: the client has gone.
  bool ReadLine(std::string& line) const {
    line.clear();
    for (char c; recv(fd, &c, 1, 0) == 1;) {
      if (c == '\n') return true;
      line += c;
    }
    return false;
  }
};

struct Writer {
  int fd;
  void Send(const char* text) const { (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); }
};

struct Request {
  std::string command;
};

template <class T>
using Field = redflag::checked<T, redflag::on_race::inherit>;

std::atomic<int> connections_alive{0};

class Connection {
 public:
  explicit Connection(int fd)
      : fd_(fd), reader_{fd}, writer_{fd}, m_reader(&reader_), m_writer(&writer_), m_request(&request_) {
    ++connections_alive;
  }
  ~Connection() {
    ::close(fd_);
    --connections_alive;
  }

  // By a worker. False: the time-out thread got in between.
  bool Run() {
    const redflag::race_scope scope(redflag::on_race::throw_error);
    try {
      std::string line;
      do {
        if (!m_reader->ReadLine(line)) return true;
        last_use_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
        m_request->command = line;
        if (m_request->command == "QUIT") {
          m_writer->Send("221 goodbye\n");
          return true;
        }
        m_writer->Send("200 ok\n");
      } while (!m_is_closed);
    } catch (const redflag::data_race_error&) {
      writer_.Send("421 connection closed\n");
      return false;
    }
    return true;
  }

  // By the time-out thread. As the paper has it: the flag under a lock, the rest without.
  void Close() {
    const redflag::race_scope scope(redflag::on_race::report);
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (m_is_closed) return;
      m_is_closed = true;
    }
    m_request = nullptr;
    m_writer = nullptr;
    m_reader = nullptr;
  }

  bool IsIdle() const {
    const Clock::duration since(last_use_.load(std::memory_order_relaxed));
    return Clock::now().time_since_epoch() - since > kIdle;
  }

 private:
  const int fd_;
  Reader reader_;
  Writer writer_;
  Request request_;
  std::mutex mutex_;
  std::atomic<Clock::rep> last_use_{Clock::now().time_since_epoch().count()};
  Field<Reader*> m_reader;
  Field<Writer*> m_writer;
  Field<Request*> m_request;
  Field<bool> m_is_closed{false};
};

class Server {
 public:
  Server() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 128) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      perror("ftp_server");
      exit(2);
    }
    port_ = ntohs(address.sin_port);
  }
  ~Server() { ::close(listener_); }
  int port() const { return port_; }

  void Serve(int count) {
    std::vector<std::thread> workers;
    for (int i = 0; i < kWorkers; ++i) workers.emplace_back([this] { Work(); });
    std::thread time_out([this] { CloseIdle(); });
    for (int i = 0; i < count; ++i) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) break;
      const std::lock_guard<std::mutex> guard(mutex_);
      waiting_.push_back(fd);
      arrived_.notify_one();
    }
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      is_ending_ = true;
      arrived_.notify_all();
    }
    for (std::thread& worker : workers) worker.join();
    is_over_ = true;
    time_out.join();
  }

  int served() const { return served_; }
  int raced() const { return raced_; }

 private:
  void Work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      arrived_.wait(lock, [this] { return !waiting_.empty() || is_ending_; });
      if (waiting_.empty()) return;
      auto* connection = new Connection(waiting_.front());
      waiting_.pop_front();
      open_.insert(connection);
      lock.unlock();
      const bool is_served = connection->Run();
      ++(is_served ? served_ : raced_);
      lock.lock();
      open_.erase(connection);
      lock.unlock();
      delete connection;
    }
  }
  void CloseIdle() {
    while (!is_over_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::lock_guard<std::mutex> guard(mutex_);
      for (Connection* connection : open_) {
        if (connection->IsIdle()) connection->Close();
      }
    }
  }

  int listener_, port_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<int> waiting_;
  std::set<Connection*> open_;
  bool is_ending_ = false;
  std::atomic<bool> is_over_{false};
  std::atomic<int> served_{0}, raced_{0};
};

// ---- The clients ----

std::string Ask(int fd, const char* text) {
  (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
  std::string answer;
  for (char c; recv(fd, &c, 1, 0) == 1 && c != '\n';) answer += c;
  return answer;
}

// How a connection went: 'k' as it should, 't' told that it was closed, 'l' lost.
char Converse(int port, bool is_slow) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  char result = 'l';
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    std::string answer = Ask(fd, "NOOP\n");
    if (answer.compare(0, 3, "200") == 0) {
      if (is_slow) std::this_thread::sleep_for(3 * kIdle);
      answer = Ask(fd, "QUIT\n");
    }
    if (answer.compare(0, 3, "221") == 0) result = 'k';
    if (answer.compare(0, 3, "421") == 0) result = 't';
  }
  close(fd);
  return result;
}

[[noreturn]] void BeClients(int port, int count, int slow_each, int result_pipe) {
  std::atomic<int> next{0}, good{0}, told{0}, lost{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      for (int n = next++; n < count; n = next++) {
        const char how = Converse(port, slow_each > 0 && n % slow_each == 0);
        ++(how == 'k' ? good : how == 't' ? told : lost);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  const int results[] = {good, told, lost};
  (void)!write(result_pipe, results, sizeof results);
  _exit(0);
}

int OpenDescriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 1000;
  const int slow_each = argc > 2 ? atoi(argv[2]) : 100;
  int results[3] = {};
  int pipes[2];
  if (pipe(pipes) != 0) return 2;
  const int descriptors = OpenDescriptors();
  int served = 0, raced = 0;
  {
    Server server;
    const pid_t clients = fork();
    if (clients == 0) BeClients(server.port(), count, slow_each, pipes[1]);
    server.Serve(count);
    waitpid(clients, nullptr, 0);
    if (read(pipes[0], results, sizeof results) != sizeof results) return 2;
    served = server.served();
    raced = server.raced();
  }
  printf("server: %d served, %d raced; clients: %d good, %d told so, %d lost\n", served, raced, results[0], results[1],
         results[2]);
  printf("left: %d connections, %d descriptors\n", connections_alive.load(), OpenDescriptors() - descriptors);
  const bool is_good = served + raced == count && results[0] == served && results[1] == raced && results[2] == 0 &&
                       connections_alive == 0 && OpenDescriptors() == descriptors && (slow_each <= 0 || raced > 0);
  return is_good ? 0 : 1;
}
