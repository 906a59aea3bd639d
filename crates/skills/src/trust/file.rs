//! The user's file of trusted skills, and copies of trusted texts for later comparison.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use instructions::{ContentHash, is_named_by_digest, own_files};
use protocol::Timestamp;
use serde::{Deserialize, Serialize};

use super::candidate::TrustCandidate;
use super::{PinnedFile, PinnedSkill, Trusted};
use crate::limits::MAX_COPY_BYTES;

/// Name of the file in the home directory.
pub const TRUST_FILE: &str = "trusted-skills.json";
/// Directory beside it with the trusted texts, named by their digests.
const COPIES: &str = "trusted-skills";
/// Version of the format.
const SCHEMA: u32 = 1;
/// Larger files were not written by us.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Error reading or writing the trust file.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Error of the operating system.
    #[error("failed to {action} {}: {source}", path.display())]
    Io {
        /// Attempted action.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file has another format.
    #[error("{} is not a valid trust file: {reason}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Problem of the content.
        reason: String,
    },
}

/// The file's content.
#[derive(Serialize, Deserialize)]
struct StoredTrust {
    schema: u32,
    skills: Vec<PinnedSkill>,
}

/// Storage of a user's trusted skills.
#[derive(Debug)]
pub struct TrustFile {
    path: PathBuf,
    copies: PathBuf,
}

impl TrustFile {
    /// Returns the trust file of a home directory. It need not exist.
    pub fn new(home: &Path) -> Self {
        Self { path: home.join(TRUST_FILE), copies: home.join(COPIES) }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the trusted skills. Empty if there is no file.
    pub fn read(&self) -> Result<Trusted, TrustError> {
        let malformed = |reason: String| TrustError::Malformed { path: self.path.clone(), reason };
        let Some(bytes) = self.bytes()? else { return Ok(Trusted::default()) };
        let stored: StoredTrust =
            serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
        if stored.schema != SCHEMA {
            let message = format!("it has the format {}, this version knows {SCHEMA}", stored.schema);
            return Err(malformed(message));
        }
        let mut trusted = Trusted::default();
        stored.skills.into_iter().for_each(|skill| trusted.insert(skill));
        Ok(trusted)
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, TrustError> {
        let failed = |source| TrustError::Io { action: "read", path: self.path.clone(), source };
        // Opening a pipe must not block.
        let flags = i32::try_from(instructions::contained_path::read_flags().bits()).unwrap_or_default();
        let file = match File::options().read(true).custom_flags(flags).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if !file.metadata().map_err(failed)?.is_file() {
            let reason = "it is not a regular file".to_owned();
            return Err(TrustError::Malformed { path: self.path.clone(), reason });
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
        Ok(Some(bytes))
    }

    /// Trusts skills with the content that was shown.
    pub fn trust(&self, candidates: &[&TrustCandidate]) -> Result<(), TrustError> {
        // Two commands may trust different skills at the same time; each must keep the other's entries.
        let _lock = self.lock()?;
        let mut trusted = self.read()?;
        let trusted_at = Timestamp::now();
        for candidate in candidates {
            for file in candidate.files.iter().filter(|file| file.content.bytes.len() <= MAX_COPY_BYTES) {
                self.keep_copy(&file.content.sha256, &file.content.bytes)?;
            }
            let files = candidate.files.iter().map(|file| PinnedFile {
                path: file.path.clone(),
                bytes: file.content.bytes.len() as u64,
                sha256: file.content.sha256.clone(),
            });
            // The pins come from the bytes that the candidate read and the user saw. Reading the files again here would
            // trust whatever has replaced them since.
            trusted.insert(PinnedSkill {
                folder: candidate.folder.clone(),
                slug: candidate.slug.clone(),
                trusted_at,
                files: files.collect(),
            });
        }
        self.write(&trusted)
    }

    /// Revokes trust at or below a path, which need not exist any more, and returns the removed skills.
    pub fn untrust(&self, path: &Path) -> Result<Vec<PinnedSkill>, TrustError> {
        let _lock = self.lock()?;
        let mut trusted = self.read()?;
        let taken = trusted.take_below(path);
        if !taken.is_empty() {
            self.write(&trusted)?;
        }
        Ok(taken)
    }

    /// Returns the copy of a trusted text, if it is kept and intact.
    pub(crate) fn copy(&self, sha256: &ContentHash) -> Option<Vec<u8>> {
        let bytes = fs::read(self.copies.join(sha256.as_str())).ok()?;
        (ContentHash::of(&bytes) == *sha256).then_some(bytes)
    }

    fn keep_copy(&self, sha256: &ContentHash, bytes: &[u8]) -> Result<(), TrustError> {
        if self.copy(sha256).is_none() {
            let path = self.copies.join(sha256.as_str());
            make_directory(&self.copies)
                .and_then(|()| private_file().create(true).truncate(true).open(&path))
                .and_then(|mut file| file.write_all(bytes))
                .map_err(|source| TrustError::Io { action: "write", path, source })?;
        }
        Ok(())
    }

    /// Locks the file against other commands.
    fn lock(&self) -> Result<File, TrustError> {
        // A separate file is locked, because the trust file is replaced by a rename: a lock on it would belong to the
        // old file, and the next command would lock the new one without waiting.
        let path = self.path.with_extension("lock");
        let home = self.path.parent().unwrap_or(Path::new("."));
        make_directory(home)
            .and_then(|()| private_file().create(true).truncate(false).open(&path))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| TrustError::Io { action: "lock", path, source })
    }

    /// Replaces the file in one step, and removes copies that are no longer needed.
    fn write(&self, trusted: &Trusted) -> Result<(), TrustError> {
        let stored = StoredTrust { schema: SCHEMA, skills: trusted.skills().cloned().collect() };
        let temporary = self.path.with_extension(format!("json.{}", std::process::id()));
        let written = private_file().create(true).truncate(true).open(&temporary).and_then(|mut file| {
            file.write_all(&serde_json::to_vec_pretty(&stored)?)?;
            file.write_all(b"\n")?;
            // Synchronised before the rename, or a power failure could leave an empty file under the final name, and
            // all trust would be lost.
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        });
        written.map_err(|source| {
            let _ = fs::remove_file(&temporary);
            TrustError::Io { action: "write", path: self.path.clone(), source }
        })?;
        // Only after the new file is in place: if writing it fails, the old file still refers to these copies.
        self.forget_copies(trusted);
        Ok(())
    }

    fn forget_copies(&self, trusted: &Trusted) {
        let needed: std::collections::HashSet<&str> =
            trusted.skills().flat_map(|skill| &skill.files).map(|file| file.sha256.as_str()).collect();
        let is_left_over = |name: &str| is_named_by_digest(name, &[""]) && !needed.contains(name);
        for path in own_files(&self.copies, is_left_over) {
            // A copy that cannot be removed only wastes space.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns options for files that only this user can read.
fn private_file() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).mode(0o600);
    options
}

fn make_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
