//! Detects the kind of a file from its first bytes.

/// Bytes read per block.
pub(crate) const BLOCK: usize = 65_536;
/// Bytes examined to decide whether a file is text.
const LOOKED_AT: usize = 8_192;

/// Magic numbers of common file types.
const KINDS: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "an ELF program or library"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or universal binary"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"RIFF", "a RIFF container"),
    (b"\xff\xfe", "text in UTF-16"),
    (b"\xfe\xff", "text in UTF-16"),
];

/// Returns the kind of a binary file. `None` for text.
pub(crate) fn binary_kind(first: &[u8]) -> Option<&'static str> {
    let looked_at = &first[..first.len().min(LOOKED_AT)];
    let known = KINDS.iter().find(|(bytes, _)| looked_at.starts_with(bytes)).map(|(_, kind)| *kind);
    // A short magic number such as `RIFF` may also begin a text file. PDF is the exception: its start is valid UTF-8.
    let is_text = !looked_at.contains(&0)
        && std::str::from_utf8(looked_at).is_ok_and(|text| !text.starts_with("%PDF-"));
    // Text in Latin-1 and similar encodings is not valid UTF-8 but has no zero bytes. It is read as text with
    // replacement characters.
    match (known, looked_at.contains(&0)) {
        (Some(kind), _) if !is_text => Some(kind),
        (_, true) => Some("binary data"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_detected_by_first_bytes() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n\0\0"[..], Some("a PNG image")),
            (b"\x7fELF\x02\x01\x01\0", Some("an ELF program or library")),
            (b"a\0b", Some("binary data")),
            (b"\xff\xfea\0", Some("text in UTF-16")),
            (b"%PDF-1.7\n", Some("a PDF document")),
            (b"RIFF is a format", None),
            (b"caf\xe9 in Latin-1", None),
            (b"", None),
        ] {
            assert_eq!(binary_kind(bytes), kind, "{bytes:?}");
        }
    }
}
