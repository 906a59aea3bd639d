//! Where calls run and what they may do.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use instructions::path::normalise;
use protocol::{CallEffects, TurnScope};
use rustix::fs::Stat;
use tokio_util::sync::CancellationToken;

use crate::permission::{AnyApprovals, Nobody};
use crate::place::{Location, Root};
use crate::protection::{self, HOME_FILES};
use crate::work::Work;
use crate::{
    Approvals, FileError, GateClosed, Permission, Permissions, RunGate, ToolCall, ToolLimits, UntoldCall,
    UntoldEffects,
};

/// Where calls run and what they may do; cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// None in a turn without a directory.
    root: Option<Arc<Root>>,
    cwd: PathBuf,
    real_cwd: PathBuf,
    home: Option<Arc<Root>>,
    /// Directories and files that no call may look into, without links.
    hidden: Arc<[PathBuf]>,
    permissions: Permissions,
    protected_names: Arc<[String]>,
    /// Files that are protected although their names do not say so, by their way from the root. Shared by all calls of a
    /// turn, in which more of them may be met.
    protected_paths: Arc<RwLock<BTreeSet<PathBuf>>>,
    /// What is protected with all that is in it, by its way from the root.
    protected_trees: Arc<[(PathBuf, &'static str)]>,
    approvals: Arc<dyn AnyApprovals>,
    gate: Option<Arc<dyn RunGate>>,
    limits: ToolLimits,
    cancellation: CancellationToken,
    untold: UntoldEffects,
    /// Where what commands did to protected files is kept when these are put back.
    set_aside: Option<Arc<Path>>,
    /// The turn whose calls they are; `None` if no tool needs it.
    scope: Option<Arc<TurnScope>>,
    /// Which call this is, and of which tool.
    call: Option<Arc<(String, String)>>,
    /// What this call may write, without links.
    granted: Arc<[PathBuf]>,
}

/// Why calls cannot run somewhere.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// A directory cannot be opened.
    #[error("could not open {}: {source}", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The working directory is not a directory inside the root.
    #[error("{} is no directory inside the workspace {}", cwd.display(), root.display())]
    OutsideRoot {
        /// The working directory.
        cwd: PathBuf,
        /// The root.
        root: PathBuf,
    },
}

