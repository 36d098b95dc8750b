// For ignored_code.cc, which ignores this library.
int by_library;
void InLibrary() { ++by_library; }
