//! The stack that the image's libc starts on, as the kernel would lay it out for a new program.

use bubble::boot::INJECTED;
use bubble::map::{ENTRY, IMAGE, STACK};

use crate::command::ToolImage;

/// Absolute address of something in the image.
pub(super) const fn in_image(offset: u64) -> u64 {
    IMAGE.start + offset
}

/// libc must not register restartable sequences: the kernel would write to them behind the app's back, and the
/// registration is the app's to make.
const ENVIRONMENT: &str = "GLIBC_TUNABLES=glibc.pthread.rseq=0";
const RANDOM_BYTES: usize = 16;

/// Bytes and the address that they are for, which is the initial stack pointer.
pub struct StartStack {
    /// Address.
    pub at: u64,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// Builds it. The image's `argv[1]` is the address of the boot block.
pub fn build(image: &ToolImage) -> StartStack {
    let strings = format!("{INJECTED}\0{:x}\0{ENVIRONMENT}\0", ENTRY.start);
    let strings_len = strings.len().next_multiple_of(16);
    let top = STACK.end();
    let random_at = top - RANDOM_BYTES as u64;
    let strings_at = random_at - strings_len as u64;
    let argv1 = strings_at + INJECTED.len() as u64 + 1;
    let env = strings_at + (strings.len() - ENVIRONMENT.len() - 1) as u64;
    let mut words = vec![2, strings_at, argv1, 0, env, 0];
    for (key, value) in auxiliary(image, random_at) {
        words.extend([key, value]);
    }
    let at = (strings_at - 8 * words.len() as u64) & !15;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize((strings_at - at) as usize, 0);
    bytes.extend_from_slice(strings.as_bytes());
    bytes.resize((random_at - at) as usize, 0);
    bytes.extend_from_slice(&random());
    StartStack { at, bytes }
}

/// No AT_SYSINFO_EHDR: the image makes system calls where it needs the time.
fn auxiliary(image: &ToolImage, random_at: u64) -> Vec<(u64, u64)> {
    let (headers, header_size, header_count) = image.headers;
    let mut vector = vec![
        (libc::AT_PHDR, in_image(headers)),
        (libc::AT_PHENT, header_size),
        (libc::AT_PHNUM, header_count),
        (libc::AT_BASE, 0),
        (libc::AT_ENTRY, in_image(image.entry)),
        (libc::AT_RANDOM, random_at),
        (libc::AT_SECURE, 0),
    ];
    let own = [
        libc::AT_PAGESZ,
        libc::AT_HWCAP,
        libc::AT_HWCAP2,
        libc::AT_CLKTCK,
        libc::AT_UID,
        libc::AT_EUID,
        libc::AT_GID,
        libc::AT_EGID,
        libc::AT_MINSIGSTKSZ,
    ];
    // SAFETY: getauxval only reads this process's own vector.
    vector.extend(own.iter().map(|&key| (key, unsafe { libc::getauxval(key) })));
    vector.push((libc::AT_NULL, 0));
    vector
}

fn random() -> [u8; RANDOM_BYTES] {
    let mut bytes = [0; RANDOM_BYTES];
    // SAFETY: the buffer is as long as stated. Without randomness zeroes do: they seed a canary.
    unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), RANDOM_BYTES, libc::GRND_NONBLOCK) };
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_to_their_strings() {
        let stack = build(&ToolImage::own().unwrap());
        assert_eq!(stack.at % 16, 0);
        assert_eq!(stack.at + stack.bytes.len() as u64, STACK.end());
        let word = |n: usize| u64::from_le_bytes(stack.bytes[n * 8..n * 8 + 8].try_into().unwrap());
        let string = |address: u64| {
            let from = &stack.bytes[(address - stack.at) as usize..];
            String::from_utf8(from[..from.iter().position(|&b| b == 0).unwrap()].to_vec()).unwrap()
        };
        assert_eq!(word(0), 2);
        assert_eq!(string(word(1)), INJECTED);
        assert_eq!(u64::from_str_radix(&string(word(2)), 16), Ok(ENTRY.start));
        assert_eq!(word(3), 0);
        assert_eq!(string(word(4)), ENVIRONMENT);
        assert_eq!(word(5), 0);
    }
}
