// A loop with a call and two markers: which instruction has which number can be read off the source; tests/suites/totals/places.rs has the list.
// build static: -nostdlib -static -Wl,-Ttext=0x401000
// rounds: 1 1
        .globl _start, work
_start:
        mov     $3, %ecx                // 0
1:      mov     $0x111, %ebx            // 1, 10, 19
        .byte   0x64, 0x67, 0x90        // 2
        call    work                    // 3
        mov     $0x222, %ebx            // 6
        .byte   0x64, 0x67, 0x90        // 7
        dec     %ecx                    // 8
        jnz     1b                      // 9
        mov     $60, %eax               // 28
        xor     %edi, %edi              // 29
        syscall                         // 30
        .type   work, @function
work:   lea     1(%rax), %rax           // 4, at 0x401027
        ret                             // 5
        .size   work, . - work
