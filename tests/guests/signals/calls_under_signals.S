// A loop of system calls into which a timer's signals come at any moment. Knows how many instructions it has executed, and tells if it has a second argument.
// build static: -nostdlib -static
// rounds: 0 1
// totals: vary
        .globl _start
        .text
_start:                                 // 40 instructions besides loops and handlers
        mov     (%rsp), %r12            // 1: the number of arguments
        lea     action(%rip), %rsi      // 2
        mov     $27, %edi               // 3: SIGPROF
        xor     %edx, %edx              // 4
        mov     $8, %r10d               // 5
        mov     $13, %eax               // 6: rt_sigaction
        syscall                         // 7
        mov     $4, %r13d               // 8: so many signals
        mov     $40, %ecx               // 9
        cmp     $3, %r12                // 10
        cmovae  %rcx, %r13              // 11
        mov     $2, %edi                // 12: ITIMER_PROF
        lea     timer(%rip), %rsi       // 13
        mov     $38, %eax               // 14: setitimer
        syscall                         // 15
        xor     %ebx, %ebx              // 16
1:      mov     $110, %eax              // 5 a round: getppid
        syscall
        inc     %rbx
        cmp     %r13, handled(%rip)
        jb      1b
        mov     $2, %edi                // 17
        lea     stopped(%rip), %rsi     // 18
        xor     %edx, %edx              // 19
        mov     $38, %eax               // 20
        syscall                         // 21
        nop                             // 22: a signal that came with the call is handled before this
        cmp     $3, %r12                // 23
        jae     2f                      // 24
        mov     $60, %eax               // 25, if it has nothing to tell: exit
        xor     %edi, %edi
        syscall
2:      lea     (%rbx,%rbx,4), %rax     // 25
        mov     handled(%rip), %rcx     // 26
        lea     (%rax,%rcx,4), %rax     // 27: a handler is four instructions
        add     $40 + 16 * 7, %rax      // 28
        mov     $16, %ecx               // 29
        lea     number+15(%rip), %rdi   // 30
3:      mov     %al, %dl                // 7 for each of 16 digits
        and     $15, %dl
        add     $'a', %dl
        mov     %dl, (%rdi)
        dec     %rdi
        shr     $4, %rax
        loop    3b
        mov     $1, %edi                // 31
        nop                             // 32
        nop                             // 33
        mov     $1, %eax                // 34
        lea     number(%rip), %rsi      // 35
        mov     $17, %edx               // 36
        syscall                         // 37: write
        mov     $60, %eax               // 38
        xor     %edi, %edi              // 39
        syscall                         // 40

handler:
        incq    handled(%rip)
        ret
restorer:
        mov     $15, %eax               // rt_sigreturn
        syscall

        .section .note.GNU-stack, "", @progbits
        .data
        .balign 8
action: .quad   handler, 0x14000000, restorer, 0        // SA_RESTORER, SA_RESTART
timer:  .quad   0, 1000, 0, 1000
stopped: .quad  0, 0, 0, 0
handled: .quad  0
number: .fill   16, 1, 'a'
        .byte   '\n'
