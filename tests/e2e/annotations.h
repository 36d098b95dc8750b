// The dynamic annotations that programs of this folder use, as dynamic_annotations.h declares them.
#ifndef REDFLAG_TESTS_E2E_ANNOTATIONS_H_
#define REDFLAG_TESTS_E2E_ANNOTATIONS_H_

#include <stddef.h>

extern "C" {
void AnnotateHappensBefore(const char* file, int line, const volatile void* object);
void AnnotateHappensAfter(const char* file, int line, const volatile void* object);
void AnnotateRWLockCreate(const char* file, int line, const volatile void* lock);
void AnnotateRWLockDestroy(const char* file, int line, const volatile void* lock);
void AnnotateRWLockAcquired(const char* file, int line, const volatile void* lock, long is_write);
void AnnotateRWLockReleased(const char* file, int line, const volatile void* lock, long is_write);
void AnnotateBenignRaceSized(const char* file, int line, const volatile void* memory, size_t bytes, const char* why);
void AnnotateNewMemory(const char* file, int line, const volatile void* memory, size_t bytes);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateFlushState(const char* file, int line);
void AnnotateThreadName(const char* file, int line, const char* name);
}
#define ANNOTATE(what, ...) Annotate##what(__FILE__, __LINE__, ##__VA_ARGS__)

#endif  // REDFLAG_TESTS_E2E_ANNOTATIONS_H_
