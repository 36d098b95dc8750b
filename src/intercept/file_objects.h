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
// Objects are places in a table, by a hash: two files may share one, which can hide a race and invents none.
#pragma once

#include <cstdint>

namespace redflag {

// Where data that is sent to `fd` goes; where data that is received from it came from. Null: nowhere.
const void* ObjectOfSending(int fd);
const void* ObjectOfReceiving(int fd);

// A datagram to an address (struct sockaddr) instead of the connected one.
const void* ObjectOfAddress(const void* address, uint32_t bytes);

// New descriptors of one file that has no name; duplicates; the end of one.
void MadeTogether(int fd, int other);
void Duplicated(int fd, int duplicate);
void Closed(int fd);

}  // namespace redflag
