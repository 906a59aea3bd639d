//! What earlier resolutions learned, so that a warm one needs one stat a directory and one a known file.
//!
//! A directory that has not changed has the same names in it, so names that were absent still are. A file that
//! has not changed has the same content. Where nothing that an answer rests on has changed, the answer itself has
//! not. "Not changed" is believed only of what had been at rest for two seconds when it was looked at: a clock
//! tick is long enough for a second change that leaves the same time behind.

mod answers;
mod directory_reader;
mod memory;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};

pub(crate) use answers::CacheEvidence;
use answers::{Answer, Evidence};
pub(crate) use directory_reader::{DirectoryReader, Marker};
use directory_reader::{KnownDirectory, KnownFile};
use memory::Memory;

use crate::resolve::resolution::{Request, Resolution};

/// Bytes of file contents that are kept, twice at most.
const FILE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of answers that are kept, twice at most.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Directories that are known, twice at most.
const DIRECTORIES: usize = 65_536;
/// Sets of names whose directories are known; more than a few profiles and settings are not used side by side.
const NAME_SETS: usize = 16;

/// Shared by any number of resolutions and threads; bounded, so that it can live as long as its process.
// Paths are keys by their bytes: to hash them component by component costs more than to look at a file.
#[derive(Debug)]
pub struct Cache {
    files: RwLock<Memory<OsString, KnownFile>>,
    directories: RwLock<HashMap<u64, Memory<OsString, KnownDirectory>>>,
    answers: RwLock<Memory<u64, Arc<Answer>>>,
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
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The answer of last time, if nothing that it rests on has changed.
    pub(crate) fn answer(&self, request: &Request<'_>) -> Option<Arc<Resolution>> {
        // Taken out before anything is looked at: a file system that hangs must not stop whoever wants to write.
        let answer = {
            let answers = self.answers.read().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(answers.get(&answers::key(request))?)
        };
        (answer.is_for(request) && answer.holds()).then(|| answer.resolution())
    }

    /// Keeps an answer whose evidence was at rest.
    pub(crate) fn keep(&self, request: &Request<'_>, evidence: Vec<Evidence>, resolution: &Arc<Resolution>) {
        let answer = Answer::new(request, evidence, Arc::clone(resolution));
        let weight = answer.weight();
        let mut answers = self.answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.insert(answers::key(request), Arc::new(answer), weight);
    }
}
