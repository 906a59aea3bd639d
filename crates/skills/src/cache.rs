//! Cached catalogues, which are valid until a file that they depend on changes.

use std::collections::VecDeque;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use instructions::file::Stamp;
use parking_lot::Mutex;
use rustix::io::Errno;

use crate::catalogue::{Catalogue, RequestKey, SkillRequest};
use crate::limits::MAX_SKILLS;

/// Number of cached catalogues, and of skills in all of them together.
const MAX_CATALOGUES: usize = 64;
const MAX_KEPT_SKILLS: usize = 2 * MAX_SKILLS;

/// Cache shared by any number of resolutions and threads. Its size is limited, so it can live as long as the process.
#[derive(Debug, Default)]
pub struct SkillCache {
    /// Catalogues, the most recent last.
    catalogues: Mutex<VecDeque<(RequestKey, Arc<Catalogue>)>>,
    /// Catalogues that are being made or were made last, including those that cannot be cached.
    making: Mutex<VecDeque<(RequestKey, Arc<Making>)>>,
}

/// Locked while a catalogue is made; afterwards it contains the catalogue and the time when making it began.
type Making = Mutex<Option<(Instant, Arc<Catalogue>)>>;

impl SkillCache {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn get(&self, request: &SkillRequest<'_>) -> Option<Arc<Catalogue>> {
        let found = {
            let catalogues = self.catalogues.lock();
            catalogues.iter().find(|(key, _)| key.is_for(request)).map(|(_, found)| Arc::clone(found))
        };
        // The lock is released before reading the disk, which may be slow.
        found.filter(|catalogue| catalogue.evidence.holds())
    }

    /// Makes a catalogue. Concurrent requests for the same one wait for a single resolution: a project with very many skills must
    /// not be read by all of them at the same time.
    pub(crate) fn make(
        &self,
        request: &SkillRequest<'_>,
        make: impl FnOnce() -> Arc<Catalogue>,
    ) -> Arc<Catalogue> {
        // Taken before waiting for another request's resolution: a result counts for this caller only if it began after
        // the caller asked.
        let asked = Instant::now();
        let making = {
            let mut all = self.making.lock();
            let known = all.iter().find(|(key, _)| key.is_for(request)).map(|(_, making)| Arc::clone(making));
            known.unwrap_or_else(|| {
                let making = Arc::<Making>::default();
                all.push_back((RequestKey::of(request), Arc::clone(&making)));
                if all.len() > MAX_CATALOGUES {
                    all.pop_front();
                }
                making
            })
        };
        let mut made = making.lock();
        // A result that began before this request may miss a change that the caller has just made.
        if let Some((_, catalogue)) = made.as_ref().filter(|(begun, _)| *begun >= asked) {
            return Arc::clone(catalogue);
        }
        // Taken after the lock, and before the disk is read. Each waiting request compares its own time with this one,
        // so a single resolution serves all requests that were queued behind the previous one.
        let begun = Instant::now();
        let catalogue = make();
        *made = Some((begun, Arc::clone(&catalogue)));
        self.keep(request, &catalogue);
        catalogue
    }

    fn keep(&self, request: &SkillRequest<'_>, catalogue: &Arc<Catalogue>) {
        let mut catalogues = self.catalogues.lock();
        catalogues.retain(|(key, _)| !key.is_for(request));
        // An older catalogue of the same request has already been removed above, because it no longer matches the disk
        // either.
        if !catalogue.evidence.is_complete {
            return;
        }
        catalogues.push_back((RequestKey::of(request), Arc::clone(catalogue)));
        let skills = |catalogues: &VecDeque<(RequestKey, Arc<Catalogue>)>| -> usize {
            catalogues.iter().map(|(_, catalogue)| catalogue.skills().len()).sum()
        };
        // At least the newest catalogue remains, even if it alone has more skills than the limit: dropping it would
        // mean reading all of them again in every turn.
        while catalogues.len() > 1
            && (catalogues.len() > MAX_CATALOGUES || skills(&catalogues) > MAX_KEPT_SKILLS)
        {
            catalogues.pop_front();
        }
    }
}

/// File states that a catalogue depends on, including the absence of files.
#[derive(Debug)]
pub(crate) struct Dependencies {
    states: Vec<(CString, Option<Stamp>)>,
    looked_at: SystemTime,
    /// True if every dependency can be checked again and had settled.
    is_complete: bool,
}

impl Dependencies {
    pub(crate) fn new() -> Self {
        Self { states: Vec::new(), looked_at: SystemTime::now(), is_complete: true }
    }

    pub(crate) fn state(&mut self, path: &Path, stamp: Stamp) {
        // A file that changed within the clock's resolution may change again without a new time. A catalogue that
        // depends on it must not be cached.
        self.is_complete &= stamp.is_settled(self.looked_at);
        self.push(path, Some(stamp));
    }

    pub(crate) fn nothing(&mut self, path: &Path) {
        self.push(path, None);
    }

    /// Records a dependency that cannot be checked again.
    pub(crate) fn unknown(&mut self) {
        self.is_complete = false;
    }

    fn push(&mut self, path: &Path, stamp: Option<Stamp>) {
        match CString::new(path.as_os_str().as_bytes()) {
            // An incomplete set is never checked, so collecting further states would only use memory.
            Ok(path) if self.is_complete => self.states.push((path, stamp)),
            Ok(_) => {}
            Err(_) => self.is_complete = false,
        }
    }

    fn holds(&self) -> bool {
        self.is_complete
            // A single `stat` per path: this runs in every turn, for thousands of skills.
            && self.states.iter().all(|(path, known)| match rustix::fs::stat(path.as_c_str()) {
                Ok(stat) => *known == Some(Stamp::of(&stat)),
                Err(Errno::NOENT | Errno::NOTDIR) => known.is_none(),
                Err(_) => false,
            })
    }
}
