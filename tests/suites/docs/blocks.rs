//! What is on a page: blocks of code, and code between backquotes in its text.

/// A block of code.
pub struct Block {
    /// The line behind its first fence, counted from 1.
    pub line: usize,
    /// What stands behind the fence.
    pub language: String,
    pub lines: Vec<String>,
}

impl Block {
    /// The line behind its last fence.
    fn end(&self) -> usize {
        self.line + self.lines.len() + 1
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// A page's blocks, and its other lines with their numbers.
pub struct Page {
    pub blocks: Vec<Block>,
    pub prose: Vec<(usize, String)>,
}

impl Page {
    pub fn of(text: &str) -> Self {
        let mut page = Self { blocks: Vec::new(), prose: Vec::new() };
        let mut open: Option<Block> = None;
        for (before, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), open.as_mut()) {
                (Some(_), Some(_)) => page.blocks.extend(open.take()),
                (Some(language), None) => {
                    open = Some(Block { line: before + 2, language: language.to_owned(), lines: Vec::new() });
                }
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => page.prose.push((before + 1, line.to_owned())),
            }
        }
        assert!(open.is_none(), "a block of code doesn't end");
        page
    }

    /// Each block of commands, with the block of text right behind it.
    pub fn shown(&self) -> Vec<(&Block, Option<&Block>)> {
        let commands = self.blocks.iter().enumerate().filter(|(_, block)| block.language == "sh");
        let with_output = commands.map(|(n, block)| {
            let next = self.blocks.get(n + 1).filter(|next| next.language == "text");
            let between = |next: &Block| {
                self.prose.iter().any(|(n, line)| (block.end()..next.line).contains(n) && !line.is_empty())
            };
            (block, next.filter(|next| !between(next)))
        });
        with_output.collect()
    }

    /// What stands between backquotes in its text, with the line's number.
    pub fn spans(&self) -> impl Iterator<Item = (usize, &str)> {
        self.prose.iter().flat_map(|(line, text)| text.split('`').skip(1).step_by(2).map(|span| (*line, span)))
    }
}

#[test]
fn a_page_is_taken_apart() {
    let page =
        Page::of("Run `superpin -h`.\n```sh\na\nb\n```\n\n```text\nc\n```\n```sh\nd\n```\nIt says\n```text\ne\n```\n");
    let shown: Vec<(usize, String, Option<String>)> =
        page.shown().into_iter().map(|(block, text)| (block.line, block.text(), text.map(Block::text))).collect();
    assert_eq!(shown, [(3, "a\nb".to_owned(), Some("c".to_owned())), (11, "d".to_owned(), None)]);
    assert_eq!(page.spans().collect::<Vec<_>>(), [(1, "superpin -h")]);
}
