//! The project's configuration file and its restrictions.

use std::path::{Path, PathBuf};

use instructions::path::normalise;
use instructions::{FOREWORD, Profile};

use super::Warning;
use super::file::ConfigurationFile;
use super::key::{Key, ProjectRule};
use super::layers::{Assignment, Layer, Layers};
use super::value::Value;
use crate::failure::Failure;

/// Returns the nearest directory from `start` upwards with a marker. Parents are lexical; links are not resolved.
pub(crate) fn find_root(start: &Path) -> Option<PathBuf> {
    let start = normalise(start, Path::new(""));
    let is_root = |directory: &&Path| {
        // Any kind of entry counts: `.git` is a file in worktrees and submodules, and even a broken link marks the
        // root.
        FOREWORD.search.markers.iter().any(|name| directory.join(name.name()).symlink_metadata().is_ok())
    };
    start.ancestors().find(is_root).map(Path::to_owned)
}

/// Returns the configuration file of the project around `start`. Files in `others` (the user's and the system's) never
/// count as a project's, because `~/.foreword` may be the user's configuration directory.
pub(crate) fn find_file(start: &Path, others: &[&Path]) -> Result<Option<PathBuf>, Failure> {
    let Some(root) = find_root(start) else { return Ok(None) };
    let path = root.join(".foreword").join("config.toml");
    let is_other = |other: &&Path| same_file(&path, other);
    match path.metadata() {
        // One file must not be read as two layers with different rights.
        Ok(_) if others.iter().any(is_other) => Ok(None),
        // Opening a pipe could block forever.
        Ok(metadata) if !metadata.is_file() => {
            Err(Failure::usage(format!("the configuration file {} is not a regular file", path.display())))
        }
        _ => Ok(Some(path)),
    }
}

