//! Keeps digests in the user's cache directory, so that unchanged transcripts are not read again.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::agent::TranscriptAgent;
use crate::digest::Digest;
use crate::model::ReadError;
use crate::sources::{Location, Source};

/// Version of the format. Another one is ignored.
const FORMAT: u32 = 1;

/// Facts about a transcript in the list of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    size: u64,
    changed: u64,
    cwd: Option<PathBuf>,
    commit: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    format: u32,
    version: String,
    entries: HashMap<String, Entry>,
}

/// The index of one agent: a list that decides which digests are needed, and a file for each digest.
pub(crate) struct Index {
    /// `None` without a cache.
    directory: Option<PathBuf>,
    list: List,
    is_changed: bool,
}

impl Index {
    /// Opens the index of an agent. A broken one is made again.
    pub(crate) fn open(cache: Option<&Path>, agent: TranscriptAgent) -> Self {
        let directory = cache.map(|cache| cache.join("transcripts").join(agent.name()));
        let version = env!("CARGO_PKG_VERSION");
        let list = directory
            .as_ref()
            .and_then(|directory| fs::read(directory.join("list.json")).ok())
            .and_then(|bytes| serde_json::from_slice::<List>(&bytes).ok())
            .filter(|list| list.format == FORMAT && list.version == version)
            .unwrap_or_else(|| List { format: FORMAT, version: version.to_owned(), entries: HashMap::new() });
        Self { directory, list, is_changed: false }
    }

    /// Returns the digest of a transcript, or `None` if its directory is not wanted.
    pub(crate) fn digest(
        &mut self,
        source: &Source,
        is_wanted: impl Fn(Option<&PathBuf>, Option<&String>) -> bool,
    ) -> Result<Option<Digest>, ReadError> {
        let key = key(source);
        if let Some(known) = self.list.entries.get(&key)
            && (known.size, known.changed) == (source.size, source.changed)
        {
            if !is_wanted(known.cwd.as_ref(), known.commit.as_ref()) {
                return Ok(None);
            }
            if let Some(mut digest) = self.load(&key) {
                // A lock comes and goes without a change of the transcript.
                digest.header.running = source.still_runs(&digest.header);
                return Ok(Some(digest));
            }
        }
        let digest = source.digest(None)?;
        self.keep(key, source, &digest);
        let header = &digest.header;
        Ok(is_wanted(header.cwd.as_ref(), header.commit.as_ref()).then_some(digest))
    }

    fn load(&self, key: &str) -> Option<Digest> {
        let bytes = fs::read(self.directory.as_ref()?.join(format!("{key}.json"))).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn keep(&mut self, key: String, source: &Source, digest: &Digest) {
        let Some(directory) = &self.directory else { return };
        let entry = Entry {
            size: source.size,
            changed: source.changed,
            cwd: digest.header.cwd.clone(),
            commit: digest.header.commit.clone(),
        };
        let written = serde_json::to_vec(digest)
            .map_err(std::io::Error::from)
            .and_then(|bytes| write(directory, &format!("{key}.json"), &bytes));
        // Without a cache the answer is the same, only slower.
        if written.is_ok() {
            self.list.entries.insert(key, entry);
            self.is_changed = true;
        }
    }

    /// Writes the list.
    pub(crate) fn save(&self) {
        if let Some(directory) = self.directory.as_ref().filter(|_| self.is_changed)
            && let Ok(bytes) = serde_json::to_vec(&self.list)
        {
            let _ = write(directory, "list.json", &bytes);
        }
    }
}

/// Writes a private file in one step.
fn write(directory: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let temporary = directory.join(format!(".{name}.{}", std::process::id()));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    drop(file);
    fs::rename(temporary, directory.join(name))
}

fn key(source: &Source) -> String {
    let mut hash = Sha256::new();
    hash.update(source.location.path().as_os_str().as_encoded_bytes());
    match &source.location {
        Location::File(_) => {}
        Location::Part { agent: id, .. } | Location::Row { id, .. } => {
            hash.update([0]);
            hash.update(id.as_bytes());
        }
    }
    let digest = hash.finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
