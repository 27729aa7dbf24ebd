// A count that can be read off the source: a loop, a REP instruction, pushf, mov ss, and the exit.
// build static: -nostdlib -static
// rounds: 1 1
        .globl _start
        .text
_start:                                 // 25 instructions besides the loop
        mov     $100, %ecx              // 1
1:      add     $3, %rax                // 100 * 3
        dec     %ecx
        jnz     1b
        lea     -256(%rsp), %rdi        // 2
        mov     $200, %ecx              // 3
        xor     %eax, %eax              // 4
        rep stosb                       // 5
        mov     $0, %ecx                // 6
        rep stosb                       // 7: no iteration
        pushf                           // 8
        pop     %rbx                    // 9
        and     $0x100, %ebx            // 10: the trap flag must not be seen
        mov     %ss, %eax               // 11
        mov     %eax, %ss               // 12
        nop                             // 13
        mov     $39, %eax               // 14: getpid
        syscall                         // 15
        mov     %r11, %rdx              // 16
        and     $0x100, %edx            // 17
        or      %edx, %ebx              // 18
        setnz   %bl                     // 19
        movzbl  %bl, %edi               // 20
        nopl    (%rax)                  // 21
        nop                             // 22
        nop                             // 23
        mov     $60, %eax               // 24
        syscall                         // 25: exit status 0 if no trap flag was seen
