// Flags that live over many instructions, branches and calls; pushf, popf, lahf, sahf, setcc, adc chains.
// build static: -nostdlib -static
// rounds: 500 500000
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
        mov     $0x123456789abcdef, %r8
        xor     %r9d, %r9d
        xor     %r10d, %r10d
1:      add     %r8, %r9                # carry into the second word over a mov and a lea
        mov     %r9, %rax
        lea     1(%rax), %rax
        adc     $0, %r10
        rol     $5, %r8
        setc    %cl
        movzbl  %cl, %ecx
        add     %rcx, %r9
        cmp     %r9, %r8
        call    keep                    # flags live into the call and out of it
        adc     $1, %r10
        pushf
        pop     %rax
        and     $0x8d5, %eax
        add     %rax, %r9
        mov     %r9d, %eax
        shl     $8, %eax
        sahf
        lahf
        shr     $8, %eax
        and     $0xd5, %eax
        add     %rax, %r10
        std
        pushf
        cld
        popf
        pushf
        cld
        pop     %rax
        and     $0x400, %eax
        add     %rax, %r10
        inc     %r9                     # keeps CF
        rcl     $3, %r10
        dec     %ebx
        jnz     1b
        xor     %r9, %r10
        mov     %r10, %rdi
        shr     $32, %rdi
        xor     %r10, %rdi
        and     $127, %edi
        mov     $231, %eax
        syscall
keep:   mov     (%rsp), %rdx
        lea     (%rdx, %rdx), %rdx
        ret
