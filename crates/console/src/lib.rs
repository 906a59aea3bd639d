//! The built files of the web console, which `cargo xtask console` writes from the sources in `console/`.
//!
//! They are committed, so that a build of the command needs no Node.
//!
//! ```
//! let index = console::find("index.html").unwrap();
//! assert_eq!(index.media_type(), "text/html; charset=utf-8");
//! ```

/// A file of the console.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// Path below `/console/`.
    pub path: &'static str,
    /// Content of the file.
    pub bytes: &'static [u8],
}

/// All files, sorted by path.
pub const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Folder of the files whose names contain a hash of their content.
const HASHED: &str = "assets/";

/// Media types by file name extension.
const MEDIA_TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
];

/// Returns the file at a path below `/console/`. `None` if there is none.
pub fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    /// Returns the value of `Content-Type`.
    pub fn media_type(&self) -> &'static str {
        let extension = self.path.rsplit_once('.').map_or("", |(_, extension)| extension);
        let known = MEDIA_TYPES.iter().find(|(name, _)| *name == extension);
        known.map_or("application/octet-stream", |(_, media_type)| media_type)
    }

    /// Returns true if the name contains a hash of the content, so that browsers may keep the file forever.
    pub fn is_immutable(&self) -> bool {
        self.path.starts_with(HASHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_only_mutable_page() {
        let index = find("index.html").unwrap();
        assert!(!index.is_immutable());
        let text = std::str::from_utf8(index.bytes).unwrap();
        assert!(text.contains("assets/") && !text.contains("<style"), "{text}");
        // An inline script would be blocked by the Content-Security-Policy.
        for script in text.split("<script").skip(1) {
            assert!(script.contains("src=") && script.contains("></script>"), "{script}");
        }
    }

    #[test]
    fn every_file_has_a_known_type() {
        for asset in ASSETS {
            assert_ne!(asset.media_type(), "application/octet-stream", "{}", asset.path);
            assert!(!asset.bytes.is_empty(), "{}", asset.path);
        }
        assert!(find("nothing.js").is_none());
    }
}
