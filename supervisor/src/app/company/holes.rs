//! Pages of zeroes, which needn't be stored.

use std::fs::File;
use std::os::unix::fs::FileExt;

const PAGE: usize = machine::PAGE as usize;

/// Whether memory holds nothing but zeroes. As a comparison of blocks: byte by byte it would take longer than to read it from the process.
pub fn is_zero(memory: &[u8]) -> bool {
    const ZEROES: [u8; PAGE] = [0; PAGE];
    memory.chunks(PAGE).all(|page| *page == ZEROES[..page.len()])
}

/// Writes what isn't zeroes to a new object, whose other pages stay holes.
///
/// # Errors
/// If there is no memory for it.
pub fn write(object: &File, contents: &[u8], offset: u64) -> std::io::Result<()> {
    let mut done = 0;
    for pages in contents.chunks(PAGE).collect::<Vec<_>>().chunk_by(|a, b| is_zero(a) == is_zero(b)) {
        let len = pages.iter().map(|page| page.len()).sum::<usize>();
        if !is_zero(pages[0]) {
            object.write_all_at(&contents[done..done + len], offset + done as u64)?;
        }
        done += len;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_zeroes_are_told_from_others() {
        let mut page = [0; PAGE];
        assert!(is_zero(&page) && is_zero(&page[..100]));
        page[PAGE - 1] = 1;
        assert!(!is_zero(&page) && is_zero(&page[..PAGE - 1]));
    }
}
