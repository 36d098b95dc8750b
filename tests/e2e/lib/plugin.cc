int state;

// CHAIN(state): PluginWrite < Worker
// CHAIN(state): PluginWrite < main
extern "C" void PluginWrite(int value) {
  state = value;  // RACE(state)
}
