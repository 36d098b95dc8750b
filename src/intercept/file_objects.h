// Through what do two file descriptors hand something on to each other? What is written to a pipe is read from its other end: so
// writes release, and reads acquire, an object that stands for the file behind the descriptors.
//
// Which file that is, is asked of the kernel each time (a system call or three beside one that moves data): libc and other libraries
// open, duplicate and close descriptors unseen, and a table of descriptors would soon be wrong.
//
//   pipe, FIFO, regular file     the file: device and inode; both ends of a pipe have the same
//   TCP connection               the two ports
//   datagram                     the port it goes to
//   named Unix socket            the name
//   socketpair, eventfd          have no name that the kernel would tell: a number that they got when they were made, and
//                                that duplicates take over (the table that was to be avoided, for these alone)
//   terminals and other devices  nothing: what is written is not what is read
//
// Objects are places in a table (file_places.h): of very many files two may share one, which can hide a race.
//
// Descriptors themselves can be raced on: if one thread closes what another one uses, that may soon be a descriptor of another file. Each has an
// address that stands for it, which is accessed in their place. Numbers are used again, and not everybody who opens or closes is seen:
// a descriptor that is of another file than it was has no past. What comes after the close is not looked at for the same reason.
#pragma once

#include <cstdint>

#include "intercept/hooks.h"

namespace redflag {

// Where data that is sent to `fd` goes; where data that is received from it came from. Null: nowhere. Tells that the descriptor is used.
const void* ObjectOfSending(hooks::Pc pc, int fd);
const void* ObjectOfReceiving(hooks::Pc pc, int fd);

// The same for a stream, which is not taken for a use of the descriptor: libc closes and opens those of streams unseen.
const void* ObjectOfStream(int fd, bool sending);

// Hands on to whoever receives from the object, and to who watches it. The object may be null.
void SendThrough(hooks::Pc pc, const void* object);

// The same as ObjectOfSending before it is closed: tells that.
const void* ObjectOfClosing(hooks::Pc pc, int fd);
// Before those from `first` to `last` are closed: tells nothing, they are forgotten.
void ForgetDescriptors(hooks::Pc pc, unsigned first, unsigned last);

// Which descriptor the address stands for; -1: none.
int DescriptorAt(uint64_t address);

// A datagram to an address (struct sockaddr) instead of the connected one.
const void* ObjectOfAddress(const void* address, uint32_t bytes);

// Data that is sent to the object is also told of by `watcher`, the object of an epoll; and who that is, or null.
void Watched(const void* object, const void* watcher);
const void* WatcherOf(const void* object);

// `fd` was open, and is of another file since this thread made it so.
void Replaced(hooks::Pc pc, int fd);

// New descriptors of one file that has no name; duplicates; the end of one.
void MadeTogether(int fd, int other);
void Duplicated(int fd, int duplicate);
void Closed(int fd);

}  // namespace redflag
