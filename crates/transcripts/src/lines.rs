//! Reads a file line by line in bounded memory.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::model::ReadError;

/// Longest line that is parsed. Lines with whole prompts have some hundred kilobytes.
const MAX_LINE: usize = 16 * 1024 * 1024;
/// Bytes that are read at a time.
const BUFFER: usize = 256 * 1024;

/// Lines of a file that could not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Problems {
    /// Lines that are not JSON objects.
    pub(crate) broken: u64,
    /// Lines above the limit.
    pub(crate) too_long: u64,
    /// Records of kinds that this version does not know.
    pub(crate) unknown: u64,
}

impl Problems {
    /// Describes the problems, one clause each.
    pub(crate) fn words(&self) -> Vec<String> {
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        let clauses = [(self.broken, "that could not be parsed"), (self.too_long, "that are too long")];
        let mut words: Vec<String> = clauses
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, clause)| format!("skipped {number} line{} {clause}", plural(*number)))
            .collect();
        if self.unknown > 0 {
            words.push(format!("skipped {} record{} of unknown kinds", self.unknown, plural(self.unknown)));
        }
        words
    }
}

/// Calls `take` with each line, which returns false if the line could not be parsed.
pub(crate) fn read(
    path: &Path,
    problems: &mut Problems,
    mut take: impl FnMut(&[u8]) -> bool,
) -> Result<(), ReadError> {
    let failed = |source: std::io::Error| ReadError::File { path: path.to_owned(), source };
    // Not blocking, because a pipe under the name of a transcript must not hang the reader. Not following, because the
    // path was checked as a regular file before.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let file = File::from(file);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("not a regular file")));
    }
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let mut kept = Vec::new();
    let mut is_too_long = false;
    loop {
        let buffer = reader.fill_buf().map_err(failed)?;
        if buffer.is_empty() {
            break;
        }
        let Some(end) = memchr::memchr(b'\n', buffer) else {
            let length = buffer.len();
            is_too_long |= kept.len() + length > MAX_LINE;
            if !is_too_long {
                kept.extend_from_slice(buffer);
            }
            reader.consume(length);
            continue;
        };
        is_too_long |= kept.len() + end > MAX_LINE;
        if is_too_long {
            problems.too_long += 1;
        } else if kept.is_empty() {
            // Most lines lie within the buffer and need no copy.
            problems.broken += u64::from(!take_line(&buffer[..end], &mut take));
        } else {
            kept.extend_from_slice(&buffer[..end]);
            problems.broken += u64::from(!take_line(&kept, &mut take));
        }
        kept.clear();
        // A line of many megabytes must not occupy memory for the rest of the file.
        kept.shrink_to(BUFFER);
        is_too_long = false;
        reader.consume(end + 1);
    }
    // The last line of a running session may be half written, which is not a problem.
    if !is_too_long {
        take_line(&kept, &mut take);
    }
    Ok(())
}

fn take_line(line: &[u8], take: &mut impl FnMut(&[u8]) -> bool) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || take(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(bytes: &[u8]) -> (Vec<String>, Problems) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lines");
        std::fs::write(&path, bytes).unwrap();
        let mut problems = Problems::default();
        let mut lines = Vec::new();
        read(&path, &mut problems, |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            line.starts_with(b"{")
        })
        .unwrap();
        (lines, problems)
    }

    #[test]
    fn a_half_written_last_line_is_no_problem() {
        let (lines, problems) = lines_of(b"{}\nbroken\n\n{\"half");
        assert_eq!(lines, ["{}", "broken", "{\"half"]);
        assert_eq!(problems, Problems { broken: 1, ..Problems::default() });
        assert_eq!(problems.words(), ["skipped 1 line that could not be parsed"]);
    }

    #[test]
    fn long_lines_are_skipped_and_later_ones_read() {
        let mut bytes = vec![b'x'; MAX_LINE + 1];
        bytes.extend_from_slice(b"\n{}\n");
        let (lines, problems) = lines_of(&bytes);
        assert_eq!(lines, ["{}"]);
        assert_eq!(problems.too_long, 1);
    }

    #[test]
    fn links_and_pipes_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(read(&link, &mut Problems::default(), |_| true).is_err());
        assert!(read(directory.path(), &mut Problems::default(), |_| true).is_err());
    }
}
