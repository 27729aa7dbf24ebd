// Pushes, calls and returns on a stack pointer that is a multiple of nothing, and data far below it.
// build static: -nostdlib -static
// rounds: 1000 3000000
        .globl _start
        .text
_start:
        mov     16(%rsp), %rsi          # argv[1]: the number of rounds
        xor     %ebx, %ebx
0:      movzbl  (%rsi), %eax
        sub     $'0', %eax
        js      0f
        imul    $10, %ebx
        add     %eax, %ebx
        inc     %rsi
        jmp     0b
0:
        mov     %rsp, %rbp
        sub     $3, %rsp
        xor     %r12d, %r12d
1:      push    %rbx
        call    leaf
        pop     %rcx
        add     %rcx, %r12
        dec     %ebx
        jnz     1b
        mov     %rbp, %rsp
        mov     %r12, %rdi
        shr     $7, %rdi
        and     $127, %edi
        mov     $231, %eax
        syscall
leaf:   mov     %rbx, -120(%rsp)
        xorq    $21, -120(%rsp)
        add     -120(%rsp), %r12
        ret     $0
