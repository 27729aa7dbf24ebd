// Flags that are read after an indirect branch, whose targets have equal low address bits; only some of them read flags.
// build static: -nostdlib -static
// rounds: 2000 300000
        .macro  look                            // carry, sign and zero into eax
        setc    %al
        sets    %cl
        setz    %dl
        movzx   %al, %eax
        movzx   %cl, %ecx
        movzx   %dl, %edx
        lea     (%rax,%rcx,2), %eax
        lea     (%rax,%rdx,4), %eax
        .endm
        .globl _start
        .text
        .balign 1048576
overwrites:                                     // at ..00000: the flags are dead here
        cmp     %eax, %eax
        ret
        .balign 1048576
reads:                                          // at ..00000 as well
        look
        add     %rax, %r14
        ret
        .balign 1048576
overwrites_too:
        test    %eax, %eax
        ret
        .balign 1048576
_start:                                         // has the argument at 16(%rsp)
        mov     16(%rsp), %rsi
        xor     %r12d, %r12d                    // rounds, from decimal
1:      movzbl  (%rsi), %eax
        sub     $48, %eax
        js      2f
        imul    $10, %r12, %r12
        add     %rax, %r12
        inc     %rsi
        jmp     1b
2:      mov     %r12, %r13
        xor     %r14d, %r14d                    // sum of what was read, and what it must be
        xor     %r15d, %r15d
        mov     $12345, %ebx
3:      imul    $1103515245, %ebx, %ebx
        add     $12345, %ebx
        mov     %ebx, %eax
        shr     $16, %eax
        and     $3, %eax
        lea     targets(%rip), %rdi
        mov     (%rdi,%rax,8), %rdi
        mov     %ebx, %esi
        sar     $24, %esi
        test    $0x10000, %ebx
        jz      4f
        cmp     $0, %esi                        // carry clear, sign of esi
        call    *%rdi
        jmp     5f
4:      cmp     $-1, %esi                       // carry set unless esi is -1
        call    *%rdi
5:      cmp     overwrites_at(%rip), %rdi
        je      6f
        cmp     overwrites_too_at(%rip), %rdi
        je      6f
        mov     %esi, %eax                      // the same by comparisons whose flags are read at once
        test    $0x10000, %ebx
        jz      7f
        cmp     $0, %eax
        jmp     8f
7:      cmp     $-1, %eax
8:      look
        add     %rax, %r15
6:      dec     %r12
        jnz     3b
        xor     %edi, %edi                      // status 0 if they agree, and something was read
        cmp     %r14, %r15
        setne   %dil
        test    %r14, %r14
        jnz     9f
        mov     $2, %edi
9:      mov     $60, %eax
        syscall
        .data
targets:
overwrites_at:
        .quad   overwrites
        .quad   reads
overwrites_too_at:
        .quad   overwrites_too
        .quad   reads
