//! Cuts between lines, and the headings that a cut removes.

/// Most characters of an omitted heading that are listed.
const MAX_HEADING_CHARS: usize = 120;

/// Returns the common beginning of two texts, in whole characters.
pub fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    while !one.is_char_boundary(end) {
        end -= 1;
    }
    &one[..end]
}

/// Returns the position at which to cut bytes to at most `limit`: at a line end in the second half, if there
/// is one, but neither inside a code fence nor after a heading without its text; otherwise between two
/// characters.
// Only the second half is searched for a line end. A cut further up would lose more than half of the limit to
// one long line.
pub(crate) fn cut(bytes: &[u8], limit: usize) -> usize {
    if bytes.len() <= limit {
        return bytes.len();
    }
    let fits = &bytes[..limit];
    let half = limit / 2;
    let line_end = fits.iter().rposition(|byte| *byte == b'\n').map(|position| position + 1);
    match line_end.filter(|end| *end > half) {
        Some(end) => {
            // The fence is checked before the heading, because moving the cut up to the fence can leave its heading at
            // the end.
            let end = open_fence(&bytes[..end]).filter(|start| *start > half).unwrap_or(end);
            before_heading(&bytes[..end]).filter(|start| *start > half).unwrap_or(end)
        }
        None => character_boundary(bytes, limit),
    }
}

/// Returns the start of a heading at the very end, or `None` if the text ends otherwise.
fn before_heading(kept: &[u8]) -> Option<usize> {
    // Blank lines after the heading do not count as its text.
    let trimmed = kept.trim_ascii_end();
    let start = trimmed.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
    is_heading(&trimmed[start..]).then_some(start)
}

/// Returns the last position at or before `limit` that is not inside a character.
pub(crate) fn character_boundary(bytes: &[u8], limit: usize) -> usize {
    let mut end = limit.min(bytes.len());
    if end == bytes.len() {
        return end;
    }
    // A character has at most four bytes. A longer sequence is not UTF-8 and can be cut anywhere.
    let start = end.saturating_sub(3);
    for position in (start..end).rev() {
        let length = match bytes[position] {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => continue,
        };
        let whole = bytes.get(position..position + length);
        if position + length > end && whole.is_some_and(|whole| std::str::from_utf8(whole).is_ok()) {
            end = position;
        }
        break;
    }
    end
}

fn is_heading(line: &[u8]) -> bool {
    let hashes = line.iter().take_while(|byte| **byte == b'#').count();
    (1..=6).contains(&hashes) && line.get(hashes).is_none_or(|byte| *byte == b' ' || *byte == b'\t')
}

/// Returns the Markdown headings that are missing or incomplete before `kept`. Code fences hide lines that
/// look like headings.
pub(crate) fn headings_after(bytes: &[u8], kept: usize) -> Vec<String> {
    let mut headings = Vec::new();
    let mut fence = Fence::default();
    for (start, line) in lines(bytes) {
        let end = start + line.trim_ascii_end().len();
        let Some(content) = fence.text(start, line) else { continue };
        if end > kept && is_heading(content) {
            let title = String::from_utf8_lossy(content.trim_ascii_start());
            let title = title.trim_start_matches('#').trim().trim_end_matches('#').trim_end();
            match title.char_indices().nth(MAX_HEADING_CHARS) {
                Some((position, _)) => headings.push(format!("{}…", &title[..position])),
                None => headings.push(title.to_owned()),
            }
        }
    }
    headings.retain(|heading| !heading.is_empty());
    headings
}

/// Returns the start of a code fence that is open at the end.
fn open_fence(bytes: &[u8]) -> Option<usize> {
    let mut fence = Fence::default();
    for (start, line) in lines(bytes) {
        fence.text(start, line);
    }
    fence.open.map(|open| open.start)
}

/// Returns lines with their start positions.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut position = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').map(move |line| {
        position += line.len();
        (position - line.len(), line)
    })
}