/// Project limits for which only the profile's own limit applied before.
#[derive(Debug, Default)]
pub(crate) struct ProjectLimits(Vec<(&'static Key, OwnLimit)>);

/// Returns a profile's own limit.
type OwnLimit = fn(&Profile) -> Option<u64>;

/// Applies the project's file as far as its rules allow.
pub(crate) fn apply(
    layers: &mut Layers,
    file: &ConfigurationFile,
    user_file: &Path,
) -> Result<ProjectLimits, Failure> {
    let mut limits = Vec::new();
    file.visit(|statement| {
        match statement.key.project {
            ProjectRule::No => {
                let message = format!("{}: a project cannot set `{}`", statement.origin, statement.path);
                let variable = statement.key.variable().map(|name| format!(" or with the variable {name}"));
                let user_file = user_file.display();
                let variable = variable.unwrap_or_default();
                return Err(Failure::usage(message)
                    .hint(format!("remove it there and set it in {user_file}{variable}")));
            }
            ProjectRule::LowerOnly(own) => limits.push((statement.assignment()?, own)),
            // Apply free keys first, because the profile decides which limit a project may lower.
            ProjectRule::Free => layers.apply(statement.assignment()?),
        }
        Ok(())
    })?;
    let mut unset_before = Vec::new();
    for (limit, own) in limits {
        // Without a value, the profile's own limit applied so far. `withdraw` looks at such a limit again, because
        // a variable or flag may select another profile.
        let set = layers.number(limit.key.path);
        if set.is_none() {
            unset_before.push((limit.key, own));
        }
        lower(layers, limit, set.or_else(|| profile(layers).and_then(own)), user_file)?;
    }
    Ok(ProjectLimits(unset_before))
}

/// Returns the active profile, if its name is known.
pub(crate) fn profile(layers: &Layers) -> Option<&'static Profile> {
    Profile::find(&layers.sections.profile)
}

fn lower(
    layers: &mut Layers,
    limit: Assignment,
    current: Option<u64>,
    user_file: &Path,
) -> Result<(), Failure> {
    let key = limit.key;
    let place = &limit.origin;
    if let (Some(current), Value::Integer(wanted)) = (current, &limit.value)
        && *wanted > current
    {
        // The message names both numbers, because the current one may come from a file that the reader has never
        // seen.
        let message = format!("{place}: a project cannot raise `{}` from {current} to {wanted}", key.path);
        return Err(Failure::usage(message).hint(format!(
            "a project may only lower limits; to raise this one, set it in {} or with the variable {}",
            user_file.display(),
            key.variable().unwrap_or_default()
        )));
    }
    layers.apply(limit);
    Ok(())
}

impl ProjectLimits {
    /// Withdraws limits that lowered one profile's own limit but would raise that of the profile chosen by a variable or
    /// flag.
    pub(crate) fn withdraw(self, layers: &mut Layers) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (key, own) in self.0 {
            let origin = layers.origin(key.path);
            // A variable or flag has replaced the project's value, so there is nothing to withdraw.
            if origin.layer() != Layer::Project {
                continue;
            }
            if let (Some(wanted), Some(limit)) = (layers.number(key.path), profile(layers).and_then(own))
                && wanted > limit
            {
                warnings.push(Warning {
                    message: format!(
                        "{origin}: `{}` has no effect: it would raise the limit of the profile in use from {limit} to {wanted}",
                        key.path
                    ),
                    hint: None,
                });
                layers.reset(key);
            }
        }
        warnings
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    // One path may lead to the other through a link, so the real paths are compared.
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fixture::Fixture;
    use crate::config::table::KEYS;

    fn check_error(text: &str, message: &str) -> String {
        let mut fixture = Fixture::new();
        fixture.project(text);
        let error = fixture.load().unwrap_err();
        let path = fixture.path("project/.foreword/config.toml");
        assert_eq!(error.to_string(), format!("{}:{message}", path.display()));
        error.hints[0].replace(&fixture.path("home/config.toml").display().to_string(), "{user}")
    }

    #[test]
    fn a_project_may_set_only_these_keys() {
        let with = |rule: fn(&ProjectRule) -> bool| {
            KEYS.iter().filter(move |key| rule(&key.project)).map(|key| key.path)
        };
        let free: Vec<&str> = with(|rule| matches!(rule, ProjectRule::Free)).collect();
        let (of_check, of_agents): (Vec<&str>, Vec<&str>) =
            free.into_iter().partition(|path| path.starts_with("check."));
        assert_eq!(of_agents, ["agents.profile", "agents.fallback_filenames", "agents.resolver.delivery"]);
        // A project decides how its own files are checked; nothing else reads these keys.
        let judged =
            ["agents", "off", "error", "warning", "info", "ignore"].map(|name| format!("check.{name}"));
        assert_eq!(of_check, judged);
        let limits: Vec<&str> = with(|rule| matches!(rule, ProjectRule::LowerOnly(_))).collect();
        let expected =
            ["agents.initial.max_files", "agents.initial.max_bytes", "agents.resolver.max_files_per_resolve"];
        assert_eq!(limits, expected);
    }

    #[test]
    fn a_project_cannot_set_user_keys() {
        let hint =
            check_error("[gateway]\nlisten = \"0.0.0.0:1\"", "2: a project cannot set `gateway.listen`");
        assert_eq!(hint, "remove it there and set it in {user} or with the variable FOREWORD_GATEWAY_LISTEN");
    }

    #[test]
    fn an_unknown_project_key_is_reported_as_unknown() {
        let hint =
            check_error("[gateway]\nlisten = \"a\"\n[agents]\nprofil = 1", "4: unknown key `agents.profil`");
        assert!(hint.contains("`agents.profile`"), "{hint}");
    }

    #[test]
    fn a_project_may_lower_a_limit_but_not_raise_it() {
        let hint = check_error(
            "agents.resolver.max_files_per_resolve = 9",
            "1: a project cannot raise `agents.resolver.max_files_per_resolve` from 8 to 9",
        );
        assert_eq!(
            hint,
            "a project may only lower limits; to raise this one, set it in {user} or with the variable \
             FOREWORD_AGENTS_MAX_FILES_PER_RESOLVE"
        );
        for number in [1, 8] {
            let mut fixture = Fixture::new();
            fixture.project(&format!("agents.resolver.max_files_per_resolve = {number}"));
            assert_eq!(fixture.load().unwrap().0.sections().files.max_files_per_resolve(), number);
        }
    }

    #[test]
    fn a_project_may_lower_the_users_value() {
        let mut fixture = Fixture::new();
        fixture.user("agents.initial.max_bytes = 100000");
        fixture.project("agents.initial.max_bytes = 90000");
        assert_eq!(fixture.load().unwrap().0.sections().files.agents.initial.max_bytes, Some(90_000));
        fixture.user("agents.initial.max_bytes = 1000");
        let error = fixture.load().unwrap_err().to_string();
        assert!(error.ends_with("cannot raise `agents.initial.max_bytes` from 1000 to 90000"), "{error}");
    }

    #[test]
    fn an_unset_limit_is_the_profiles() {
        check_error(
            "agents.initial.max_bytes = 32769",
            "1: a project cannot raise `agents.initial.max_bytes` from 32768 to 32769",
        );
        check_error(
            "[agents.initial]\nmax_files = 17\n[agents]\nprofile = \"codelia\"",
            "2: a project cannot raise `agents.initial.max_files` from 16 to 17",
        );
        let mut fixture = Fixture::new();
        fixture.project("agents.initial.max_files = 1000\nagents.initial.max_bytes = 1");
        let agents = fixture.load().unwrap().0.sections().files.clone();
        assert_eq!((agents.max_files(), agents.agents.initial.max_bytes), (Some(1000), Some(1)));
    }

    #[test]
    fn a_limit_does_not_raise_another_profiles_limit() {
        let mut fixture = Fixture::new();
        fixture.project("agents.profile = \"codelia\"\nagents.initial.max_bytes = 100000");
        assert_eq!(fixture.load().unwrap().0.sections().files.agents.initial.max_bytes, Some(100_000));
        fixture.flag("--profile", "agents.profile", "codex");
        let (configuration, warnings) = fixture.load().unwrap();
        assert_eq!(configuration.sections().files.agents.initial.max_bytes, None);
        assert!(warnings[0].message.contains("from 32768 to 100000"), "{warnings:?}");
        fixture.variable("FOREWORD_AGENTS_INITIAL_MAX_BYTES", "200000");
        assert_eq!(fixture.load().unwrap().0.sections().files.agents.initial.max_bytes, Some(200_000));
    }

    #[test]
    fn the_nearest_directory_with_a_marker_is_the_root() {
        let mut fixture = Fixture::new();
        fixture.project("agents.profile = \"outer\"");
        fixture.write("project/a/.hg", "any kind of entry counts");
        fixture.write("project/a/b/file", "");
        let root = |start: &str| find_root(&fixture.path(start));
        assert_eq!(root("project/a/b"), Some(fixture.path("project/a")));
        assert_eq!(root("project/not/there"), Some(fixture.path("project")));
        assert_eq!(root("project/a/../c"), Some(fixture.path("project")));
        fixture.start = "a/b".into();
        assert_eq!(fixture.load().unwrap().0.sections().profile, "foreword");
        fixture.start = "a/..".into();
        assert_eq!(fixture.load().unwrap().0.sections().profile, "outer");
    }

    #[cfg(unix)]
    #[test]
    fn parents_of_a_link_are_lexical() {
        let fixture = Fixture::new();
        fixture.write("elsewhere/.git/x", "");
        fixture.write("elsewhere/inner/x", "");
        std::os::unix::fs::symlink(fixture.path("elsewhere/inner"), fixture.path("project/link")).unwrap();
        assert_eq!(find_root(&fixture.path("project/link")), Some(fixture.path("project")));
    }

    #[test]
    fn the_users_own_file_is_not_a_projects() {
        let mut fixture = Fixture::new();
        fixture.write("project/.foreword/config.toml", "gateway.listen = \"mine:1\"");
        fixture.named = Some(".foreword/config.toml".into());
        assert_eq!(fixture.load().unwrap().0.sections().gateway.listen, "mine:1");
    }

    #[test]
    fn a_project_file_must_be_a_regular_file() {
        let fixture = Fixture::new();
        std::fs::create_dir_all(fixture.path("project/.foreword/config.toml")).unwrap();
        let error = fixture.load().unwrap_err().to_string();
        assert!(error.ends_with("config.toml is not a regular file"), "{error}");
    }
}
