//! The environment and permissions of calls.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use instructions::path::normalise;
use parking_lot::RwLock;
use protocol::{CallEffects, TurnScope};
use rustix::fs::Stat;
use tokio_util::sync::CancellationToken;

use crate::call::guarding::Guarding;
use crate::call::permission::{AnyApprovals, DenyAll};
use crate::files::blocking::BlockingWork;
use crate::files::hidden_places;
use crate::files::location::{ContainedRoot, Location};
use crate::files::protection::{self, HOME_FILES};
use crate::{
    Approvals, FileError, GateClosed, Permission, Permissions, RunGate, ToolCall, ToolLimits, UnreportedCall,
    UnreportedEffects,
};

/// Environment and permissions of calls. Cheap to clone.
#[derive(Clone)]
pub struct ToolContext {
    /// `None` in a turn without a directory.
    root: Option<Arc<ContainedRoot>>,
    cwd: PathBuf,
    real_cwd: PathBuf,
    home: Option<Arc<ContainedRoot>>,
    /// Resolved paths that no call may read.
    hidden: Arc<[PathBuf]>,
    permissions: Permissions,
    protected_names: Arc<[String]>,
    /// Files that are protected although their names do not show it, relative to the root. Shared by all calls of a turn,
    /// which may discover more of them.
    protected_paths: Arc<RwLock<BTreeSet<PathBuf>>>,
    /// Paths relative to the root that are protected with everything below them, and the reason.
    protected_trees: Arc<[(PathBuf, &'static str)]>,
    /// More such paths, which a call has found: targets of protected links, and hooks of bare repositories.
    found_trees: Arc<RwLock<BTreeSet<PathBuf>>>,
    approvals: Arc<dyn AnyApprovals>,
    gate: Option<Arc<dyn RunGate>>,
    guarding: Option<Guarding>,
    limits: ToolLimits,
    cancellation: CancellationToken,
    unreported: UnreportedEffects,
    /// Directory for a command's versions of protected files that were restored.
    set_aside: Option<Arc<Path>>,
    /// Directory of the journal of running commands.
    journal: Option<Arc<Path>>,
    /// The turn that makes the calls. `None` if no tool needs it.
    scope: Option<Arc<TurnScope>>,
    /// Id and tool of this call.
    call: Option<Arc<(String, String)>>,
    /// Resolved paths that this call may write.
    granted: Arc<[PathBuf]>,
}

/// Error opening the directories of a context.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    /// A directory cannot be opened.
    #[error("failed to open {}: {source}", path.display())]
    Unusable {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The working directory is not a directory inside the root.
    #[error("{} is not a directory inside the workspace {}", cwd.display(), root.display())]
    OutsideRoot {
        /// Working directory.
        cwd: PathBuf,
        /// Root of the workspace.
        root: PathBuf,
    },
}

impl ToolContext {
    /// Opens a workspace's root. Relative paths of calls start at `cwd`, which must be inside it.
    ///
    /// By default writes require approval, and every approval is denied.
    pub fn open(root: impl AsRef<Path>, cwd: impl AsRef<Path>) -> Result<Self, ContextError> {
        let root = root.as_ref();
        let cwd = cwd.as_ref();
        let opened = Arc::new(
            ContainedRoot::open(root)
                .map_err(|source| ContextError::Unusable { path: root.to_owned(), source })?,
        );
        // The working directory is followed like any other path, so a link cannot place it outside the root.
        let inside = opened.relative(cwd).and_then(|relative| opened.find(relative, cwd).ok());
        let Some(inside) = inside.filter(Location::is_directory) else {
            return Err(ContextError::OutsideRoot { cwd: cwd.to_owned(), root: root.to_owned() });
        };
        let cwd = cwd.to_owned();
        let real_cwd = inside.real();
        Ok(Self { root: Some(opened), cwd, real_cwd, ..Self::without_directory() })
    }

    /// Returns a context for turns without a directory, in which no path can be used.
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
            found_trees: Arc::default(),
            approvals: Arc::new(DenyAll),
            gate: None,
            guarding: None,
            limits: ToolLimits::default(),
            cancellation: CancellationToken::new(),
            unreported: UnreportedEffects::default(),
            set_aside: None,
            journal: None,
            scope: None,
            call: None,
            granted: Arc::new([]),
        }
    }

