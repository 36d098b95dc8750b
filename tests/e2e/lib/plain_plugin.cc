int state[16];

extern "C" void PlainWrite(int value) {
  for (int& word : state) word = value;
}
