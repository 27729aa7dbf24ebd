//! The hash of what a system call reads: in Rust, and in assembly for whoever must do without a compiler's registers.
//!
//! Multiply and rotate, a word at a time: any changed byte changes the outcome, and speed matters more than strength. Longer
//! inputs are hashed in four lanes, whose multiplications don't wait for each other.

/// Where the hash of inputs starts.
pub const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// Each word is combined with the hash so far by exclusive or, then multiplied with this and rotated left by [`ROTATION`].
pub const FACTOR: u64 = 0xff51_afd7_ed55_8ccd;
/// See [`FACTOR`].
pub const ROTATION: u32 = 29;

/// Words that are hashed side by side.
const LANES: usize = 4;

const fn step(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(FACTOR).rotate_left(ROTATION)
}

/// Goes on from `hash` with another input. Each step can be undone, whatever the word, and so can one word's, whatever the hash: so inputs
/// of one length that differ in one word have different hashes.
pub fn mix(hash: u64, bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    let start = step(hash, bytes.len() as u64);
    let (rows, rest) = bytes.as_chunks::<{ 8 * LANES }>();
    let mut lanes = [start; LANES];
    for row in rows {
        for (lane, chunk) in lanes.iter_mut().zip(row.chunks(8)) {
            *lane = step(*lane, word(chunk));
        }
    }
    // Exclusive or alone wouldn't tell one lane from another.
    let joined = if rows.is_empty() { start } else { lanes.into_iter().fold(0, step) };
    rest.chunks(8).map(word).fold(joined, step)
}

/// Instructions that do what [`mix`] does: rdi is the hash, before and after, of rcx bytes from rsi on. They change rax, rcx, rdx, rsi,
/// r8, r9, r10 and flags, and use the labels 71 to 75 and the operands `FACTOR` and `ROTATION`.
#[macro_export]
macro_rules! hash_assembly {
    () => {
        concat!(
            "movabs rax, {FACTOR}\n",
            "xor rdi, rcx\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "cmp rcx, 32\n",
            "jb 72f\n",
            "mov r8, rdi\n mov r9, rdi\n mov r10, rdi\n",
            "71:\n",
            "xor rdi, [rsi]\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "xor r8, [rsi + 8]\n imul r8, rax\n rol r8, {ROTATION}\n",
            "xor r9, [rsi + 16]\n imul r9, rax\n rol r9, {ROTATION}\n",
            "xor r10, [rsi + 24]\n imul r10, rax\n rol r10, {ROTATION}\n",
            "add rsi, 32\n",
            "sub rcx, 32\n",
            "cmp rcx, 32\n",
            "jae 71b\n",
            "imul rdi, rax\n rol rdi, {ROTATION}\n",
            "xor rdi, r8\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "xor rdi, r9\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "xor rdi, r10\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "72:\n",
            "cmp rcx, 8\n",
            "jb 73f\n",
            "xor rdi, [rsi]\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "add rsi, 8\n",
            "sub rcx, 8\n",
            "jmp 72b\n",
            "73:\n",
            "test ecx, ecx\n",
            "jz 75f\n",
            "xor edx, edx\n",
            "74:\n",
            "shl rdx, 8\n",
            "mov dl, [rsi + rcx - 1]\n",
            "dec ecx\n",
            "jnz 74b\n",
            "xor rdi, rdx\n imul rdi, rax\n rol rdi, {ROTATION}\n",
            "75:",
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    std::arch::global_asm!(
        // extern "C" fn(hash: rdi, bytes: rsi, len: rdx) -> u64
        "hash_in_assembly:",
        "mov rcx, rdx",
        hash_assembly!(),
        "mov rax, rdi",
        "ret",
        FACTOR = const FACTOR,
        ROTATION = const ROTATION,
    );

    unsafe extern "C" {
        fn hash_in_assembly(hash: u64, bytes: *const u8, len: u64) -> u64;
    }

    #[test]
    fn both_forms_agree_at_every_length() {
        let bytes: Vec<u8> = (0..300_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for len in 0..bytes.len() {
            // SAFETY: it reads so many bytes from there.
            let got = unsafe { hash_in_assembly(SEED, bytes.as_ptr(), len as u64) };
            assert_eq!(got, mix(SEED, &bytes[..len]), "{len}");
        }
    }

    #[test]
    fn every_bit_and_the_length_count() {
        let mut bytes = vec![0_u8; 77];
        let same = mix(SEED, &bytes);
        assert_ne!(mix(SEED, &bytes[1..]), same);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(mix(SEED, &bytes), same, "{bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let mut seen = std::collections::HashSet::new();
        bytes[..64].chunks_exact_mut(8).enumerate().for_each(|(n, word)| word.fill(n as u8));
        assert!(seen.insert(mix(SEED, &bytes)));
        for (one, other) in (0..8).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let swap = |bytes: &mut Vec<u8>| (0..8).for_each(|n| bytes.swap(8 * one + n, 8 * other + n));
            swap(&mut bytes);
            assert!(seen.insert(mix(SEED, &bytes)), "{one} and {other}");
            swap(&mut bytes);
        }
    }
}
