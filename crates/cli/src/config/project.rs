//! The project's own file: where it is, and what it may say.

use std::path::{Path, PathBuf};

use instructions::path::normalise;
use instructions::{FOREWORD, Profile};

use super::Warning;
use super::file::ConfigurationFile;
use super::key::{Key, ProjectRule};
use super::layers::{Assignment, Layer, Layers};
use super::value::Value;
use crate::failure::Failure;

/// The nearest directory from `start` upwards that holds a marker. Parents are lexical: links are not resolved.
pub(crate) fn find_root(start: &Path) -> Option<PathBuf> {
    let start = normalise(start, Path::new(""));
    let is_root = |directory: &&Path| {
        FOREWORD.search.markers.iter().any(|name| directory.join(name.name()).symlink_metadata().is_ok())
    };
    start.ancestors().find(is_root).map(Path::to_owned)
}

/// The configuration file of the project that `start` is in. The files in `others`, which are the user's and the
/// system's, are never a project's: `~/.foreword` may well be the user's configuration directory.
pub(crate) fn find_file(start: &Path, others: &[&Path]) -> Result<Option<PathBuf>, Failure> {
    let Some(root) = find_root(start) else { return Ok(None) };
    let path = root.join(".foreword").join("config.toml");
    let is_other = |other: &&Path| same_file(&path, other);
    match path.metadata() {
        Ok(_) if others.iter().any(is_other) => Ok(None),
        // Opening a pipe would wait for ever.
        Ok(metadata) if !metadata.is_file() => {
            Err(Failure::usage(format!("the configuration file {} is not a regular file", path.display())))
        }
        _ => Ok(Some(path)),
    }
}

/// Limits that a project set where only the profile's own held before.
#[derive(Debug, Default)]
pub(crate) struct ProjectLimits(Vec<(&'static Key, OwnLimit)>);

/// What a limit is by a profile alone.
type OwnLimit = fn(&Profile) -> Option<u64>;

/// Lays the project's file over the settings, as far as its rules allow.
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
                let (user_file, variable) = (user_file.display(), variable.unwrap_or_default());
                return Err(Failure::usage(message)
                    .hint(format!("remove it there and set it in {user_file}{variable}")));
            }
            ProjectRule::LowerOnly(own) => limits.push((statement.assignment()?, own)),
            // First, because the profile decides which limit a project may lower.
            ProjectRule::Free => layers.apply(statement.assignment()?),
        }
        Ok(())
    })?;
    let mut unset_before = Vec::new();
    for (limit, own) in limits {
        let set = layers.number(limit.key.path);
        if set.is_none() {
            unset_before.push((limit.key, own));
        }
        lower(layers, limit, set.or_else(|| profile(layers).and_then(own)), user_file)?;
    }
    Ok(ProjectLimits(unset_before))
}

/// The profile in use so far, if there is one of that name.
pub(crate) fn profile(layers: &Layers) -> Option<&'static Profile> {
    Profile::find(&layers.sections.profile)
}

fn lower(
    layers: &mut Layers,
    limit: Assignment,
    current: Option<u64>,
    user_file: &Path,
) -> Result<(), Failure> {
    let (key, place) = (limit.key, &limit.origin);
    if let (Some(current), Value::Integer(wanted)) = (current, &limit.value)
        && *wanted > current
    {
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
    /// Takes back limits that lowered one profile's own limit but would raise that of the profile a variable or a
    /// flag has chosen instead.
    pub(crate) fn withdraw(self, layers: &mut Layers) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for (key, own) in self.0 {
            let origin = layers.origin(key.path);
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
        // How a project's own files are judged is its own affair: nothing else reads these.
        let judged =
            ["agents", "off", "error", "warning", "info", "ignore"].map(|name| format!("check.{name}"));
        assert_eq!(of_check, judged);
        let limits: Vec<&str> = with(|rule| matches!(rule, ProjectRule::LowerOnly(_))).collect();
        let expected =
            ["agents.initial.max_files", "agents.initial.max_bytes", "agents.resolver.max_files_per_resolve"];
        assert_eq!(limits, expected);
    }

    #[test]
    fn a_project_cannot_set_what_belongs_to_the_user() {
        let hint =
            check_error("[gateway]\nlisten = \"0.0.0.0:1\"", "2: a project cannot set `gateway.listen`");
        assert_eq!(hint, "remove it there and set it in {user} or with the variable FOREWORD_GATEWAY_LISTEN");
    }

    #[test]
    fn an_unknown_key_in_a_project_is_unknown_first() {
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
    fn the_users_value_is_what_a_project_may_lower() {
        let mut fixture = Fixture::new();
        fixture.user("agents.initial.max_bytes = 100000");
        fixture.project("agents.initial.max_bytes = 90000");
        assert_eq!(fixture.load().unwrap().0.sections().files.agents.initial.max_bytes, Some(90_000));
        fixture.user("agents.initial.max_bytes = 1000");
        let error = fixture.load().unwrap_err().to_string();
        assert!(error.ends_with("cannot raise `agents.initial.max_bytes` from 1000 to 90000"), "{error}");
    }

    #[test]
    fn a_limit_nobody_set_is_the_profiles() {
        check_error(
            "agents.initial.max_bytes = 32769",
            "1: a project cannot raise `agents.initial.max_bytes` from 32768 to 32769",
        );
        check_error(
            "[agents.initial]\nmax_files = 17\n[agents]\nprofile = \"codelia\"",
            "2: a project cannot raise `agents.initial.max_files` from 16 to 17",
        );
        let mut fixture = Fixture::new();
        fixture.project("agents.initial.max_files = 1000\nagents.initial.max_bytes = 0");
        let agents = fixture.load().unwrap().0.sections().files.clone();
        assert_eq!((agents.max_files(), agents.agents.initial.max_bytes), (Some(1000), Some(0)));
    }

    #[test]
    fn a_limit_for_one_profile_does_not_raise_that_of_another_chosen_by_a_flag() {
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
    fn the_users_own_file_is_never_a_projects() {
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
