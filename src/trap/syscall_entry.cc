// syscall() in libc's place. In the assembly of the machine, because some of what it is used for (clone with a stack of its own) returns on another
// stack, where no frame of ours is. Before seccomp, breakpoints are withdrawn.
#include <sys/syscall.h>

#include "trap/library.h"

extern "C" void RedflagBeforeSeccomp() {
  if (redflag::trap::IsSampled()) redflag::trap::WithdrawForSeccomp();
}

#if defined(__x86_64__)
static_assert(SYS_seccomp == 317);
asm(R"(
.pushsection .text
.globl syscall
.type syscall, @function
syscall:
.cfi_startproc
  cmpq $317, %rdi
  je 2f
1: movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
  cmpq $-4095, %rax
  jae 3f
  ret
2: pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  subq $8, %rsp
  call RedflagBeforeSeccomp
  addq $8, %rsp
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  jmp 1b
3: negl %eax
  pushq %rax
  call __errno_location@PLT
  popq %rcx
  movl %ecx, (%rax)
  movq $-1, %rax
  ret
.cfi_endproc
.size syscall, . - syscall
.popsection
)");
#elif defined(__aarch64__)
static_assert(SYS_seccomp == 277);
asm(R"(
.pushsection .text
.globl syscall
.type syscall, @function
syscall:
.cfi_startproc
  cmp x0, #277
  b.eq 2f
1: mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
  cmn x0, #4095
  b.cs 3f
  ret
2: stp x29, x30, [sp, #-80]!
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  str x6, [sp, #64]
  bl RedflagBeforeSeccomp
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldr x6, [sp, #64]
  ldp x29, x30, [sp], #80
  b 1b
3: stp x29, x30, [sp, #-32]!
  neg w0, w0
  str x0, [sp, #16]
  bl __errno_location
  ldr x1, [sp, #16]
  str w1, [x0]
  ldp x29, x30, [sp], #32
  mov x0, #-1
  ret
.cfi_endproc
.size syscall, . - syscall
.popsection
)");
#endif