impl ToolContext {
    /// Opens a workspace's root. Relative paths of calls count from `cwd`, which is inside it.
    ///
    /// Writes ask, and nobody is there to answer, until told otherwise.
    pub fn open(root: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<Self, ContextError> {
        let (root, cwd) = (root.as_ref(), cwd.as_ref());
        let opened = Arc::new(
            Root::open(root).map_err(|source| ContextError::Unusable { path: root.to_owned(), source })?,
        );
        let inside = opened.relative(cwd).and_then(|relative| opened.find(relative, cwd).ok());
        let Some(inside) = inside.filter(Location::is_directory) else {
            return Err(ContextError::OutsideRoot { cwd: cwd.to_owned(), root: root.to_owned() });
        };
        let (cwd, real_cwd) = (cwd.to_owned(), inside.real());
        Ok(Self { root: Some(opened), cwd, real_cwd, ..Self::without_directory() })
    }

    /// For turns without a directory: no path can be used.
    pub fn without_directory() -> Self {
        Self {
            root: None,
            cwd: PathBuf::new(),
            real_cwd: PathBuf::new(),
            home: None,
            hidden: Arc::new([]),
            permissions: Permissions::default(),
            protected_names: Arc::new([]),
            protected_paths: Arc::default(),
            protected_trees: Arc::new([]),
            approvals: Arc::new(Nobody),
            gate: None,
            limits: ToolLimits::default(),
            cancellation: CancellationToken::new(),
            untold: UntoldEffects::default(),
            set_aside: None,
            scope: None,
            call: None,
            granted: Arc::new([]),
        }
    }

    /// Names Foreword's home directory: `SOUL.md` and `IDENTITY.md` in it can be read and written, nothing else.
    pub fn with_home(mut self, home: impl AsRef<Path>) -> Result<Self, ContextError> {
        let path = home.as_ref();
        let opened =
            Root::open(path).map_err(|source| ContextError::Unusable { path: path.to_owned(), source })?;
        self.home = Some(Arc::new(opened));
        Ok(self)
    }

    /// Hides directories and files from every call, wherever the root is. What is not there yet is hidden when it comes, if
    /// the directory that it would be in is there now.
    pub fn with_hidden<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let real = |path: &Path| match path.canonicalize() {
            Ok(real) => Some(real),
            Err(_) => Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)),
        };
        self.hidden = paths.into_iter().filter_map(|path| real(path.as_ref())).collect();
        self
    }

    /// Sets what calls may do beyond reading.
    pub fn with_permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = permissions;
        self
    }

    /// Returns true if the turn's user can access this workspace only, so that everything shared is read-only.
    pub fn is_bound(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.is_bound())
    }

    /// Sets the turn whose calls they are.
    pub fn with_scope(mut self, scope: Arc<TurnScope>) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Returns the turn whose calls they are, if it was set.
    pub fn scope(&self) -> Option<&TurnScope> {
        self.scope.as_deref()
    }

    /// Protects files of more names, such as configured fallback names of instruction files.
    pub fn with_protected_names(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.protected_names = names.into_iter().collect();
        self
    }

    /// Protects what Git runs or what says so, files and directories with all that is or will be in them; what is outside
    /// of the root is out of reach anyway.
    pub fn with_places_of_git(self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.with_protected_trees(places, protection::OF_GIT)
    }

    /// The same for the folders of skills that count as the user's own: a model must not write itself one.
    pub fn with_skill_folders(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.with_protected_trees(folders, protection::OF_SKILLS)
    }

    fn with_protected_trees(mut self, places: impl IntoIterator<Item = PathBuf>, why: &'static str) -> Self {
        let Some(root) = self.root().map(Path::to_owned) else { return self };
        let mut below: Vec<PathBuf> = Vec::new();
        for place in places {
            // As it is named, and where a link leads.
            below.extend(place.strip_prefix(&root).map(Path::to_owned));
            below.extend(self.find(&place).map(|found| found.below().to_owned()));
        }
        // A setting that names the root itself must not make everything read-only.
        below.retain(|place| !place.as_os_str().is_empty());
        let more = below.into_iter().map(|place| (place, why));
        self.protected_trees = self.protected_trees.iter().cloned().chain(more).collect();
        self
    }

    /// Protects files from now on, such as those that instruction files import; what is outside of the root is out of reach
    /// anyway.
    pub fn protect<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) {
        let found =
            paths.into_iter().filter_map(|path| Some(self.find(path.as_ref()).ok()?.below().to_owned()));
        let found: Vec<PathBuf> = found.collect();
        self.protected_paths.write().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Sets who is asked.
    pub fn with_approvals(mut self, approvals: Arc<impl Approvals>) -> Self {
        self.approvals = approvals;
        self
    }

    /// Sets what is asked before a call runs.
    pub fn with_gate(mut self, gate: Arc<dyn RunGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Sets how much a call may cost.
    pub fn with_limits(mut self, limits: ToolLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets what ends all calls at once.
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets who hears what calls did when nobody waits for their answers any more.
    pub fn with_untold_effects(mut self, untold: UntoldEffects) -> Self {
        self.untold = untold;
        self
    }

    /// Sets where a command's versions of protected files are kept when these are put back. Without one, they get another
    /// name beside where they were.
    pub fn with_set_aside(mut self, directory: impl AsRef<Path>) -> Self {
        self.set_aside = Some(directory.as_ref().into());
        self
    }

    /// The workspace's root, without links.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_ref().map(|root| root.real())
    }

    /// Whether paths can be used at all.
    pub fn has_directory(&self) -> bool {
        self.root.is_some()
    }

    /// Whether the root's path still leads to what was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.root.as_ref().is_none_or(|root| root.is_in_place())
    }

    /// The directory from which relative paths count.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// What calls may do beyond reading.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// How much a call may cost.
    pub fn limits(&self) -> &ToolLimits {
        &self.limits
    }

    /// Ends all calls at once.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// A path as a call has it, absolute and without `.` and `..`. Nothing on disk is looked at.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        normalise(path, &self.cwd)
    }

    /// Whether an absolute path is written as one inside the workspace; it may still lead out by a link.
    pub(crate) fn is_written_inside(&self, path: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| root.relative(path).is_some())
    }

    /// What is below the root without links, as it is below the root as it was given.
    pub(crate) fn as_given(&self, real: &Path) -> PathBuf {
        let given = self.root.as_ref().and_then(|root| root.as_given(real));
        given.unwrap_or_else(|| real.to_owned())
    }

    /// Whether a call may still run.
    pub(crate) async fn check_gate(&self) -> Result<(), GateClosed> {
        match &self.gate {
            Some(gate) => gate.check().await,
            None => Ok(()),
        }
    }

    pub(crate) fn approvals(&self) -> Arc<dyn AnyApprovals> {
        self.approvals.clone()
    }

    /// The same for one call, which may write these files.
    pub(crate) fn granting(&self, call: &ToolCall, paths: Vec<PathBuf>) -> Self {
        let call = Some(Arc::new((call.id.clone(), call.name.clone())));
        // What is protected stays the same while a call runs: a file that was not looked at before is not new afterwards.
        let protected = self.protected_paths.read().unwrap_or_else(PoisonError::into_inner).clone();
        let protected_paths = Arc::new(RwLock::new(protected));
        Self { call, protected_paths, granted: paths.into(), ..self.clone() }
    }

    pub(crate) fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    pub(crate) fn untold(&self) -> &UntoldEffects {
        &self.untold
    }

    /// Keeps what this call did until its answer has been kept.
    pub(crate) fn tell_effects(&self, effects: &CallEffects) {
        if let Some(call) = &self.call {
            let (call_id, tool) = (call.0.clone(), call.1.clone());
            self.untold.add(UntoldCall { call_id, tool, effects: effects.clone() });
        }
    }

    /// Follows a path as a call has it.
    pub(crate) fn find(&self, path: &Path) -> Result<Location, FileError> {
        if path.as_os_str().is_empty() {
            return Err(FileError::BadPath("empty"));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(FileError::BadPath("not a path: it contains a NUL character"));
        }
        let absolute = self.cwd.join(path);
        if let Some((home, name)) = self.home_file(&absolute) {
            return home.find(name, &absolute);
        }
        let root = self.root.as_ref().ok_or(FileError::NoDirectory)?;
        match root.relative(&absolute) {
            Some(relative) => {
                let place = root.find(relative, &absolute)?;
                match self.hiding(&place.real()) {
                    None => Ok(place),
                    Some(hidden) => Err(FileError::Hidden { path: absolute, hidden: hidden.to_owned() }),
                }
            }
            None => Err(FileError::Outside { path: absolute, root: root.real().to_owned() }),
        }
    }

    /// Directories and files that no call may look into, without links.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// What hides a path without links, if something does.
    pub(crate) fn hiding(&self, real: &Path) -> Option<&Path> {
        self.hidden.iter().map(PathBuf::as_path).find(|directory| real.starts_with(directory))
    }

    /// The root itself, as a place.
    pub(crate) fn whole(&self) -> Result<Location, FileError> {
        let root = self.root.as_ref().ok_or(FileError::NoDirectory)?;
        root.find(Path::new(""), root.real())
    }

    /// Why a place is read-only to tools; `None` if it is not.
    pub(crate) fn protection(&self, place: &Location) -> Option<String> {
        let real = place.real();
        if let Some(home) = &self.home
            && let Ok(below) = real.strip_prefix(home.real())
        {
            return if is_home_file(below) { None } else { Some("the home directory".to_owned()) };
        }
        self.protected_name(place.below())
    }

    /// The rule for a place that is one of the model's identity; `None` for all others.
    pub(crate) fn identity_rule(&self, place: &Location) -> Option<(Permission, String)> {
        let home = self.home.as_ref()?;
        let real = place.real();
        let name = real.strip_prefix(home.real()).ok().filter(|below| is_home_file(below))?.display();
        let permission = self.permissions.identity;
        Some(if self.is_bound() {
            let why = "every workspace shares it, and the token of this turn is for one";
            (Permission::Deny, format!("permissions.identity ({name}: {why})"))
        } else {
            (permission, format!("permissions.identity = {} ({name})", permission.name()))
        })
    }

    /// Why what has this way from the root is protected.
    pub(crate) fn protected_name(&self, below: &Path) -> Option<String> {
        protection::reason(below, &self.protected_names).or_else(|| {
            if let Some((_, why)) = self.protected_trees.iter().find(|(place, _)| below.starts_with(place)) {
                return Some((*why).to_owned());
            }
            let paths = self.protected_paths.read().unwrap_or_else(PoisonError::into_inner);
            paths.contains(below).then(|| protection::IMPORTED.to_owned())
        })
    }

    /// Writes a file, if this call was allowed to write what the path leads to now. With `known`, only if that is still
    /// the state of the file.
    pub(crate) fn replace(
        &self,
        place: &Location,
        content: &[u8],
        known: Option<&Stat>,
        work: &Work,
    ) -> Result<(), FileError> {
        let real = place.real();
        if !self.granted.contains(&real) {
            return Err(FileError::NotGranted { path: real });
        }
        place.replace(content, known, work)
    }

    /// How a path is shown so that a call can use it: relative where it is below the working directory.
    pub(crate) fn shown(&self, real: &Path) -> PathBuf {
        match real.strip_prefix(self.real_cwd()) {
            Ok(relative) if relative != Path::new("") => relative.to_owned(),
            _ => real.to_owned(),
        }
    }

    /// The working directory, without links.
    pub(crate) fn real_cwd(&self) -> &Path {
        &self.real_cwd
    }

    fn home_file<'a>(&self, absolute: &'a Path) -> Option<(&Arc<Root>, &'a Path)> {
        let home = self.home.as_ref()?;
        let relative = home.relative(absolute)?;
        is_home_file(relative).then_some((home, relative))
    }
}

fn is_home_file(below: &Path) -> bool {
    HOME_FILES.iter().any(|name| below == Path::new(name))
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ToolContext")
            .field("root", &self.root())
            .field("cwd", &self.cwd)
            .field("home", &self.home.as_ref().map(|home| home.real()))
            .field("permissions", &self.permissions)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
