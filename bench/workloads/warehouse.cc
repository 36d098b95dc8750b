// Wholesale company, after SpecJBB in the RaceTrack paper (section 4.2): warehouses with districts, customers, stock
// and orders; terminals that enter orders and payments, deliver, and ask for the state of things.
//
// There is one terminal for each of 64 warehouses, and the terminals are shared out among the threads. Most
// transactions stay in the terminal's own warehouse, so most locks are free and most data is one thread's in fact,
// though not in form. One order in ten takes goods from another warehouse, one payment in seven is for a customer
// elsewhere. What such transactions change are sums, which are the same in any order.
//
// Synchronization: std::mutex, one per district (its customers and orders) and one per warehouse (its stock and
// takings). Of one transaction's locks, those of districts come before those of warehouses, and lower numbers before
// higher ones. The size is the number of transactions.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "workload.h"

namespace {

constexpr uint64_t kWarehouses = 64;
constexpr uint64_t kDistricts = 5;
constexpr uint64_t kCustomers = 24;
constexpr uint64_t kItems = 200;
constexpr uint64_t kRecentOrders = 5;
constexpr int64_t kRestock = 100;
constexpr uint64_t kBatch = 8;  // transactions of one terminal in a row

struct Item {
  int64_t price;  // all money is in cents
};

struct OrderLine {
  uint64_t item;
  uint64_t supplier;  // a warehouse
  int64_t quantity;
  int64_t amount;
};

struct Order {
  uint64_t number;
  uint64_t customer;
  std::vector<OrderLine> lines;

  int64_t Total() const {
    int64_t total = 0;
    for (const OrderLine& line : lines) total += line.amount;
    return total;
  }
};

struct Customer {
  int64_t balance = 0;
  int64_t paid = 0;
  uint64_t payments = 0;
  uint64_t deliveries = 0;
  uint64_t last_order = 0;
};

struct District {
  std::mutex mutex;  // guards the rest
  int64_t takings = 0;
  uint64_t next_order = 1;
  std::array<Customer, kCustomers> customers;
  std::deque<std::unique_ptr<Order>> open;       // not yet delivered, oldest first
  std::deque<std::unique_ptr<Order>> delivered;  // the last few
};

struct Stock {
  int64_t quantity = kRestock;
  int64_t sold = 0;
  uint64_t restocked = 0;

  void Take(int64_t wanted) {
    quantity -= wanted;
    sold += wanted;
    if (quantity < 0) {
      quantity += kRestock;
      ++restocked;
    }
  }
};

struct Warehouse {
  std::array<District, kDistricts> districts;
  std::mutex mutex;  // guards what follows
  int64_t takings = 0;
  std::array<Stock, kItems> stock;
};

struct Company {
  Company() {
    workload::Random random(1);
    for (Item& item : items) item.price = 100 + static_cast<int64_t>(random.Below(9900));
  }

  std::array<Item, kItems> items;  // never changes
  std::array<Warehouse, kWarehouses> warehouses;
};

// Holds the locks of two districts or warehouses, which may be one and the same, the lower first.
class PairLock {
 public:
  PairLock(std::mutex& one,
           std::mutex& other)  // both are parts of the company, so that addresses are in order of numbers
      : first_(*std::min(&one, &other, std::less<>())) {
    if (&one != &other) second_ = std::unique_lock(*std::max(&one, &other, std::less<>()));
  }

 private:
  std::unique_lock<std::mutex> first_, second_;
};

class Terminal {
 public:
  Terminal(Company* company, uint64_t number)
      : company_(company), number_(number), home_(company->warehouses[number]), random_(number) {}

  void RunOne() {
    const uint64_t choice = random_.Below(23);
    if (choice < 10)
      EnterOrder();
    else if (choice < 20)
      EnterPayment();
    else if (choice == 20)
      ShowOrderStatus();
    else if (choice == 21)
      Deliver();
    else
      ShowStockLevel();
  }
  uint64_t digest() const { return results_.Value(); }

 private:
  void EnterOrder() {
    const uint64_t supplier = ElsewhereOnceIn(10);
    auto order = std::make_unique<Order>();
    order->customer = random_.Below(kCustomers);
    order->lines.resize(5 + random_.Below(11));
    for (OrderLine& line : order->lines) {
      line.item = random_.Below(kItems);
      line.supplier = random_.Below(4) == 0 ? supplier : number_;
      line.quantity = 1 + static_cast<int64_t>(random_.Below(10));
      line.amount = line.quantity * company_->items[line.item].price;
    }
    {
      const PairLock lock(home_.mutex, company_->warehouses[supplier].mutex);
      for (const OrderLine& line : order->lines)
        company_->warehouses[line.supplier].stock[line.item].Take(line.quantity);
    }
    District& district = AnyDistrict(home_);
    const std::lock_guard lock(district.mutex);
    order->number = district.next_order++;
    district.customers[order->customer].last_order = order->number;
    results_.Add(order->number);
    district.open.push_back(std::move(order));
  }

