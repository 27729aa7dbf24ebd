// An instruction that overwrites the one right after it, in the same block.
// build rwx: -nostdlib -static -Wl,--no-warn-rwx-segments
// rounds: 500 20000
        .globl _start
        .section .patched, "awx"
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
        xor     %r12d, %r12d
1:      mov     %bl, patch+1(%rip)
patch:  mov     $0, %al                 # its constant was just written
        cmp     %bl, %al
        jne     wrong
        movzbl  %al, %eax
        add     %rax, %r12
        dec     %ebx
        jnz     1b
        mov     %r12, %rdi
        shr     $3, %rdi
        and     $63, %edi
        mov     $231, %eax
        syscall
wrong:  mov     $99, %edi
        mov     $231, %eax
        syscall
