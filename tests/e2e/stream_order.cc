// What is written to a stream and read from another one is in order: through a pipe, a file, line by line, letter by letter, whoever empties the buffer.
// NORACE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int data[8];
FILE *in, *out;

void* Writer(void*) {
  data[0] = 1;
  fputs("one\n", out);
  fflush(out);
  data[1] = 1;
  fprintf(out, "%d\n", 2);
  fflush(out);
  setvbuf(out, nullptr, _IOLBF, 4096);
  data[2] = 1;
  fputs("three\n", out);
  data[3] = 1;
  fputc('4', out);
  putc('\n', out);
  setvbuf(out, nullptr, _IONBF, 0);
  data[4] = 1;
  fwrite("five\n", 1, 5, out);
  data[5] = 1;
  dprintf(fileno(out), "6\n");
  setvbuf(out, nullptr, _IOFBF, 4096);
  data[6] = 1;
  for (int i = 0; i < 3000; ++i) fputs("seven\n", out);
  data[7] = 1;
  fclose(out);
  return nullptr;
}

int main() {
  int ends[2];
  if (pipe(ends) != 0) abort();
  in = fdopen(ends[0], "r");
  out = fdopen(ends[1], "w");
  pthread_t thread;
  pthread_create(&thread, nullptr, Writer, nullptr);
  char text[16];
  int number = 0;
  if (fgets(text, sizeof text, in) == nullptr || data[0] != 1) abort();
  if (fscanf(in, "%d\n", &number) != 1 || number != 2 || data[1] != 1) abort();
  char* line = nullptr;
  size_t room = 0;
  // fscanf has waited for what comes after the white space.
  if (getline(&line, &room, in) != 6 || data[2] != 1) abort();
  if (getc(in) != '4' || fgetc(in) != '\n' || data[3] != 1) abort();
  if (fread(text, 1, 5, in) != 5 || data[4] != 1) abort();
  if (fgets(text, sizeof text, in) == nullptr || data[5] != 1) abort();
  if (getline(&line, &room, in) != 6 || data[6] != 1) abort();
  while (getline(&line, &room, in) > 0) continue;
  if (data[7] != 1) abort();
  free(line);
  fclose(in);
  pthread_join(thread, nullptr);
}
