// For storm libraries.
static int calls;
extern "C" int answer() { return ++calls > 0 ? 42 : 0; }
