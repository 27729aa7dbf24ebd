//! Whether this program is an image in a taken-over process.

use bubble::map::IMAGE;

/// Something of the image, to see where it was loaded.
static ANCHOR: u8 = 0;

/// Whether this image runs inside a taken-over process. Known from its load address, so that it can be asked
/// before anything of libc or std works.
pub fn injected() -> bool {
    IMAGE.contains(&raw const ANCHOR as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_not_injected() {
        assert!(!injected());
    }
}
