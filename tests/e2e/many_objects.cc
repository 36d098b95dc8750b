// Two threads race on a thousand objects, in twenty places: twenty reports, each with a count.
// REPORTS: 20
// REPEATED: 999
#include <pthread.h>

#include "invisible.h"

struct Object {
  int fields[20];
};

constexpr int kObjects = 1000;
Object* objects[kObjects];

NOINLINE void Set00(Object* object) {
  // CHAIN(p00): Set00 < Work < Worker
  // CHAIN(p00): Set00 < Work < main
  object->fields[0] = 0;  // RACE(p00)
}
NOINLINE void Set01(Object* object) {
  // CHAIN(p01): Set01 < Work < Worker
  // CHAIN(p01): Set01 < Work < main
  object->fields[1] = 1;  // RACE(p01)
}
NOINLINE void Set02(Object* object) {
  // CHAIN(p02): Set02 < Work < Worker
  // CHAIN(p02): Set02 < Work < main
  object->fields[2] = 2;  // RACE(p02)
}
NOINLINE void Set03(Object* object) {
  // CHAIN(p03): Set03 < Work < Worker
  // CHAIN(p03): Set03 < Work < main
  object->fields[3] = 3;  // RACE(p03)
}
NOINLINE void Set04(Object* object) {
  // CHAIN(p04): Set04 < Work < Worker
  // CHAIN(p04): Set04 < Work < main
  object->fields[4] = 4;  // RACE(p04)
}
NOINLINE void Set05(Object* object) {
  // CHAIN(p05): Set05 < Work < Worker
  // CHAIN(p05): Set05 < Work < main
  object->fields[5] = 5;  // RACE(p05)
}
NOINLINE void Set06(Object* object) {
  // CHAIN(p06): Set06 < Work < Worker
  // CHAIN(p06): Set06 < Work < main
  object->fields[6] = 6;  // RACE(p06)
}
NOINLINE void Set07(Object* object) {
  // CHAIN(p07): Set07 < Work < Worker
  // CHAIN(p07): Set07 < Work < main
  object->fields[7] = 7;  // RACE(p07)
}
NOINLINE void Set08(Object* object) {
  // CHAIN(p08): Set08 < Work < Worker
  // CHAIN(p08): Set08 < Work < main
  object->fields[8] = 8;  // RACE(p08)
}
NOINLINE void Set09(Object* object) {
  // CHAIN(p09): Set09 < Work < Worker
  // CHAIN(p09): Set09 < Work < main
  object->fields[9] = 9;  // RACE(p09)
}
NOINLINE void Set10(Object* object) {
  // CHAIN(p10): Set10 < Work < Worker
  // CHAIN(p10): Set10 < Work < main
  object->fields[10] = 10;  // RACE(p10)
}
NOINLINE void Set11(Object* object) {
  // CHAIN(p11): Set11 < Work < Worker
  // CHAIN(p11): Set11 < Work < main
  object->fields[11] = 11;  // RACE(p11)
}
NOINLINE void Set12(Object* object) {
  // CHAIN(p12): Set12 < Work < Worker
  // CHAIN(p12): Set12 < Work < main
  object->fields[12] = 12;  // RACE(p12)
}
NOINLINE void Set13(Object* object) {
  // CHAIN(p13): Set13 < Work < Worker
  // CHAIN(p13): Set13 < Work < main
  object->fields[13] = 13;  // RACE(p13)
}
NOINLINE void Set14(Object* object) {
  // CHAIN(p14): Set14 < Work < Worker
  // CHAIN(p14): Set14 < Work < main
  object->fields[14] = 14;  // RACE(p14)
}
NOINLINE void Set15(Object* object) {
  // CHAIN(p15): Set15 < Work < Worker
  // CHAIN(p15): Set15 < Work < main
  object->fields[15] = 15;  // RACE(p15)
}
NOINLINE void Set16(Object* object) {
  // CHAIN(p16): Set16 < Work < Worker
  // CHAIN(p16): Set16 < Work < main
  object->fields[16] = 16;  // RACE(p16)
}
NOINLINE void Set17(Object* object) {
  // CHAIN(p17): Set17 < Work < Worker
  // CHAIN(p17): Set17 < Work < main
  object->fields[17] = 17;  // RACE(p17)
}
NOINLINE void Set18(Object* object) {
  // CHAIN(p18): Set18 < Work < Worker
  // CHAIN(p18): Set18 < Work < main
  object->fields[18] = 18;  // RACE(p18)
}
NOINLINE void Set19(Object* object) {
  // CHAIN(p19): Set19 < Work < Worker
  // CHAIN(p19): Set19 < Work < main
  object->fields[19] = 19;  // RACE(p19)
}

NOINLINE void Work() {
  for (Object* object : objects) {
    Set00(object);
    Set01(object);
    Set02(object);
    Set03(object);
    Set04(object);
    Set05(object);
    Set06(object);
    Set07(object);
    Set08(object);
    Set09(object);
    Set10(object);
    Set11(object);
    Set12(object);
    Set13(object);
    Set14(object);
    Set15(object);
    Set16(object);
    Set17(object);
    Set18(object);
    Set19(object);
  }
}

void* Worker(void*) {
  Work();
  Arrive();
  return nullptr;
}

int main() {
  for (Object*& object : objects) object = new Object{};
  pthread_t thread;
  pthread_create(&thread, nullptr, Worker, nullptr);
  Await(1);
  Work();
  pthread_join(thread, nullptr);
}