/// State of the code fence around a line.
#[derive(Default)]
struct Fence {
    open: Option<OpenFence>,
}

struct OpenFence {
    start: usize,
    mark: u8,
    length: usize,
}

impl Fence {
    /// Processes the next line. Returns its text without indentation, or `None` if it is code or a fence.
    fn text<'a>(&mut self, start: usize, line: &'a [u8]) -> Option<&'a [u8]> {
        let content = line.trim_ascii_end();
        let indent = content.iter().take_while(|byte| **byte == b' ').count();
        // Four spaces make a line indented code in Markdown, so it neither opens nor closes a fence.
        if indent > 3 {
            return None;
        }
        let content = &content[indent..];
        let mark = content.first().copied().unwrap_or(0);
        let length = content.iter().take_while(|byte| **byte == mark).count();
        let is_fence = match mark {
            // With further backticks behind it, it is inline code.
            b'`' => length >= 3 && !content[length..].contains(&b'`'),
            b'~' => length >= 3,
            _ => false,
        };
        match &self.open {
            None if is_fence => self.open = Some(OpenFence { start, mark, length }),
            None => return Some(content),
            Some(open)
                if is_fence && open.mark == mark && length >= open.length && content.len() == length =>
            {
                self.open = None;
            }
            Some(_) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_lines_in_the_second_half() {
        assert_eq!(cut(b"one\ntwo\nthree\n", 10), 8);
        assert_eq!(cut(b"one\ntwo\nthree\n", 14), 14);
        assert_eq!(cut(b"ab\nlong line without end", 12), 12, "the only line end is in the first half");
        assert_eq!(cut("aaé".as_bytes(), 3), 2, "never inside a character");
        assert_eq!(cut(b"abc", 0), 0);
    }

    #[test]
    fn a_heading_is_not_left_alone_at_the_end() {
        let text = b"# One\nsome text that is kept\n## Two\nrest rest rest rest";
        assert_eq!(cut(text, 40), 29, "before `## Two`");
    }

    #[test]
    fn a_code_fence_is_not_left_open() {
        let text = b"Some text that is kept.\n# Run\n```sh\nmake\nmake check\n```\nThe rest of it.\n";
        assert_eq!(cut(text, 45), 24, "before the fence, and before the heading over it");
        assert_eq!(cut(text, 64), 56, "behind a fence that is closed");
        let early = b"```\none\ntwo\nthree\nfour\nfive\n```\n";
        assert_eq!(cut(early, 24), 23, "there is nothing to keep before it");
        assert_eq!(
            cut(b"a line of text\n```x``` is code\nmore\n", 33),
            31,
            "code within a line opens nothing"
        );
    }

    #[test]
    fn boundaries_of_characters_and_of_garbage() {
        let text = "a😀b".as_bytes();
        for limit in 1..5 {
            assert_eq!(character_boundary(text, limit), 1);
        }
        assert_eq!(character_boundary(text, 5), 5);
        assert_eq!(character_boundary(&[0x80, 0x80, 0x80, 0x80, 0x80], 3), 3, "garbage has no boundaries");
        assert_eq!(character_boundary(&[b'a', 0xf0, 0x9f, b'b'], 2), 2, "an unfinished character is garbage");
    }

    #[test]
    fn headings_outside_fences() {
        let text = b"# A\n```\n# not\n```\n## B ##\n    # code\n#hashtag\n### \n   #### C\n";
        assert_eq!(headings_after(text, 0), ["A", "B", "C"]);
        assert_eq!(headings_after(text, 4), ["B", "C"]);
        assert_eq!(headings_after(text, 3), ["B", "C"], "only the line end of the first is missing");
        assert_eq!(headings_after(b"# One two\n", 5), ["One two"], "cut in the middle");
        let long = format!("# {}", "é".repeat(200));
        assert_eq!(headings_after(long.as_bytes(), 9), [format!("{}…", "é".repeat(120))]);
    }
}