    /// Gives access to `SOUL.md` and `IDENTITY.md` in Foreword's home directory, and to nothing else there.
    pub fn with_home(mut self, home: impl AsRef<Path>) -> Result<Self, ContextError> {
        let path = home.as_ref();
        let opened = ContainedRoot::open(path)
            .map_err(|source| ContextError::Unusable { path: path.to_owned(), source })?;
        self.home = Some(Arc::new(opened));
        Ok(self)
    }

    /// Hides paths from every call, even inside the root. A path that does not exist yet is hidden too if its parent exists.
    pub fn with_hidden<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        let real = |path: &Path| match path.canonicalize() {
            Ok(real) => Some(real),
            // A path that does not exist cannot be resolved, so its parent is: what is created there later is hidden as well.
            Err(_) => Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)),
        };
        self.hidden = paths.into_iter().filter_map(|path| real(path.as_ref())).collect();
        self
    }

    /// Sets the permissions.
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

    /// Protects files with additional names, such as configured fallback names of instruction files.
    pub fn with_protected_names(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.protected_names = names.into_iter().collect();
        self
    }

    /// Protects files that Git executes or that configure this, and directories with all current and future content. Paths
    /// outside the root are skipped: calls cannot reach them.
    pub fn with_places_of_git(self, places: impl IntoIterator<Item = PathBuf>) -> Self {
        self.with_protected_trees(places, protection::OF_GIT)
    }

    /// Protects the folders of skills that count as the user's own, so that a model cannot write itself a skill.
    pub fn with_skill_folders(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.with_protected_trees(folders, protection::OF_SKILLS)
    }

    fn with_protected_trees(mut self, places: impl IntoIterator<Item = PathBuf>, why: &'static str) -> Self {
        let Some(root) = self.root().map(Path::to_owned) else { return self };
        let mut below: Vec<PathBuf> = Vec::new();
        for place in places {
            // Both the path as written and the target of a link, because a call can use either.
            below.extend(place.strip_prefix(&root).map(Path::to_owned));
            below.extend(self.find(&place).map(|found| found.below().to_owned()));
        }
        // A setting that names the root itself must not make everything read-only.
        below.retain(|place| !place.as_os_str().is_empty());
        let more = below.into_iter().map(|place| (place, why));
        self.protected_trees = self.protected_trees.iter().cloned().chain(more).collect();
        self
    }

    /// Protects more files from now on, such as those that instruction files import. Paths outside the root are skipped: calls
    /// cannot reach them.
    pub fn protect<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) {
        let found =
            paths.into_iter().filter_map(|path| Some(self.find(path.as_ref()).ok()?.below().to_owned()));
        let found: Vec<PathBuf> = found.collect();
        self.protected_paths.write().extend(found);
    }

    /// Sets the source of approvals.
    pub fn with_approvals(mut self, approvals: Arc<impl Approvals>) -> Self {
        self.approvals = approvals;
        self
    }

    /// Sets the gate that is checked before a call runs.
    pub fn with_gate(mut self, gate: Arc<dyn RunGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Sets the guards that are applied before the permissions.
    pub fn with_guarding(mut self, guarding: Guarding) -> Self {
        self.guarding = Some(guarding);
        self
    }

    /// Returns the guards that are applied before the permissions.
    pub(crate) fn guarding(&self) -> Option<&Guarding> {
        self.guarding.as_ref()
    }

    /// Sets the limits of a call.
    pub fn with_limits(mut self, limits: ToolLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the token that cancels all calls.
    pub fn with_cancellation(mut self, cancellation: CancellationToken) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets the receiver of effects whose call has no waiting caller any more.
    pub fn with_unreported_effects(mut self, unreported: UnreportedEffects) -> Self {
        self.unreported = unreported;
        self
    }

    /// Sets the directory for a command's versions of protected files that were restored. Without it they are kept beside the
    /// original under another name.
    pub fn with_set_aside(mut self, directory: impl AsRef<Path>) -> Self {
        self.set_aside = Some(directory.as_ref().into());
        self
    }

    /// Sets the directory of the journal from which [`crate::restore_after_kill`] restores protected files. Without it, those
    /// that a command has changed stay changed if the gateway is killed.
    pub fn with_journal(mut self, directory: impl AsRef<Path>) -> Self {
        self.journal = Some(directory.as_ref().into());
        self
    }

    /// Returns the workspace's resolved root.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_ref().map(|root| root.real())
    }

    /// Returns true if paths can be used at all.
    pub fn has_directory(&self) -> bool {
        self.root.is_some()
    }

    /// Returns true if the root's path still leads to the directory that was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.root.as_ref().is_none_or(|root| root.is_in_place())
    }

    /// Returns the start of relative paths.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the permissions.
    pub fn permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns the limits of a call.
    pub fn limits(&self) -> &ToolLimits {
        &self.limits
    }

    /// Returns the token that cancels all calls.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Makes a call's path absolute and removes `.` and `..`, without reading the disk.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        normalise(path, &self.cwd)
    }

    /// Returns true if an absolute path is written as one inside the workspace. A link may still lead outside.
    pub(crate) fn is_written_inside(&self, path: &Path) -> bool {
        self.root.as_ref().is_some_and(|root| root.relative(path).is_some())
    }

    /// Converts a resolved path below the root into one below the root as it was given.
    pub(crate) fn as_given(&self, real: &Path) -> PathBuf {
        let given = self.root.as_ref().and_then(|root| root.as_given(real));
        given.unwrap_or_else(|| real.to_owned())
    }

    /// Returns an error if calls must not run any more.
    pub(crate) async fn check_gate(&self) -> Result<(), GateClosed> {
        match &self.gate {
            Some(gate) => gate.check().await,
            None => Ok(()),
        }
    }

    pub(crate) fn approvals(&self) -> Arc<dyn AnyApprovals> {
        self.approvals.clone()
    }

    /// Returns the context of one call that may write the given files.
    pub(crate) fn granting(&self, call: &ToolCall, paths: Vec<PathBuf>) -> Self {
        let call = Some(Arc::new((call.id.clone(), call.name.clone())));
        // A snapshot: a command restores files that were protected when it began. A path that another call protects meanwhile has
        // no baseline here and would look like a file that the command created.
        let protected = self.protected_paths.read().clone();
        let protected_paths = Arc::new(RwLock::new(protected));
        let found_trees = Arc::default();
        Self { call, protected_paths, found_trees, granted: paths.into(), ..self.clone() }
    }

    pub(crate) fn set_aside(&self) -> Option<&Path> {
        self.set_aside.as_deref()
    }

    pub(crate) fn journal(&self) -> Option<&Path> {
        self.journal.as_deref()
    }

    /// Returns what is protected in addition to the known names: more names, trees, and single files.
    pub(crate) fn protected(&self) -> (Vec<String>, Vec<PathBuf>, Vec<PathBuf>) {
        let trees = self.protected_trees.iter().map(|(tree, _)| tree.clone());
        let trees = trees.chain(self.found_trees.read().iter().cloned()).collect();
        (self.protected_names.to_vec(), trees, self.protected_paths.read().iter().cloned().collect())
    }

    /// Protects what [`Self::protected`] has returned.
    pub(crate) fn with_protected(
        mut self,
        names: Vec<String>,
        trees: Vec<PathBuf>,
        files: Vec<PathBuf>,
    ) -> Self {
        self.protected_names = names.into();
        self.protected_trees = trees.into_iter().map(|tree| (tree, protection::OF_GIT)).collect();
        self.protected_paths = Arc::new(RwLock::new(files.into_iter().collect()));
        self
    }

    pub(crate) fn unreported(&self) -> &UnreportedEffects {
        &self.unreported
    }

    /// Reports the effects of this call, which are kept until its result is stored.
    pub(crate) fn report_effects(&self, effects: &CallEffects) {
        if let Some(call) = &self.call {
            let call_id = call.0.clone();
            let tool = call.1.clone();
            self.unreported.add(UnreportedCall { call_id, tool, effects: effects.clone() });
        }
    }

    /// Resolves a path of a call.
    pub(crate) fn find(&self, path: &Path) -> Result<Location, FileError> {
        if path.as_os_str().is_empty() {
            return Err(FileError::BadPath("empty"));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(FileError::BadPath("not a path: it contains a NUL character"));
        }
        // Not normalised: `..` after a link means the parent of the link's target, and removing both by text would lead
        // elsewhere.
        let absolute = self.cwd.join(path);
        // Home files come first: the home directory may lie outside the root, where every other path is rejected.
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

    /// Returns the resolved paths that no call may read.
    pub(crate) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    /// Returns the hidden path that contains `real`, if there is one.
    pub(crate) fn hiding(&self, real: &Path) -> Option<&Path> {
        self.hidden.iter().map(PathBuf::as_path).find(|directory| real.starts_with(directory))
    }

    /// Returns the location of the root.
    pub(crate) fn whole(&self) -> Result<Location, FileError> {
        let root = self.root.as_ref().ok_or(FileError::NoDirectory)?;
        root.find(Path::new(""), root.real())
    }

    /// Returns the reason why a location is read-only to tools. `None` if it is not.
    pub(crate) fn protection(&self, place: &Location) -> Option<String> {
        let real = place.real();
        // The home directory may lie inside the workspace, as when a user works on it. Everything but the two files is
        // read-only there as well.
        if let Some(home) = &self.home
            && let Ok(below) = real.strip_prefix(home.real())
        {
            return if is_home_file(below) { None } else { Some("the home directory".to_owned()) };
        }
        self.protected_name(place.below()).or_else(|| {
            let root = self.root.as_ref()?;
            hidden_places::reason(root, place.below()).map(str::to_owned)
        })
    }

    /// Returns the opened root.
    pub(crate) fn contained_root(&self) -> Option<&Arc<ContainedRoot>> {
        self.root.as_ref()
    }

    /// Protects places that a command's snapshot has found, with everything below them. Returns true if any is new.
    pub(crate) fn add_found_trees(&self, trees: impl IntoIterator<Item = PathBuf>) -> bool {
        let mut found = self.found_trees.write();
        let before = found.len();
        found.extend(trees.into_iter().filter(|tree| !tree.as_os_str().is_empty()));
        found.len() > before
    }

    /// Returns the rule for a file of the model's identity. `None` for all other files.
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

    /// Returns the reason why a path relative to the root is protected.
    pub(crate) fn protected_name(&self, below: &Path) -> Option<String> {
        protection::reason(below, &self.protected_names).or_else(|| {
            if let Some((_, why)) = self.protected_trees.iter().find(|(place, _)| below.starts_with(place)) {
                return Some((*why).to_owned());
            }
            let is_found = |trees: &BTreeSet<PathBuf>| below.ancestors().any(|above| trees.contains(above));
            if is_found(&self.found_trees.read()) {
                return Some(protection::LINKED.to_owned());
            }
            let paths = self.protected_paths.read();
            paths.contains(below).then(|| protection::IMPORTED.to_owned())
        })
    }

    /// Writes a file if this call may write the path's current target. With `known`, also requires the file to be in that
    /// state.
    pub(crate) fn replace(
        &self,
        place: &Location,
        content: &[u8],
        known: Option<&Stat>,
        work: &BlockingWork,
    ) -> Result<(), FileError> {
        // Resolved again just before writing: a link may have changed since the call was approved.
        let real = place.real();
        if !self.granted.contains(&real) {
            return Err(FileError::NotGranted { path: real });
        }
        place.replace(content, known, work)
    }

    /// Returns a path as a call can use it: relative if it is below the working directory.
    pub(crate) fn shown(&self, real: &Path) -> PathBuf {
        match real.strip_prefix(self.real_cwd()) {
            Ok(relative) if relative != Path::new("") => relative.to_owned(),
            _ => real.to_owned(),
        }
    }

    /// Returns the resolved working directory.
    pub(crate) fn real_cwd(&self) -> &Path {
        &self.real_cwd
    }

    fn home_file<'a>(&self, absolute: &'a Path) -> Option<(&Arc<ContainedRoot>, &'a Path)> {
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
