// CHAIN(value): WriteTo < Worker
extern "C" void WriteTo(int* to) {
  *to = 1;  // RACE(value)
}