  void EnterPayment() {
    const int64_t amount = 100 + static_cast<int64_t>(random_.Below(500000));
    District& district = AnyDistrict(home_);
    District& other = AnyDistrict(company_->warehouses[ElsewhereOnceIn(7)]);
    const PairLock lock(district.mutex, other.mutex);
    district.takings += amount;
    Customer& customer = other.customers[random_.Below(kCustomers)];
    customer.balance -= amount;
    customer.paid += amount;
    ++customer.payments;
    const std::lock_guard warehouse_lock(home_.mutex);
    home_.takings += amount;
  }

  void ShowOrderStatus() {
    District& district = AnyDistrict(home_);
    const std::lock_guard lock(district.mutex);
    const uint64_t number = district.customers[random_.Below(kCustomers)].last_order;
    for (const auto* orders : {&district.open, &district.delivered})
      for (const std::unique_ptr<Order>& order : *orders)
        if (order->number == number) results_.Add(static_cast<uint64_t>(order->Total()));
  }

  // The oldest order of each district.
  void Deliver() {
    for (District& district : home_.districts) {
      const std::lock_guard lock(district.mutex);
      if (district.open.empty()) continue;
      std::unique_ptr<Order> order = std::move(district.open.front());
      district.open.pop_front();
      Customer& customer = district.customers[order->customer];
      customer.balance += order->Total();
      ++customer.deliveries;
      results_.Add(order->customer);
      district.delivered.push_back(std::move(order));
      if (district.delivered.size() > kRecentOrders) district.delivered.pop_front();
    }
  }

  // How many items of the recent orders run low. That depends on other warehouses' orders, so it is no result of ours.
  void ShowStockLevel() {
    std::unordered_set<uint64_t> items;
    {
      District& district = AnyDistrict(home_);
      const std::lock_guard lock(district.mutex);
      for (const std::unique_ptr<Order>& order : district.delivered)
        for (const OrderLine& line : order->lines) items.insert(line.item);
    }
    const std::lock_guard lock(home_.mutex);
    const auto low = std::count_if(items.begin(), items.end(),
                                   [this](uint64_t item) { return home_.stock[item].quantity < kRestock / 5; });
    if (static_cast<size_t>(low) > items.size()) std::abort();
  }

  District& AnyDistrict(Warehouse& warehouse) { return warehouse.districts[random_.Below(kDistricts)]; }

  // The own warehouse, but another one once in so many times.
  uint64_t ElsewhereOnceIn(uint64_t times) {
    return random_.Below(times) > 0 ? number_ : (number_ + 1 + random_.Below(kWarehouses - 1)) % kWarehouses;
  }

  Company* const company_;
  const uint64_t number_;
  Warehouse& home_;
  workload::Random random_;
  workload::Checksum results_;
};

// Only when nobody else uses the company.
uint64_t Digest(const Company& company) {
  workload::Checksum checksum;
  const auto add = [&checksum](auto... values) { (checksum.Add(static_cast<uint64_t>(values)), ...); };
  for (const Warehouse& warehouse : company.warehouses) {
    add(warehouse.takings);
    for (const Stock& stock : warehouse.stock) add(stock.quantity, stock.sold, stock.restocked);
    for (const District& district : warehouse.districts) {
      add(district.takings, district.next_order, district.open.size());
      for (const Customer& customer : district.customers)
        add(customer.balance, customer.paid, customer.payments, customer.deliveries, customer.last_order);
    }
  }
  return checksum.Value();
}

}  // namespace

int main(int argc, char** argv) {
  const workload::Options options = workload::Parse(argc, argv, {.threads = 4, .size = 1'000'000});
  const auto company = std::make_unique<Company>();
  std::vector<uint64_t> digests(options.threads);

  workload::InParallel(options.threads, [&](int thread) {
    const workload::Range own = workload::ShareOf(kWarehouses, thread, options.threads);
    std::vector<Terminal> terminals;
    for (uint64_t number = own.begin; number < own.end; ++number) terminals.emplace_back(company.get(), number);
    const uint64_t rounds = options.size / (kWarehouses * kBatch) + 1;
    for (uint64_t round = 0; round < rounds; ++round)
      for (Terminal& terminal : terminals)
        for (uint64_t i = 0; i < kBatch; ++i) terminal.RunOne();
    for (const Terminal& terminal : terminals) digests[thread] += terminal.digest();
  });

  uint64_t checksum = Digest(*company);
  for (const uint64_t digest : digests) checksum += digest;
  return workload::Finish("warehouse", checksum);
}
