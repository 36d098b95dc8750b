// Streams: which memory of the program the calls read and write, and the order that what goes through them makes, as it does through descriptors
// (files.cc). libc fills and empties the buffers unseen. When it will is to be seen from the buffer: a call that may empty it releases the
// file before, one that has filled it acquires after. What stays in the buffer goes when another call empties it, and that one releases.
//
// A stream has a lock of its own, inside libc, which orders nothing that a program may rely on. Not known: putc_unlocked and its like, which the compiler
// may expand; wide characters; fflush of all streams at once.
#include <stdio.h>

#include <cstdarg>

#include "intercept/file_objects.h"
#include "intercept/hooks.h"
#include "intercept/real.h"

namespace redflag {
namespace {

size_t Length(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

void TellText(hooks::Pc pc, const char* text) {
  if (text != nullptr && hooks::Active()) hooks::Read(pc, text, Length(text) + 1);
}

// As glibc has it in `_flags`, since ever.
constexpr int kUnbuffered = 0x2, kLineBuffered = 0x200;

// What a call of printf may print at most, as far as is thought of.
constexpr size_t kLongText = 1024;

// Before `bytes` are put into a stream, one of which ends a line, or may.
void Putting(hooks::Pc pc, const FILE* stream, size_t bytes, bool ends_line) {
  if (stream == nullptr || !hooks::Active()) return;
  const bool is_whole = (stream->_flags & kUnbuffered) != 0 || ((stream->_flags & kLineBuffered) != 0 && ends_line);
  const auto room = static_cast<size_t>(stream->_IO_buf_end - stream->_IO_write_ptr);
  const bool has_room =
      stream->_IO_write_ptr != nullptr && stream->_IO_write_ptr <= stream->_IO_buf_end && bytes < room;
  if (is_whole || !has_room) SendThrough(pc, ObjectOfStream(stream->_fileno, true));
}

// What is left in a stream to be got from it, before a call that gets something.
class Getting {
 public:
  explicit Getting(const FILE* stream)
      : at_(stream->_IO_read_ptr),
        end_(stream->_IO_read_end),
        left_(end_ > at_ ? static_cast<size_t>(end_ - at_) : 0) {}

  // After it got `bytes`, or nobody knows how many; at the end of the file, too, since somebody has closed the other end.
  void Done(hooks::Pc pc, const FILE* stream, size_t bytes) const {
    const bool is_filled = bytes > left_ || left_ == 0 || stream->_IO_read_ptr < at_ || stream->_IO_read_end != end_;
    if (!is_filled || !hooks::Active()) return;
    if (const void* object = ObjectOfStream(stream->_fileno, false)) hooks::Acquire(pc, object);
  }

 private:
  const char* at_;
  const char* end_;
  size_t left_;
};

}  // namespace

#define REDFLAG_OPEN(name)                                             \
  REDFLAG_INTERCEPT(FILE*, name, const char* path, const char* mode) { \
    TellText(REDFLAG_CALLER, path);                                    \
    TellText(REDFLAG_CALLER, mode);                                    \
    return real::name(path, mode);                                     \
  }
REDFLAG_OPEN(fopen)
REDFLAG_OPEN(fopen64)
#undef REDFLAG_OPEN

// ---- Writing ----

REDFLAG_INTERCEPT(int, puts, const char* text) {
  TellText(REDFLAG_CALLER, text);
  Putting(REDFLAG_CALLER, stdout, Length(text) + 1, true);
  return real::puts(text);
}

#define REDFLAG_FPUTS(name)                                      \
  REDFLAG_INTERCEPT(int, name, const char* text, FILE* stream) { \
    TellText(REDFLAG_CALLER, text);                              \
    Putting(REDFLAG_CALLER, stream, Length(text), true);         \
    return real::name(text, stream);                             \
  }
REDFLAG_FPUTS(fputs)
REDFLAG_FPUTS(fputs_unlocked)
#undef REDFLAG_FPUTS

#define REDFLAG_FWRITE(name)                                                                   \
  REDFLAG_INTERCEPT(size_t, name, const void* from, size_t size, size_t count, FILE* stream) { \
    if (size * count != 0 && hooks::Active()) hooks::Read(REDFLAG_CALLER, from, size* count);  \
    Putting(REDFLAG_CALLER, stream, size* count, true);                                        \
    return real::name(from, size, count, stream);                                              \
  }
REDFLAG_FWRITE(fwrite)
REDFLAG_FWRITE(fwrite_unlocked)
#undef REDFLAG_FWRITE

#define REDFLAG_PUTC(name)                                 \
  REDFLAG_INTERCEPT(int, name, int letter, FILE* stream) { \
    Putting(REDFLAG_CALLER, stream, 1, letter == '\n');    \
    return real::name(letter, stream);                     \
  }
REDFLAG_PUTC(fputc)
REDFLAG_PUTC(putc)
REDFLAG_PUTC(_IO_putc)
#undef REDFLAG_PUTC

REDFLAG_INTERCEPT(int, putchar, int letter) {
  Putting(REDFLAG_CALLER, stdout, 1, letter == '\n');
  return real::putchar(letter);
}

REDFLAG_INTERCEPT(int, fflush, FILE* stream) {
  if (stream != nullptr && hooks::Active()) SendThrough(REDFLAG_CALLER, ObjectOfStream(stream->_fileno, true));
  return real::fflush(stream);
}

REDFLAG_REAL(int, vfprintf, FILE* stream, const char* format, va_list arguments)
REDFLAG_REAL(int, __vfprintf_chk, FILE* stream, int level, const char* format, va_list arguments)
REDFLAG_REAL(int, vdprintf, int fd, const char* format, va_list arguments)
REDFLAG_REAL(int, __vdprintf_chk, int fd, int level, const char* format, va_list arguments)

REDFLAG_EXPORT(int, vfprintf, FILE* stream, const char* format, va_list arguments) {
  Putting(REDFLAG_CALLER, stream, kLongText, true);
  return real::vfprintf(stream, format, arguments);
}
REDFLAG_EXPORT(int, vprintf, const char* format, va_list arguments) {
  Putting(REDFLAG_CALLER, stdout, kLongText, true);
  return real::vfprintf(stdout, format, arguments);
}
REDFLAG_EXPORT(int, __vfprintf_chk, FILE* stream, int level, const char* format, va_list arguments) {
  Putting(REDFLAG_CALLER, stream, kLongText, true);
  return real::__vfprintf_chk(stream, level, format, arguments);
}
REDFLAG_EXPORT(int, __vprintf_chk, int level, const char* format, va_list arguments) {
  Putting(REDFLAG_CALLER, stdout, kLongText, true);
  return real::__vfprintf_chk(stdout, level, format, arguments);
}
REDFLAG_EXPORT(int, vdprintf, int fd, const char* format, va_list arguments) {
  if (hooks::Active()) SendThrough(REDFLAG_CALLER, ObjectOfSending(REDFLAG_CALLER, fd));
  return real::vdprintf(fd, format, arguments);
}

#define REDFLAG_WITH_ARGUMENTS(last, call) \
  va_list arguments;                       \
  va_start(arguments, last);               \
  const int result = call;                 \
  va_end(arguments);                       \
  return result

REDFLAG_EXPORT(int, fprintf, FILE* stream, const char* format, ...) {
  Putting(REDFLAG_CALLER, stream, kLongText, true);
  REDFLAG_WITH_ARGUMENTS(format, real::vfprintf(stream, format, arguments));
}
REDFLAG_EXPORT(int, printf, const char* format, ...) {
  Putting(REDFLAG_CALLER, stdout, kLongText, true);
  REDFLAG_WITH_ARGUMENTS(format, real::vfprintf(stdout, format, arguments));
}
REDFLAG_EXPORT(int, __fprintf_chk, FILE* stream, int level, const char* format, ...) {
  Putting(REDFLAG_CALLER, stream, kLongText, true);
  REDFLAG_WITH_ARGUMENTS(format, real::__vfprintf_chk(stream, level, format, arguments));
}
REDFLAG_EXPORT(int, __printf_chk, int level, const char* format, ...) {
  Putting(REDFLAG_CALLER, stdout, kLongText, true);
  REDFLAG_WITH_ARGUMENTS(format, real::__vfprintf_chk(stdout, level, format, arguments));
}
REDFLAG_EXPORT(int, dprintf, int fd, const char* format, ...) {
  if (hooks::Active()) SendThrough(REDFLAG_CALLER, ObjectOfSending(REDFLAG_CALLER, fd));
  REDFLAG_WITH_ARGUMENTS(format, real::vdprintf(fd, format, arguments));
}
REDFLAG_EXPORT(int, __dprintf_chk, int fd, int level, const char* format, ...) {
  if (hooks::Active()) SendThrough(REDFLAG_CALLER, ObjectOfSending(REDFLAG_CALLER, fd));
  REDFLAG_WITH_ARGUMENTS(format, real::__vdprintf_chk(fd, level, format, arguments));
}

// ---- Reading ----

#define REDFLAG_FREAD(name)                                                                \
  REDFLAG_INTERCEPT(size_t, name, void* to, size_t size, size_t count, FILE* stream) {     \
    const Getting getting(stream);                                                         \
    const size_t came = real::name(to, size, count, stream);                               \
    getting.Done(REDFLAG_CALLER, stream, size* count);                                     \
    if (came * size != 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, to, came* size); \
    return came;                                                                           \
  }
REDFLAG_FREAD(fread)
REDFLAG_FREAD(fread_unlocked)
#undef REDFLAG_FREAD

#define REDFLAG_FGETS(name)                                                                       \
  REDFLAG_INTERCEPT(char*, name, char* to, int room, FILE* stream) {                              \
    const Getting getting(stream);                                                                \
    char* line = real::name(to, room, stream);                                                    \
    getting.Done(REDFLAG_CALLER, stream, line != nullptr ? Length(line) : 0);                     \
    if (line != nullptr && hooks::Active()) hooks::Write(REDFLAG_CALLER, line, Length(line) + 1); \
    return line;                                                                                  \
  }
REDFLAG_FGETS(fgets)
REDFLAG_FGETS(fgets_unlocked)
#undef REDFLAG_FGETS

#define REDFLAG_GETC(name)                     \
  REDFLAG_INTERCEPT(int, name, FILE* stream) { \
    const Getting getting(stream);             \
    const int letter = real::name(stream);     \
    getting.Done(REDFLAG_CALLER, stream, 1);   \
    return letter;                             \
  }
REDFLAG_GETC(fgetc)
REDFLAG_GETC(getc)
REDFLAG_GETC(_IO_getc)
#undef REDFLAG_GETC

REDFLAG_INTERCEPT(int, getchar) {
  const Getting getting(stdin);
  const int letter = real::getchar();
  getting.Done(REDFLAG_CALLER, stdin, 1);
  return letter;
}

// The C library allocates the line through malloc, which is told; then it is written.
#define REDFLAG_GETLINE(name, parameters, arguments)                                                         \
  REDFLAG_INTERCEPT(ssize_t, name, REDFLAG_UNPACK parameters) {                                              \
    const Getting getting(stream);                                                                           \
    const ssize_t length = real::name arguments;                                                             \
    getting.Done(REDFLAG_CALLER, stream, length > 0 ? static_cast<size_t>(length) : 0);                      \
    if (length > 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, *line, static_cast<size_t>(length) + 1); \
    return length;                                                                                           \
  }
#define REDFLAG_UNPACK(...) __VA_ARGS__
REDFLAG_GETLINE(getline, (char** line, size_t* room, FILE* stream), (line, room, stream))
REDFLAG_GETLINE(getdelim, (char** line, size_t* room, int end, FILE* stream), (line, room, end, stream))
REDFLAG_GETLINE(__getdelim, (char** line, size_t* room, int end, FILE* stream), (line, room, end, stream))
#undef REDFLAG_GETLINE

#define REDFLAG_SCANF(name, real_name)                               \
  REDFLAG_EXPORT(int, name, FILE* stream, const char* format, ...) { \
    const Getting getting(stream);                                   \
    va_list arguments;                                               \
    va_start(arguments, format);                                     \
    const int result = real::real_name(stream, format, arguments);   \
    va_end(arguments);                                               \
    getting.Done(REDFLAG_CALLER, stream, 0);                         \
    return result;                                                   \
  }
REDFLAG_REAL(int, vfscanf, FILE* stream, const char* format, va_list arguments)
REDFLAG_REAL(int, __isoc99_vfscanf, FILE* stream, const char* format, va_list arguments)
REDFLAG_SCANF(fscanf, vfscanf)
REDFLAG_SCANF(__isoc99_fscanf, __isoc99_vfscanf)
#undef REDFLAG_SCANF

// The GNU one, which need not use the buffer.
REDFLAG_INTERCEPT(char*, strerror_r, int error, char* buffer, size_t bytes) {
  char* text = real::strerror_r(error, buffer, bytes);
  if (text == buffer && bytes != 0 && hooks::Active()) hooks::Write(REDFLAG_CALLER, buffer, Length(text) + 1);
  return text;
}

}  // namespace redflag
