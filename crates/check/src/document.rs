//! A file whose text is checked.

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

/// Most bytes of a file that are checked. No agent reads more.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) path: PathBuf,
    /// Directory that it belongs to; for `.claude/rules/x.md`, the one with `.claude`.
    pub(crate) directory: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Text, decoded from UTF-8 or UTF-16.
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
    pub(crate) markdown: Markdown,
    /// Agents that read it somewhere.
    pub(crate) readers: Vec<&'static Profile>,
    /// Agents among them that read it at startup.
    pub(crate) at_start: Vec<&'static Profile>,
    /// Directories in which agents lose text of it.
    pub(crate) losses: Vec<Loss>,
    /// Agents that do not read it in its own directory, because another file comes first.
    pub(crate) shadows: Vec<Shadow>,
    /// Agents that do not follow an import of it when started elsewhere.
    pub(crate) not_imported: Vec<&'static Profile>,
    /// True if it is an instruction file only because others import it.
    pub(crate) is_import: bool,
    /// True for a link to another document in the same directory, which is checked under its own name.
    pub(crate) is_alias: bool,
    /// Target of the file if it is a link or reached through one.
    pub(crate) target: Option<PathBuf>,
    /// Folder of rules that contains it.
    pub(crate) folder: Option<&'static RuleFolder>,
}

/// Text that an agent loses of a file in a directory.
#[derive(Debug, Clone)]
pub(crate) struct Loss {
    pub(crate) agent: &'static Profile,
    pub(crate) directory: PathBuf,
    pub(crate) kept: u64,
    pub(crate) lost: u64,
    /// Limit of all project files together.
    pub(crate) limit: u64,
}

/// Encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    /// UTF-16 with a byte order mark.
    Utf16,
    /// Invalid UTF-8 from this line on.
    Invalid {
        line: usize,
    },
    /// UTF-8 with zero bytes, first in this line.
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
            target: None,
            folder,
        }
    }
}

/// Reads a file below the root, without blocking on a pipe or following a link outside.
pub(crate) fn read(root: &Path, path: &Path) -> Found {
    // Links are resolved below the opened root by the system, not by comparing paths first: a path that is checked and
    // then opened could be replaced in between.
    let Ok(relative) = path.strip_prefix(root) else { return Found::Outside };
    match rustix::fs::open(root, directory_flags(), Mode::empty()) {
        Ok(opened) => read_beneath(opened.as_fd(), root, relative, &Bounds::default(), MAX_BYTES),
        Err(errno) => Found::Unreadable { reason: std::io::Error::from(errno).to_string().into() },
    }
}

/// Decodes a file without its byte order mark.
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

/// Decodes a file with the byte order mark of UTF-16, or returns `None`.
pub(crate) fn utf16(bytes: &[u8]) -> Option<String> {
    let (join, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        // The byte order mark of UTF-32 begins like that of UTF-16.
        [0xff, 0xfe, 0, 0, ..] => return None,
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    // Text that only begins like UTF-16 must not be rewritten by `--fix`. An odd length, an unpaired surrogate or a
    // zero character shows that it is something else.
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
    fn encodings_are_distinguished() {
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
