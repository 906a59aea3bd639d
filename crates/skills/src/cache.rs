//! Catalogues of earlier resolutions, believed while nothing that they rest on has changed.

use std::collections::VecDeque;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use instructions::file::Stamp;
use rustix::io::Errno;

use crate::catalogue::{Catalogue, Request, RequestKey};
use crate::limits::MAX_SKILLS;

/// Catalogues that are kept, and skills of all of them together.
const MAX_CATALOGUES: usize = 64;
const MAX_KEPT_SKILLS: usize = 2 * MAX_SKILLS;

/// Shared by any number of resolutions and threads; bounded, so that it can live as long as its process.
#[derive(Debug, Default)]
pub struct Cache {
    /// The one that was made last is the last.
    catalogues: Mutex<VecDeque<(RequestKey, Arc<Catalogue>)>>,
    /// What is being made, or was made last, also where it cannot be kept.
    making: Mutex<VecDeque<(RequestKey, Arc<Making>)>>,
}

/// Locked while somebody makes a catalogue; then it has that one, and when it was begun.
type Making = Mutex<Option<(Instant, Arc<Catalogue>)>>;

impl Cache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn get(&self, request: &Request<'_>) -> Option<Arc<Catalogue>> {
        let found = {
            let catalogues = self.catalogues.lock().unwrap_or_else(PoisonError::into_inner);
            catalogues.iter().find(|(key, _)| key.is_for(request)).map(|(_, found)| Arc::clone(found))
        };
        // Nobody waits while the disk is looked at.
        found.filter(|catalogue| catalogue.evidence.holds())
    }

    /// Makes a catalogue. Of those who want the same one at the same time, one makes it and the others wait: a project with
    /// very many skills, which nobody has the time to wait for, is not read by all of them at once.
    pub(crate) fn make(
        &self,
        request: &Request<'_>,
        make: impl FnOnce() -> Arc<Catalogue>,
    ) -> Arc<Catalogue> {
        let asked = Instant::now();
        let making = {
            let mut all = self.making.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut made = making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, catalogue)) = made.as_ref().filter(|(begun, _)| *begun >= asked) {
            return Arc::clone(catalogue);
        }
        let begun = Instant::now();
        let catalogue = make();
        *made = Some((begun, Arc::clone(&catalogue)));
        self.keep(request, &catalogue);
        catalogue
    }

    fn keep(&self, request: &Request<'_>, catalogue: &Arc<Catalogue>) {
        let mut catalogues = self.catalogues.lock().unwrap_or_else(PoisonError::into_inner);
        catalogues.retain(|(key, _)| !key.is_for(request));
        if !catalogue.evidence.is_complete {
            return;
        }
        catalogues.push_back((RequestKey::of(request), Arc::clone(catalogue)));
        let skills = |catalogues: &VecDeque<(RequestKey, Arc<Catalogue>)>| -> usize {
            catalogues.iter().map(|(_, catalogue)| catalogue.skills().len()).sum()
        };
        while catalogues.len() > 1
            && (catalogues.len() > MAX_CATALOGUES || skills(&catalogues) > MAX_KEPT_SKILLS)
        {
            catalogues.pop_front();
        }
    }
}

/// What a catalogue rests on: the state of files and directories, or that there is nothing.
#[derive(Debug)]
pub(crate) struct Evidence {
    states: Vec<(CString, Option<Stamp>)>,
    looked_at: SystemTime,
    /// Whether all of it can be looked at again, and had been at rest.
    is_complete: bool,
}

impl Evidence {
    pub(crate) fn new() -> Self {
        Self { states: Vec::new(), looked_at: SystemTime::now(), is_complete: true }
    }

    pub(crate) fn state(&mut self, path: &Path, stamp: Stamp) {
        self.is_complete &= stamp.is_settled(self.looked_at);
        self.push(path, Some(stamp));
    }

    pub(crate) fn nothing(&mut self, path: &Path) {
        self.push(path, None);
    }

    /// Says that something cannot be looked at again.
    pub(crate) fn unknown(&mut self) {
        self.is_complete = false;
    }

    fn push(&mut self, path: &Path, stamp: Option<Stamp>) {
        match CString::new(path.as_os_str().as_bytes()) {
            Ok(path) if self.is_complete => self.states.push((path, stamp)),
            Ok(_) => {}
            Err(_) => self.is_complete = false,
        }
    }

    fn holds(&self) -> bool {
        self.is_complete
            && self.states.iter().all(|(path, known)| match rustix::fs::stat(path.as_c_str()) {
                Ok(stat) => *known == Some(Stamp::of(&stat)),
                Err(Errno::NOENT | Errno::NOTDIR) => known.is_none(),
                Err(_) => false,
            })
    }
}
