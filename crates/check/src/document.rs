//! A file whose text is looked at.

use std::borrow::Cow;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use instructions::Profile;
use instructions::contained_path::directory_flags;
use instructions::file::{Bounds, Found, read_beneath};
use instructions::profile::RuleFolder;
use rustix::fs::Mode;

use crate::markdown::Markdown;
use crate::shadowed::Shadow;

/// What is looked at of a file. More than this is lost on every reader.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file with a text.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    /// The directory that it belongs to: for `.claude/rules/x.md` the one that has `.claude`.
    pub(crate) directory: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// What it says, as far as it is UTF-8 or UTF-16.
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    pub(crate) markdown: Markdown,
    /// The agents that read it somewhere.
    pub(crate) readers: Vec<&'static Profile>,
    /// Those of them that read it when they start.
    pub(crate) at_start: Vec<&'static Profile>,
    /// Where agents drop it, or the end of it.
    pub(crate) losses: Vec<Loss>,
    /// Agents that do not read it in its own directory, because something else comes first.
    pub(crate) shadows: Vec<Shadow>,
    /// Agents that do not follow an import as far as it when they are started elsewhere.
    pub(crate) not_imported: Vec<&'static Profile>,
    /// Whether it is there only because others import it.
    pub(crate) is_import: bool,
    /// Whether it is a link to another document of the same directory, whose text is looked at under its own name.
    pub(crate) is_alias: bool,
    /// The folder of rules that it is in.
    pub(crate) folder: Option<&'static RuleFolder>,
}

/// What an agent loses of a file in a directory.
#[derive(Debug, Clone)]
pub(crate) struct Loss {
    pub(crate) agent: &'static Profile,
    pub(crate) directory: PathBuf,
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    /// For all project files together.
    pub(crate) limit: u64,
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    /// With a byte order mark that says so.
    Utf16,
    /// UTF-8 but for the bytes from this line on.
    Invalid {
        line: usize,
    },
    /// UTF-8 with zero bytes, the first in this line.
    ZeroBytes {
        line: usize,
    },
}

impl Document {
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    pub(crate) fn new(
        path: &Path,
        directory: &Path,
        bytes: Vec<u8>,
        folder: Option<&'static RuleFolder>,
    ) -> Self {
        let (text, encoding) = decode(&bytes);
        let markdown = Markdown::parse(&text);
        let path = path.to_owned();
        let directory = directory.to_owned();
        Self {
            path,
            directory,
            bytes,
            text,
            encoding,
            markdown,
            readers: Vec::new(),
            at_start: Vec::new(),
            losses: Vec::new(),
            shadows: Vec::new(),
            not_imported: Vec::new(),
            is_import: false,
            is_alias: false,
            folder,
        }
    }
}

/// Reads a file below the root; a pipe is not waited for, and no link is followed out of the root.
pub(crate) fn read(root: &Path, path: &Path) -> Found {
    let Ok(relative) = path.strip_prefix(root) else { return Found::Outside };
    match rustix::fs::open(root, directory_flags(), Mode::empty()) {
        Ok(opened) => read_beneath(opened.as_fd(), root, relative, &Bounds::default(), MAX_BYTES),
        Err(errno) => Found::Unreadable { reason: std::io::Error::from(errno).to_string().into() },
    }
}

/// A file's text without its byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> (String, Encoding) {
    if let Some(text) = utf16(bytes) {
        return (text, Encoding::Utf16);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let line_of = |end: usize| 1 + bytes[..end].iter().filter(|byte| **byte == b'\n').count();
    let encoding = match std::str::from_utf8(bytes) {
        Err(error) => Encoding::Invalid { line: line_of(error.valid_up_to()) },
        Ok(text) => match text.find('\0') {
            Some(at) => Encoding::ZeroBytes { line: line_of(at) },
            None => Encoding::Utf8,
        },
    };
    (String::from_utf8_lossy(bytes).into_owned(), encoding)
}

/// The text of a file that its byte order mark calls UTF-16, if it is.
pub(crate) fn utf16(bytes: &[u8]) -> Option<String> {
    let (join, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        // UTF-32 begins like UTF-16.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    if rest.len() % 2 != 0 {
        return None;
    }
    let units: Vec<u16> = rest.chunks_exact(2).map(|pair| join([pair[0], pair[1]])).collect();
    String::from_utf16(&units).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_apart() {
        assert_eq!(decode(b"\xef\xbb\xbfa"), ("a".to_owned(), Encoding::Utf8));
        assert_eq!(decode(b"\xff\xfea\0\n\0"), ("a\n".to_owned(), Encoding::Utf16));
        assert_eq!(decode(b"\xfe\xff\0a"), ("a".to_owned(), Encoding::Utf16));
        assert_eq!(decode(b"a\nb\xff").1, Encoding::Invalid { line: 2 });
        assert_eq!(decode(b"a\n\nb\0").1, Encoding::ZeroBytes { line: 3 });
        assert!(matches!(decode(b"\xff\xfe\0\0a\0\0\0").1, Encoding::Invalid { .. }), "UTF-32");
        assert!(matches!(decode(b"\xff\xfea\0\0\0").1, Encoding::Invalid { .. }), "no text");
        assert!(matches!(decode(b"\xff\xfea").1, Encoding::Invalid { line: 1 }), "half a unit");
        assert!(matches!(decode(b"\xff\xfe\x00\xd8").1, Encoding::Invalid { .. }), "half a pair");
    }
}
