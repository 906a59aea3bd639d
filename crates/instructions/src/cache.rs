//! Results of earlier resolutions, so that a warm one needs one `stat` per directory and per known file.
//!
//! An unchanged directory holds the same names, so absent names are still absent. An unchanged file has the same
//! content. If nothing that an answer depends on has changed, neither has the answer. "Unchanged" is only concluded
//! for files that were at rest for two seconds when they were read: within one tick of the clock a second change
//! may leave the same modification time.

mod answers;
mod directory_reader;
pub(crate) mod memory;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};

pub(crate) use answers::CacheEvidence;
use answers::{CachedAnswer, Evidence};
pub(crate) use directory_reader::{DirectoryReader, Marker};
use directory_reader::{KnownDirectory, KnownFile};
use memory::Memory;

use crate::resolve::resolution::{Request, Resolution};

/// Bytes of file contents per generation of the cache.
const FILE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of answers per generation of the cache.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Directories per generation of the cache.
const DIRECTORIES: usize = 65_536;
/// Maximum number of sets of names with known directories. A process rarely uses more than a few profiles and
/// settings.
const NAME_SETS: usize = 16;

/// A cache shared by any number of resolutions and threads. It is bounded, so it can live as long as its process.
// Paths are keys by their bytes, because hashing a `Path` component by component costs more than a `stat`.
#[derive(Debug)]
pub struct Cache {
    files: RwLock<Memory<OsString, KnownFile>>,
    directories: RwLock<HashMap<u64, Memory<OsString, KnownDirectory>>>,
    answers: RwLock<Memory<u64, Arc<CachedAnswer>>>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            files: RwLock::new(Memory::new(FILE_BYTES)),
            directories: RwLock::new(HashMap::new()),
            answers: RwLock::new(Memory::new(ANSWER_BYTES)),
        }
    }
}

impl Cache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the previous answer if nothing that it depends on has changed.
    pub(crate) fn answer(&self, request: &Request<'_>) -> Option<Arc<Resolution>> {
        // The lock is released before any `stat`: a file system that hangs must not block writers.
        let answer = {
            let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answers.get(&answers::key(request))?)
        };
        // Equal keys do not guarantee equal requests, as keys are hashes. The comparison is cheaper than the calls of
        // `holds`.
        (answer.is_for(request) && answer.holds()).then(|| answer.resolution())
    }

    /// Keeps an answer whose evidence was at rest.
    pub(crate) fn keep(&self, request: &Request<'_>, evidence: Vec<Evidence>, resolution: &Arc<Resolution>) {
        let answer = CachedAnswer::new(request, evidence, Arc::clone(resolution));
        let weight = answer.weight();
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.insert(answers::key(request), Arc::new(answer), weight);
    }
}
