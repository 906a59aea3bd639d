//! Files of a directory that recent sessions there did not have.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use instructions::{Outcome, Resolution};
use protocol::Timestamp;

use crate::agent::{AGENTS, TranscriptAgent};
use crate::digest::Digest;
use crate::index::Index;
use crate::sources::{Homes, Location, Source, sources};

/// Age of the sessions that count.
const RECENT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Bytes of transcripts that are read, because this only adds a hint to another answer.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// A session without one of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedFile {
    pub agent: TranscriptAgent,
    pub started_at: Option<Timestamp>,
    pub path: PathBuf,
}

/// Returns the first file that the newest session of each agent in a directory did not have.
pub fn missed_files(resolution: &Resolution, homes: &Homes, cache: Option<&Path>) -> Vec<MissedFile> {
    let oldest = SystemTime::now()
        .checked_sub(RECENT)
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let oldest = oldest.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    let mut missed = Vec::new();
    for agent in AGENTS {
        let (found, _) = sources(*agent, homes);
        let mut found: Vec<Source> =
            found.into_iter().filter(|source| is_file(source) && source.changed >= oldest).collect();
        found.sort_by_key(|source| std::cmp::Reverse(source.changed));
        let mut index = Index::open(cache, *agent);
        let mut bytes = 0;
        for source in found {
            bytes += source.size;
            if bytes > MAX_BYTES {
                break;
            }
            let here =
                |cwd: Option<&PathBuf>, _: Option<&String>| cwd.is_some_and(|cwd| *cwd == resolution.cwd);
            if let Ok(Some(digest)) = index.digest(&source, here)
                && digest.header.parent.is_none()
            {
                missed.extend(first_missed(&digest, resolution));
                break;
            }
        }
        index.save();
    }
    missed
}

fn is_file(source: &Source) -> bool {
    matches!(source.location, Location::File(_))
}

fn first_missed(digest: &Digest, resolution: &Resolution) -> Option<MissedFile> {
    // Only a complete record shows that something was missing.
    if !(digest.header.recorded.start && digest.header.recorded.home) {
        return None;
    }
    let ended = digest.header.ended_at?.milliseconds();
    let is_used = |path: &Path| {
        resolution.decisions.iter().any(|decision| decision.path == path && decision.outcome == Outcome::Used)
    };
    let missing = resolution.files.iter().find(|file| {
        let had = digest.texts.iter().enumerate().any(|(index, text)| {
            text.path.as_ref() == Some(&file.path) || digest.body(index).contains(file.text.trim())
        });
        is_used(&file.path) && !had && !file.text.trim().is_empty() && file.mtime_ms <= ended
    })?;
    Some(MissedFile { agent: digest.agent, started_at: digest.header.started_at, path: missing.path.clone() })
}
